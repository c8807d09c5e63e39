// See script_words.h.
#include "cli/script_words.h"

namespace berth::cli {

std::optional<std::vector<std::string>> words_of_line(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  const auto add = [&](char c) {
    if (!in_word) words.emplace_back();
    in_word = true;
    words.back() += c;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < line.size();
    if (escapes) {
      add(line[++i]);
    } else if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else
        add(c);
    } else if (c == '"' || c == '\'') {
      quote = c;
      if (!in_word) words.emplace_back();
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else {
      add(c);
    }
  }
  if (quote != '\0') return std::nullopt;
  return words;
}

}  // namespace berth::cli
