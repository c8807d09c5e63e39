// JournalFeed: groups of random events, actions and notes in the right order, for the store's
// tests. Remembers each group and where it went, so that a scan can be compared with what was
// appended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "journal/group.h"
#include "journal/testing/random_values.h"
#include "store/journal.h"

namespace berth::store::testing {

struct FedGroup {
  GroupAt at;
  std::uint64_t seq = 0;
  std::uint32_t events = 0;
  std::vector<std::byte> bytes;
  BytesAt note;
  std::vector<std::byte> note_bytes;
  JournalEnd end_after;
};

class JournalFeed {
 public:
  explicit JournalFeed(JournalOptions options, JournalEnd end = {}, std::uint64_t seed = 1)
      : options_(std::move(options)), random_(seed), hash_(end.hash), next_seq_(end.next_seq) {
    auto opened = JournalWriter::open(options_, end);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    writer_ = std::move(*opened);
  }

  JournalWriter& writer() { return *writer_; }
  const std::vector<FedGroup>& groups() const { return groups_; }
  std::uint64_t next_seq() const { return next_seq_; }
  void set_epoch(std::uint64_t epoch) { epoch_ = epoch; }

  // Builds the next group without appending it.
  FedGroup build(std::uint32_t events, std::size_t note_size = 20) {
    journal::GroupBuilder builder(hash_);
    FedGroup group;
    for (std::uint32_t i = 0; i < events; ++i) {
      builder.add_event(journal::testing::random_event(random_));
      builder.add_action(journal::testing::random_action(random_));
    }
    if (events == 0) builder.add_action(journal::testing::random_action(random_));
    group.note_bytes = journal::testing::random_bytes(random_, note_size);
    group.note.offset = builder.add_note(group.note_bytes);
    group.note.size = static_cast<std::uint32_t>(note_size);
    group.seq = next_seq_;
    group.events = events;
    group.bytes = journal::testing::copy_of(
        builder.seal({.seq = next_seq_, .epoch = epoch_, .behaviour = 1}).view());
    next_seq_ += events;
    return group;
  }

  Result<GroupAt> append(FedGroup group) {
    Result<GroupAt> at = writer_->append(group.bytes, hash_.state());
    if (!at) return at;
    group.at = *at;
    group.note.segment = at->segment;
    group.note.offset += at->offset;
    group.end_after = writer_->end();
    groups_.push_back(std::move(group));
    return at;
  }

  void feed(std::uint32_t groups, std::uint32_t events = 3) {
    for (std::uint32_t i = 0; i < groups; ++i) {
      const Result<GroupAt> at = append(build(events));
      ASSERT_TRUE(at.ok()) << at.error().message;
    }
  }

  void sync() {
    const Status synced = writer_->sync();
    ASSERT_TRUE(synced.ok()) << synced.error().message;
  }

 private:
  JournalOptions options_;
  journal::testing::Random random_;
  journal::RunningHash hash_;
  std::uint64_t next_seq_ = 0;
  std::uint64_t epoch_ = 1;
  std::unique_ptr<JournalWriter> writer_;
  std::vector<FedGroup> groups_;
};

// The groups that a scan visits, as bytes in order; `scan` receives the rest.
inline std::vector<std::vector<std::byte>> scanned(const std::filesystem::path& folder,
                                                   std::uint64_t from_seq, JournalScan& scan) {
  std::vector<std::vector<std::byte>> payloads;
  Result<JournalScan> result =
      scan_journal(folder, from_seq, [&](GroupAt, const SegmentInfo&, const journal::Group& group) {
        payloads.push_back(journal::testing::copy_of(group.payload));
        return true;
      });
  EXPECT_TRUE(result.ok()) << result.error().message;
  if (result) scan = std::move(*result);
  return payloads;
}

inline std::vector<std::vector<std::byte>> payloads_of(const std::vector<FedGroup>& groups) {
  std::vector<std::vector<std::byte>> payloads;
  for (const FedGroup& group : groups) {
    payloads.push_back(journal::testing::copy_of(
        journal::ByteView(group.bytes).subspan(journal::kGroupHeaderSize)));
  }
  return payloads;
}

}  // namespace berth::store::testing
