// fsck: looks at everything in a data folder and says what is wrong, how bad, and what to do.
//
// Changes nothing. While a server runs, what it is writing at that moment may look torn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/journal_reader.h"

namespace berth::store {

enum class Severity : std::uint8_t { harmless, torn_tail, damage };
std::string_view name_of(Severity severity);

struct FsckFinding {
  Severity severity = Severity::damage;
  std::string what;    // a sentence
  std::string where;   // the file or folder
  std::string repair;  // a sentence
};

struct FsckReport {
  std::vector<FsckFinding> findings;
  JournalScan journal;
  std::size_t snapshots = 0;       // whole ones
  std::uint64_t snapshot_seq = 0;  // of the newest whole one
  bool history = false;            // there is one
  int server_pid = 0;              // of the server that runs on the folder; 0: none

  // A server can start on it and nothing is lost.
  bool healthy() const;
  // The damage in one sentence each, for an error.
  std::string damage() const;
};

FsckReport fsck(const std::filesystem::path& data);

}  // namespace berth::store
