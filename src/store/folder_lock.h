// FolderLock: one server per data folder. Held by the kernel, so it ends with the process, however
// that ends; the file `lock` stays and names the last holder's pid.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace berth::store {

class FolderLock {
 public:
  // Refuses, with the pid, while another process holds it.
  static Result<FolderLock> take(const std::filesystem::path& folder);

  // The pid that holds it now; 0: nobody.
  static int holder(const std::filesystem::path& folder);

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace berth::store
