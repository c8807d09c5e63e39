// What a server trusts: its configuration as it was at the start, its data folder, tokens and keys.
// Somebody tries to change them; a reload brings what needs a restart. As root, with users that
// every Debian has.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::trust_test {
namespace {

namespace fs = std::filesystem;
using support::ServerProcess;

constexpr uid_t kSomebody = 65'534;
constexpr const char* kTokens = "[server]\nauthentication = true\n";

class Trust : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away and run as others";
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0711), 0);
    ASSERT_EQ(::mkdir(home().c_str(), 0755), 0);
  }
  fs::path home() const { return folder_.path() / "home"; }
  fs::path data() const { return home() / "data"; }
  fs::path file() const { return folder_.path() / "berth.toml"; }
  void write(const std::string& config) const { std::ofstream(file()) << config; }
  static void give(const fs::path& path) {
    ASSERT_EQ(::lchown(path.c_str(), kSomebody, kSomebody), 0);
  }
  std::string token(const std::string& arguments) const {
    Result made = run(std::string(BERTH_BINARY) + " token create --data " + data().string() + " " +
                      arguments + " 2>/dev/null");
    EXPECT_EQ(made.code, 0) << made.out;
    made.out.pop_back();
    return made.out;
  }
  std::unique_ptr<ServerProcess> serve() const {
    return std::make_unique<ServerProcess>(
        ServerProcess::Options{data(), {"--config", file().string()}, {}});
  }
  Result doctor() const {
    return berth("doctor --config " + file().string() + " --data " + data().string());
  }
  // Neither the start nor the doctor lets it pass.
  void expect_refused(const std::string& why) const {
    const auto server = serve();
    EXPECT_FALSE(server->serves());
    EXPECT_NE(server->error().find(why), std::string::npos) << server->error();
    const Result looked = doctor();
    EXPECT_EQ(looked.code, 1);
    EXPECT_NE(looked.out.find("BAD   access: " + why), std::string::npos) << looked.out;
  }
  void expect_served() const {
    const auto server = serve();
    EXPECT_TRUE(server->serves()) << server->error();
    const Result looked = doctor();
    EXPECT_EQ(looked.out.find("BAD   access: "), std::string::npos) << looked.out;
  }

  support::TempFolder folder_;
};

TEST_F(Trust, WhatNeedsARestartHoldsFromTheStartHoweverOftenTheFileIsRead) {
  write(std::string(kTokens) + "[tasks]\nrun_as = \"daemon\"\n[[tenants]]\nname = \"red\"\n");
  const std::string red = token("--tenant red");
  const std::string admin = token("--role admin");
  const auto server = serve();
  ASSERT_TRUE(server->serves()) << server->error();
  const auto as = [&](const std::string& who, const std::string& arguments) {
    return run("BERTH_TOKEN=" + who + " BERTH_SERVER=" + server->grpc_address() + " " +
               BERTH_BINARY + " " + arguments);
  };
  write("[[tenants]]\nname = \"red\"\n");
  for (const char* arguments : {"reload", "reload --dry-run", "reload"}) {
    const Result reloaded = as(admin, arguments);
    EXPECT_EQ(reloaded.code, 0) << reloaded.out;
    for (const char* waits : {"server.authentication: true becomes false after a restart",
                              "tasks.run_as: \"daemon\" becomes not set after a restart",
                              "tenant_defaults.make_unknown: false becomes true after a restart"})
      EXPECT_NE(reloaded.out.find(waits), std::string::npos) << reloaded.out;
  }
  const Result command = as(red, "submit --queue llm --wait -- id -un");
  EXPECT_NE(command.out.find("daemon\n"), std::string::npos) << command.out;
  const std::string shown = as(admin, "config show --running").out;
  for (const char* line :
       {"authentication = true\n", "run_as = \"daemon\"\n", "make_unknown = false\n"})
    EXPECT_NE(shown.find(line), std::string::npos) << shown;
  EXPECT_EQ(as(admin, "submit --queue llm --tenant nobody --payload x").code, 3);
}

TEST_F(Trust, ADataFolderThatOthersCanSwapIsNotServed) {
  write(kTokens);
  expect_served();
  ASSERT_EQ(::chmod(home().c_str(), 0777), 0);
  const std::string swap =
      "server.data: other users can put their own in the place of " + data().string() + ": ";
  expect_refused(swap + "others may write to " + home().string());
  ASSERT_EQ(::chmod(home().c_str(), 01777), 0);
  expect_served();
  ASSERT_EQ(::chmod(home().c_str(), 0755), 0);
  give(home());
  expect_refused(swap + home().string() + " belongs to the user 65534");
}

TEST_F(Trust, ADataFolderOfAnotherUserIsNotServed) {
  write(kTokens);
  ASSERT_EQ(::mkdir(data().c_str(), 0700), 0);
  give(data());
  expect_refused("server.data: " + data().string() + " belongs to the user 65534, who can change");
  write("");
  const auto server = serve();
  EXPECT_TRUE(server->serves()) << "without tokens everyone may do everything: " << server->error();
  EXPECT_NE(doctor().out.find("note  access: server.data: "), std::string::npos);
}

