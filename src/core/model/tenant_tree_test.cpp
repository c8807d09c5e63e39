// The tree of tenants: what is refused, and in which words.
#include "core/model/tenant_tree.h"

#include <gtest/gtest.h>

namespace berth::core::tenant_tree_test {
namespace {

constexpr TenantId kTop;

std::string words(const TreeFinding& finding) {
  return sentence_of(finding, [](TenantId id) { return "t" + std::to_string(id.value); });
}

TEST(TenantTree, FlatAndDeepEnoughAreGood) {
  const std::vector<TenantId> flat(3);
  EXPECT_EQ(judge_tree(flat).flaw, TreeFlaw::none);
  std::vector<TenantId> chain = {kTop};
  for (std::uint32_t i = 1; i < kTenantLevels; ++i)
    chain.push_back(TenantId{i - 1});
  EXPECT_EQ(judge_tree(chain).flaw, TreeFlaw::none);
  EXPECT_EQ(words(judge_tree(chain)), "");
}

TEST(TenantTree, AParentThatIsNotThere) {
  const std::vector<TenantId> parents = {kTop, TenantId{7}};
  const TreeFinding finding = judge_tree(parents);
  EXPECT_EQ(finding.flaw, TreeFlaw::unknown_parent);
  EXPECT_EQ(words(finding), "t1 -> t7: the last is not a tenant");
}

TEST(TenantTree, ACycleIsToldByItsPath) {
  const std::vector<TenantId> parents = {TenantId{2}, TenantId{0}, TenantId{1}};
  const TreeFinding finding = judge_tenant(parents, TenantId{1});
  EXPECT_EQ(finding.flaw, TreeFlaw::cycle);
  EXPECT_EQ(words(finding), "t1 -> t0 -> t2 -> t1: a tenant cannot stand below itself");
  const std::vector<TenantId> own = {TenantId{0}};
  EXPECT_EQ(words(judge_tree(own)), "t0 -> t0: a tenant cannot stand below itself");
}

TEST(TenantTree, MoreLevelsThanAreAllowed) {
  std::vector<TenantId> chain = {kTop};
  for (std::uint32_t i = 1; i <= kTenantLevels; ++i)
    chain.push_back(TenantId{i - 1});
  const TreeFinding finding = judge_tree(chain);
  EXPECT_EQ(finding.flaw, TreeFlaw::too_deep);
  EXPECT_EQ(finding.path.front(), TenantId{kTenantLevels});
  EXPECT_TRUE(words(finding).ends_with("t1 -> t0: 9 levels, expected at most 8"));
  chain.push_back(TenantId{kTenantLevels});
  EXPECT_TRUE(words(judge_tenant(chain, TenantId{kTenantLevels + 1}))
                  .ends_with("t1 -> ...: 10 levels, expected at most 8"));
}

TEST(TenantTree, SumsUpwards) {
  const std::vector<TenantId> parents = {kTop, TenantId{0}, TenantId{1}, TenantId{0}, kTop};
  EXPECT_EQ(summed_upwards<std::int64_t>(parents, {1, 20, 300, 4000, 50000}),
            (std::vector<std::int64_t>{4321, 320, 300, 4000, 50000}));
}

TEST(TenantLimit, IsTheLesserOfTheMaximumAndWhatMayBeBorrowed) {
  EXPECT_FALSE(limit_of({}));
  EXPECT_FALSE(limit_of({.guaranteed_gpus = Milli{2000}}));
  EXPECT_EQ(limit_of({.max_gpus = Milli{3000}}), Milli{3000});
  EXPECT_EQ(limit_of({.guaranteed_gpus = Milli{2000}, .borrow_gpus = Milli{500}}), Milli{2500});
  EXPECT_EQ(limit_of({.borrow_gpus = Milli{500}, .max_gpus = Milli{3000}}), Milli{500});
  EXPECT_EQ(
      limit_of(
          {.guaranteed_gpus = Milli{2000}, .borrow_gpus = Milli{5000}, .max_gpus = Milli{3000}}),
      Milli{3000});
}

TEST(TenantLimit, IsExceededByMoreThanIt) {
  const TenantSpec both{
      .guaranteed_gpus = Milli{2000}, .borrow_gpus = Milli{500}, .max_gpus = Milli{3000}};
  EXPECT_FALSE(is_over_limit({}, Milli{1'000'000}));
  EXPECT_FALSE(is_over_limit(both, Milli{2500}));
  EXPECT_TRUE(is_over_limit(both, Milli{2501}));
  EXPECT_TRUE(is_over_limit({.max_gpus = Milli{3000}}, Milli{3001}));
}

}  // namespace
}  // namespace berth::core::tenant_tree_test
