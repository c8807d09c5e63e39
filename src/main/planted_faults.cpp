// See planted_faults.h: the faults of the store and of the service, for `berth_faulty` alone.
#include "main/planted_faults.h"

#include <algorithm>

#include "store/faults.h"

namespace berth::main {

Result<std::string> plant_faults(std::string_view text, ServerTrials& trials) {
  constexpr std::string_view kTooEarly = "answer_before_sync";
  const std::string sentence = "planted faults, for tests only: " + std::string(text);
  if (text == kTooEarly || text.starts_with(std::string(kTooEarly) + ",")) {
    trials.answer_before_sync = true;
    text.remove_prefix(std::min(text.size(), kTooEarly.size() + 1));
  }
  if (text.empty()) return sentence;
  if (Status armed = store::arm_faults(text); !armed) return armed.error();
  return sentence;
}

}  // namespace berth::main
