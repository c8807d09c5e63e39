// See output_file.h.
#include "cli/output_file.h"

#include <cerrno>
#include <cstring>

namespace berth::cli {

bool OutputFile::open(const std::string& path) {
  path_ = path;
  file_.reset(std::fopen(path.c_str(), "wb"));
  if (!file_) fail();
  return file_ != nullptr;
}

void OutputFile::fail() {
  if (error_.empty()) error_ = "cannot write " + path_ + ": " + std::strerror(errno);
}

void OutputFile::write(std::string_view text) {
  if (!error_.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail();
}

bool OutputFile::close() {
  if (file_ && std::fclose(file_.release()) != 0) fail();
  return error_.empty();
}

}  // namespace berth::cli
