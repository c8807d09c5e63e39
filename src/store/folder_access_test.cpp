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

TEST_F(FolderAccess, AFileIsReadOnlyWhereNobodyElseCanChangeIt) {
  const fs::path tokens = data_ / "tokens";
  EXPECT_EQ(*read_own_file(tokens), "tokens");
  EXPECT_EQ(*read_own_file(data_ / "none"), std::nullopt);
  set(tokens, 0640);
  EXPECT_TRUE(read_own_file(tokens).ok()) << "others may read it";
  set(tokens, 0606);
  EXPECT_FALSE(read_own_file(tokens).ok());
  EXPECT_FALSE(check_access(data_).ok()) << "also in a folder that others cannot enter";
  fs::remove(tokens);
  ASSERT_EQ(::mkfifo(tokens.c_str(), 0600), 0);
  EXPECT_FALSE(read_own_file(tokens).ok()) << "and does not wait for a writer";
}

TEST_F(FolderAccess, ALinkIsNoTokensFile) {
  const fs::path tokens = data_ / "tokens";
  fs::rename(tokens, folder_.path() / "elsewhere");
  fs::create_symlink(folder_.path() / "elsewhere", tokens);
  for (const std::string& said : {judged(), "no: " + read_own_file(tokens).error().message})
    EXPECT_TRUE(said.starts_with("no: " + tokens.string() + " is a link")) << said;
}

TEST_F(FolderAccess, TheTokensOfAnotherUserAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const fs::path tokens = data_ / "tokens";
  ASSERT_EQ(::chown(tokens.c_str(), 12345, 12345), 0);
  for (const std::string& said : {judged(), "no: " + read_own_file(tokens).error().message}) {
    EXPECT_TRUE(said.starts_with("no: " + tokens.string() + " belongs to the user 12345")) << said;
    EXPECT_TRUE(said.ends_with("run: chown 0 " + tokens.string())) << said;
  }
  ASSERT_EQ(::chown(data_.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(read_own_file(tokens).ok()) << "root at work in the folder of another server's user";
}

TEST_F(FolderAccess, AFolderBehindALinkIsTheOneThatIsJudged) {
  set(data_, 0777);
  fs::create_directory_symlink(data_, folder_.path() / "link");
  EXPECT_FALSE(check_access(folder_.path() / "link").ok());
  EXPECT_NE(flaw_in_trust(folder_.path() / "link"), "");
}

TEST_F(FolderAccess, AFolderOfAnotherUserIsNotToBeTrusted) {
  EXPECT_EQ(flaw_in_trust(data_), "");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(data_.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(flaw_in_trust(data_).starts_with(data_.string() + " belongs to the user 12345"))
      << flaw_in_trust(data_);
}

TEST_F(FolderAccess, AWayThatOthersCanChangeIsNoticed) {
  const fs::path open = folder_.path() / "open";
  ASSERT_EQ(::mkdir(open.c_str(), 0700), 0);
  EXPECT_EQ(flaw_in_path(open / "work"), "");
  EXPECT_EQ(flaw_in_path(open / "not" / "there"), "");
  set(open, 0777);
  EXPECT_EQ(flaw_in_path(open / "work"), "others may write to " + open.string());
  EXPECT_TRUE(flaw_in_trust(open / "work")
                  .starts_with("other users can put their own in the place of " +
                               (open / "work").string() + ": others may write to " +
                               open.string()));
  set(open, 01777);
  EXPECT_EQ(flaw_in_path(open / "work"), "") << "as /tmp";
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(open.c_str(), 12345, 12345), 0);
  EXPECT_EQ(flaw_in_path(open / "work"), open.string() + " belongs to the user 12345");
}

// What a link names is reached through folders of its own.
TEST_F(FolderAccess, TheWayOfLinksIsTheWay) {
  const fs::path open = folder_.path() / "open";
  ASSERT_TRUE(make_folder(open / "inner").ok());
  fs::create_directory_symlink(open / "inner", folder_.path() / "second");
  fs::create_directory_symlink("second", folder_.path() / "first");
  EXPECT_EQ(flaw_in_path(folder_.path() / "first" / "data"), "");
  set(open, 0777);
  EXPECT_EQ(flaw_in_path(folder_.path() / "first" / "data"),
            "others may write to " + open.string());
  EXPECT_EQ(flaw_in_path(folder_.path() / "first"), "others may write to " + open.string());
  set(open, 0700);
  fs::create_directory_symlink("round", folder_.path() / "round");
  EXPECT_NE(flaw_in_path(folder_.path() / "round" / "data"), "");
  if (::geteuid() != 0) return;
  ASSERT_EQ(::lchown((folder_.path() / "second").c_str(), 12345, 12345), 0);
  EXPECT_EQ(flaw_in_path(folder_.path() / "first" / "data"),
            "the link " + (folder_.path() / "second").string() + " belongs to the user 12345");
}

TEST_F(FolderAccess, ASecretThatEverybodyCanReadIsNoticed) {
  const fs::path key = data_ / "tokens";
  EXPECT_EQ(flaw_in_secret(key), "");
  set(key, 0640);
  EXPECT_EQ(flaw_in_secret(key), "") << "a group may be meant to";
  set(key, 0644);
  EXPECT_EQ(flaw_in_secret(key), "everybody can read " + key.string() +
                                     " (its mode is 0644), which is a secret; run: chmod o-rwx " +
                                     key.string());
  EXPECT_EQ(flaw_in_secret(data_ / "none"), "");
}

}  // namespace
}  // namespace berth::store::folder_access_test
