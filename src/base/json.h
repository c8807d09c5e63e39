// JsonWriter: writes JSON into a string, commas and quotes seen to. The only place of the source
// that quotes JSON; protobuf writes that of its messages. Knows nothing of what it writes.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

class JsonWriter {
 public:
  // indent 0: all on one line.
  explicit JsonWriter(int indent = 2) : indent_(indent) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // up to six places after the point; not finite: null
  JsonWriter& value(bool boolean);
  JsonWriter& null();
  template <std::integral T>
  JsonWriter& value(T number) {
    return raw(std::to_string(number));
  }
  // A value that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }
  // A member that is a list of texts or numbers.
  template <class Items>
  JsonWriter& members(std::string_view name, const Items& items) {
    key(name).begin_array();
    for (const auto& item : items)
      value(item);
    return end_array();
  }

  const std::string& text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void before_value();
  void new_line();

  int indent_;
  std::string text_;
  std::vector<bool> has_items_;
  bool after_key_ = false;
};

// The text as a JSON string, quotes included. Control characters are written as \u00XX; a byte that
// is no UTF-8 becomes U+FFFD; the rest goes through as it is.
std::string json_quoted(std::string_view text);

// "0.5", "12", "3.142857": no more than six places, no zeros at the end.
std::string decimal(double number, int places = 6);

}  // namespace berth
