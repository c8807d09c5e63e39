// See segment.h.
#include "store/segment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "journal/crc32c.h"
#include "journal/wire.h"
#include "store/crash_points.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSegmentDigits = 18;
constexpr std::string_view kSegmentExtension = ".bjl";
constexpr std::size_t kCrcAt = 60;

std::optional<std::uint64_t> segment_number_in(const std::string& name) {
  if (name.size() != kSegmentDigits + kSegmentExtension.size() ||
      !name.ends_with(kSegmentExtension)) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const char* end = name.data() + kSegmentDigits;
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

journal::Writer encode(const SegmentHeader& header) {
  journal::Writer out;
  out.u32(kSegmentMagic);
  out.u32(kSegmentFormat);
  out.u64(header.number);
  out.u64(header.first_seq);
  out.u64(header.epoch);
  out.u64(header.hash.hash);
  out.u64(header.hash.count);
  out.u64(header.identity);
  while (out.size() < kCrcAt) {
    out.u8(0);
  }
  out.u32(journal::crc32c(out.view()));
  return out;
}

ParsedSegment failure(ParsedSegment::Status status, const char* reason) {
  ParsedSegment parsed;
  parsed.status = status;
  parsed.reason = reason;
  return parsed;
}

Status write_new_segment(File& file, const SegmentHeader& header, std::uint64_t bytes) {
  if (Status taken = file.allocate(bytes); !taken) return taken;
  return file.write_at(0, encode(header).view());
}

}  // namespace

fs::path segment_path(const fs::path& folder, std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kSegmentDigits) digits.insert(0, kSegmentDigits - digits.size(), '0');
  return folder / (digits + std::string(kSegmentExtension));
}

Result<std::vector<std::uint64_t>> segment_numbers(const fs::path& folder) {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory) return numbers;
  while (!error && at != fs::directory_iterator()) {
    if (const auto number = segment_number_in(at->path().filename().string()))
      numbers.push_back(*number);
    at.increment(error);
  }
  if (error) return system_error("list", folder, error.value());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

ParsedSegment parse_segment_header(journal::ByteView bytes, std::uint64_t number) {
  using enum ParsedSegment::Status;
  if (bytes.size() < kSegmentHeaderSize) return failure(damaged, "ends inside its header");
  journal::Reader in(bytes.first(kSegmentHeaderSize));
  const std::uint32_t magic = in.u32();
  const std::uint32_t format = in.u32();
  ParsedSegment parsed;
  parsed.header.number = in.u64();
  parsed.header.first_seq = in.u64();
  parsed.header.epoch = in.u64();
  parsed.header.hash.hash = in.u64();
  parsed.header.hash.count = in.u64();
  parsed.header.identity = in.u64();
  if (magic != kSegmentMagic) return failure(damaged, "does not begin as a segment does");
  if (journal::load_le<std::uint32_t>(bytes.data() + kCrcAt) !=
      journal::crc32c(bytes.first(kCrcAt))) {
    return failure(damaged, "has a header that does not match its checksum");
  }
  if (format != kSegmentFormat) {
    return failure(unknown_format, "is in a format this version does not read");
  }
  if (parsed.header.number != number) return failure(damaged, "holds another segment's number");
  parsed.status = intact;
  return parsed;
}

Result<File> prepare_segment(const fs::path& folder, const SegmentHeader& header,
                             std::uint64_t bytes) {
  const fs::path path = segment_path(folder, header.number);
  Result<File> file = File::create(unpublished(path));
  if (!file) return file;
  if (Status written = write_new_segment(*file, header, bytes); !written) {
    (void)remove_file(unpublished(path));  // gives back the room it took
    return written.error();
  }
  return file;
}

fs::path spare_path(const fs::path& folder) { return folder / "spare"; }

Status make_spare(const fs::path& folder, std::uint64_t bytes) {
  const fs::path path = spare_path(folder);
  Result<File> file = File::create(path);
  if (!file) return file.error();
  Status taken = file->allocate(bytes);
  if (taken) taken = file->sync();
  if (!taken) (void)remove_file(path);
  return taken;
}

Result<File> prepare_segment_of_spare(const fs::path& folder, const SegmentHeader& header) {
  Result<File> file = File::open_to_write(spare_path(folder));
  if (!file) return file;
  if (Status written = file->write_at(0, encode(header).view()); !written) return written.error();
  const fs::path beside = unpublished(segment_path(folder, header.number));
  std::error_code error;
  fs::rename(spare_path(folder), beside, error);
  if (error) return system_error("rename", spare_path(folder), error.value());
  return file;
}

Status publish_segment(File& prepared, const fs::path& folder, std::uint64_t number) {
  if (Status synced = prepared.sync(); !synced) return synced;
  crash_point(CrashPoint::segment_written);
  if (Status named = publish_file(segment_path(folder, number)); !named) return named;
  crash_point(CrashPoint::segment_created);
  return Done{};
}

Status remove_segments_before(const fs::path& folder, std::uint64_t segment) {
  Result<std::vector<std::uint64_t>> numbers = segment_numbers(folder);
  if (!numbers) return numbers.error();
  if (!numbers->empty() && segment > numbers->back()) {
    return Error{"refused to remove every segment of the journal in " + folder.string()};
  }
  for (const std::uint64_t number : *numbers) {
    if (number >= segment) break;
    if (Status removed = remove_file(segment_path(folder, number)); !removed) return removed;
    crash_point(CrashPoint::segment_removed);
  }
  return Done{};
}

}  // namespace berth::store
