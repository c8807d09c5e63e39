// How what a task writes gets from its pipes into a file, up to a cap.
//
// The file is made with the first byte. What is over the cap is read and dropped, so that the task
// never blocks on it. A disk that is full counts as a cap. Several processes may share a file: then
// what each writes comes in whole lines, with its tag before them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "agent/files.h"
#include "base/result.h"

namespace berth::agent {

// One stream of a task on disk.
class OutputFile {
 public:
  OutputFile(std::filesystem::path path, std::uint64_t cap) : path_(std::move(path)), left_(cap) {}

  void keep(std::string_view bytes);
  const std::filesystem::path& path() const { return path_; }
  bool cut() const { return cut_; }

 private:
  bool write(std::string_view bytes);

  std::filesystem::path path_;
  Fd file_;
  std::uint64_t left_;
  bool cut_ = false;
};

// One stream of one process. The file outlives it.
class OutputPump {
 public:
  // Opens the pipe. `tag` stands before each line; empty: bytes are kept as they come.
  static Result<OutputPump> open(OutputFile& file, std::string tag = {});
  // By its name, /dev/stdout, the pipe can be opened by its owner alone. Without a right to give it
  // away it stays ours.
  void give_to(uid_t uid, gid_t gid) const;

  // The end that the process writes to; the pump keeps the other. To be closed once it has it.
  Fd take_write_end() { return std::move(write_end_); }
  int read_end() const { return read_end_.get(); }  // -1: at its end
  // The last bytes that were written, kept or not.
  const std::string& tail() const { return tail_; }

  // Moves what is there now, at most about a MiB, so that the caller can look at other things.
  void pump();
  // Moves what is left in the pipe. For when the task's own processes have ended: somebody else may
  // hold the pipe, so no more is moved than it can hold.
  void drain();

 private:
  // Takes what it moves off `bytes_left`. False: nothing more for now, or for ever.
  bool pump_once(std::size_t& bytes_left);
  void keep(std::string_view bytes);
  void keep_lines(std::string_view bytes);
  void keep_line();

  Fd read_end_;
  Fd write_end_;
  OutputFile* file_ = nullptr;
  std::string tag_;
  std::string line_;  // with a tag: what has come of a line
  std::string tail_;
};

}  // namespace berth::agent
