// See diagnostics.h.
#include "config/diagnostics.h"

#include <algorithm>
#include <utility>

namespace berth::config {
namespace {

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (std::uint32_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool printable(std::string_view line) {
  return std::ranges::none_of(line, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

}  // namespace

std::uint32_t Diagnostics::add_source(std::string name, std::string text) {
  sources_.push_back({std::move(name), std::move(text)});
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

void Diagnostics::error(Origin at, std::string message) {
  Diagnostic diagnostic{at, std::move(message)};
  if (std::ranges::find(kept_, diagnostic) != kept_.end()) return;
  ++count_;
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(diagnostic));
}

std::string Diagnostics::place(Origin at) const {
  std::string result = at.source < sources_.size() ? sources_[at.source].name : "input";
  if (at.line > 0) result += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  return result;
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> result = kept_;
  std::ranges::stable_sort(result, {}, &Diagnostic::at);
  return result;
}

std::string Diagnostics::text() const {
  std::string result;
  for (const Diagnostic& diagnostic : sorted()) {
    const Origin at = diagnostic.at;
    result += place(at) + ": " + diagnostic.message + "\n";
    if (at.source >= sources_.size() || at.line == 0) continue;
    const std::string_view line = line_of(sources_[at.source].text, at.line);
    constexpr std::size_t kLongestShown = 120;
    if (line.empty() || line.size() > kLongestShown || !printable(line)) continue;
    const std::string number = std::to_string(at.line);
    result += "    " + number + " | " + std::string(line) + "\n";
    const std::size_t before =
        std::min<std::size_t>(at.column > 0 ? at.column - 1 : 0, line.size());
    result += "    " + std::string(number.size(), ' ') + " | " + std::string(before, ' ') + "^\n";
  }
  if (count_ > kept_.size()) {
    result += "and " + std::to_string(count_ - kept_.size()) + " more\n";
  }
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestCompared = 64;
  if (word.empty() || word.size() > kLongestCompared) return {};
  std::string best;
  const std::size_t furthest = word.size() < 3   ? 0
                               : word.size() < 4 ? 1
                                                 : std::max<std::size_t>(2, word.size() / 3);
  std::size_t best_distance = furthest + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    std::size_t distance = edit_distance(word, candidate);
    // "llama" surely means "llama3-8b": a shared beginning counts as near.
    const bool shortened = word.size() >= 3 && candidate.starts_with(word);
    if (shortened) distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(word, candidates);
  if (!nearest.empty()) return "; did you mean " + quoted(nearest) + "?";
  constexpr std::size_t kFew = 8;
  if (candidates.empty() || candidates.size() > kFew) return {};
  std::string known;
  for (const std::string& candidate : candidates) {
    known += (known.empty() ? "; known: " : ", ") + quoted(candidate);
  }
  return known;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::size_t length = text.size();
  if (length > kLongest) {
    length = kLongest;
    // Never cut inside a UTF-8 sequence.
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U)
      --length;
  }
  std::string result = "\"";
  for (const char c : text.substr(0, length)) {
    if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      result += '?';
    } else {
      result += c;
    }
  }
  return result + (length < text.size() ? "…\"" : "\"");
}

}  // namespace berth::config
