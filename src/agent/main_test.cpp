// The test program's main. As `berth_agent_tests launcher` it is the launcher, as the berth binary
// would be; as `berth_agent_tests agent FOLDER FIRST` it is a server that gets killed:
// kill_test.cpp.
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/launcher.h"
#include "agent/testing/commands.h"

namespace {

// Hands out leases of one command each, numbered from `first`, as fast as they are taken.
[[noreturn]] void run_agent_until_killed(const std::string& folder, std::uint64_t first) {
  namespace support = berth::agent::testing;
  support::RunningAgent agent(support::command_options(folder));
  agent.give(support::welcome());
  for (std::uint64_t lease = first; lease < first + 20; ++lease) {
    agent.give(support::script_lease(lease, "echo $BERTH_LEASE >> ../../../starts; sleep 0.02"));
  }
  while (true) {
    ::pause();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "launcher") return berth::agent::run_launcher();
  if (mode == "agent" && argc == 4) run_agent_until_killed(argv[2], std::stoull(argv[3]));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
