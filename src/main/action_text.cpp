// See action_text.h.
#include "main/action_text.h"

#include <array>
#include <cstdio>

#include "base/json.h"
#include "cli/listing.h"
#include "journal/codec.h"
#include "sim/event_log.h"

namespace berth::main {
namespace {

std::string hex_bytes(journal::ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kDigits[value >> 4U];
    text += kDigits[value & 15U];
  }
  return text;
}

// SQLite gives blobs; people get their size.
std::string cell_text(const store::QueryCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* blob = std::get_if<std::vector<std::byte>>(&cell)) {
    return "(" + std::to_string(blob->size()) + " bytes)";
  }
  return "";
}

std::string csv_text(const store::QueryCell& cell) {
  std::string text = cell_text(cell);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void print_json(std::ostream& out, const store::QueryResult& result) {
  JsonWriter json;
  json.begin_array();
  for (const auto& row : result.rows) {
    json.begin_object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      json.key(result.columns[i]);
      if (std::holds_alternative<std::monostate>(row[i])) {
        json.null();
      } else {
        json.value(cell_text(row[i]));
      }
    }
    json.end_object();
  }
  json.end_array();
  out << json.text() << "\n";
}

void print_csv(std::ostream& out, const store::QueryResult& result) {
  for (std::size_t i = 0; i < result.columns.size(); ++i)
    out << (i == 0 ? "" : ",") << result.columns[i];
  out << "\n";
  for (const auto& row : result.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out << (i == 0 ? "" : ",") << csv_text(row[i]);
    out << "\n";
  }
}

void print_table(std::ostream& out, const store::QueryResult& result) {
  std::vector<cli::Column> columns;
  for (const std::string& name : result.columns)
    columns.push_back({name});
  cli::Listing listing(std::move(columns));
  for (const auto& row : result.rows) {
    std::vector<cli::Cell> cells;
    for (const store::QueryCell& cell : row)
      cells.emplace_back(cell_text(cell));
    listing.add(std::move(cells));
  }
  listing.print(out, {});
}

}  // namespace

std::string text_of(const core::Event& event) {
  journal::Writer bytes;
  journal::encode_event(bytes, event);
  return std::string(sim::name_of(event.body)) + " at " + std::to_string(event.now.ns) + " ns, " +
         hex_bytes(bytes.view());
}

std::string text_of(const core::Action& action) {
  journal::Writer bytes;
  journal::encode_action(bytes, action);
  return std::string(sim::name_of(action)) + ", " + hex_bytes(bytes.view());
}

std::string hex_text(std::uint64_t number) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

void print_rows(std::ostream& out, const store::QueryResult& result, const std::string& format) {
  if (format == "json") return print_json(out, result);
  if (format == "csv") return print_csv(out, result);
  print_table(out, result);
}

}  // namespace berth::main
