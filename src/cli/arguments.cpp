// See arguments.h.
#include "cli/arguments.h"

#include <algorithm>
#include <charconv>

#include "config/diagnostics.h"

namespace berth::cli {
namespace {

std::string unknown_flag(const std::string& name, std::span<const Flag> flags) {
  std::vector<std::string> names = {"--help"};
  for (const Flag& flag : flags)
    names.emplace_back(flag.name);
  const std::string nearest = config::nearest_name(name, names);
  return "unknown option " + name + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

}  // namespace

std::optional<Arguments> Arguments::parse(std::span<const std::string> args,
                                          std::span<const Flag> flags, std::string& error,
                                          FlagsEnd end) {
  Arguments result;
  bool only_positional = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (only_positional || arg.size() < 2 || arg[0] != '-') {
      result.positional_.push_back(arg);
      if (!only_positional && end == FlagsEnd::at_first_word) {
        only_positional = true;
        result.before_dashes_ = result.positional_.size();
        if (i + 1 < args.size() && args[i + 1] == "--") ++i;
      }
      continue;
    }
    if (arg == "--") {
      only_positional = true;
      result.before_dashes_ = result.positional_.size();
      continue;
    }
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const auto flag = std::ranges::find(flags, name, &Flag::name);
    if (flag == flags.end()) {
      error = unknown_flag(name, flags);
      return std::nullopt;
    }
    if (flag->value.empty()) {
      if (equals != arg.npos) {
        error = name + " takes no value";
        return std::nullopt;
      }
      result.given_.push_back({name, "", ""});
    } else if (equals != arg.npos) {
      result.given_.push_back({name, arg.substr(equals + 1), ""});
    } else if (i + 1 < args.size()) {
      result.given_.push_back({name, args[++i], ""});
    } else {
      error = name;
      error.append(" needs a value: ").append(name).append(" ").append(flag->value);
      return std::nullopt;
    }
  }
  return result;
}

bool Arguments::has(std::string_view flag) const { return value(flag).has_value(); }

std::optional<std::string> Arguments::value(std::string_view flag) const {
  std::optional<std::string> last;
  for (const Given& given : given_) {
    if (given.flag == flag) last = given.value;
  }
  return last;
}

std::vector<std::string> Arguments::values(std::string_view flag) const {
  std::vector<std::string> result;
  for (const Given& given : given_) {
    if (given.flag == flag) result.push_back(given.value);
  }
  return result;
}

std::string Arguments::origin(std::string_view flag) const {
  std::string origin;
  for (const Given& given : given_) {
    if (given.flag == flag) origin = given.origin;
  }
  return origin;
}

void Arguments::set_origin(const std::string& origin) {
  for (Given& given : given_)
    given.origin = origin;
}

void Arguments::put_over(const Arguments& below, std::span<const std::string_view> joined) {
  std::vector<Given> all;
  for (const Given& given : below.given_) {
    const bool is_joined = std::ranges::find(joined, given.flag) != joined.end();
    if (is_joined || !has(given.flag)) all.push_back(given);
  }
  all.insert(all.end(), given_.begin(), given_.end());
  given_ = std::move(all);
}

void Arguments::drop(std::string_view flag) {
  std::erase_if(given_, [&](const Given& given) { return given.flag == flag; });
}

Arguments Arguments::unread(std::span<const std::string> args) {
  Arguments result;
  result.positional_.assign(args.begin(), args.end());
  return result;
}

bool asks_for_help(std::span<const std::string> args) {
  args = args.first(static_cast<std::size_t>(std::ranges::find(args, "--") - args.begin()));
  return std::ranges::any_of(args, [](const auto& arg) { return arg == "--help" || arg == "-h"; });
}

std::string flag_help(std::span<const Flag> flags) {
  constexpr std::size_t kWidest = 28;  // what is longer has a line of its own
  std::vector<std::string> left;
  std::size_t widest = 0;
  for (const Flag& flag : flags) {
    left.emplace_back(flag.name);
    if (!flag.value.empty()) left.back().append(" ").append(flag.value);
    if (left.back().size() <= kWidest) widest = std::max(widest, left.back().size());
  }
  std::string result;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    result += "  " + left[i];
    if (left[i].size() > widest)
      result += "\n" + std::string(widest + 2, ' ');
    else
      result.append(widest - left[i].size(), ' ');
    result.append("  ").append(flags[i].help).append("\n");
  }
  return result;
}

std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t low,
                                          std::int64_t high) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!whole || value < low || value > high) return std::nullopt;
  return value;
}

}  // namespace berth::cli
