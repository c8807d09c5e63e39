// Commands of other users: what they have, and what they cannot reach. As root, with the users that
// every Debian has.
#include "agent/task_user.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/lease_store.h"
#include "agent/testing/commands.h"

namespace berth::agent::task_user_test {
namespace {

using berth::v1::TaskResult;
using testing::command_options;
using testing::content;
using testing::RunningAgent;
using testing::script_lease;
using testing::wait_until;
using testing::welcome;

TEST(TaskUserTest, IsFoundWithItsGroups) {
  const Result<TaskUser> nobody = find_user("nobody");
  ASSERT_TRUE(nobody.ok()) << nobody.error().message;
  EXPECT_EQ(nobody->uid, 65'534U);
  EXPECT_EQ(nobody->groups, std::vector<gid_t>{nobody->gid});
  EXPECT_EQ(user_name(nobody->uid), "nobody");
  const Result<TaskUser> none = find_user("berth-no-such-user");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "This machine has no user \"berth-no-such-user\".");
}

class OtherUsersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || !missing_capabilities().empty()) {
      GTEST_SKIP() << "only root can start commands as others";
    }
    // As the data folder of a server: for its own user alone. The working folders stand outside.
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0711), 0);
    ASSERT_EQ(::mkdir(data().c_str(), 0700), 0);
    std::ofstream(data() / "tokens") << "";
    ASSERT_EQ(::chmod((data() / "tokens").c_str(), 0666), 0);  // the folder alone must do
  }
  std::filesystem::path data() { return folder_.path() / "data"; }
  // Tenant ada is nobody, tenant bob is games.
  AgentOptions options() {
    AgentOptions made = command_options(data() / "agent");
    made.work_folder = folder_.path() / "work";
    made.user_of = [](const std::string& tenant) -> Result<std::optional<TaskUser>> {
      if (tenant == "eve") return Error{"commands of tenant \"eve\" are refused"};
      const Result<TaskUser> user = find_user(tenant == "ada" ? "nobody" : "games");
      if (!user) return user.error();
      return std::optional(*user);
    };
    return made;
  }
  TaskFiles task(std::uint64_t lease) {
    return LeaseStore(data() / "agent", folder_.path() / "work").files(lease, 1);
  }
  static berth::v1::Lease lease_of(std::uint64_t id, const std::string& tenant,
                                   const std::string& script) {
    berth::v1::Lease lease = script_lease(id, script);
    lease.mutable_tasks(0)->set_tenant(tenant);
    return lease;
  }
  // Runs it to its end and gives what it wrote.
  std::string run(const std::string& script, const std::string& tenant = "ada") {
    return run(options(), script, tenant);
  }
  std::string run(const AgentOptions& given, const std::string& script,
                  const std::string& tenant = "ada") {
    RunningAgent agent(given);
    agent.give(welcome());
    const std::uint64_t id = next_++;
    agent.give(lease_of(id, tenant, script));
    result_ = agent.sent.outcomes(id).at(0).result();
    return content(task(id).out());
  }

  testing::TemporaryFolder folder_;
  TaskResult result_;
  std::uint64_t next_ = 1;
};

TEST_F(OtherUsersTest, ACommandIsItsUserWithItsOwnGroupsAndNoMore) {
  EXPECT_EQ(run("id -u; id -g; id -G; umask; echo $HOME $USER $LOGNAME"),
            "65534\n65534\n65534\n0022\n/nonexistent nobody nobody\n");
  EXPECT_EQ(run("grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t'"),
            "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
            "CapBnd:" +
                content("/proc/self/status")
                    .substr(content("/proc/self/status").find("CapBnd:") + 8, 16) +
                "\nCapAmb:0000000000000000\nNoNewPrivs:1\n");
  EXPECT_EQ(run("id -un", "bob"), "games\n");
  EXPECT_EQ(run("ls /proc/self/fd | wc -l"), "4\n") << "the three, and that of ls";
}

TEST_F(OtherUsersTest, NewPrivilegesCanBeAllowed) {
  AgentOptions given = options();
  given.no_new_privs = false;
  EXPECT_EQ(run(given, "grep NoNewPrivs /proc/self/status | tr -d '\\t'"), "NoNewPrivs:0\n");
}

TEST_F(OtherUsersTest, ItWorksInAFolderThatIsItsAlone) {
  EXPECT_EQ(run("pwd; stat -c '%a %U' .; touch file && echo made"),
            task(1).work() + "\n700 nobody\nmade\n");
  EXPECT_EQ(run("ls " + task(1).work() + " || echo denied; ls .. || echo closed", "bob"),
            "denied\nclosed\n");
}

// The attacks of a tenant who wants to be an admin, or to read what is others'.
TEST_F(OtherUsersTest, ItReachesNothingOfTheServerOrOfOtherTenants) {
  ::setenv("BERTH_TEST_SECRET", "hunter2", 1);
  const std::string agent_pid = std::to_string(::getpid());
  EXPECT_EQ(run("echo secret of ada > mine; echo said", "ada"), "said\n");
  const std::string tokens = (data() / "tokens").string();
  EXPECT_EQ(run("printf 'deadbeef\\tSHA256\\tbob\\tadmin\\n' >> " + tokens +
                    " || echo no; cat ../../data/tokens || echo no; "
                    "cat " +
                    task(1).out() + " || echo no; cat " + task(1).work() +
                    "/mine || echo no; cat /proc/" + agent_pid +
                    "/environ || echo no; cat /proc/$PPID/environ || echo no; "
                    "kill -9 " +
                    agent_pid +
                    " || echo no; kill -9 $PPID || echo no; ls /proc/$PPID/fd || "
                    "echo no; cat /proc/$PPID/mem || echo no",
                "bob"),
            "no\nno\nno\nno\nno\nno\nno\nno\nno\nno\n");
  EXPECT_TRUE(result_.completed());
  EXPECT_EQ(content(tokens), "");
  ::unsetenv("BERTH_TEST_SECRET");
}

