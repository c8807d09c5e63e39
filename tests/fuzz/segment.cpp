// Fuzz: any bytes as a file of the journal. The scan says what is wrong with it and never fails for
// it; the groups it shows are intact and in order; where it calls the journal usable, a writer goes
// on behind the last group, and then nothing is wrong any more.
//
// Checksums would stop almost every change, so each input is looked at twice: as it is, and with
// the checksums of its header and of the groups that stand in a row set right.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/assert.h"
#include "journal/crc32c.h"
#include "journal/group.h"
#include "journal/testing/random_values.h"
#include "store/journal.h"
#include "store/testing/temp_folder.h"
#include "tests/fuzz/byte_mutator.h"
#include "tests/fuzz/check.h"

namespace berth::fuzz {
namespace {

using journal::ByteView;
using journal::load_le;
using journal::store_le;
using Bytes = std::vector<std::byte>;

void mend_group(std::byte* group, std::uint32_t size) {
  store_le(group + 48, journal::crc32c({group + journal::kGroupHeaderSize, size}));
  store_le(group + 52, journal::crc32c({group, 52}));
}

Bytes mended(ByteView from) {
  Bytes bytes(from.begin(), from.end());
  if (bytes.size() < store::kSegmentHeaderSize) return bytes;
  store_le(bytes.data(), store::kSegmentMagic);
  store_le(bytes.data() + 4, store::kSegmentFormat);
  store_le(bytes.data() + 8, std::uint64_t{1});
  store_le(bytes.data() + 60, journal::crc32c(ByteView(bytes).first(60)));
  std::size_t at = store::kSegmentHeaderSize;
  while (bytes.size() - at >= journal::kGroupHeaderSize) {
    if (load_le<std::uint32_t>(bytes.data() + at) != journal::kGroupMagic) break;
    const auto size = load_le<std::uint32_t>(bytes.data() + at + 8);
    if (size > bytes.size() - at - journal::kGroupHeaderSize) break;
    mend_group(bytes.data() + at, size);
    at += journal::kGroupHeaderSize + size;
  }
  return bytes;
}

// The groups as they were shown, and what was found.
struct Seen {
  store::JournalScan scan;
  std::vector<Bytes> payloads;
};

Seen look(const std::filesystem::path& folder) {
  Seen seen;
  std::uint64_t seq = 0;
  const auto visit = [&](store::GroupAt, const store::SegmentInfo& info,
                         const journal::Group& group) {
    if (seen.payloads.empty()) seq = info.header.first_seq;
    check(group.header.seq == seq, "groups come in order");
    seq += group.header.events;
    check(journal::crc32c(group.payload) == load_le<std::uint32_t>(group.payload.data() - 8),
          "only intact groups are shown");
    seen.payloads.emplace_back(group.payload.begin(), group.payload.end());
    return true;
  };
  auto scan = store::scan_journal(folder, 0, visit);
  check(scan.ok(),
        "bad bytes are a finding, not a failure: " + (scan ? std::string() : scan.error().message));
  seen.scan = std::move(*scan);
  check(seen.scan.groups == seen.payloads.size(), "groups are counted");
  if (seen.scan.finding) {
    check(!seen.scan.finding->message.empty(), "a finding says what is wrong");
    check(!seen.scan.finding->repair.empty(), "a finding says what to do");
  }
  return seen;
}

void check_segment(ByteView bytes) {
  static const store::testing::TempFolder folder;
  const std::filesystem::path path = store::segment_path(folder.path(), 1);
  std::filesystem::remove_all(folder.path());
  std::filesystem::create_directory(folder.path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const Seen before = look(folder.path());
  if (!before.scan.usable()) return;
  {
    const auto writer = store::JournalWriter::open({folder.path(), 1 << 20}, before.scan.end);
    check(writer.ok(),
          "a usable journal can be written: " + (writer ? std::string() : writer.error().message));
    check((*writer)->sync().ok(), "it can be synced");
  }
  const Seen after = look(folder.path());
  check(!after.scan.finding, "behind a writer nothing is wrong: " +
                                 (after.scan.finding ? after.scan.finding->message : ""));
  check(after.payloads == before.payloads, "a writer changes no group");
  check(after.scan.end == before.scan.end, "a writer goes on behind the last group");
}

Bytes random_start(std::uint64_t seed) {
  journal::testing::Random random(seed);
  Bytes bytes(store::kSegmentHeaderSize);
  journal::RunningHash hash;
  journal::GroupBuilder builder(hash);
  std::uint64_t seq = 0;
  for (std::uint64_t left = random.below(5); left > 0; --left) {
    const std::uint64_t events = random.below(3);
    for (std::uint64_t i = 0; i < events; ++i)
      builder.add_event(journal::testing::random_event(random));
    const journal::Writer group = builder.seal({seq, 1, 1});
    bytes.insert(bytes.end(), group.view().begin(), group.view().end());
    seq += events;
  }
  bytes.resize(bytes.size() + random.below(200));
  return mended(bytes);
}

}  // namespace
}  // namespace berth::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return berth::fuzz::mutate_bytes(data, size, max_size, seed, 1, berth::fuzz::random_start);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::fuzz;
  berth::set_assert_handler(print_assert);
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  check_segment(bytes);
  check_segment(mended(bytes));
  return 0;
}
