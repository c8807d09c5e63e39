// Texts for people: ages, instants, sizes, and strangers' text made safe for a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cli {

std::string age_text(std::int64_t ms);           // 0s, 12s, 3m12s, 2h05m, 4d03h
std::string time_text(std::int64_t ms);          // 250ms, 2.3s, then as an age
std::string instant_text(std::int64_t unix_ms);  // 2026-11-15 12:03:04Z
std::string bytes_text(std::uint64_t bytes);     // 812 B, 3.4 MiB

// "2026-11-15T12:00:00Z", a fraction of the second or an offset (+02:00) allowed.
std::optional<std::int64_t> parse_instant(std::string_view text);

// As one word of a shell's command line: in quotes where it needs them.
std::string shell_word(std::string_view text);

// Control characters and bytes that are not UTF-8 as \x1b, so that no text moves the cursor.
std::string harmless(std::string_view text);

}  // namespace berth::cli
