// See compare.h.
#include "tests/scenarios/compare.h"

#include <algorithm>
#include <sstream>

namespace berth::scenario {
namespace {

struct Line {
  std::string text;
  std::string words;  // what is compared
};

std::vector<Line> lines_of(const std::vector<std::string>& texts) {
  std::vector<Line> lines;
  for (const std::string& text : texts) {
    Line line{text, ""};
    std::istringstream in(text);
    for (std::string word; in >> word;)
      line.words += word + " ";
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::string difference(const std::vector<std::string>& expected,
                       const std::vector<std::string>& real) {
  const std::vector<Line> a = lines_of(expected);
  const std::vector<Line> b = lines_of(real);
  // common[i][j]: the most lines that the rests from i and j have in common.
  std::vector<std::vector<std::size_t>> common(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i].words == b[j].words ? common[i + 1][j + 1] + 1
                                              : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  bool differs = false;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i].words == b[j].words) {
      text += "    " + b[j].text + "\n";
      ++i, ++j;
      continue;
    }
    differs = true;
    const bool is_missing = j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1]);
    text += is_missing ? "  - " + a[i++].text + "\n" : "  + " + b[j++].text + "\n";
  }
  return differs ? text : "";
}

}  // namespace berth::scenario
