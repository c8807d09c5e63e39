// Arguments: a command's flags and positional arguments, checked against the flags it declares.
//
// `--name value` and `--name=value` are the same; `--` ends the flags. An unknown flag is answered
// with the nearest known one. A flag's value names what it is ("FILE", "QUEUE", "a|b"), for the
// help and for the completion of shells. Flags may also come from elsewhere than the command line,
// as from the lines of a script; then each value knows where it stood.
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

enum class FlagsEnd {
  at_dashes,      // flags may stand behind positional arguments
  at_first_word,  // all behind the first positional argument belongs to it, flags and all
};

class Arguments {
 public:
  // None, and `error` says why, if the arguments do not fit the flags.
  static std::optional<Arguments> parse(std::span<const std::string> args,
                                        std::span<const Flag> flags, std::string& error,
                                        FlagsEnd end = FlagsEnd::at_dashes);
  // All of them positional, whatever they look like.
  static Arguments unread(std::span<const std::string> args);

  bool has(std::string_view flag) const;
  // The last value given; none: the flag is absent.
  std::optional<std::string> value(std::string_view flag) const;
  std::vector<std::string> values(std::string_view flag) const;
  const std::vector<std::string>& positional() const { return positional_; }
  // Where the last value of the flag stood, "train.sh:3"; "": on the command line.
  std::string origin(std::string_view flag) const;
  void set_origin(const std::string& origin);

  // Flags that are given below and not here are taken over; those in `joined` may be given in both,
  // and then these values follow those.
  void put_over(const Arguments& below, std::span<const std::string_view> joined = {});
  void drop(std::string_view flag);

  // How many of the positional arguments stand before `--`; all of them if there is none.
  std::size_t before_dashes() const { return before_dashes_.value_or(positional_.size()); }

 private:
  struct Given {
    std::string flag;
    std::string value;
    std::string origin;
  };
  std::vector<Given> given_;
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
