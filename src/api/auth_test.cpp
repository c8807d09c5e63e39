// Tokens: the file, and who is let in.
#include "api/auth.h"

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/testing/temp_folder.h"

namespace berth::api::auth_test {
namespace {

class Tokens : public ::testing::Test {
 protected:
  NewToken create(const std::string& tenant, Role role, std::int64_t expires = 0) {
    auto made = create_token(path_, tenant, role, expires, 1000);
    EXPECT_TRUE(made.ok());
    return std::move(*made);
  }
  std::string reason_of(const std::variant<Caller, Problem>& answer) {
    const auto* problem = std::get_if<Problem>(&answer);
    return problem == nullptr ? "" : problem->reason;
  }
  // Asks until the file has been looked at again.
  std::string reason_after_change(Authenticator& authenticator, const std::string& header,
                                  const std::string& wanted) {
    std::string reason;
    for (int i = 0; i < 500; ++i) {
      reason = reason_of(authenticator.admit(header, {Role::tenant}));
      if (reason == wanted) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return reason;
  }

  store::testing::TempFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "tokens";
};

TEST_F(Tokens, ATokenLetsItsTenantIn) {
  const NewToken made = create("alice", Role::tenant);
  EXPECT_TRUE(made.secret.starts_with("bth_"));
  EXPECT_EQ(made.secret.size(), 4U + 64U);
  Authenticator authenticator(true, path_, {});
  const auto answer = authenticator.admit("Bearer " + made.secret, {Role::tenant});
  ASSERT_TRUE(std::holds_alternative<Caller>(answer));
  EXPECT_EQ(std::get<Caller>(answer).tenant, "alice");
  EXPECT_TRUE(std::get<Caller>(answer).authenticated);
  EXPECT_FALSE(sees_all(std::get<Caller>(answer)));
}

TEST_F(Tokens, TheFileHoldsNoSecretAndIsPrivate) {
  const NewToken made = create("alice", Role::admin);
  std::ifstream file(path_);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text.find(made.secret.substr(4)), std::string::npos);
  EXPECT_NE(text.find("alice"), std::string::npos);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(Tokens, RolesAreHeldApart) {
  const std::string tenant = "Bearer " + create("alice", Role::tenant).secret;
  const std::string admin = "bearer " + create("ops", Role::admin).secret;
  const std::string agent = "Bearer " + create("node", Role::agent).secret;
  Authenticator authenticator(true, path_, {});
  EXPECT_EQ(reason_of(authenticator.admit(tenant, {Role::admin})), "role_denied");
  EXPECT_EQ(reason_of(authenticator.admit(tenant, {Role::agent})), "role_denied");
  EXPECT_EQ(reason_of(authenticator.admit(admin, {Role::tenant})), "");
  EXPECT_EQ(reason_of(authenticator.admit(admin, {Role::agent})), "role_denied");
  EXPECT_EQ(reason_of(authenticator.admit(agent, {Role::tenant})), "role_denied");
  EXPECT_EQ(reason_of(authenticator.admit(agent, {Role::agent})), "");
}

TEST_F(Tokens, WhatIsNoTokenIsRefused) {
  create("alice", Role::tenant);
  Authenticator authenticator(true, path_, {});
  EXPECT_EQ(reason_of(authenticator.admit("", {Role::tenant})), "no_token");
  EXPECT_EQ(reason_of(authenticator.admit("Basic abc", {Role::tenant})), "no_token");
  EXPECT_EQ(reason_of(authenticator.admit("Bearer ", {Role::tenant})), "no_token");
  EXPECT_EQ(reason_of(authenticator.admit("Bearer bth_0", {Role::tenant})), "bad_token");
  EXPECT_EQ(reason_of(authenticator.admit("Bearer " + std::string(300, 'x'), {Role::tenant})),
            "no_token");
  EXPECT_EQ(reason_of(authenticator.admit("", {Role::anyone})), "");
}

TEST_F(Tokens, ExpiredOnesAreRefused) {
  const NewToken made = create("alice", Role::tenant, 2000);
  Authenticator authenticator(true, path_, {});
  EXPECT_EQ(reason_of(authenticator.admit("Bearer " + made.secret, {Role::tenant})),
            "token_expired");
}

TEST_F(Tokens, RevokingTakesEffectWithoutARestart) {
  const NewToken made = create("alice", Role::tenant);
  Authenticator authenticator(true, path_, {});
  const std::string header = "Bearer " + made.secret;
  ASSERT_EQ(reason_of(authenticator.admit(header, {Role::tenant})), "");
  ASSERT_TRUE(revoke_token(path_, made.token.id, 1500).ok());
  EXPECT_EQ(reason_after_change(authenticator, header, "token_revoked"), "token_revoked");
  EXPECT_FALSE(revoke_token(path_, "nothing", 1500).ok());
}

TEST_F(Tokens, ADamagedFileLeavesTheLastGoodOneInForce) {
  const NewToken made = create("alice", Role::tenant);
  std::atomic<int> told{0};
  Authenticator authenticator(true, path_, [&](const std::string&) { ++told; });
  const std::string header = "Bearer " + made.secret;
  ASSERT_EQ(reason_of(authenticator.admit(header, {Role::tenant})), "");
  std::ofstream(path_, std::ios::app) << "nonsense\n";
  EXPECT_FALSE(read_tokens(path_).ok());
  for (int i = 0; i < 500 && told == 0; ++i) {
    EXPECT_EQ(reason_of(authenticator.admit(header, {Role::tenant})), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(told, 1);
}

TEST_F(Tokens, ATokensFileOfAnotherLeavesTheLastGoodOneInForce) {
  const std::string header = "Bearer " + create("alice", Role::tenant).secret;
  const std::filesystem::path forged = folder_.path() / "forged";
  const std::string admin = "Bearer " + create_token(forged, "alice", Role::admin, 0, 1000)->secret;
  std::string said;  // by this thread, which asks
  Authenticator authenticator(true, path_, [&](const std::string& text) { said = text; });
  const auto expect_refused = [&](const std::string& why) {
    for (int i = 0; i < 500 && said.find(why) == std::string::npos; ++i) {
      EXPECT_EQ(reason_of(authenticator.admit(header, {Role::tenant})), "");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_NE(said.find("; the tokens read before stay in force"), std::string::npos) << said;
    EXPECT_EQ(reason_of(authenticator.admit(admin, {Role::admin})), "bad_token");
  };
  ASSERT_EQ(reason_of(authenticator.admit(header, {Role::tenant})), "");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(forged, path_);
  expect_refused(path_.string() + " is a link");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(forged.c_str(), 12345, 12345), 0);
  std::filesystem::rename(forged, path_);
  expect_refused(path_.string() + " belongs to the user 12345");
}

// chown and chmod leave the time of the contents as it was.
TEST_F(Tokens, AChangeOfModeAloneIsNoticed) {
  const std::string header = "Bearer " + create("alice", Role::tenant).secret;
  const std::array<timespec, 2> long_ago{timespec{1000, 0}, timespec{1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), long_ago.data(), 0), 0);
  std::atomic<int> told{0};
  Authenticator authenticator(true, path_, [&](const std::string&) { ++told; });
  ASSERT_EQ(reason_of(authenticator.admit(header, {Role::tenant})), "");
  ASSERT_EQ(::chmod(path_.c_str(), 0606), 0);
  for (int i = 0; i < 500 && told == 0; ++i) {
    EXPECT_EQ(reason_of(authenticator.admit(header, {Role::tenant})), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(told, 1);
}

TEST_F(Tokens, NoFileMeansNoToken) {
  Authenticator authenticator(true, path_, {});
  EXPECT_EQ(reason_of(authenticator.admit("Bearer bth_x", {Role::tenant})), "bad_token");
  EXPECT_TRUE(read_tokens(path_)->empty());
}

TEST_F(Tokens, WithoutAuthenticationEveryoneIsLetIn) {
  Authenticator authenticator(false, path_, {});
  const auto answer = authenticator.admit("", {Role::admin});
  ASSERT_TRUE(std::holds_alternative<Caller>(answer));
  EXPECT_TRUE(sees_all(std::get<Caller>(answer)));
}

TEST(Callers, SpeakForThemselvesOnly) {
  const Caller alice{.tenant = "alice", .role = Role::tenant, .authenticated = true};
  EXPECT_EQ(std::get<std::string>(tenant_of(alice, "")), "alice");
  EXPECT_EQ(std::get<std::string>(tenant_of(alice, "alice")), "alice");
  EXPECT_EQ(std::get<Problem>(tenant_of(alice, "bob")).code, Code::permission_denied);
  const Caller admin{.tenant = "ops", .role = Role::admin, .authenticated = true};
  EXPECT_EQ(std::get<std::string>(tenant_of(admin, "bob")), "bob");
  EXPECT_EQ(std::get<std::string>(tenant_of(Caller{}, "")), "default");
}

}  // namespace
}  // namespace berth::api::auth_test
