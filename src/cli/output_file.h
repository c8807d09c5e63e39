// OutputFile: a file that is opened before the work begins, and whose every failure is noticed.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace berth::cli {

class OutputFile {
 public:
  // Creates or empties the file. False: error() says why.
  bool open(const std::string& path);
  void write(std::string_view text);
  // Writes what is buffered; false if anything was not written.
  bool close();
  // "cannot write PATH: reason".
  const std::string& error() const { return error_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void fail();

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string error_;
};

}  // namespace berth::cli
