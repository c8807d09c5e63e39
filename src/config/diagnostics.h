// Diagnostics: what is wrong with an input, where, and what was meant instead.
//
// A source is a file or one `--set` of the command line; an Origin is a place in it. Readers report
// every error they find and go on, so that one run shows them all, in the order of the input. The
// collector knows nothing of TOML or of any key.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::config {

struct Notes;

// A place in a source. Line 0: the source as a whole.
struct Origin {
  std::uint32_t source = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const Origin&) const = default;
};

struct Diagnostic {
  Origin at;
  std::string message;
  bool operator==(const Diagnostic&) const = default;
};

class Diagnostics {
 public:
  // Errors beyond this many are counted, not kept.
  static constexpr std::size_t kMaxKept = 100;

  // Returns the number by which an Origin names the source. `text` is shown beside its errors.
  std::uint32_t add_source(std::string name, std::string text = {});

  void error(Origin at, std::string message);

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  const std::string& source_name(std::uint32_t source) const { return sources_.at(source).name; }

  // "file:line:column", or the source's name alone.
  std::string place(Origin at) const;

  // From now on the readers also note what they ask for; null: they do not.
  void note_in(Notes* notes) { notes_ = notes; }
  Notes* notes() { return notes_; }

  // Sorted by position, without repetitions.
  std::vector<Diagnostic> sorted() const;

  // One paragraph per error ("file:line:column: message", then the line itself), then a count.
  std::string text() const;

 private:
  struct Source {
    std::string name;
    std::string text;
  };

  std::vector<Source> sources_;
  std::vector<Diagnostic> kept_;
  std::size_t count_ = 0;
  Notes* notes_ = nullptr;
};

// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, or "" if none is near enough to have been meant.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// `; did you mean "x"?` when a candidate is near; else `; known: "a", "b"` when they are few; else
// "".
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

// The text in quotes, control characters escaped, cut after 60 characters.
std::string quoted(std::string_view text);

}  // namespace berth::config
