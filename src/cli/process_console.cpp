// See process_console.h.
#include "cli/process_console.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

namespace berth::cli {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// A second Ctrl-C ends the process, whatever it is doing.
const std::atomic<bool>& catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  return interrupted;
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string current_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  return error ? "" : folder.string();
}

int terminal_rows() {
  struct winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

}  // namespace

Console process_console() {
  return {.out = std::cout,
          .err = std::cerr,
          .err_is_terminal = isatty(STDERR_FILENO) == 1,
          .out_is_terminal = isatty(STDOUT_FILENO) == 1,
          .in = isatty(STDIN_FILENO) == 1 ? &std::cin : nullptr,
          .data = &std::cin,
          .env = environment_variable,
          .catch_interrupts = catch_interrupts,
          .folder = current_folder,
          .rows = terminal_rows};
}

}  // namespace berth::cli
