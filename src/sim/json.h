// The writer of JSON by the names under which the shell's commands know it. New code includes
// base/json.h.
#pragma once

#include "base/json.h"

namespace berth::sim {

using berth::decimal;
using berth::JsonWriter;

}  // namespace berth::sim
