// Arguments: a command's flags and positional arguments, checked against the flags it declares.
//
// `--name value` and `--name=value` are the same; `--` ends the flags. An unknown flag is answered
// with the nearest known one. A flag's value names what it is ("FILE", "QUEUE", "a|b"), for the
// help and for the completion of shells.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::cli {

struct Flag {
  std::string_view name;   // with its dashes
  std::string_view value;  // what follows it, for the help; "": nothing
  std::string_view help;
};

class Arguments {
 public:
  // None, and `error` says why, if the arguments do not fit the flags.
  static std::optional<Arguments> parse(std::span<const std::string> args,
                                        std::span<const Flag> flags, std::string& error);
  // All of them positional, whatever they look like.
  static Arguments unread(std::span<const std::string> args);

  bool has(std::string_view flag) const;
  // The last value given; none: the flag is absent.
  std::optional<std::string> value(std::string_view flag) const;
  std::vector<std::string> values(std::string_view flag) const;
  const std::vector<std::string>& positional() const { return positional_; }
  // How many of the positional arguments stand before `--`; all of them if there is none.
  std::size_t before_dashes() const { return before_dashes_.value_or(positional_.size()); }

 private:
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> positional_;
  std::optional<std::size_t> before_dashes_;
};

// Whether --help or -h stands among the arguments, before any `--`.
bool asks_for_help(std::span<const std::string> args);

// The flags as the lines of a help text, aligned.
std::string flag_help(std::span<const Flag> flags);

// A whole number in the range, or none.
std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t low,
                                          std::int64_t high);

}  // namespace berth::cli
