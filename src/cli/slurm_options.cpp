// See slurm_options.h.
#include "cli/slurm_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>

namespace berth::cli {
namespace {

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (!whole || number < 0 || number > 1'000'000'000) return std::nullopt;
  return number;
}

// One option of a line, and what becomes of it.
class SlurmOption {
 public:
  SlurmOption(std::string written, const std::string& value, SlurmReading& reading)
      : written_(std::move(written)), value_(value), reading_(reading) {}

  void flag(const std::string& name) { reading_.flags.push_back({name}); }
  void flag(const std::string& name, const std::string& value) {
    reading_.flags.push_back({name, value});
  }
  void ignore() { reading_.ignored.push_back(written_); }
  void ignore(const std::string& part) { reading_.ignored.push_back(part + " of " + written_); }
  void wrong(const std::string& why) { reading_.errors.push_back(written_ + ": " + why); }
  const std::string& value() const { return value_; }

 private:
  std::string written_;
  const std::string& value_;
  SlurmReading& reading_;
};

// "2", "a100", "a100:2": a kind and a number, each of which may be missing.
void read_gpus(SlurmOption& option, const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, ':');
  const std::string last = parts.empty() ? "" : parts.back();
  const auto count = number_of(last);
  if (parts.size() > 2 || (parts.size() == 2 && !count))
    return option.wrong("expected a number of GPUs, as 2 or a100:2");
  if (!parts.empty() && (parts.size() == 2 || !count)) option.flag("--gpu-kind", parts.front());
  option.flag("--gpus", count ? last : "1");
}

void read_gpus_option(SlurmOption& option) {
  if (option.value().find(',') != std::string::npos)
    return option.wrong(
        "a task asks for GPUs of one kind, or of any of several kinds (--gpu-kind)");
  read_gpus(option, option.value());
}

void read_gres(SlurmOption& option) {
  for (std::string item : parts_of(option.value(), ',')) {
    if (item.starts_with("gres/")) item.erase(0, 5);
    if (item == "gpu")
      read_gpus(option, "1");
    else if (item.starts_with("gpu:"))
      read_gpus(option, item.substr(4));
    else
      option.ignore(item);
  }
}

void read_memory(SlurmOption& option) {
  std::string text = option.value();
  char unit = 'M';
  if (!text.empty() && text.back() > '9') {
    unit = static_cast<char>(text.back() & ~0x20);
    text.pop_back();
  }
  const auto amount = number_of(text);
  if (!amount || std::string_view("KMGT").find(unit) == std::string_view::npos)
    return option.wrong("expected an amount of memory, as 64G");
  if (*amount == 0) return option.ignore();  // all that the node has
  if (unit == 'K')
    option.flag("--memory", std::to_string((*amount + 1023) / 1024) + "MB");
  else
    option.flag("--memory", text + unit + "B");
}

// "90", "90:30", "1:30:00", "2-12", "2-12:30", "2-12:30:00" as seconds.
std::optional<std::int64_t> slurm_seconds(const std::string& text) {
  const std::size_t dash = text.find('-');
  const bool has_days = dash != text.npos;
  const auto days = has_days ? number_of(text.substr(0, dash)) : std::optional<std::int64_t>(0);
  const std::vector<std::string> parts = parts_of(has_days ? text.substr(dash + 1) : text, ':');
  if (!days || parts.empty() || parts.size() > 3) return std::nullopt;
  // With days the first part is hours; without them it is hours only if there are three.
  std::int64_t unit = has_days || parts.size() == 3 ? 3600 : 60;
  std::int64_t seconds = *days * 86'400;
  for (const std::string& part : parts) {
    const auto number = number_of(part);
    if (!number) return std::nullopt;
    seconds += *number * unit;
    unit /= 60;
  }
  return seconds;
}

void read_time(SlurmOption& option) {
  const auto seconds = slurm_seconds(option.value());
  if (!seconds) return option.wrong("expected a time, as 90 (minutes), 1:30:00 or 2-12:00:00");
  if (*seconds == 0) return option.ignore();  // no limit
  option.flag("--run-limit", std::to_string(*seconds) + "s");
}

// A dependency that is left out would start the task too early, so what is not known is an error.
void read_dependency(SlurmOption& option) {
  bool any_end = false;
  bool good_end = false;
  for (const std::string& condition : parts_of(option.value(), ',')) {
    const std::vector<std::string> parts = parts_of(condition, ':');
    const std::string kind = parts.empty() ? "" : parts.front();
    any_end = any_end || kind == "afterany";
    good_end = good_end || kind == "afterok";
    if ((kind != "afterok" && kind != "afterany") || parts.size() < 2 ||
        condition.find('?') != condition.npos)
      return option.wrong("berth knows afterok:ID and afterany:ID, with a comma between several");
    for (std::size_t i = 1; i < parts.size(); ++i)
      option.flag("--depends-on", parts[i]);
  }
  if (any_end && good_end)
    return option.wrong("a task waits for all its dependencies with afterok, or all with afterany");
  if (any_end) option.flag("--run-after-failure");
}

void read_queue(SlurmOption& option) {
  const std::vector<std::string> names = parts_of(option.value(), ',');
  if (names.empty()) return option.wrong("expected the name of a queue");
  option.flag("--queue", names.front());
  for (std::size_t i = 1; i < names.size(); ++i)
    option.ignore(names[i]);
}

// One of each is what a task has anyway.
void read_count(SlurmOption& option) {
  if (option.value() != "1") option.ignore();
}

void read_export(SlurmOption& option) {
  if (option.value() == "NONE")
    option.flag("--no-env");
  else
    option.ignore();
}

struct KnownOption {
  std::string_view name;
  char letter;  // '\0': it has none
  bool takes_value;
  void (*read)(SlurmOption& option);
};

constexpr std::array kKnownOptions = {
    KnownOption{"--gres", '\0', true, read_gres},
    KnownOption{"--gpus", 'G', true, read_gpus_option},
    KnownOption{"--cpus-per-task", 'c', true,
                [](SlurmOption& option) { option.flag("--cpus", option.value()); }},
    KnownOption{"--mem", '\0', true, read_memory},
    KnownOption{"--time", 't', true, read_time},
    KnownOption{"--array", 'a', true,
                [](SlurmOption& option) { option.flag("--array", option.value()); }},
    KnownOption{"--dependency", 'd', true, read_dependency},
    KnownOption{"--job-name", 'J', true,
                [](SlurmOption& option) { option.flag("--group", option.value()); }},
    KnownOption{"--output", 'o', true,
                [](SlurmOption& option) { option.flag("--output", option.value()); }},
    KnownOption{"--error", 'e', true,
                [](SlurmOption& option) { option.flag("--error", option.value()); }},
    KnownOption{"--partition", 'p', true, read_queue},
    KnownOption{"--chdir", 'D', true,
                [](SlurmOption& option) { option.flag("--workdir", option.value()); }},
    KnownOption{"--nodes", 'N', true, read_count},
    KnownOption{"--ntasks", 'n', true, read_count},
    KnownOption{"--export", '\0', true, read_export},
    KnownOption{"--hold", 'H', false, [](SlurmOption& option) { option.flag("--held"); }},
    KnownOption{"--wait", 'W', false, [](SlurmOption& option) { option.flag("--wait"); }},
};

const KnownOption* known_option(std::string_view word, std::string_view& rest) {
  const bool is_long = word.starts_with("--");
  const std::size_t equals = word.find('=');
  for (const KnownOption& option : kKnownOptions) {
    if (is_long && word.substr(0, equals) == option.name) {
      rest = equals == word.npos ? "" : word.substr(equals + 1);
      return &option;
    }
    if (!is_long && word.size() > 1 && word[0] == '-' && word[1] == option.letter) {
      rest = word.substr(word.size() > 2 && word[2] == '=' ? 3 : 2);
      return &option;
    }
  }
  return nullptr;
}

}  // namespace

SlurmReading read_slurm(std::span<const std::string> words) {
  SlurmReading reading;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string written = words[i];
    std::string_view rest;
    const KnownOption* known = known_option(words[i], rest);
    std::string value(rest);
    const bool has_value = !value.empty() || words[i].find('=') != std::string::npos;
    const bool next_is_value = i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (!has_value && next_is_value && (known == nullptr || known->takes_value)) {
      value = words[++i];
      written += " " + value;
    }
    SlurmOption option(written, value, reading);
    if (known == nullptr)
      option.ignore();
    else if (known->takes_value && value.empty())
      option.wrong("needs a value");
    else
      known->read(option);
  }
  return reading;
}

}  // namespace berth::cli
