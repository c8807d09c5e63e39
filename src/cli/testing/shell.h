// Shell: runs commands in process, against a canned server, and keeps what they print. For tests.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "berth/v1/scheduler.pb.h"
#include "cli/commands.h"
#include "client/testing/canned_server.h"

namespace berth::cli::testing {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

inline constexpr std::int64_t kNow = 1'795'000'000'000;  // 2026-11-18 11:06:40 UTC
inline std::int64_t fixed_now() { return kNow; }

// What a command prints; tells of each flush.
class Paper : public std::stringbuf {
 public:
  std::function<void(const std::string& so_far)> on_flush;

 protected:
  int sync() override {
    if (on_flush) on_flush(str());
    return 0;
  }
};

struct Shell {
  std::map<std::string, std::string> environment;
  bool terminal = false;
  std::string input;  // what a person types; only on a terminal
  std::string piped;  // standard input as data
  std::string folder = "/home/ann/project";
  int rows = 0;  // of the terminal; 0: not known
  std::atomic<bool> interrupted = false;
  std::function<void(const std::string& out)> on_flush;  // called while the command runs

  Ran run(const std::vector<std::string>& args) {
    Paper paper;
    paper.on_flush = on_flush;
    std::ostream out(&paper);
    std::ostringstream err;
    std::istringstream in(input);
    std::istringstream data(piped);
    Console console{.out = out, .err = err};
    console.err_is_terminal = terminal;
    console.out_is_terminal = terminal;
    if (terminal) console.in = &in;
    console.env = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      if (found == environment.end()) return std::nullopt;
      return found->second;
    };
    console.catch_interrupts = [this]() -> const std::atomic<bool>& { return interrupted; };
    console.now_unix_ms = fixed_now;
    console.data = &data;
    console.folder = [this] { return folder; };
    console.rows = [this] { return rows; };
    Ran ran;
    ran.code = run_command_line(args, console);
    ran.out = paper.str();
    ran.err = err.str();
    return ran;
  }
};

// A shell whose BERTH_SERVER is a server of its own.
struct ServedShell : Shell {
  client::testing::CannedServer server;
  ServedShell() { environment["BERTH_SERVER"] = server.address(); }
};

}  // namespace berth::cli::testing
