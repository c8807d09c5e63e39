// Incoming: a message as a gRPC client sent it, whether it can be read or not.
//
// gRPC answers bytes that are no such message with UNIMPLEMENTED and nothing else, and takes them
// for the end of a stream. So they are taken as they come, and the method says what is wrong with
// them.
#pragma once

#include <string>

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include "api/problem.h"

namespace berth::api {

template <class Message>
struct Incoming {
  Message message;
  bool is_readable = false;

  static Problem unreadable() {
    return {.code = Code::invalid_argument,
            .reason = "bad_message",
            .message = "the message is not a " + Message::descriptor()->name() +
                       " in protobuf, or a text in it is not UTF-8; was it made from another "
                       ".proto file than this server's?"};
  }
};

}  // namespace berth::api

namespace grpc {

template <class Message>
class SerializationTraits<berth::api::Incoming<Message>, void> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): gRPC's name
  static Status Deserialize(ByteBuffer* bytes, berth::api::Incoming<Message>* incoming) {
    incoming->is_readable =
        SerializationTraits<Message>::Deserialize(bytes, &incoming->message).ok();
    return Status::OK;
  }
};

}  // namespace grpc
