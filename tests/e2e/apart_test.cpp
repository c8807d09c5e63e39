// Tenants apart: two tenants with tokens and users of their own attack the server and each other
// through commands; and who may run commands at all. As root, with users that every Debian has.
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::apart_test {
namespace {

using support::ServerProcess;

class Apart : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start commands as others";
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0711), 0);  // as /var and /var/lib
  }
  std::filesystem::path data() { return folder_.path() / "data"; }
  std::string token(const std::string& arguments) {
    Result made = run(std::string(BERTH_BINARY) + " token create --data " + data().string() + " " +
                      arguments + " 2>/dev/null");
    EXPECT_EQ(made.code, 0) << made.out;
    made.out.pop_back();
    return made.out;
  }
  void serve(const std::string& config) {
    std::ofstream(folder_.path() / "berth.toml") << config;
    ada_ = token("--tenant ada");
    bob_ = token("--tenant bob");
    admin_ = token("--role admin --tenant ops");
    server_.emplace(ServerProcess::Options{data(),
                                           {"--config", (folder_.path() / "berth.toml").string()},
                                           {{"SERVER_SECRET", "xyzzy"}}});
  }
  Result as(const std::string& token, const std::string& arguments) {
    return run("BERTH_TOKEN=" + token + " BERTH_SERVER=" + server_->grpc_address() + " " +
               BERTH_BINARY + " " + arguments);
  }
  // What the script wrote; each attack in it ends in "|| echo no".
  std::string attack(const std::string& token, const std::string& script) {
    return as(token, "submit --queue llm --no-workdir --wait -- sh -c '" + script + "' 2>/dev/null")
        .out;
  }

  support::TempFolder folder_;
  std::string ada_, bob_, admin_;
  std::optional<ServerProcess> server_;
};

constexpr const char* kTwoUsers = R"(
[server]
authentication = true
[tasks]
run_as = "daemon"
[[tenants]]
name = "ada"
unix_user = "nobody"
[[tenants]]
name = "bob"
unix_user = "games"
)";

TEST_F(Apart, NobodyBecomesAnAdmin) {
  serve(kTwoUsers);
  ASSERT_TRUE(server_->serves()) << server_->error();
  EXPECT_NE(server_->error().find("those of tenant \"bob\" as user games"), std::string::npos)
      << server_->error();
  const std::string tokens = (data() / "tokens").string();
  const std::string line = R"(printf "deadbeef\tSHA256\tbob\tadmin\t0\t0\t0\n" >> )";
  EXPECT_NE(attack(bob_, line + tokens + " || echo no; " + line + "../../data/tokens || echo no; " +
                             line + "../data/tokens || echo no")
                .find("no\nno\nno\n"),
            std::string::npos);
  EXPECT_EQ(run("grep -c deadbeef " + tokens).out, "0\n");
  EXPECT_EQ(as(bob_, "put tenant bob --weight 9").code, 4);
}

