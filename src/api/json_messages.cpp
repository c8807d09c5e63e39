// See json_messages.h.
#include "api/json_messages.h"

#include <algorithm>
#include <charconv>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include "api/json_bytes.h"
#include "base/utf8.h"

namespace berth::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr const char* kNotUtf8 = "is not text in UTF-8";

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return text;
}

template <class Number>
bool parse(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end && !text.empty();
}

Problem bad(std::string_view path, std::string flaw) {
  return bad_field(std::string(path), std::move(flaw));
}

// Sets a scalar, or adds one to a list.
template <class Value, class Set, class Add>
void put(Message& message, const FieldDescriptor* field, const Value& value, Set set, Add add) {
  const auto* reflection = message.GetReflection();
  if (field->is_repeated()) {
    (reflection->*add)(&message, field, value);
  } else {
    (reflection->*set)(&message, field, value);
  }
}

template <class Number, class Set, class Add>
std::optional<Problem> put_number(Message& message, const FieldDescriptor* field,
                                  std::string_view path, const std::string& text, Set set,
                                  Add add) {
  Number number{};
  if (!parse(text, number)) return bad(path, "\"" + text + "\" is not a number it can hold");
  put(message, field, number, set, add);
  return std::nullopt;
}

std::optional<Problem> put_enum(Message& message, const FieldDescriptor* field,
                                std::string_view path, const std::string& text) {
  const auto* type = field->enum_type();
  const auto* value = type->FindValueByName(upper(text));
  if (value == nullptr) return bad(path, "\"" + text + "\" is none of its values");
  put(message, field, value, &google::protobuf::Reflection::SetEnum,
      &google::protobuf::Reflection::AddEnum);
  return std::nullopt;
}

std::optional<Problem> put_scalar(Message& message, const FieldDescriptor* field,
                                  std::string_view path, const std::string& text) {
  using R = google::protobuf::Reflection;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (!is_utf8(text)) return bad(path, kNotUtf8);
      put(message, field, text, &R::SetString, &R::AddString);
      return std::nullopt;
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (!text.empty() && text != "true" && text != "1" && text != "false" && text != "0") {
        return bad(path, "must be true or false");
      }
      put(message, field, text != "false" && text != "0", &R::SetBool, &R::AddBool);
      return std::nullopt;
    }
    case FieldDescriptor::CPPTYPE_ENUM:
      return put_enum(message, field, path, text);
    case FieldDescriptor::CPPTYPE_INT32:
      return put_number<std::int32_t>(message, field, path, text, &R::SetInt32, &R::AddInt32);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put_number<std::uint32_t>(message, field, path, text, &R::SetUInt32, &R::AddUInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put_number<std::int64_t>(message, field, path, text, &R::SetInt64, &R::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put_number<std::uint64_t>(message, field, path, text, &R::SetUInt64, &R::AddUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put_number<double>(message, field, path, text, &R::SetDouble, &R::AddDouble);
    default:
      return bad(path, "cannot be given as a query parameter; use a body");
  }
}

std::optional<Problem> put_in_map(Message& message, const FieldDescriptor* field,
                                  std::string_view path, std::string_view key,
                                  const std::string& value) {
  const FieldDescriptor* value_field = field->message_type()->map_value();
  if (key.empty() || value_field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return bad(path, "is a map: give it as " + std::string(path) + ".KEY=VALUE");
  }
  if (!is_utf8(key) || !is_utf8(value)) return bad(path, kNotUtf8);
  Message* entry = message.GetReflection()->AddMessage(&message, field);
  entry->GetReflection()->SetString(entry, field->message_type()->map_key(), std::string(key));
  entry->GetReflection()->SetString(entry, value_field, value);
  return std::nullopt;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string json_of(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  // It fails only for text that is not UTF-8, which no message of ours can hold.
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : "{}";
}

std::optional<Problem> read_json(std::string_view json, Message& message) {
  google::protobuf::util::JsonParseOptions options;
  const auto status = google::protobuf::util::JsonStringToMessage(
      with_encoded_bytes(json, *message.GetDescriptor()), &message, options);
  if (status.ok()) return std::nullopt;
  return Problem{.code = Code::invalid_argument,
                 .reason = "bad_json",
                 .message = "the body is not a " + message.GetDescriptor()->name() + " in JSON: " +
                            std::string(status.message().data(), status.message().size())};
}

std::optional<Problem> set_field(Message& message, std::string_view path,
                                 const std::string& value) {
  Message* at = &message;
  std::string_view rest = path;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string name(rest.substr(0, dot));
    const FieldDescriptor* field = at->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr && at == &message) {
      // "group" for "filter.group".
      const FieldDescriptor* filter = at->GetDescriptor()->FindFieldByName("filter");
      if (filter != nullptr && filter->message_type()->FindFieldByName(name) != nullptr) {
        at = at->GetReflection()->MutableMessage(at, filter);
        continue;
      }
    }
    if (field == nullptr) {
      return bad(path, "there is no such parameter for " + message.GetDescriptor()->name());
    }
    const std::string_view below = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
    if (field->is_map()) return put_in_map(*at, field, path, below, value);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!below.empty()) return bad(path, "there is no such parameter");
      return put_scalar(*at, field, path, value);
    }
    if (below.empty() || field->is_repeated()) {
      return bad(path, "cannot be given as a query parameter; use a body");
    }
    at = at->GetReflection()->MutableMessage(at, field);
    rest = below;
  }
}

std::string percent_decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

Parameters query_parameters(std::string_view query) {
  Parameters parameters;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view one = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : one.substr(equals + 1);
    parameters.emplace_back(percent_decoded(one.substr(0, equals), true),
                            percent_decoded(value, true));
  }
  return parameters;
}

}  // namespace berth::api