TEST_F(Trust, TokensThatAreAnothersAreNotRead) {
  write(kTokens);
  token("--role admin");
  const fs::path tokens = data() / "tokens";
  expect_served();
  give(tokens);
  expect_refused(tokens.string() + " belongs to the user 65534, who can change it");
  fs::rename(tokens, home() / "forged");
  fs::create_symlink(home() / "forged", tokens);
  expect_refused(tokens.string() + " is a link");
}

TEST_F(Trust, FilesThatOthersCanWriteAreNotTrusted) {
  write(kTokens);
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  expect_refused("the configuration: other users can change " + file().string());
  write("[tasks]\nrun_as = \"daemon\"\n");
  expect_refused("the configuration: other users can change " + file().string());
  write("");
  expect_served();
  EXPECT_NE(doctor().out.find("note  access: the configuration: other users can change "),
            std::string::npos);
  ASSERT_EQ(::chmod(file().c_str(), 0644), 0);

  for (const char* name : {"tls_certificate", "tls_key", "tls_client_ca"})
    std::ofstream(home() / name) << "PEM";
  const std::string tls = "tls_certificate = \"" + (home() / "tls_certificate").string() +
                          "\"\ntls_key = \"" + (home() / "tls_key").string() +
                          "\"\ntls_client_ca = \"" + (home() / "tls_client_ca").string() + "\"\n";
  write(kTokens + tls);
  for (const char* name : {"tls_certificate", "tls_key", "tls_client_ca"}) {
    ASSERT_EQ(::chmod((home() / name).c_str(), 0620), 0);
    expect_refused("server." + std::string(name) + ": other users can change ");
    ASSERT_EQ(::chmod((home() / name).c_str(), 0600), 0);
  }
  EXPECT_EQ(doctor().out.find("server.tls_"), std::string::npos);
  ASSERT_EQ(::chmod((home() / "tls_key").c_str(), 0644), 0);
  EXPECT_NE(doctor().out.find("note  access: server.tls_key: everybody can read "),
            std::string::npos);
}

// A file that was closed at the start may be open when it is read again.
TEST_F(Trust, AConfigurationThatOthersCanWriteIsNotReloaded) {
  write(std::string(kTokens) + "[[tenants]]\nname = \"red\"\n");
  const std::string admin = token("--role admin");
  const auto server = serve();
  ASSERT_TRUE(server->serves()) << server->error();
  write(std::string(kTokens) + "[[tenants]]\nname = \"red\"\nunix_user = \"daemon\"\n");
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  const Result refused = run("BERTH_TOKEN=" + admin + " " + BERTH_BINARY + " reload --server " +
                             server->grpc_address());
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.out.find("other users can change " + file().string()), std::string::npos)
      << refused.out;
}

TEST_F(Trust, TheDoctorSaysWhatUsersShareAndWhatTheirGroupsGive) {
  write("");
  EXPECT_NE(doctor().out.find("note  commands: authentication is off and commands run as root: any "
                              "local user is root here"),
            std::string::npos);
  write(std::string(kTokens) +
        "[tasks]\nrun_as = \"daemon\"\n[[tenants]]\nname = \"a\"\nunix_user = \"nobody\"\n"
        "[[tenants]]\nname = \"b\"\nunix_user = \"nobody\"\n[[tenants]]\nname = \"c\"\n"
        "unix_user = \"daemon\"\n");
  const Result shared = doctor();
  EXPECT_EQ(shared.out.find("any local user is root"), std::string::npos) << shared.out;
  EXPECT_EQ(shared.out.find("is in the group"), std::string::npos) << shared.out;
  for (const char* note : {"note  commands: tenants \"a\" and \"b\" have one user, nobody",
                           "note  commands: tenant \"c\" has the user of tasks.run_as, daemon"})
    EXPECT_NE(shared.out.find(note), std::string::npos) << shared.out;

  const std::string groups = (folder_.path() / "group").string();
  std::ofstream(groups) << "root:x:0:nobody\nshadow:x:42:daemon\ndocker:x:999:daemon\n"
                           "daemon:x:1:\nnogroup:x:65534:\n";
  const std::string in_space = "unshare -m sh -c 'mount --bind " + groups + " /etc/group && ";
  if (run(in_space + "true'").code != 0) GTEST_SKIP() << "no mount of its own can be made here";
  const Result mighty = run(in_space + BERTH_BINARY + " doctor --config " + file().string() +
                            " --data " + data().string() + "'");
  for (const char* note : {"note  commands: user nobody is in the group root",
                           "note  commands: user daemon is in the group shadow",
                           "note  commands: user daemon is in the group docker"})
    EXPECT_NE(mighty.out.find(note), std::string::npos) << mighty.out;
}

}  // namespace
}  // namespace berth::e2e::trust_test
