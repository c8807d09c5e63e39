// See proto_comments.h.
#include "api/proto_comments.h"

#include <string_view>

#include <google/protobuf/descriptor.pb.h>

#include "base/assert.h"

namespace berth::api {

extern const std::string_view kApiDescriptors;  // a FileDescriptorSet, with source info

namespace {

using google::protobuf::DescriptorPool;

// The same descriptors as those of generated code, which carry no comments.
const DescriptorPool& commented() {
  static const DescriptorPool* const kPool = [] {
    google::protobuf::FileDescriptorSet files;
    const bool good =
        files.ParseFromArray(kApiDescriptors.data(), static_cast<int>(kApiDescriptors.size()));
    ASSERT(good);
    auto* pool = new DescriptorPool;
    for (const auto& file : files.file())
      pool->BuildFile(file);
    return pool;
  }();
  return *kPool;
}

void add_on_one_line(std::string_view comment, std::string& out) {
  for (const char c : comment) {
    const bool is_space = c == ' ' || c == '\n';
    if (is_space && (out.empty() || out.back() == ' ')) continue;
    out += is_space ? ' ' : c;
  }
  if (!out.empty() && out.back() != ' ') out += ' ';
}

template <class Commented>
std::string comment_in(const Commented* twin) {
  google::protobuf::SourceLocation place;
  if (twin == nullptr || !twin->GetSourceLocation(&place)) return "";
  std::string out;
  add_on_one_line(place.leading_comments, out);
  add_on_one_line(place.trailing_comments, out);
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace

std::string comment_of(const google::protobuf::Descriptor& message) {
  return comment_in(commented().FindMessageTypeByName(message.full_name()));
}
std::string comment_of(const google::protobuf::FieldDescriptor& field) {
  return comment_in(commented().FindFieldByName(field.full_name()));
}
std::string comment_of(const google::protobuf::EnumDescriptor& type) {
  return comment_in(commented().FindEnumTypeByName(type.full_name()));
}
std::string comment_of(const google::protobuf::EnumValueDescriptor& value) {
  return comment_in(commented().FindEnumValueByName(value.full_name()));
}

}  // namespace berth::api
