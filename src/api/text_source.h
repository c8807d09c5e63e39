// TextSource: the messages of another source as text, one by one.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "api/source.h"

namespace berth::api {

template <class Message>
class TextSource : public Source<std::string> {
 public:
  using Write = std::function<std::string(const Message&)>;
  // What a stream that ends badly says last; it has no other way to say it once it has begun.
  using LastWord = std::function<std::string(const Problem&)>;

  TextSource(SourcePtr<Message> from, Write write, LastWord last_word)
      : from_(std::move(from)), write_(std::move(write)), last_word_(std::move(last_word)) {}

  void wake_with(std::function<void()> wake) override { from_->wake_with(std::move(wake)); }

  Piece<std::string> pull() override {
    Piece<Message> piece = from_->pull();
    Piece<std::string> text{.ended = piece.ended || piece.problem, .more = piece.more};
    for (const Message& message : piece.messages)
      text.messages.push_back(write_(message));
    if (piece.problem && begun_) {
      text.messages.push_back(last_word_(*piece.problem));
    } else {
      text.problem = std::move(piece.problem);
    }
    begun_ = true;
    return text;
  }

 private:
  const SourcePtr<Message> from_;
  const Write write_;
  const LastWord last_word_;
  bool begun_ = false;
};

}  // namespace berth::api
