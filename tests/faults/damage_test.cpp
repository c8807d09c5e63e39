// Damage on disk: single bytes flipped anywhere in journal, snapshot and history are found or
// harmless; another behaviour of the core changes nothing that runs.
#include <cstdio>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "journal/crc32c.h"
#include "journal/group.h"
#include "service/replay_check.h"
#include "service/replayer.h"
#include "service/testing/running_service.h"
#include "store/fsck.h"
#include "store/history.h"
#include "store/journal.h"
#include "store/layout.h"
#include "tests/support/server_process.h"

namespace berth::faults::damage_test {
namespace {

using service::testing::new_task;
using service::testing::RunningService;

std::vector<std::filesystem::path> files_in(const std::filesystem::path& data) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
    const std::string name = entry.path().filename().string();
    const bool counts = entry.is_regular_file() && entry.file_size() > 0 && name != "lock";
    if (counts && !name.ends_with("-shm")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void flip(const std::filesystem::path& path, std::uint64_t at, unsigned char mask) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ mask));
}

// All that a folder means: the recovered state and every row of the history.
struct Meaning {
  std::vector<std::byte> state;
  std::vector<store::EndedTask> rows;
  bool operator==(const Meaning&) const = default;
};

std::optional<Meaning> meaning_of(const std::filesystem::path& data) {
  auto recovered = service::recover(data, minutes(24 * 60), UINT64_MAX,
                                    [](auto&&, const auto&) -> Status { return Done{}; });
  if (!recovered || !recovered->remarks.empty()) return std::nullopt;
  Meaning meaning;
  meaning.state = recovered->replayer.snapshot();
  const auto history = store::HistoryReader::open(store::history_path(data));
  if (!history) return std::nullopt;
  store::HistoryFilter filter;
  filter.limit = 100'000;
  filter.bodies = true;
  const auto page = (*history)->list(filter);
  if (!page) return std::nullopt;
  meaning.rows = page->tasks;
  return meaning;
}

class Damage : public ::testing::Test {
 protected:
  Damage() {
    service::ServiceOptions options;
    options.segment_bytes = 1U << 16U;
    options.snapshot_every_events = 200;
    options.journal_retention = Duration{0};
    RunningService running(data(), options);
    EXPECT_EQ(running.error, "");
    for (int i = 0; i < 150; ++i)
      running.submit(new_task("task " + std::to_string(i)));
    running.settle();
    running.control(service::SetQueuePaused{"llm", true});
    for (int i = 150; i < 200; ++i)
      running.submit(new_task("task " + std::to_string(i)));
  }
  std::filesystem::path data() const { return folder_.path() / "data"; }
  support::TempFolder folder_;
};

TEST_F(Damage, OfSingleBytesIsFoundOrHarmless) {
  const std::optional<Meaning> intact = meaning_of(data());
  ASSERT_TRUE(intact.has_value());
  ASSERT_TRUE(store::fsck(data()).healthy()) << store::fsck(data()).damage();
  const std::vector<std::filesystem::path> files = files_in(data());
  std::mt19937_64 random(3);
  std::map<std::string, std::pair<int, int>> counts;  // found, harmless by kind of file
  const int flips = support::rounds(2'000, 10'000);
  for (int i = 0; i < flips; ++i) {
    const std::filesystem::path& file = files[random() % files.size()];
    const std::uint64_t at = random() % std::filesystem::file_size(file);
    const auto mask = static_cast<unsigned char>(1U << (random() % 8));
    flip(file, at, mask);
    const bool found = !store::fsck(data()).findings.empty();
    auto& count = counts[file.extension().string()];
    ++(found ? count.first : count.second);
    if (!found) {
      ASSERT_EQ(meaning_of(data()), intact)
          << "a flip of byte " << at << " of " << file << " was not noticed";
    }
    flip(file, at, mask);
  }
  for (const auto& [kind, count] : counts)
    std::printf("%-8s found %d, harmless %d\n", kind.c_str(), count.first, count.second);
  EXPECT_EQ(meaning_of(data()), intact);
}

// Rewrites every group as if another version of the core had decided it.
void change_behaviour(const std::filesystem::path& segment) {
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  file.clear();
  std::size_t at = store::kSegmentHeaderSize;
  while (true) {
    const auto rest = std::as_writable_bytes(std::span(bytes)).subspan(at);
    const journal::ParsedGroup parsed = journal::parse_group(rest);
    if (parsed.status != journal::GroupStatus::intact) break;
    journal::store_le(rest.data() + 44, core::kBehaviour + 1);
    journal::store_le(rest.data() + 52, journal::crc32c(rest.first(52)));
    at += parsed.group.size();
  }
  file.seekp(0);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST_F(Damage, AnotherBehaviourChangesNothingThatRuns) {
  const std::optional<Meaning> before = meaning_of(data());
  ASSERT_TRUE(before.has_value());
  const auto numbers = store::segment_numbers(store::journal_folder(data()));
  ASSERT_TRUE(numbers.ok());
  for (const std::uint64_t number : *numbers)
    change_behaviour(store::segment_path(store::journal_folder(data()), number));
  EXPECT_EQ(meaning_of(data()), before);
  const auto replayed = service::replay(data());
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  EXPECT_EQ(replayed->applied_groups, replayed->groups);
  EXPECT_FALSE(replayed->difference.has_value());
  EXPECT_TRUE(replayed->ledger_agrees());
  RunningService again(data());
  ASSERT_EQ(again.error, "");
  EXPECT_EQ(again.service().view().read([](const service::Board& b) { return b.tasks().size(); }),
            50U);
}

}  // namespace
}  // namespace berth::faults::damage_test
