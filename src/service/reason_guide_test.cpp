// docs/guide/reasons.md is made from the table of reasons. BERTH_BLESS=1 writes it anew.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/model/reason.h"

namespace berth::service::reason_guide_test {
namespace {

std::string guide() {
  std::string text =
      "# Reasons\n\n"
      "Every \"no\" and every \"not yet\" of the scheduler is one of these. A reason carries "
      "numbers: "
      "what is needed and what\nthere is, or what was asked for and the limit, in its unit; the "
      "name of "
      "what binds, of the kind in the column\n\"names\"; and, where waiting helps, when to ask "
      "again. "
      "`berth explain`, `berth status`, the API (`Reason`,\n`ErrorInfo.reason`) and the history "
      "use the "
      "same names. \"never\" means that waiting cannot help.\n\n"
      "A test makes this page from the table in `src/core/model/reason.h`.\n\n"
      "| reason | meaning | unit | names | never |\n|---|---|---|---|---|\n";
  for (const core::ReasonInfo& info : core::kReasons) {
    if (info.name == "none") continue;
    text += "| `" + std::string(info.name) + "` | " + std::string(info.sentence) + " | " +
            std::string(info.unit) + " | " + std::string(info.subject) + " | " +
            (info.never ? "yes" : "") + " |\n";
  }
  return text;
}

TEST(ReasonGuide, IsMadeFromTheTable) {
  const std::string path = std::string(BERTH_SOURCE_DIR) + "/docs/guide/reasons.md";
  if (std::getenv("BERTH_BLESS") != nullptr) std::ofstream(path) << guide();
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), guide()) << "run this test with BERTH_BLESS=1";
}

}  // namespace
}  // namespace berth::service::reason_guide_test
