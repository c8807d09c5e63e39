// The decisions of every example under every order, as one number each: the running hash of all
// actions. The same in any build (release and asan both run this), any process and on any machine.
//
// A hash that changes means that decisions changed. If that is meant, raise core::kBehaviour and
// replace tests/e2e/golden_hashes.txt by what this test printed.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

std::string hash_of(const std::string& example, const std::string& order) {
  const std::string command = std::string(BERTH_BINARY) + " sim examples/" + example +
                              ".toml --policy " + order + " --json 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "no process";
  std::string out;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    out.append(buffer, got);
  }
  pclose(pipe);
  const std::string key = "\"actions_hash\": \"";
  const std::size_t at = out.find(key);
  if (at == std::string::npos) return "no hash in: " + out;
  return out.substr(at + key.size(), 16);
}

TEST(GoldenHashes, NoDecisionHasChanged) {
  std::string now;
  for (const std::string example : {"first-run", "multi-tenant", "model-swap", "dependencies"}) {
    for (const std::string order : {"fair", "fifo", "round_robin", "cost_aware", "sticky"}) {
      now.append(example).append(" ").append(order).append(" ");
      now.append(hash_of(example, order)).append("\n");
    }
  }
  std::ifstream file("tests/e2e/golden_hashes.txt");
  ASSERT_TRUE(file) << "run from the root of the repository";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(golden.str(), now) << "the decisions are now:\n" << now;
}

}  // namespace
