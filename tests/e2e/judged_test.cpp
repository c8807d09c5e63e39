// What berth gives to other programs, judged by them: its metrics by promtool, its completions by
// zsh and fish. On a developer's machine a judge may be missing; in CI that is a failure.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "api/testing/raw_http.h"
#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::judged_test {
namespace {

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

// script/test says where it has promtool.
std::string promtool() {
  const char* path = std::getenv("BERTH_PROMTOOL");
  return path == nullptr ? "promtool" : path;
}

bool is_here(const std::string& program) { return run("command -v " + program).code == 0; }

// A macro, since a skip must return from the test itself.
#define NEEDS(program)                                                     \
  if (!is_here(program)) {                                                 \
    ASSERT_FALSE(in_ci()) << (program) << " is not installed";             \
    GTEST_SKIP() << (program) << " is not installed: nothing judges this"; \
  }

TEST(Metrics, PassPromtool) {
  if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
  NEEDS(promtool());
  support::TempFolder folder;
  support::ServerProcess server({folder / "data", {}, {{"BERTH_TIME_SCALE", "0"}}});
  ASSERT_TRUE(server.serves()) << server.error();
  // Histograms and the counters of ends have values only after work.
  const std::string submit = "submit --server " + server.grpc_address() + " --queue llm --wait -- ";
  ASSERT_EQ(berth(submit + "true").code, 0);
  ASSERT_EQ(berth(submit + "false").code, 1);
  for (const char* page : {"/metrics", "/gpu/metrics"}) {
    const api::testing::RawReply reply =
        api::testing::RawHttp(server.http_port()).ask("GET", page, "", "");
    ASSERT_EQ(reply.status, 200) << page;
    EXPECT_NE(reply.body.find("# TYPE "), std::string::npos) << page;
    const std::filesystem::path file = folder / "metrics";
    std::ofstream(file) << reply.body;
    const Result judged = run(promtool() + " check metrics < " + file.string());
    EXPECT_EQ(judged.code, 0) << page << "\n" << judged.out;
  }
  // The judge finds fault when there is some.
  const std::filesystem::path file = folder / "wrong";
  std::ofstream(file) << "# TYPE berth_tasks counter\nberth_tasks 1\n";
  EXPECT_NE(run(promtool() + " check metrics < " + file.string()).code, 0);
}

class Completion : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "the scripts are the same in every build";
  }
  // Where `name`'s script is written, for that shell to load; `berth` is on its PATH.
  std::string script(const std::string& name) {
    const std::filesystem::path path = folder_ / "_berth";
    std::ofstream(path) << berth("completion " + name).out;
    return path.string();
  }
  // Commands that are given to the shell without any user's own settings.
  Result shell(const std::string& program, const std::string& commands) {
    const std::filesystem::path path = folder_ / "commands";
    std::ofstream(path) << commands;
    const std::filesystem::path binary = BERTH_BINARY;
    return run("cd " + folder_.path().string() + " && HOME=" + folder_.path().string() +
               " XDG_CONFIG_HOME= XDG_DATA_HOME= PATH=" + binary.parent_path().string() +
               ":$PATH " + program + " " + path.string());
  }
  support::TempFolder folder_;
};

TEST_F(Completion, FishOffersWhatFits) {
  NEEDS("fish");
  const std::string source = "source " + script("fish") + "\n";
  const Result commands = shell("fish", source + "complete -C 'berth sub'\n");
  EXPECT_TRUE(commands.out.starts_with("submit\t")) << commands.out;
  const Result flags = shell("fish", source + "complete -C 'berth submit --que'\n");
  EXPECT_TRUE(flags.out.starts_with("--queue")) << flags.out;
}

// What zsh would offer is caught where it goes: at compadd.
TEST_F(Completion, ZshOffersWhatFits) {
  NEEDS("zsh");
  const std::string load = "autoload -Uz compinit && compinit -u -D\nfpath=(" +
                           folder_.path().string() +
                           " $fpath)\nautoload -Uz _berth\ncompadd() { shift; print -l -- $@; }\n";
  script("zsh");
  const Result commands = shell("zsh -f", load + "words=(berth sub) CURRENT=2\n_berth\n");
  EXPECT_NE(commands.out.find("submit\n"), std::string::npos) << commands.out;
  const Result flags = shell("zsh -f", load + "words=(berth submit --que) CURRENT=3\n_berth\n");
  EXPECT_NE(flags.out.find("--queue\n"), std::string::npos) << flags.out;
}

}  // namespace
}  // namespace berth::e2e::judged_test
