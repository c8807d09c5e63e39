// berth as a process, for tests: runs it, and finds figures in what it printed.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace berth::e2e {

struct Result {
  int code = -1;
  std::string out;  // standard output and error together
};

// A line for sh.
inline Result run(const std::string& line) {
  Result result;
  std::FILE* pipe = popen(("{ " + line + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    result.out.append(buffer, got);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

inline Result berth(const std::string& arguments) {
  return run(std::string(BERTH_BINARY) + " " + arguments);
}

// The number after the keys, each looked for behind the one before.
inline double number(const std::string& json, const std::vector<std::string>& keys,
                     std::size_t from = 0) {
  for (const std::string& key : keys) {
    from = json.find("\"" + key + "\": ", from);
    EXPECT_NE(from, std::string::npos) << key;
    if (from == std::string::npos) return -1;
    from += key.size() + 4;
  }
  return std::strtod(json.c_str() + from, nullptr);
}

// The same in the row of a list that has this name, such as one of "queues".
inline double number_of(const std::string& json, const std::string& list, const std::string& name,
                        const std::vector<std::string>& keys) {
  const std::size_t begin = json.find("\"" + list + "\": [");
  const std::size_t row = json.find("\"name\": \"" + name + "\"", begin);
  EXPECT_NE(row, std::string::npos) << list << " " << name;
  return row == std::string::npos ? -1 : number(json, keys, row);
}

inline std::string text(const std::string& json, const std::string& key) {
  const std::size_t at = json.find("\"" + key + "\": \"");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size() + 5;
  return json.substr(begin, json.find('"', begin) - begin);
}

// Every scenario in examples/, by name. berth.toml is the configuration of a server.
inline std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".toml" && path.stem() != "berth") names.push_back(path.stem());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace berth::e2e
