// Watching one task from the shell: waiting for a state, and its output while it runs.
//
// The status is the truth; events only say when to look again, so a lost event costs a second at
// most. A server that goes away for less than a minute is waited for.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/session.h"

namespace berth::cli {

struct TaskName {
  std::string id;
  std::string tenant;  // "": as the server takes it
};

// " train-1 --tenant a": the words behind a command that is shown to people.
std::string words_of(const TaskName& name);

class Watch {
 public:
  Watch(Session& session, TaskName name) : Watch(session, std::move(name), session.patience()) {}
  // Gives up at the instant.
  Watch(Session& session, TaskName name, client::Clock::time_point until);

  // What Ctrl-C is answered with behind "detached; ", where the task is not all that is watched.
  void say_on_leaving(std::string text) { on_leaving_ = std::move(text); }

  // The task as soon as `enough` holds. None: code() says how the watch ended.
  std::optional<v1::TaskStatus> wait_until(
      const std::function<bool(const v1::TaskStatus&)>& enough);

  // Prints what an attempt wrote, and with `follow` what it writes until it ends. False: code()
  // says why. An attempt without output is no error.
  bool print_output(std::uint32_t attempt, bool follow);

  // Output of every attempt as it comes, until the task has ended or the server holds it.
  std::optional<v1::TaskStatus> follow_to_end();

  int code() const { return code_; }

 private:
  void detach();
  // Whether to try again after a failure; else the code is set.
  bool bears(const client::Failure& failure, const std::string& what);
  void pause(std::chrono::milliseconds length) const;

  Session& session_;
  TaskName name_;
  client::Clock::time_point until_;
  std::string on_leaving_;
  std::optional<client::Clock::time_point> away_since_;
  std::string said_;  // the state
  int code_ = kOk;
};

// Prints a chunk of output: as the bytes they are, or as a line of JSON.
void print_chunk(const Session& session, const v1::LogChunk& chunk, std::string_view data,
                 bool errors_to_out);

}  // namespace berth::cli
