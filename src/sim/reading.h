// The words of config/ that the readers of a scenario use all the time, under their plain names.
#pragma once

#include "config/diagnostics.h"
#include "config/document.h"
#include "config/fields.h"
#include "config/files.h"
#include "config/quantity.h"
#include "config/sections.h"

namespace berth::sim {

using config::Diagnostic;
using config::Diagnostics;
using config::Entry;
using config::NameBook;
using config::Node;
using config::NumberNode;
using config::NumberType;
using config::Origin;
using config::ReadFile;
using config::TableReader;

using config::durations;
using config::integers;
using config::memory_amounts;
using config::millionths;
using config::thousandths;
using config::vram_amounts;

using config::kLongestRun;
using config::kLongestTime;

using config::describe;
using config::duration_text;
using config::expectation;
using config::quoted;
using config::suggestion;
using config::vram_text;

}  // namespace berth::sim
