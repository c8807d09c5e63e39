// Files: the few system calls that the store needs, whole or not at all, with errors as sentences.
//
// Every write and sync of the journal and the snapshots goes through here, and so through the
// faults of faults.h. Files and folders are made for the server's user alone: 0600 and 0700. Knows
// nothing of what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/wire.h"

namespace berth::store {

// "cannot <what> <path>: <why>", with advice where there is one.
Error system_error(std::string_view what, const std::filesystem::path& path, int error);

// An open file. Reads may come from several threads at once; the rest from one.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  static Result<File> open_to_read(const std::filesystem::path& path);
  static Result<File> open_to_write(const std::filesystem::path& path);  // must exist
  static Result<File> create(const std::filesystem::path& path);         // empties one that exists

  const std::filesystem::path& path() const { return path_; }

  // All of `bytes`. After an error any part of them may have been written.
  Status write_at(std::uint64_t offset, journal::ByteView bytes);

  // As many bytes as there are, at most `to.size()`: fewer only at the end of the file.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> to) const;

  Result<std::uint64_t> size() const;
  Status truncate(std::uint64_t size);
  Status allocate(std::uint64_t size);  // takes the room on disk now; new bytes are zeros

  // After an error the kernel may have dropped the pages: what was not synced must count as lost.
  Status sync_data();
  Status sync();

 private:
  File(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
  static Result<File> open(const std::filesystem::path& path, int flags);
  void close();

  int fd_ = -1;
  std::filesystem::path path_;
};

// What is free, for this user, on the disk that the folder is on.
Result<std::uint64_t> free_bytes(const std::filesystem::path& folder);

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path);

// Makes names in `folder` durable: a created, renamed or removed file.
Status sync_folder(const std::filesystem::path& folder);

// Creates the folder, and those above it, durably. One that exists is fine.
Status make_folder(const std::filesystem::path& folder);

// Writes the file beside its place and syncs it; publish_file then gives it its name. After a crash
// either the old file is there or the new one, whole.
std::filesystem::path unpublished(const std::filesystem::path& path);
Status publish_file(const std::filesystem::path& path);
Status replace_file(const std::filesystem::path& path, journal::ByteView bytes);

// Durably gone; one that is not there is fine.
Status remove_file(const std::filesystem::path& path);

}  // namespace berth::store
