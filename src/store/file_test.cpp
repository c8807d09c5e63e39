// Files and the lock of the data folder.
#include "store/file.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/faults.h"
#include "store/folder_lock.h"
#include "store/testing/temp_folder.h"

namespace berth::store::file_test {
namespace {

using testing::TempFolder;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

TEST(Files, AReplacedFileIsTheOldOneOrTheNewOne) {
  const TempFolder folder;
  const auto path = folder / "file";
  ASSERT_TRUE(replace_file(path, bytes_of("old")).ok());
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    set_faults({.write = {.error = ENOSPC, .nth = nth == 1 ? 1u : 0u},
                .sync = {.error = EIO, .nth = nth == 2 ? 1u : 0u}});
    EXPECT_FALSE(replace_file(path, bytes_of("newer")).ok());
    set_faults({});
    EXPECT_EQ(*read_file(path), bytes_of("old"));
  }
  ASSERT_TRUE(replace_file(path, bytes_of("newer")).ok());
  EXPECT_EQ(*read_file(path), bytes_of("newer"));
}

TEST(Files, FoldersAreMadeWithThoseAboveThem) {
  const TempFolder folder;
  ASSERT_TRUE(make_folder(folder / "a/b/c").ok());
  ASSERT_TRUE(make_folder(folder / "a/b/c").ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  ASSERT_TRUE(replace_file(folder / "file", bytes_of("x")).ok());
  EXPECT_FALSE(make_folder(folder / "file/below").ok());
}

TEST(Files, ErrorsNameTheFileAndTheCause) {
  const TempFolder folder;
  const Result<File> missing = File::open_to_read(folder / "missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message,
            "cannot open " + (folder / "missing").string() + ": No such file or directory");
}

TEST(FolderLock, ASecondServerIsRefusedWithThePid) {
  const TempFolder folder;
  EXPECT_EQ(FolderLock::holder(folder.path()), 0);
  {
    Result<FolderLock> first = FolderLock::take(folder.path());
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(FolderLock::holder(folder.path()), ::getpid());
    const Result<FolderLock> second = FolderLock::take(folder.path());
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().message.find("pid " + std::to_string(::getpid())), std::string::npos);
  }
  EXPECT_EQ(FolderLock::holder(folder.path()), 0);
  EXPECT_TRUE(FolderLock::take(folder.path()).ok());
}

}  // namespace
}  // namespace berth::store::file_test
