// Reasons in words: the numbers of a core::Reason with the names they stand for.
#pragma once

#include <string>

#include "core/model/reason.h"
#include "service/board.h"

namespace berth::service {

struct ReasonWords {
  std::string code;     // "vram_short"
  std::string message;  // one sentence with the numbers in it
  std::string unit;
  std::string subject;  // the name of what binds; "": none
  bool never = false;
};

// Reads names from the board; call it under the view's lock. `own`: the task that the reason is
// given for, which need not be named to those who ask about it.
ReasonWords words_of(const core::Reason& reason, const Board& board, TaskNo own = TaskNo::none());

}  // namespace berth::service
