// A server that asks for client certificates, and the shell with and without one.
#include <fstream>

#include "api/testing/certificates.h"
#include "process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::tls_test {
namespace {

using api::testing::Authority;
using api::testing::Identity;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(Tls, TheShellShowsItsCertificate) {
  if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
  const support::TempFolder folder;
  const Authority servers("servers");
  const Authority clients("clients");
  const Identity server_identity = servers.issue("server");
  write(folder / "servers.pem", servers.certificate());
  write(folder / "clients.pem", clients.certificate());
  write(folder / "server.pem", server_identity.certificate);
  write(folder / "server.key", server_identity.key);
  for (const auto& [name, identity] : {std::pair{"client", clients.issue("client")},
                                       std::pair{"stranger", servers.issue("stranger")}}) {
    write(folder / (std::string(name) + ".pem"), identity.certificate);
    write(folder / (std::string(name) + ".key"), identity.key);
  }
  const auto at = [&](const std::string& name) { return (folder / name).string(); };
  support::ServerProcess server(
      {folder / "data",
       {"--set", "server.tls_certificate=" + at("server.pem"), "--set",
        "server.tls_key=" + at("server.key"), "--set", "server.tls_client_ca=" + at("clients.pem")},
       {}});
  ASSERT_TRUE(server.serves()) << server.error();
  const auto info = [&](const std::string& options) {
    return berth("info --timeout 3s --server " + server.grpc_address() + " --ca " +
                 at("servers.pem") + options);
  };
  const Result known = info(" --cert " + at("client.pem") + " --key " + at("client.key"));
  EXPECT_EQ(known.code, 0) << known.out;
  const Result stranger = info(" --cert " + at("stranger.pem") + " --key " + at("stranger.key"));
  EXPECT_EQ(stranger.code, 5) << stranger.out;
  const Result nobody = info("");
  EXPECT_EQ(nobody.code, 5) << nobody.out;
  EXPECT_NE(nobody.out.find("--cert"), std::string::npos) << nobody.out;
}

}  // namespace
}  // namespace berth::e2e::tls_test
