// Usage is summed up the tree of tenants: a parent's line has its own and all below it.
#include "api/usage.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::api::usage_test {
namespace {

// company -> research -> ann, and bob below research too; eve stands alone.
std::string parent_of(const std::string& tenant) {
  if (tenant == "ann" || tenant == "bob") return "research";
  if (tenant == "research") return "company";
  return "";
}

std::string text(const std::vector<v1::UsageLine>& lines) {
  std::string text;
  for (const v1::UsageLine& line : lines) {
    text += line.day().substr(8) + " " + line.user_id() + " " + line.task_type() + ": " +
            std::to_string(line.tasks()) + " tasks, " + std::to_string(line.gpu_ms()) + " ms; " +
            std::to_string(line.subtree_tasks()) + ", " + std::to_string(line.subtree_completed()) +
            ", " + std::to_string(line.subtree_gpu_ms()) + "\n";
  }
  return text;
}

TEST(Usage, IsSummedUpTheTree) {
  const auto lines = usage_with_below(
      {
          {"ann", "llm", "2026-11-15", 2, 1, 10, 7},
          {"bob", "llm", "2026-11-15", 1, 1, 200, 7},
          {"research", "llm", "2026-11-15", 1, 1, 3000, 7},
          {"ann", "train", "2026-11-15", 1, 0, 5, 7},
          {"ann", "llm", "2026-11-16", 1, 1, 1, 7},
          {"eve", "llm", "2026-11-16", 4, 4, 9, 7},
      },
      parent_of);
  EXPECT_EQ(text(lines),
            "16 ann llm: 1 tasks, 1 ms; 1, 1, 1\n"
            "16 company llm: 0 tasks, 0 ms; 1, 1, 1\n"
            "16 eve llm: 4 tasks, 9 ms; 4, 4, 9\n"
            "16 research llm: 0 tasks, 0 ms; 1, 1, 1\n"
            "15 ann llm: 2 tasks, 10 ms; 2, 1, 10\n"
            "15 ann train: 1 tasks, 5 ms; 1, 0, 5\n"
            "15 bob llm: 1 tasks, 200 ms; 1, 1, 200\n"
            "15 company llm: 0 tasks, 0 ms; 4, 3, 3210\n"
            "15 company train: 0 tasks, 0 ms; 1, 0, 5\n"
            "15 research llm: 1 tasks, 3000 ms; 4, 3, 3210\n"
            "15 research train: 0 tasks, 0 ms; 1, 0, 5\n");
}

}  // namespace
}  // namespace berth::api::usage_test
