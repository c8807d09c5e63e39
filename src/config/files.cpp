// See files.h.
#include "config/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace berth::config {

std::optional<std::string> read_whole_file(const std::string& path, std::string& error) {
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    error = std::strerror(errno);
    return std::nullopt;
  }
  constexpr std::size_t kLargest = std::size_t{1} << 30U;
  std::string text;
  std::string buffer(1U << 16U, '\0');
  while (true) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer, 0, got);
    if (text.size() > kLargest) {
      error = "it is larger than 1 GiB";
      return std::nullopt;
    }
    if (got < buffer.size()) break;
  }
  if (std::ferror(file.get()) != 0) {
    error = std::strerror(errno);
    return std::nullopt;
  }
  return text;
}

}  // namespace berth::config
