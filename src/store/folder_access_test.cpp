// Which modes of a data folder are refused, which are remarked, and what the store itself makes.
#include "store/folder_access.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/file.h"
#include "store/folder_lock.h"
#include "store/history.h"
#include "store/layout.h"
#include "store/snapshots.h"
#include "store/testing/journal_feed.h"
#include "store/testing/temp_folder.h"

namespace berth::store::folder_access_test {
namespace {

namespace fs = std::filesystem;

class FolderAccess : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_folder(journal_folder(data_)).ok());
    std::ofstream(history_path(data_)) << "rows";
    std::ofstream(data_ / "tokens") << "tokens";
    for (const char* name : {"history.sqlite", "tokens"})
      set(data_ / name, 0600);
  }
  static void set(const fs::path& path, mode_t mode) { ASSERT_EQ(::chmod(path.c_str(), mode), 0); }
  // "": fine; "no": refused; else the remarks, one behind the other.
  std::string judged() const {
    const auto remarks = check_access(data_);
    if (!remarks) return "no: " + remarks.error().message;
    std::string text;
    for (const std::string& remark : *remarks)
      text += remark;
    return text;
  }

  testing::TempFolder folder_;
  fs::path data_ = folder_.path() / "data";
};

TEST_F(FolderAccess, WhatTheStoreMakesIsTheServersAlone) {
  const fs::path data = folder_.path() / "made";
  ASSERT_TRUE(make_folder(data).ok());
  ASSERT_TRUE(FolderLock::take(data).ok());
  testing::JournalFeed feed({journal_folder(data), 4096});
  feed.feed(1);
  feed.sync();
  ASSERT_TRUE(write_snapshot(snapshot_folder(data), 1, {}).ok());
  {
    const auto history = HistoryWriter::open(history_path(data));
    ASSERT_TRUE(history.ok());
    int seen = 0;
    for (const auto& entry : fs::recursive_directory_iterator(data)) {
      struct stat info {};
      ASSERT_EQ(::lstat(entry.path().c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 077, 0u) << entry.path();
      ++seen;
    }
    EXPECT_GE(seen, 8) << "folders, lock, segment, mark, snapshot, history with its log";
  }
}

TEST_F(FolderAccess, AFolderThatOthersCannotEnterIsFineWhateverLiesInIt) {
  set(history_path(data_), 0666);
  EXPECT_EQ(judged(), "");
  EXPECT_TRUE(check_access(folder_.path() / "none")->empty());
}

TEST_F(FolderAccess, WhatOthersCanReadIsRemarkedWithTheCommand) {
  set(data_, 0755);
  EXPECT_EQ(judged(), "");  // they may enter, and find nothing open
  set(history_path(data_), 0644);
  EXPECT_EQ(judged(), "other users can read " + history_path(data_).string() +
                          " (its mode is 0644), and with it what tasks were given; run: chmod "
                          "go-rwx " +
                          data_.string());
}

TEST_F(FolderAccess, WhatOthersCanChangeIsRefused) {
  for (const auto& [path, mode] : std::vector<std::pair<fs::path, mode_t>>{
           {data_, 0777}, {data_, 0770}, {journal_folder(data_), 0702}, {data_ / "tokens", 0620}}) {
    set(data_, 0711);
    struct stat before {};
    ASSERT_EQ(::lstat(path.c_str(), &before), 0);
    set(path, mode);
    const std::string said = judged();
    EXPECT_TRUE(said.starts_with("no: other users can change " + path.string())) << said;
    EXPECT_TRUE(said.ends_with("run: chmod go-w " + path.string())) << said;
    set(path, before.st_mode & 0777);
  }
  EXPECT_EQ(judged(), "");
}

TEST_F(FolderAccess, AFileIsJudgedAlone) {
  EXPECT_TRUE(check_file_access(data_ / "tokens")->empty());
  set(data_ / "tokens", 0640);
  EXPECT_EQ(check_file_access(data_ / "tokens")->size(), 1u);
  set(data_ / "tokens", 0606);
  EXPECT_FALSE(check_file_access(data_ / "tokens").ok());
  EXPECT_FALSE(check_access(data_).ok()) << "also in a folder that others cannot enter";
}

TEST_F(FolderAccess, AFolderOfAnotherUserIsRemarkedForRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(data_.c_str(), 12345, 12345), 0);
  EXPECT_NE(judged().find("belongs to the user 12345"), std::string::npos) << judged();
}

}  // namespace
}  // namespace berth::store::folder_access_test
