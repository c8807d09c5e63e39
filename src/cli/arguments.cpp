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
                                          std::span<const Flag> flags, std::string& error) {
  Arguments result;
  bool only_positional = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (only_positional || arg.size() < 2 || arg[0] != '-') {
      result.positional_.push_back(arg);
      continue;
    }
    if (arg == "--") {
      only_positional = true;
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
      result.given_.emplace_back(name, "");
    } else if (equals != arg.npos) {
      result.given_.emplace_back(name, arg.substr(equals + 1));
    } else if (i + 1 < args.size()) {
      result.given_.emplace_back(name, args[++i]);
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
  for (const auto& [name, text] : given_) {
    if (name == flag) last = text;
  }
  return last;
}

std::vector<std::string> Arguments::values(std::string_view flag) const {
  std::vector<std::string> result;
  for (const auto& [name, text] : given_) {
    if (name == flag) result.push_back(text);
  }
  return result;
}

bool asks_for_help(std::span<const std::string> args) {
  return std::ranges::any_of(args, [](const auto& arg) { return arg == "--help" || arg == "-h"; });
}

std::string flag_help(std::span<const Flag> flags) {
  std::size_t widest = 0;
  for (const Flag& flag : flags) {
    widest = std::max(widest, flag.name.size() + flag.value.size() + 1);
  }
  std::string result;
  for (const Flag& flag : flags) {
    std::string left = std::string(flag.name) + " " + std::string(flag.value);
    left.resize(widest, ' ');
    result += "  " + left + "  " + std::string(flag.help) + "\n";
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
