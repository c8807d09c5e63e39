// See json.h.
#include "sim/json.h"

#include <cmath>
#include <cstdio>

namespace berth::sim {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
      result += buffer;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string decimal(double number, int places) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.*f", places, number);
  std::string result = buffer;
  if (result.find('.') != result.npos) {
    while (result.ends_with('0'))
      result.pop_back();
    if (result.ends_with('.')) result.pop_back();
  }
  return result == "-0" ? "0" : result;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  text_ += json_string(name) + (indent_ > 0 ? ": " : ":");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) { return raw(json_string(text)); }
JsonWriter& JsonWriter::value(bool boolean) { return raw(boolean ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return raw("null"); }
JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(decimal(number)) : null();
}

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  text_ += bracket;
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) new_line();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view token) {
  before_value();
  text_ += token;
  return *this;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) text_ += ',';
  has_items_.back() = true;
  new_line();
}

void JsonWriter::new_line() {
  if (indent_ == 0) return;
  text_ += '\n';
  text_.append(has_items_.size() * static_cast<std::size_t>(indent_), ' ');
}

}  // namespace berth::sim
