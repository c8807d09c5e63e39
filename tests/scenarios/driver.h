// Plays a script: the engine in virtual time, and agents that do what they are told.
//
// At one instant timers come first, then the agents' reports, then the script's lines. A batch ends
// after the time the engine expects, or after the longest `takes` of its tasks; a model is loaded
// after the time the engine expects, or its own `takes`. Agents report a start at once and obey a
// stop at once, or after the `stops` of the task. After every step the engine's invariants are
// checked.
#pragma once

#include <string>
#include <vector>

#include "tests/scenarios/script.h"

namespace berth::scenario {

struct Played {
  std::vector<std::string> log;
  std::vector<std::string> faults;  // broken invariants and the like; never part of a log
};

Played play(const Script& script);

}  // namespace berth::scenario
