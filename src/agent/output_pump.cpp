// Reading pipes, writing files.
#include "agent/output_pump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace berth::agent {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kChunksPerTurn = 16;
constexpr std::size_t kTail = 4096;
constexpr std::size_t kLongestLine = 16 * 1024;  // a longer one is broken

}  // namespace

void OutputFile::keep(std::string_view bytes) {
  const std::string_view kept = bytes.substr(0, left_);
  left_ -= kept.size();
  if (kept.size() < bytes.size()) cut_ = true;
  if (kept.empty() || write(kept)) return;
  cut_ = true;
  left_ = 0;
}

bool OutputFile::write(std::string_view bytes) {
  if (!file_) file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  return file_ && write_all(file_.get(), bytes, path_).ok();
}

Result<OutputPump> OutputPump::open(OutputFile& file, std::string tag) {
  OutputPump pump;
  pump.file_ = &file;
  pump.tag_ = std::move(tag);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return file_error("make a pipe for", file.path(), errno);
  pump.read_end_ = Fd(ends[0]);
  pump.write_end_ = Fd(ends[1]);
  ::fcntl(pump.read_end_.get(), F_SETFL, O_NONBLOCK);
  return pump;
}

void OutputPump::give_to(uid_t uid, gid_t gid) const {
  [[maybe_unused]] const int given = ::fchown(read_end_.get(), uid, gid);
}

void OutputPump::pump() {
  std::size_t bytes_left = kChunksPerTurn * kChunk;
  for (std::size_t chunks = 0; chunks < kChunksPerTurn && pump_once(bytes_left); ++chunks) {
  }
}

// What the task wrote is in the pipe already, before whatever others may add.
void OutputPump::drain() {
  const int held = read_end_ ? ::fcntl(read_end_.get(), F_GETPIPE_SZ) : 0;
  auto bytes_left = static_cast<std::size_t>(std::max(held, 0));
  while (pump_once(bytes_left)) {
  }
  keep_line();
}

bool OutputPump::pump_once(std::size_t& bytes_left) {
  if (!read_end_ || bytes_left == 0) return false;
  std::array<char, kChunk> buffer;
  const ssize_t got = ::read(read_end_.get(), buffer.data(), std::min(buffer.size(), bytes_left));
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    read_end_.reset();
    return false;
  }
  bytes_left -= static_cast<std::size_t>(got);
  keep({buffer.data(), static_cast<std::size_t>(got)});
  return true;
}

void OutputPump::keep(std::string_view bytes) {
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
  if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
  tag_.empty() ? file_->keep(bytes) : keep_lines(bytes);
}

// A carriage return ends a line as well, lest a progress bar is seen only at its end.
void OutputPump::keep_lines(std::string_view bytes) {
  for (const char c : bytes) {
    const bool returned = line_.ends_with('\r') && c != '\n';
    if (returned || line_.size() >= kLongestLine) keep_line();
    line_ += c;
    if (c == '\n') keep_line();
  }
}

void OutputPump::keep_line() {
  if (line_.empty()) return;
  const bool has_end = line_.ends_with('\n') || line_.ends_with('\r');
  file_->keep(tag_ + line_ + (has_end ? "" : "\n"));
  line_.clear();
}

}  // namespace berth::agent