TEST_F(Apart, NobodyReadsWhatIsAnothers) {
  serve(kTwoUsers);
  ASSERT_TRUE(server_->serves()) << server_->error();
  ASSERT_EQ(as(ada_,
               "submit --queue llm --no-workdir --id adas --env KEY=adassecret -- sh -c "
               "'echo adasoutput; echo mine > file; chmod 644 file; sleep 600'")
                .code,
            0);
  Result pids;
  for (int tries = 0; tries < 200 && pids.out.empty(); ++tries) {
    ::usleep(50'000);
    pids = run("pgrep -u nobody -x sleep | head -1");
  }
  ASSERT_FALSE(pids.out.empty());
  const std::string pid = pids.out.substr(0, pids.out.size() - 1);
  const std::string server = std::to_string(server_->pid());
  const std::string seen =
      attack(bob_, "cat ../*.out || echo no; grep -ra adas " + data().string() +
                       " || echo no; cat /proc/" + pid + "/environ || echo no; cat /proc/" +
                       server + "/environ || echo no; cat ../*/file || echo no; ls /proc/" + pid +
                       "/cwd/ || echo no; kill -9 " + pid +
                       " || echo no; kill -STOP $PPID || echo no; kill " + server +
                       " || echo no; ls .. || echo no");
  EXPECT_NE(seen.find("no\nno\nno\nno\nno\nno\nno\nno\nno\nno\n"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("adas"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("xyzzy"), std::string::npos) << seen;
  EXPECT_EQ(as(ada_, "logs adas").out, "adasoutput\n");
  EXPECT_EQ(as(ada_, "cancel adas").code, 0);
}

TEST_F(Apart, WithTokensAndNoUserCommandsAreRefusedWithWhatToDo) {
  serve("[server]\nauthentication = true\n[[tenants]]\nname = \"bob\"\n");
  ASSERT_TRUE(server_->serves()) << server_->error();
  const Result refused = as(bob_, "submit --queue llm -- true");
  EXPECT_EQ(refused.code, 7) << refused.out;
  EXPECT_NE(refused.out.find("set tasks.run_as, or unix_user of the tenant"), std::string::npos)
      << refused.out;
  EXPECT_EQ(as(bob_, "submit --queue llm --payload '{}'").code, 0);
}

TEST_F(Apart, AQueueAndATenantCanForbidCommandsWhileTheServerRuns) {
  serve(kTwoUsers);
  ASSERT_TRUE(server_->serves()) << server_->error();
  ASSERT_EQ(as(bob_, "submit --queue llm -- true").code, 0);
  ASSERT_EQ(as(admin_, "put tenant bob --commands false").code, 0);
  const Result forbidden = as(bob_, "submit --queue llm -- true");
  EXPECT_EQ(forbidden.code, 4) << forbidden.out;
  EXPECT_NE(forbidden.out.find("tenant \"bob\" may run no commands"), std::string::npos)
      << forbidden.out;
  ASSERT_EQ(as(admin_, "put queue llm --commands false").code, 0);
  EXPECT_EQ(as(ada_, "submit --queue llm -- true").code, 4);
  EXPECT_EQ(as(ada_, "submit --queue diffusion -- true").code, 0);
}

// What is wrong, said by the start and by the doctor.
TEST_F(Apart, WhatCannotBeIsAnErrorAtTheStart) {
  const auto errors = [&](const std::string& key, const std::string& value) {
    std::ofstream(folder_.path() / "berth.toml")
        << "[tasks]\nrun_as = \"nobody\"\n" + key + " = \"" + value + "\"\n";
    return berth("doctor --config " + (folder_.path() / "berth.toml").string() + " --data " +
                 data().string());
  };
  const auto expect = [](const Result& doctor, const std::string& why) {
    EXPECT_EQ(doctor.code, 1);
    EXPECT_NE(doctor.out.find("BAD   "), std::string::npos);
    EXPECT_NE(doctor.out.find(why), std::string::npos) << doctor.out;
  };
  expect(errors("folder", data().string() + "/t"), "stands in the data folder");
  expect(errors("cgroup", "/proc/no/group"), "tasks.cgroup: Could not open /proc/no/cgroup.contr");
  serve("[tasks]\nrun_as = \"nobdy\"\n");
  EXPECT_FALSE(server_->serves());
  EXPECT_NE(server_->error().find("tasks.run_as: This machine has no user \"nobdy\"."),
            std::string::npos);
  serve("[server]\nauthentication = true\n[tasks]\nrun_as = \"root\"\n");
  EXPECT_FALSE(server_->serves());
  EXPECT_NE(server_->error().find("commands must not run as \"root\""), std::string::npos);
}

TEST_F(Apart, RealGpusThatWereAskedForAreNeverInvented) {
  const std::map<std::string, std::string> no_programs = {{"PATH", folder_.path().string()}};
  ServerProcess asked({data(), {"--set", "gpus.source=nvidia-smi"}, no_programs});
  EXPECT_FALSE(asked.serves());
  EXPECT_NE(asked.error().find("gpus.source is \"nvidia-smi\", and it shows no GPU here. Could not "
                               "run nvidia-smi: No such file or directory"),
            std::string::npos)
      << asked.error();
  ServerProcess fallen_back({data(), {"--set", "gpus.source=auto"}, no_programs});
  ASSERT_TRUE(fallen_back.serves()) << fallen_back.error();
  EXPECT_NE(fallen_back.error().find("all simulated: no real one was found."), std::string::npos)
      << fallen_back.error();
}

TEST_F(Apart, OneUserWithoutTokensIsToldAsWhomCommandsRun) {
  ServerProcess server({data(), {}, {}});
  ASSERT_TRUE(server.serves()) << server.error();
  EXPECT_NE(server.error().find("commands run as root, the server's own user"), std::string::npos)
      << server.error();
  const Result done = berth("submit --server " + server.grpc_address() +
                            " --queue llm --no-workdir --wait -- sh -c 'id -un; stat -c %a .'");
  EXPECT_NE(done.out.find("root\n700\n"), std::string::npos) << done.out;
}

}  // namespace
}  // namespace berth::e2e::apart_test
