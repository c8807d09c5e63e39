// See commands.h.
#include "main/commands.h"

namespace berth::main {

std::vector<cli::Command> server_commands() {
  std::vector<cli::Command> all;
  for (const auto table : {serve_commands(), config_commands(), token_commands(), data_commands(),
                           doctor_commands(), service_bench_commands()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace berth::main
