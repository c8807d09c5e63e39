// Events, actions and query rows as text, for commands that work on a data folder.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "core/action.h"
#include "core/event.h"
#include "store/history.h"

namespace berth::main {

// The kind, its main numbers, and its canonical bytes in hex: enough to see how two differ.
std::string text_of(const core::Event& event);
std::string text_of(const core::Action& action);
std::string hex_text(std::uint64_t number);

// format: table, csv or json.
void print_rows(std::ostream& out, const store::QueryResult& result, const std::string& format);

}  // namespace berth::main
