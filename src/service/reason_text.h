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

// Whom the words are for. A task of another tenant is to them no more than "other work".
struct ReasonFor {
  TaskNo own;       // the task that the reason is about: it need not be named
  TenantId tenant;  // none: one who sees all tenants
};

// 250 ms, 2.5 s, 59 min 30 s, 26 h 5 min
std::string time_words(Duration time);

// Reads names from the board; call it under the view's lock.
ReasonWords words_of(const core::Reason& reason, const Board& board, const ReasonFor& whom = {});

}  // namespace berth::service
