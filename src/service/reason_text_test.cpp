// What reasons say to people: numbers that are a limit are called one.
#include "service/reason_text.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace berth::service::reason_text_test {
namespace {

using enum core::ReasonCode;

std::string message(core::ReasonCode code, std::int64_t need, std::int64_t have) {
  const Board board;
  return words_of({.code = code, .need = need, .have = have}, board, {}).message;
}

TEST(ReasonText, ALimitIsCalledALimit) {
  EXPECT_EQ(message(queue_full, 3, 2),
            "the queue's max_queue_size is reached: 3 tasks, and the limit is 2 tasks");
  EXPECT_EQ(message(group_at_limit, 3, 2),
            "its array has as many tasks at once as it may: 3 tasks, and the limit is 2 tasks");
  EXPECT_EQ(message(waited_too_long, seconds(12).ns, seconds(10).ns),
            "waited past its tolerated wait: 12 s, and the limit is 10 s");
  EXPECT_EQ(message(poison_held, 3, 5),
            "held: it failed in the same way again and again: 3 failures, and the limit is 5 "
            "failures");
}

TEST(ReasonText, WhatThereIsIsNotALimit) {
  EXPECT_EQ(message(vram_short, 2048, 1024),
            "no GPU has enough free VRAM: needs 2048 MiB, has 1024 MiB");
  EXPECT_EQ(message(behind_in_order, 1, 0), "others come first in the order: 1 task");
}

// Nothing is "had" of costs, nor of failures.
TEST(ReasonText, CostsAndFailuresAreToldInTheirOwnWords) {
  EXPECT_EQ(message(load_not_worth, seconds(8).ns, seconds(2).ns),
            "loading the model now would cost more than it brings: it costs 8 s and saves 2 s");
  EXPECT_EQ(message(models_in_the_way, seconds(8).ns, 0),
            "idle models for which work is predicted have the VRAM: 8 s of work");
  EXPECT_EQ(message(load_failed, 2, 0),
            "the model failed to load; it is tried again later: 2 loads failed");
}

}  // namespace
}  // namespace berth::service::reason_text_test
