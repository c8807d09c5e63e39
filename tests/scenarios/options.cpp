// See options.h.
#include "tests/scenarios/options.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "tests/scenarios/script.h"

namespace berth::scenario {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t size;
};

// A decimal number of units; parts of the smallest are dropped.
std::optional<std::int64_t> read_amount(std::string_view text, const std::vector<Unit>& units) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  const std::string_view name = digits == std::string_view::npos ? "" : text.substr(digits);
  const auto unit =
      std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  if (unit == units.end() || number.empty()) return std::nullopt;
  const std::size_t point = std::min(number.find('.'), number.size());
  const auto whole = read_integer(number.substr(0, point));
  if (!whole) return std::nullopt;
  std::int64_t amount = *whole * unit->size;
  std::int64_t part = unit->size;
  for (const char digit : number.substr(std::min(point + 1, number.size()))) {
    if (digit == '.') return std::nullopt;
    amount += part * (digit - '0') / 10;
    part /= 10;
  }
  return amount;
}

}  // namespace

std::optional<std::int64_t> read_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

std::optional<Duration> read_duration(std::string_view text) {
  if (text == "forever") return Duration::forever();
  const auto ns = read_amount(text, {{"ns", 1},
                                     {"us", 1'000},
                                     {"ms", 1'000'000},
                                     {"s", seconds(1).ns},
                                     {"m", minutes(1).ns},
                                     {"h", minutes(60).ns}});
  return ns ? std::optional(Duration{*ns}) : std::nullopt;
}

std::optional<Mib> read_vram(std::string_view text) {
  const auto mib = read_amount(text, {{"MiB", 1}, {"GB", 1024}});
  return mib ? std::optional(Mib{*mib}) : std::nullopt;
}

std::optional<Milli> read_ratio(std::string_view text) {
  const auto milli = read_amount(text, {{"", 1000}});
  return milli ? std::optional(Milli{*milli}) : std::nullopt;
}

std::vector<std::string> read_names(std::string_view text) {
  std::vector<std::string> names;
  std::string part;
  for (std::istringstream in{std::string(text)}; std::getline(in, part, ',');) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      names.push_back(part);
      continue;
    }
    const std::string first = part.substr(0, dots);
    const std::string last = part.substr(dots + 2);
    const std::string stem = first.substr(0, first.find_last_not_of("0123456789") + 1);
    const auto from = read_integer(std::string_view(first).substr(stem.size()));
    const auto to = last.starts_with(stem)
                        ? read_integer(std::string_view(last).substr(stem.size()))
                        : std::nullopt;
    if (!from || !to) return {};
    for (std::int64_t i = *from; i <= *to; ++i)
      names.push_back(stem + std::to_string(i));
  }
  return names;
}

Words::Words(std::string place, std::string_view line) : place_(std::move(place)) {
  std::istringstream in{std::string(line)};
  for (std::string word; in >> word;)
    words_.push_back(word);
}

void Words::fail(const std::string& message) const { throw ScriptError(place_ + ": " + message); }

std::optional<std::string> Words::take_if_any() {
  if (empty() || words_[next_].find('=') != std::string::npos) return std::nullopt;
  return words_[next_++];
}

std::string Words::take(const std::string& what) {
  const auto word = take_if_any();
  if (!word) fail("expected " + what + (empty() ? "" : ", got `" + words_[next_] + "`"));
  return *word;
}

std::optional<std::string> Words::option(const std::string& key) {
  known_.insert(key + "=");
  for (std::size_t i = next_; i < words_.size(); ++i) {
    if (!words_[i].starts_with(key + "=")) continue;
    std::string value = words_[i].substr(key.size() + 1);
    words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i));
    return value;
  }
  return std::nullopt;
}

bool Words::flag(const std::string& key) {
  known_.insert(key);
  const auto it = std::find(words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end(), key);
  if (it == words_.end()) return false;
  words_.erase(it);
  return true;
}

std::optional<Duration> Words::duration(const std::string& key) {
  const auto text = option(key);
  if (!text) return std::nullopt;
  const auto value = read_duration(*text);
  if (!value) fail(key + " expects a time such as 120ms, 1.5s, 2m or forever, got `" + *text + "`");
  return value;
}

std::optional<Mib> Words::vram(const std::string& key) {
  const auto text = option(key);
  if (!text) return std::nullopt;
  const auto value = read_vram(*text);
  if (!value) fail(key + " expects a size such as 40GB or 512MiB, got `" + *text + "`");
  return value;
}

std::optional<Milli> Words::ratio(const std::string& key) {
  const auto text = option(key);
  if (!text) return std::nullopt;
  const auto value = read_ratio(*text);
  if (!value) fail(key + " expects a number such as 0.85, got `" + *text + "`");
  return value;
}

std::optional<std::int64_t> Words::integer(const std::string& key) {
  const auto text = option(key);
  if (!text) return std::nullopt;
  const auto value = read_integer(*text);
  if (!value) fail(key + " expects a whole number, got `" + *text + "`");
  return value;
}

Words Words::take_part() {
  const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(next_);
  const auto bar = std::find(begin, words_.end(), "|");
  Words part(place_, "");
  part.words_.assign(begin, bar);
  next_ = static_cast<std::size_t>(bar - words_.begin()) + (bar == words_.end() ? 0 : 1);
  return part;
}

void Words::finish() const {
  if (empty()) return;
  std::string expected;
  for (const std::string& key : known_)
    expected += (expected.empty() ? "" : ", ") + key;
  fail("expected " + (expected.empty() ? "the end of the line" : "one of " + expected) + ", got `" +
       words_[next_] + "`");
}

}  // namespace berth::scenario
