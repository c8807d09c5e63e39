// See planted_faults.h: what users run has none.
#include "main/planted_faults.h"

namespace berth::main {

Result<std::string> plant_faults(std::string_view /*text*/, ServerTrials& /*trials*/) {
  return std::string("BERTH_FAULT is set and changes nothing: this program has no planted faults");
}

}  // namespace berth::main
