// Snapshots that are whole by their checksums and still cannot be a service's: restoring says so,
// whatever they hold.
#include "service/replayer.h"

#include <functional>

#include <gtest/gtest.h>

#include "journal/snapshot.h"
#include "service/board_codec.h"
#include "service/testing/desk.h"

namespace berth::service::replayer_test {
namespace {

using Bytes = std::vector<std::byte>;
using Change = std::function<void(Bytes&)>;

// Sections of a service's snapshot.
constexpr std::uint32_t kNames = 2;
constexpr std::uint32_t kBoard = 4;
constexpr std::uint32_t kTime = 5;
constexpr std::uint32_t kSections = 5;

// The snapshot with one section changed, checksums right.
Bytes changed(const Bytes& snapshot, std::uint32_t chosen, const Change& change) {
  const auto reader = journal::SnapshotReader::open(snapshot);
  journal::SnapshotWriter writer(reader->info());
  for (std::uint32_t id = 1; id <= kSections; ++id) {
    Bytes bytes(reader->section(id)->begin(), reader->section(id)->end());
    if (id == chosen) change(bytes);
    writer.section(id, bytes);
  }
  const journal::Writer sealed = writer.finish();
  return {sealed.view().begin(), sealed.view().end()};
}

Bytes names_of(const Names& names) {
  journal::Writer out;
  BoardCodec::encode_names(out, names);
  return {out.view().begin(), out.view().end()};
}

class Restoring : public ::testing::Test {
 protected:
  Restoring() { desk_.furnish(); }
  // Why the desk's snapshot with this change is refused; "": it is not.
  std::string refusal(std::uint32_t section, const Change& change) {
    Replayer replayer(minutes(24 * 60));
    const Status restored = replayer.restore(changed(desk_.snapshot(), section, change));
    return restored ? "" : restored.error().message;
  }
  testing::Desk desk_;
};

TEST_F(Restoring, TakesWhatIsWhole) {
  EXPECT_EQ(refusal(kNames, [](Bytes&) {}), "");
}

TEST_F(Restoring, RefusesANumberThatIsNotTheNext) {
  journal::Writer out;
  out.u64(1);
  journal::Writer note;
  encode_note(note, Note(QueueNamed{QueueId{4'000'000'000}, "far"}));
  out.u32(static_cast<std::uint32_t>(note.size()));
  out.bytes(note.view());
  out.u64(0);
  const auto far = [&](Bytes& bytes) { bytes.assign(out.view().begin(), out.view().end()); };
  EXPECT_EQ(refusal(kNames, far), "the snapshot's names cannot be read");
}

TEST_F(Restoring, RefusesARightOfATenantThatIsNotNamed) {
  Names names = desk_.sequencer.names();
  names.apply(Note(CommandsAllowed{CommandsAllowed::Noun::queue, 0, false}));
  EXPECT_EQ(refusal(kNames, [&](Bytes& its) { its = names_of(names); }), "");
  journal::Writer out;
  out.u64(1);
  journal::Writer note;
  encode_note(note, Note(CommandsAllowed{CommandsAllowed::Noun::tenant, 4'000'000'000, false}));
  out.u32(static_cast<std::uint32_t>(note.size()));
  out.bytes(note.view());
  out.u64(0);
  const auto far = [&](Bytes& its) { its.assign(out.view().begin(), out.view().end()); };
  EXPECT_EQ(refusal(kNames, far), "the snapshot's names cannot be read");
}

TEST_F(Restoring, RefusesNamesOfAnotherState) {
  Names names = desk_.sequencer.names();
  names.apply(Note(QueueNamed{QueueId{1}, "second"}));
  EXPECT_EQ(refusal(kNames, [&](Bytes& bytes) { bytes = names_of(names); }),
            "the snapshot's names are not those of its engine");
}

TEST_F(Restoring, RefusesAGpuOnANodeThatItsEngineDoesNotKnow) {
  Names names = desk_.sequencer.names();
  core::GpuSpec spec = names.gpus().front().spec;
  spec.node.value += 1000;
  names.apply(core::Event{Time{0}, core::PutGpu{GpuId{0}, spec}});
  EXPECT_EQ(refusal(kNames, [&](Bytes& bytes) { bytes = names_of(names); }),
            "the snapshot's names are not those of its engine");
}

TEST_F(Restoring, RefusesATimeBeforeItsEngines) {
  desk_.submit(testing::new_task("a"));
  EXPECT_EQ(refusal(kTime, [](Bytes& bytes) { bytes.assign(8, std::byte{0}); }),
            "the snapshot's time cannot be read");
  EXPECT_EQ(refusal(kTime, [](Bytes& bytes) { bytes.push_back(std::byte{0}); }),
            "the snapshot's time cannot be read");
}

// One task that was never started, in this state, on a desk with two GPUs, a queue and a tenant.
Bytes board_with(core::TaskState state) {
  TaskCard card;
  card.task = TaskNo{1};
  card.tenant = TenantId{0};
  card.queue = QueueId{0};
  journal::Writer out;
  out.u64(1);
  encode_card(out, card);
  out.u8(static_cast<std::uint8_t>(state));
  constexpr std::size_t kReason = 1 + 4 * 8;
  constexpr std::size_t kEligible = 8;
  constexpr std::size_t kNoAttempts = 4;
  constexpr std::size_t kNoLeases = 8;
  constexpr std::size_t kGpus = 2 * 4;
  constexpr std::size_t kCounters = (1 + 4) * 8 + 4 * 8;
  const Bytes zeros(kReason + kEligible + kNoAttempts + kNoLeases + kGpus + kCounters);
  out.bytes(zeros);
  return {out.view().begin(), out.view().end()};
}

TEST_F(Restoring, RefusesATaskThatRunsWithoutAnAttemptOrHasEnded) {
  desk_.control(DefineTenant{"alice", {}, 0});
  const auto refusal_of = [&](core::TaskState state) {
    return refusal(kBoard, [&](Bytes& bytes) { bytes = board_with(state); });
  };
  EXPECT_EQ(refusal_of(core::TaskState::pending), "");
  EXPECT_EQ(refusal_of(core::TaskState::running), "the snapshot's tasks cannot be read");
  EXPECT_EQ(refusal_of(core::TaskState::completed), "the snapshot's tasks cannot be read");
}

}  // namespace
}  // namespace berth::service::replayer_test
