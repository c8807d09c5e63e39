// One line of a scenario as words, and the values that words stand for.
//
// `Words` is read from left to right; `key=value` options are taken by name in any order, and what
// nobody took is an error that lists what could have been taken.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/units.h"

namespace berth::scenario {

// Nothing: the text is no such value.
std::optional<Duration> read_duration(std::string_view text);  // 12.5ms 3s 2m forever
std::optional<Mib> read_vram(std::string_view text);           // 40GB 512MiB
std::optional<Milli> read_ratio(std::string_view text);        // 0.85
std::optional<std::int64_t> read_integer(std::string_view text);

// "a", "a,b", "a1..a3": the names it stands for.
std::vector<std::string> read_names(std::string_view text);

class Words {
 public:
  // `place` is "file:line".
  Words(std::string place, std::string_view line);

  [[noreturn]] void fail(const std::string& message) const;

  bool empty() const { return next_ == words_.size(); }
  // The next word that is no option, or an error that says what was expected.
  std::string take(const std::string& what);
  std::optional<std::string> take_if_any();
  std::optional<std::string> option(const std::string& key);
  bool flag(const std::string& key);

  std::optional<Duration> duration(const std::string& key);
  std::optional<Mib> vram(const std::string& key);
  std::optional<Milli> ratio(const std::string& key);
  std::optional<std::int64_t> integer(const std::string& key);

  // The words up to the next `|`, which is dropped.
  Words take_part();
  // Nothing may be left.
  void finish() const;

 private:
  std::string place_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  std::set<std::string> known_;
};

}  // namespace berth::scenario
