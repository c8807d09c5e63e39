// See yaml.h.
#include "cli/yaml.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace berth::cli {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool is_one_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == text.npos;
}

// Words that YAML takes for something else than a text, in any case of letters.
bool is_reserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> kReserved = {"null", "true", "false", "yes", "no",
                                                         "on",   "off",  "y",     "n"};
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return std::ranges::find(kReserved, small) != kReserved.end();
}

// Whether the text means itself without quotes.
bool is_plain(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kInside =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@%+=,:;()[]- ";
  constexpr std::string_view kNumber = "0123456789abcdefABCDEFxXoO_.:+- TZtz";
  if (text.empty() || !is_one_of(text, kInside)) return false;
  const char first = text.front();
  const bool begins_well = kLetters.find(first) != kLetters.npos || first == '_' || first == '/' ||
                           (first >= '0' && first <= '9');
  const bool is_letter = kLetters.find(first) != kLetters.npos;
  if (!begins_well || text.ends_with(' ') || text.ends_with(':')) return false;
  if (text.find(": ") != text.npos || is_reserved(text)) return false;
  return is_letter || !is_one_of(text, kNumber);
}

// Reads the JSON once, from the front, and writes as it goes.
class YamlWriter {
 public:
  explicit YamlWriter(std::string_view json) : rest_(json) {}

  std::string write() {
    value(0, Place::top);
    return std::move(out_);
  }

 private:
  enum class Place { top, behind_key, behind_dash };

  char peek() {
    const std::size_t at = rest_.find_first_not_of(kSpace);
    ASSERT(at != rest_.npos);
    rest_.remove_prefix(at);
    return rest_.front();
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void line_start(std::size_t indent) { out_.append(indent, ' '); }

  // A JSON string with its quotes, which is also a YAML one.
  std::string_view quoted() {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"')
      end += rest_[end] == '\\' ? 2 : 1;
    ASSERT(end < rest_.size());
    const std::string_view text = rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string_view scalar() {
    if (peek() == '"') {
      const std::string_view text = quoted();
      const std::string_view inside = text.substr(1, text.size() - 2);
      return is_plain(inside) ? inside : text;
    }
    const std::size_t end = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return text;
  }

  void value(std::size_t indent, Place place) {
    const char first = peek();
    if (first == '{') return object(indent, place);
    if (first == '[') return array(indent, place);
    short_value(scalar(), place);
  }

  void short_value(std::string_view text, Place place) {
    out_.append(place == Place::top ? "" : " ").append(text).append("\n");
  }

  void object(std::size_t indent, Place place) {
    take('{');
    if (take('}')) return short_value("{}", place);
    if (place == Place::behind_key) out_ += "\n";
    if (place == Place::behind_dash) out_ += " ";
    const std::size_t inner = indent + (place == Place::top ? 0 : 2);
    bool on_line = place == Place::behind_dash;  // the first member stands behind the dash
    do {
      if (!on_line) line_start(inner);
      on_line = false;
      out_.append(scalar()).append(":");
      take(':');
      value(inner, Place::behind_key);
    } while (take(','));
    take('}');
  }

  void array(std::size_t indent, Place place) {
    take('[');
    if (take(']')) return short_value("[]", place);
    if (place != Place::top) out_ += "\n";
    const std::size_t inner = indent + (place == Place::behind_dash ? 2 : 0);
    do {
      line_start(inner);
      out_ += "-";
      value(inner, Place::behind_dash);
    } while (take(','));
    take(']');
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::string yaml_of_json(std::string_view json) { return YamlWriter(json).write(); }

}  // namespace berth::cli
