// Working folders: whose they are, and how they go whatever is in them.
#include "agent/work_folders.h"

#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/testing/commands.h"

namespace berth::agent::work_folders_test {
namespace {

using std::filesystem::exists;
using testing::wait_until;

class WorkFoldersTest : public ::testing::Test {
 protected:
  WorkFoldersTest() { EXPECT_TRUE(folders_.prepare().ok()); }
  std::filesystem::path root() { return folder_.path() / "work"; }
  static struct stat info_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info;
  }
  std::size_t left_in_root() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root()))
      count += entry.path().empty() ? 0 : 1;
    return count;
  }

  testing::TemporaryFolder folder_;
  WorkFolders folders_{folder_.path() / "work"};
  std::atomic<bool> stop_ = false;
};

TEST_F(WorkFoldersTest, OthersMayPassTheRootAndEnterTheirOwnFolderOnly) {
  ASSERT_TRUE(folders_.make("1.1", std::nullopt).ok());
  EXPECT_EQ(info_of(root()).st_mode, mode_t{S_IFDIR | 0711});
  EXPECT_EQ(info_of(folders_.path_of("1.1")).st_mode, mode_t{S_IFDIR | 0700});
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_TRUE(folders_.make("1.2", FolderOwner{65'534, 65'533}).ok());
  const struct stat info = info_of(folders_.path_of("1.2"));
  EXPECT_EQ(info.st_uid, 65'534U);
  EXPECT_EQ(info.st_gid, 65'533U);
  EXPECT_EQ(info.st_mode, mode_t{S_IFDIR | 0700});
}

TEST_F(WorkFoldersTest, ARootThatIsAnothersIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  ASSERT_EQ(::chown(root().c_str(), 65'534, 65'534), 0);
  const Status refused = folders_.prepare();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("belongs to another user (uid 65534)"), std::string::npos);
  ASSERT_EQ(::rmdir(root().c_str()), 0);
  ASSERT_EQ(::symlink("/etc", root().c_str()), 0);
  EXPECT_FALSE(folders_.prepare().ok()) << "a link is not followed";
}

// As /tmp or somebody's home would be: it is neither closed to others nor cleaned.
TEST_F(WorkFoldersTest, ARootThatHoldsOtherThingsIsRefusedAndLeftAlone) {
  std::ofstream(root() / "letter") << "text";
  ASSERT_EQ(::chmod(root().c_str(), 01777), 0);
  const Status refused = folders_.prepare();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("holds other things, such as \"letter\""),
            std::string::npos);
  EXPECT_EQ(info_of(root()).st_mode, mode_t{S_IFDIR | S_ISVTX | 0777});
}

TEST_F(WorkFoldersTest, OneAgentAtATimeUsesThem) {
  AgentOptions first = testing::command_options(folder_.path() / "first");
  AgentOptions second = testing::command_options(folder_.path() / "second");
  first.work_folder = second.work_folder = root();
  testing::RunningAgent agent(first);
  const auto started = Agent::start(second, [](berth::v1::AgentMessage&&) {});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("Another agent uses " + root().string()),
            std::string::npos);
}

TEST_F(WorkFoldersTest, AnotherUsersFolderIsNotUsedAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_TRUE(folders_.make("1.1", FolderOwner{65'534, 65'534}).ok());
  folders_.tidy("1.1");
  EXPECT_EQ(left_in_root(), 0U);
  ASSERT_TRUE(folders_.make("1.2", std::nullopt).ok());
  const ino_t own = info_of(folders_.path_of("1.2")).st_ino;
  folders_.tidy("1.2");
  ASSERT_TRUE(folders_.make("1.3", std::nullopt).ok());
  EXPECT_EQ(info_of(folders_.path_of("1.3")).st_ino, own) << "the agent's own is";
}

TEST_F(WorkFoldersTest, RemovalFollowsNoLink) {
  const std::filesystem::path outside = folder_.path() / "outside";
  ASSERT_EQ(::mkdir(outside.c_str(), 0700), 0);
  std::ofstream(outside / "precious") << "kept";
  ASSERT_TRUE(folders_.make("1.1", std::nullopt).ok());
  const std::filesystem::path work = folders_.path_of("1.1");
  ASSERT_EQ(::mkdir((work / "sub").c_str(), 0700), 0);
  for (const auto& link : {work / "a", work / "sub" / "b"}) {
    ASSERT_EQ(::symlink(outside.c_str(), link.c_str()), 0);
  }
  ASSERT_EQ(::link((outside / "precious").c_str(), (work / "hard").c_str()), 0);
  EXPECT_TRUE(remove_tree(work, stop_));
  EXPECT_FALSE(exists(work));
  EXPECT_EQ(testing::content(outside / "precious"), "kept");
}

// More levels than files can be open, and longer than a path may be.
TEST_F(WorkFoldersTest, ATreeOfAnyDepthGoes) {
  ASSERT_TRUE(folders_.make("1.1", std::nullopt).ok());
  Fd at(::open(folders_.path_of("1.1").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 5000; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "a-folder", 0700), 0);
    at = Fd(::openat(at.get(), "a-folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
  at.reset();
  EXPECT_TRUE(remove_tree(folders_.path_of("1.1"), stop_));
  EXPECT_FALSE(exists(folders_.path_of("1.1")));
}

TEST_F(WorkFoldersTest, WhatIsDiscardedIsOutOfTheWayAtOnceAndGoesLater) {
  ASSERT_TRUE(folders_.make("1.1", std::nullopt).ok());
  std::ofstream(folders_.path_of("1.1") + "/file") << "text";
  folders_.discard("1.1");
  EXPECT_FALSE(folders_.has("1.1"));
  wait_until([&] { return left_in_root() == 0; });
}

TEST_F(WorkFoldersTest, WhatAnEarlierAgentWasRemovingGoesOn) {
  ASSERT_EQ(::mkdir((root() / "gone.7").c_str(), 0700), 0);
  std::ofstream(root() / "gone.7" / "file") << "text";
  ASSERT_TRUE(folders_.make("4.2", std::nullopt).ok());
  EXPECT_EQ(folders_.find(), std::vector<std::string>{"4.2"});
  wait_until([&] { return !exists(root() / "gone.7"); });
}

}  // namespace
}  // namespace berth::agent::work_folders_test
