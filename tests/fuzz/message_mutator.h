// Changes protobuf messages by their descriptors, one field at a time, so that almost every input
// is a message. Numbers are often small or at the ends of their range; texts are often names that
// the target knows. The same seed makes the same change.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "journal/testing/random_values.h"

namespace berth::fuzz {

using journal::testing::Random;

class MessageMutator {
 public:
  MessageMutator(Random& random, std::vector<std::string> words)
      : random_(random), words_(std::move(words)) {}

  void change(google::protobuf::Message& message) {
    const auto* type = message.GetDescriptor();
    if (type->field_count() == 0) return;
    const auto* reflection = message.GetReflection();
    const auto* field = type->field(pick(type->field_count()));
    // Another alternative would throw away the one there is.
    const auto* choice = field->real_containing_oneof();
    if (choice != nullptr && reflection->HasOneof(message, choice) && random_.below(8) != 0) {
      field = reflection->GetOneofFieldDescriptor(message, choice);
    }
    if (field->is_repeated()) return change_list(message, field);
    if (field->message_type() == nullptr) return set(message, field);
    if (reflection->HasField(message, field) && random_.below(6) == 0) {
      return reflection->ClearField(&message, field);
    }
    change(*reflection->MutableMessage(&message, field));
  }

 private:
  using Field = google::protobuf::FieldDescriptor;

  int pick(int count) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(count))); }

  std::uint64_t number() {
    switch (random_.below(8)) {
      case 0:
        return random_.next();
      case 1:
        return std::numeric_limits<std::uint64_t>::max() - random_.below(3);
      case 2:
        return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) +
               random_.below(3) - 1;
      case 3:
        return std::uint64_t{1} << random_.below(64);
      case 4:
        return random_.below(100'000);
      default:
        return random_.below(5);
    }
  }
  std::string text() {
    constexpr std::size_t kLongest = 300;
    if (random_.below(8) != 0) return words_[random_.below(words_.size())];
    return std::string(random_.below(kLongest), static_cast<char>(random_.below(128)));
  }

  void change_list(google::protobuf::Message& message, const Field* field) {
    constexpr int kMany = 20;
    const auto* reflection = message.GetReflection();
    const int size = reflection->FieldSize(message, field);
    if (size == 0 || (size < kMany && random_.below(3) == 0)) return add(message, field);
    if (random_.below(4) == 0) return reflection->RemoveLast(&message, field);
    if (random_.below(4) == 0) {
      return reflection->SwapElements(&message, field, pick(size), pick(size));
    }
    if (field->message_type() == nullptr) return add(message, field);
    change(*reflection->MutableRepeatedMessage(&message, field, pick(size)));
  }

  void set(google::protobuf::Message& message, const Field* field) {
    const auto* to = message.GetReflection();
    switch (field->cpp_type()) {
      case Field::CPPTYPE_INT32:
        return to->SetInt32(&message, field, static_cast<std::int32_t>(number()));
      case Field::CPPTYPE_INT64:
        return to->SetInt64(&message, field, static_cast<std::int64_t>(number()));
      case Field::CPPTYPE_UINT32:
        return to->SetUInt32(&message, field, static_cast<std::uint32_t>(number()));
      case Field::CPPTYPE_UINT64:
        return to->SetUInt64(&message, field, number());
      case Field::CPPTYPE_BOOL:
        return to->SetBool(&message, field, random_.below(2) == 1);
      case Field::CPPTYPE_ENUM:
        return to->SetEnumValue(&message, field, pick(8));
      case Field::CPPTYPE_STRING:
        return to->SetString(&message, field, text());
      default:
        return;
    }
  }
  void add(google::protobuf::Message& message, const Field* field) {
    const auto* to = message.GetReflection();
    switch (field->cpp_type()) {
      case Field::CPPTYPE_UINT64:
        return to->AddUInt64(&message, field, number());
      case Field::CPPTYPE_ENUM:
        return to->AddEnumValue(&message, field, pick(8));
      case Field::CPPTYPE_STRING:
        return to->AddString(&message, field, text());
      case Field::CPPTYPE_MESSAGE:
        return change(*to->AddMessage(&message, field));
      default:
        return;
    }
  }

  Random& random_;
  std::vector<std::string> words_;
};

}  // namespace berth::fuzz
