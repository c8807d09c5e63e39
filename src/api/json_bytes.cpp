// See json_bytes.h.
#include "api/json_bytes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/strutil.h>

#include "base/utf8.h"

namespace berth::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kDeepest = 100;  // as protobuf's own reader

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Reads the text once, strictly, beside the messages that it describes, and notes where values
// stand that bytes are to be made of. Each function says whether all was well so far.
class BytesFinder {
 public:
  explicit BytesFinder(std::string_view text) : text_(text) {}

  bool read(const Descriptor& type) {
    const bool good = object(&type, nullptr, 0);
    skip_space();
    return good && at_ == text_.size();
  }
  const std::vector<std::pair<std::size_t, std::size_t>>& found() const { return found_; }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (next() == ' ' || next() == '\n' || next() == '\r' || next() == '\t')
      ++at_;
  }

  // Of a message of this type, of a map whose values are that field, or of anything: both null.
  bool object(const Descriptor* type, const FieldDescriptor* values, int depth) {
    skip_space();
    if (depth > kDeepest || !take('{')) return false;
    skip_space();
    if (take('}')) return true;
    do {
      skip_space();
      const std::size_t begin = at_ + 1;
      if (!string()) return false;
      const std::string key(text_.substr(begin, at_ - begin - 1));
      skip_space();
      if (!take(':')) return false;
      if (!member(type == nullptr ? values : field_named(*type, key), type != nullptr, depth)) {
        return false;
      }
      skip_space();
    } while (take(','));
    return take('}');
  }

  static const FieldDescriptor* field_named(const Descriptor& type, const std::string& key) {
    const FieldDescriptor* field = type.FindFieldByName(key);
    return field != nullptr ? field : type.FindFieldByCamelcaseName(key);
  }

  // `whole`: the field itself, which may be a list or a map; else one value of it.
  bool member(const FieldDescriptor* field, bool whole, int depth) {
    skip_space();
    if (field == nullptr) return value(depth);
    if (whole && field->is_map() && next() == '{') {
      return object(nullptr, field->message_type()->map_value(), depth + 1);
    }
    if (whole && field->is_repeated() && next() == '[') return list(field, depth + 1);
    if (field->type() == FieldDescriptor::TYPE_MESSAGE && !field->is_map() && next() == '{') {
      return object(field->message_type(), nullptr, depth + 1);
    }
    const bool is_given = next() != '"' && next() != 'n';
    const std::size_t begin = at_;
    if (!value(depth)) return false;
    if (field->type() == FieldDescriptor::TYPE_BYTES && is_given) found_.emplace_back(begin, at_);
    return true;
  }

  bool list(const FieldDescriptor* items, int depth) {
    if (depth > kDeepest || !take('[')) return false;
    skip_space();
    if (take(']')) return true;
    do {
      if (!member(items, false, depth)) return false;
      skip_space();
    } while (take(','));
    return take(']');
  }

  bool value(int depth) {
    skip_space();
    switch (next()) {
      case '{':
        return object(nullptr, nullptr, depth + 1);
      case '[':
        return list(nullptr, depth + 1);
      case '"':
        return string();
      case 't':
        return take_word("true");
      case 'f':
        return take_word("false");
      case 'n':
        return take_word("null");
      default:
        return number();
    }
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size() && next() != '"') {
      if (static_cast<unsigned char>(next()) < 0x20) return false;
      if (!take('\\')) {
        ++at_;
      } else if (!escape()) {
        return false;
      }
    }
    return take('"');
  }
  bool escape() {
    if (!take('u')) {
      const bool is_known = std::string_view("\"\\/bfnrt").find(next()) != std::string_view::npos;
      ++at_;
      return is_known && at_ <= text_.size();
    }
    const std::string_view digits = text_.substr(at_, 4);
    at_ += digits.size();
    return digits.size() == 4 && std::ranges::all_of(digits, is_hex);
  }

  bool digits() {
    const std::size_t begin = at_;
    while (is_digit(next()))
      ++at_;
    return at_ > begin;
  }
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (is_digit(next())) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> found_;
};

std::string base64(std::string_view bytes) {
  std::string encoded;
  google::protobuf::Base64Escape(google::protobuf::StringPiece(bytes.data(), bytes.size()),
                                 &encoded);
  return encoded;
}

}  // namespace

std::string with_encoded_bytes(std::string_view json, const Descriptor& type) {
  BytesFinder finder(json);
  if (!is_utf8(json) || !finder.read(type)) return std::string(json);
  std::string out;
  std::size_t copied = 0;
  for (const auto& [begin, end] : finder.found()) {
    out += json.substr(copied, begin - copied);
    out += '"' + base64(json.substr(begin, end - begin)) + '"';
    copied = end;
  }
  return out += json.substr(copied);
}

}  // namespace berth::api
