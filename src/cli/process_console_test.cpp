// The process's own console: its environment and its interrupt key.
#include "cli/process_console.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace berth::cli::process_console_test {
namespace {

TEST(ProcessConsole, ReadsTheEnvironment) {
  setenv("BERTH_CONSOLE_TEST", "x", 1);
  EXPECT_EQ(process_console().environment("BERTH_CONSOLE_TEST"), "x");
  unsetenv("BERTH_CONSOLE_TEST");
  EXPECT_EQ(process_console().env("BERTH_CONSOLE_TEST"), std::nullopt);
}

TEST(ProcessConsole, TheFirstInterruptIsNotedAndTheSecondEnds) {
  const auto press_twice = [] {
    const std::atomic<bool>& pressed = process_console().catch_interrupts();
    if (pressed) std::_Exit(1);
    std::raise(SIGINT);
    if (!pressed) std::_Exit(2);
    std::raise(SIGINT);
    std::_Exit(3);
  };
  EXPECT_EXIT(press_twice(), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace berth::cli::process_console_test