TEST_F(OtherUsersTest, OneTenantCannotEndOrReadTheProcessesOfAnother) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(lease_of(1, "ada", "echo $$ > pid; exec sleep 600"));
  const std::string pid = std::to_string(testing::written_pid(task(1).work() + "/pid"));
  agent.give(lease_of(2, "bob",
                      "kill -9 " + pid + " || echo no; cat /proc/" + pid +
                          "/environ || echo no; ls /proc/" + pid + "/cwd/ || echo no"));
  EXPECT_TRUE(agent.sent.outcomes(2).at(0).result().completed());
  EXPECT_EQ(content(task(2).out()), "no\nno\nno\n");
  agent.give(testing::stop(1, 1));
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().term_signal(), SIGTERM)
      << "its shim, who is root, can";
}

// What a killed shim leaves must not run on: the tie to it is cut by the change of users, and made
// again after it.
TEST_F(OtherUsersTest, ACommandEndsWithItsShim) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(lease_of(1, "ada", "echo $$ > pid; exec sleep 600"));
  const pid_t pid = testing::written_pid(task(1).work() + "/pid");
  ASSERT_EQ(::kill(testing::shim_of(task(1)), SIGKILL), 0);
  wait_until([&] { return !testing::process_exists(pid); });
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::CRASH);
}

TEST_F(OtherUsersTest, ASetUserIdProgramGivesItNothing) {
  const std::filesystem::path program = folder_.path() / "id";
  std::filesystem::copy_file("/usr/bin/id", program);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(run(program.string() + " -u"), "65534\n");
  AgentOptions given = options();
  given.no_new_privs = false;
  EXPECT_EQ(run(given, program.string() + " -u"), "0\n") << "or this test shows nothing";
}

TEST_F(OtherUsersTest, LinksInItsFolderLeadTheServerNowhere) {
  std::ofstream(data() / "precious") << "kept";
  AgentOptions given = options();
  given.output_ttl = milliseconds(1);
  RunningAgent agent(given);
  agent.give(welcome());
  agent.give(lease_of(1, "ada",
                      "ln -s " + data().string() + " link; mkdir deep; ln -s " +
                          (data() / "precious").string() + " deep/file; chmod 0 deep"));
  EXPECT_TRUE(agent.sent.outcomes(1).at(0).result().completed());
  const std::filesystem::path work = task(1).work();
  agent.give(testing::acknowledge(2));
  wait_until([&] { return !std::filesystem::exists(work); });
  const auto is_swept = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "work")) {
      if (entry.path().filename().string().starts_with("gone.")) return false;
    }
    return true;
  };
  wait_until(is_swept);
  EXPECT_EQ(content(data() / "precious"), "kept");
}

TEST_F(OtherUsersTest, AFolderItMayNotEnterIsItsOwnFault) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(1, "ada", "true");
  lease.mutable_tasks(0)->mutable_spec()->set_workdir(data().string());
  agent.give(lease);
  const TaskResult result = agent.sent.outcomes(1).at(0).result();
  EXPECT_EQ(result.failure(), berth::v1::ERROR);
  EXPECT_EQ(
      result.message(),
      "Could not enter as the user \"nobody\" the working folder " + data().string() +
          ": Permission denied. Submit it with --no-workdir to run in a folder of its own, or "
          "name another with --workdir.");
}

TEST_F(OtherUsersTest, ATenantWhoseCommandsMayNotRunIsToldWhy) {
  run("true", "eve");
  EXPECT_EQ(result_.failure(), berth::v1::ERROR);
  EXPECT_EQ(result_.message(), "commands of tenant \"eve\" are refused");
}

TEST_F(OtherUsersTest, ItMayOpenItsOutputByName) {
  EXPECT_EQ(run("echo one > /dev/stdout; echo two > /proc/self/fd/1; echo bad > /dev/stderr"),
            "one\ntwo\n");
  EXPECT_EQ(content(task(1).err()), "bad\n");
}

TEST_F(OtherUsersTest, ItHasAPlainPathUnlessItsTaskNamesOne) {
  const char* const own = std::getenv("PATH");
  const std::string before = own == nullptr ? "/usr/bin:/bin" : own;
  ::setenv("PATH", ("/opt/of-the-server:" + before).c_str(), 1);
  EXPECT_EQ(run("echo $PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
  ::setenv("PATH", before.c_str(), 1);
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(7, "ada", "echo $PATH");
  (*lease.mutable_tasks(0)->mutable_spec()->mutable_env())["PATH"] = "/usr/bin:/bin";
  agent.give(lease);
  agent.sent.outcomes(7);
  EXPECT_EQ(content(task(7).out()), "/usr/bin:/bin\n");
}

}  // namespace
}  // namespace berth::agent::task_user_test
