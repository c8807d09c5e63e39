// See document.h.
#include "main/document.h"

#include "cli/yaml.h"

namespace berth::main {
namespace {

std::string format_of(const cli::Call& call) { return call.args.value("-o").value_or("table"); }

}  // namespace

bool has_good_format(const cli::Call& call) {
  const std::string format = format_of(call);
  if (format == "table" || format == "json" || format == "yaml") return true;
  cli::bad_usage(call, "-o: expected table, json or yaml, found \"" + format + "\"");
  return false;
}

bool wants_document(const cli::Call& call) { return format_of(call) != "table"; }

void print_document(const cli::Call& call, const JsonWriter& json) {
  if (format_of(call) == "yaml")
    call.console.out << cli::yaml_of_json(json.text());
  else
    call.console.out << json.text() << "\n";
}

}  // namespace berth::main
