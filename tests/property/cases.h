// Runs a property over many random cases and shows the smallest one that breaks it.
//
// The seed is fixed, so that the ordinary test is the same everywhere; BERTH_SEED chooses another
// and BERTH_LONG=1 runs many more cases. An ASSERT of the engine counts as a failure of the case
// and is shrunk like any other.
#pragma once

#include <functional>
#include <string>

#include "tests/property/world.h"

namespace berth::property {

struct CaseOptions {
  int cases = 100;     // in the ordinary run
  int commands = 150;  // of the longest cases
};

// Calls property(case) for each; it throws, with a sentence, when the property does not hold.
void for_cases(const CaseOptions& options, const std::function<void(const Case&)>& property);

// Throws with the history up to its last step and the sentence.
[[noreturn]] void fail(const std::vector<Step>& steps, const std::string& sentence);

// Runs the world; whatever breaks is thrown with its history.
void run_world(World& world);

bool is_long_run();

}  // namespace berth::property
