// Values: what stands behind the flags, read with the units that people know. All that is wrong is
// collected, so that one run shows it all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/commands.h"

namespace berth::cli {

inline constexpr std::int64_t kCpusMilliMax = 1'000'000'000;  // a million cores

// "90s"; `least` or more. Where that is 0, "0" needs no unit.
Result<std::int64_t> read_duration_ms(std::string_view text, std::int64_t least = 1);
Result<std::int64_t> read_size_mb(std::string_view text);      // "8GB" is 8192
Result<std::int64_t> read_share_milli(std::string_view text);  // "0.25" or "25%" is 250
Result<std::int64_t> read_cpus_milli(std::string_view text);   // "4" is 4000; more than 0
// "2026-11-15T12:00:00Z", or "+10min" from now on.
Result<std::int64_t> read_instant_ms(std::string_view text, std::int64_t now_unix_ms);
// "key=value"; the key is not empty.
Result<std::pair<std::string, std::string>> read_pair(std::string_view text);

class Values {
 public:
  explicit Values(const Call& call) : call_(call) {}

  // None: the flag is absent, or its value is wrong and was noted.
  std::optional<std::int64_t> duration_ms(std::string_view flag, std::int64_t least = 1);
  std::optional<std::int64_t> size_mb(std::string_view flag);
  std::optional<std::int64_t> share_milli(std::string_view flag);
  std::optional<std::int64_t> cpus_milli(std::string_view flag);
  std::optional<std::int64_t> instant_ms(std::string_view flag);
  std::optional<std::int64_t> integer(std::string_view flag, std::int64_t low, std::int64_t high);
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view flag);
  // "" if the flag is absent.
  std::string text(std::string_view flag) const { return call_.args.value(flag).value_or(""); }
  bool has(std::string_view flag) const { return call_.args.has(flag); }

  void note(std::string message) { errors_.push_back(std::move(message)); }
  bool ok() const { return errors_.empty(); }
  // Prints what was noted; returns kBadInput.
  int refuse() const;

 private:
  template <class T>
  std::optional<T> take(std::string_view flag, Result<T> result);

  const Call& call_;
  std::vector<std::string> errors_;
};

}  // namespace berth::cli
