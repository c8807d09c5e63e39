// OutputPump: moves one stream of a task from its pipe into a file, up to a cap.
//
// The file is made with the first byte. What is over the cap is read and dropped, so that the task
// never blocks on it. A disk that is full counts as a cap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "agent/files.h"
#include "base/result.h"

namespace berth::agent {

class OutputPump {
 public:
  // Opens the pipe.
  static Result<OutputPump> open(const std::filesystem::path& path, std::uint64_t cap);

  // The end that the task writes to; the pump keeps the other. To be closed once the task has it.
  Fd take_write_end() { return std::move(write_end_); }
  int read_end() const { return read_end_.get(); }  // -1: at its end
  bool cut() const { return cut_; }
  // The last bytes that were written, kept or not.
  const std::string& tail() const { return tail_; }

  // Moves what is there now, at most about a MiB, so that the caller can look at other things.
  void pump();
  // Moves what is left in the pipe. For when nobody can write any more.
  void drain();

 private:
  bool pump_once();
  void keep(std::string_view bytes);
  bool write(std::string_view bytes);

  Fd read_end_;
  Fd write_end_;
  std::filesystem::path path_;
  Fd file_;
  std::uint64_t left_ = 0;
  bool cut_ = false;
  std::string tail_;
};

}  // namespace berth::agent
