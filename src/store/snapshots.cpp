// See snapshots.h.
#include "store/snapshots.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "journal/snapshot.h"
#include "store/crash_points.h"
#include "store/file.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPiece = 4U << 20;
constexpr std::size_t kSnapshotDigits = 20;
constexpr std::string_view kSnapshotExtension = ".bsnap";

fs::path snapshot_path(const fs::path& folder, std::uint64_t seq) {
  std::string digits = std::to_string(seq);
  digits.insert(0, kSnapshotDigits - digits.size(), '0');
  return folder / (digits + std::string(kSnapshotExtension));
}

std::optional<std::uint64_t> snapshot_seq_in(const std::string& name) {
  if (name.size() != kSnapshotDigits + kSnapshotExtension.size() ||
      !name.ends_with(kSnapshotExtension)) {
    return std::nullopt;
  }
  std::uint64_t seq = 0;
  const char* end = name.data() + kSnapshotDigits;
  const auto [stop, error] = std::from_chars(name.data(), end, seq);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return seq;
}

std::optional<std::uint64_t> messages_in(const fs::path& path) {
  const Result<File> file = File::open_to_read(path);
  if (!file) return std::nullopt;
  std::array<std::byte, journal::kSnapshotHeaderSize> header{};
  const Result<std::size_t> read = file->read_at(0, header);
  if (!read) return std::nullopt;
  const auto info = journal::read_snapshot_info(std::span(header).first(*read));
  if (!info) return std::nullopt;
  return info->seq + info->hash.count;
}

Status write_unpublished(const fs::path& path, journal::ByteView bytes) {
  Result<File> file = File::create(unpublished(path));
  if (!file) return file.error();
  // A piece at a time, each synced: one large sync would hold up the journal's for as long.
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const journal::ByteView piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    if (Status written = file->write_at(at, piece); !written) return written;
    if (Status synced = file->sync_data(); !synced) return synced;
  }
  return file->sync();
}

Error damaged(const fs::path& path, const std::string& why) {
  return {"the snapshot " + path.string() + " is damaged: " + why +
          "; remove it, an older one and the journal hold the same"};
}

}  // namespace

Status write_snapshot(const fs::path& folder, std::uint64_t seq, journal::ByteView bytes) {
  if (Status made = make_folder(folder); !made) return made;
  const fs::path path = snapshot_path(folder, seq);
  if (Status written = write_unpublished(path, bytes); !written) {
    (void)remove_file(unpublished(path));  // gives back the room it took
    return written;
  }
  crash_point(CrashPoint::snapshot_written);
  Status published = publish_file(path);
  if (published) crash_point(CrashPoint::snapshot_renamed);
  return published;
}

std::uint64_t identity_in_snapshot(journal::ByteView bytes) {
  const auto reader = journal::SnapshotReader::open(bytes);
  const auto section = reader ? reader->section(kIdentitySection) : std::nullopt;
  if (!section) return 0;
  journal::Reader in(*section);
  return in.u64();
}

Result<std::vector<SnapshotFile>> list_snapshots(const fs::path& folder) {
  std::vector<SnapshotFile> files;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory) return files;
  while (!error && at != fs::directory_iterator()) {
    if (const auto seq = snapshot_seq_in(at->path().filename().string())) {
      std::error_code gone;
      const std::uint64_t bytes = fs::file_size(at->path(), gone);
      if (!gone) files.push_back({*seq, messages_in(at->path()), at->path(), bytes});
    }
    at.increment(error);
  }
  if (error) return system_error("list", folder, error.value());
  std::sort(files.begin(), files.end(),
            [](const SnapshotFile& a, const SnapshotFile& b) { return a.seq > b.seq; });
  return files;
}

Result<std::vector<std::byte>> read_snapshot(const fs::path& path) {
  Result<std::vector<std::byte>> bytes = read_file(path);
  if (!bytes) return bytes;
  journal::DecodeError error;
  const auto reader = journal::SnapshotReader::open(*bytes, &error);
  if (!reader) {
    return damaged(
        path, "at byte " + std::to_string(error.offset) + " there should be " + error.expected);
  }
  const auto named = snapshot_seq_in(path.filename().string());
  if (named && *named != reader->info().seq) {
    return damaged(path, "it holds the state before event " + std::to_string(reader->info().seq) +
                             ", not the one its name says");
  }
  return bytes;
}

Result<NewestSnapshot> read_newest_snapshot(const fs::path& folder) {
  Result<std::vector<SnapshotFile>> files = list_snapshots(folder);
  if (!files) return files.error();
  NewestSnapshot newest;
  for (const SnapshotFile& file : *files) {
    Result<std::vector<std::byte>> bytes = read_snapshot(file.path);
    if (bytes) {
      newest.file = file;
      newest.bytes = std::move(*bytes);
      return newest;
    }
    newest.damaged.push_back(bytes.error().message);
  }
  return newest;
}

Status remove_old_snapshots(const fs::path& folder, std::size_t keep,
                            std::optional<std::uint64_t> also) {
  Result<std::vector<SnapshotFile>> files = list_snapshots(folder);
  if (!files) return files.error();
  for (std::size_t i = std::max<std::size_t>(keep, 1); i < files->size(); ++i) {
    if ((*files)[i].seq == also) continue;
    if (Status removed = remove_file((*files)[i].path); !removed) return removed;
  }
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    if (at->path().extension() == ".new") leftovers.push_back(at->path());
  }
  for (const fs::path& leftover : leftovers) {
    if (Status removed = remove_file(leftover); !removed) return removed;
  }
  return Done{};
}

}  // namespace berth::store
