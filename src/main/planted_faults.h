// Planted faults: what BERTH_FAULT lets fail, or die, for the fault tests.
//
// Two files define this: planted_faults.cpp plants them, and only `berth_faulty` links it;
// no_planted_faults.cpp refuses, and that is what users run. Nothing else may arm a fault, so the
// linker leaves the means to do it out of `berth`; the lint of the binary proves that.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "main/server.h"

namespace berth::main {

// What BERTH_FAULT says; not empty. Returns a sentence for the log.
Result<std::string> plant_faults(std::string_view text, ServerTrials& trials);

}  // namespace berth::main
