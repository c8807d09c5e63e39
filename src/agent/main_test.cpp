// The test program's main: called as `berth_agent_tests shim FOLDER` it is the shim, as the berth
// binary would be.
#include <string_view>

#include <gtest/gtest.h>

#include "agent/shim.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "shim") return berth::agent::run_shim(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
