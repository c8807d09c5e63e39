// The decisions of every example under every order, as one number each: the running hash of all
// actions. The same in any build (release and asan both run this), any process and on any machine.
//
// A hash that changes means that decisions changed. If that is meant, raise core::kBehaviour and
// replace tests/e2e/golden_hashes.txt by what this test printed.
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"

namespace berth::golden_hashes_test {
namespace {

std::string hash_of(const std::string& example, const std::string& order) {
  const e2e::Result result =
      e2e::berth("sim examples/" + example + ".toml --policy " + order + " --json");
  const std::string hash = e2e::text(result.out, "actions_hash");
  return hash.empty() ? "no hash in: " + result.out : hash;
}

TEST(GoldenHashes, NoDecisionHasChanged) {
  std::string now;
  for (const std::string& example : e2e::examples()) {
    for (const std::string order :
         {"fair", "fifo", "round_robin", "cost_aware", "sticky", "slowdown"}) {
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
}  // namespace berth::golden_hashes_test
