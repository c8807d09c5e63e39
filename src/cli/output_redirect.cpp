// See output_redirect.h.
#include "cli/output_redirect.h"

#include <string_view>

#include "config/diagnostics.h"

namespace berth::cli {
namespace {

std::string in_single_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The name as one word for sh.
Result<std::string> file_word(std::string_view name, const std::string& group) {
  std::string word;
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      plain += name[i];
      continue;
    }
    const char letter = i + 1 < name.size() ? name[++i] : '\0';
    std::string variable;
    if (letter == '%')
      plain += '%';
    else if (letter == 'x')
      plain += group.empty() ? "berth" : group;
    else if (letter == 'j' || letter == 'A')
      variable = "\"$BERTH_TASK_ID\"";
    else if (letter == 'a')
      variable = "\"$BERTH_ARRAY_INDEX\"";
    else if (letter == 'u')
      variable = "\"$USER\"";
    else if (letter == 't')
      variable = "\"${RANK:-0}\"";
    else
      return Error{"in " + config::quoted(name) + " only %j, %A, %a, %x, %u, %t and %% are known"};
    if (variable.empty()) continue;
    word += in_single_quotes(plain) + variable;
    plain.clear();
  }
  return word + in_single_quotes(plain);
}

}  // namespace

Result<v1::Command> redirected(const v1::Command& command, const std::string& output,
                               const std::string& error, const std::string& group) {
  std::string line = "exec \"$@\"";
  if (!output.empty()) {
    const auto word = file_word(output, group);
    if (!word) return Error{"--output: " + word.error().message};
    line += " >>" + *word + (error.empty() ? " 2>&1" : "");
  }
  if (!error.empty()) {
    const auto word = file_word(error, group);
    if (!word) return Error{"--error: " + word.error().message};
    line += " 2>>" + *word;
  }
  v1::Command whole;
  for (const std::string& word :
       {std::string("/bin/sh"), std::string("-c"), line, std::string("sh")})
    whole.add_argv(word);
  for (const std::string& word : command.argv())
    whole.add_argv(word);
  return whole;
}

}  // namespace berth::cli
