// See durable_mark.h. The bytes: u64 next_seq, u64 segment, u64 offset, u32 CRC32C of those.
#include "store/durable_mark.h"

#include <array>
#include <cstddef>
#include <system_error>

#include "journal/crc32c.h"
#include "journal/wire.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMarkSize = 28;

}  // namespace

fs::path durable_mark_path(const fs::path& folder) { return folder / "durable"; }

Result<File> open_durable_mark(const fs::path& folder) {
  const fs::path path = durable_mark_path(folder);
  std::error_code error;
  if (fs::exists(path, error)) return File::open_to_write(path);
  return File::create(path);
}

Status write_durable_mark(File& file, const DurableMark& mark) {
  journal::Writer out;
  out.u64(mark.next_seq);
  out.u64(mark.at.segment);
  out.u64(mark.at.offset);
  out.u32(journal::crc32c(out.view()));
  return file.write_at(0, out.view());
}

DurableMarkRead read_durable_mark(const fs::path& folder) {
  const Result<File> file = File::open_to_read(durable_mark_path(folder));
  if (!file) return {};
  std::array<std::byte, kMarkSize> bytes{};
  const Result<std::size_t> count = file->read_at(0, bytes);
  if (count && *count == 0) return {};  // created, nothing synced yet
  if (!count || *count != kMarkSize) return {.damaged = true};
  journal::Reader in(bytes);
  DurableMark mark;
  mark.next_seq = in.u64();
  mark.at.segment = in.u64();
  mark.at.offset = in.u64();
  if (in.u32() != journal::crc32c(journal::ByteView(bytes).first(kMarkSize - 4))) {
    return {.damaged = true};
  }
  return {.mark = mark};
}

}  // namespace berth::store
