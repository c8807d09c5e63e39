// Bills: every amount follows from the actions, and the lines of the tenants from the amounts.
#include "service/bills.h"

#include <gtest/gtest.h>

#include "service/replay_check.h"

namespace berth::service::bills_test {
namespace {

constexpr LeaseId kLease{7};

// Tasks 0 and 2 are tenant 0's, task 1 tenant 1's. A quarter of a GPU, and a load of 8 s.
core::BatchStarted mixed_batch(Duration expected) {
  core::BatchStarted batch;
  batch.lease = kLease;
  batch.expected = expected;
  batch.rate = 250;
  batch.load_us = 2'000'000;
  batch.tasks = {{TaskNo{0}, 1, 0, 1}, {TaskNo{1}, 1, 0, 2}, {TaskNo{2}, 1, 0, 1}};
  return batch;
}

class BillsOfALease : public ::testing::Test {
 protected:
  std::span<const Posting> apply(const core::Action& action) {
    const auto postings = bills_.apply(
        action, [](TaskNo task) { return TenantId{static_cast<std::uint32_t>(task.value % 2)}; });
    post(postings, lines_);
    return postings;
  }

  Bills bills_;
  std::vector<core::LedgerLine> lines_;
};

TEST_F(BillsOfALease, TasksPayByTheirParts) {
  const auto postings = apply(mixed_batch(seconds(8)));
  ASSERT_EQ(postings.size(), 3U);
  EXPECT_EQ(postings[1].task, TaskNo{1});
  EXPECT_EQ(postings[1].lease, kLease);
  EXPECT_EQ(postings[1].amount_us, 2'000'000);
  EXPECT_EQ(postings[2].amount_us, 1'000'000);
  EXPECT_EQ(lines_, (std::vector<core::LedgerLine>{{2'000'000, 0}, {2'000'000, 0}}));
}

TEST_F(BillsOfALease, AheadByAMinuteAndSetRightAtTheEnd) {
  apply(mixed_batch(minutes(2)));
  EXPECT_EQ(lines_[1], (core::LedgerLine{8'500'000, 0}));
  apply(core::LeaseCharged{kLease, minutes(1)});
  EXPECT_EQ(lines_[1], (core::LedgerLine{16'000'000, 0}));
  const auto postings = apply(core::LeaseClosed{kLease, seconds(72)});
  EXPECT_EQ(postings[1].charge_us, 10'000'000);
  EXPECT_EQ(postings[1].amount_us, -6'000'000);
  EXPECT_EQ(lines_[1], (core::LedgerLine{16'000'000, 6'000'000}));
  EXPECT_EQ(lines_[0].net_us(), 10'000'000);
  EXPECT_EQ(bills_.open_leases(), 0U);
  EXPECT_TRUE(apply(core::LeaseClosed{kLease, seconds(72)}).empty());
}

TEST_F(BillsOfALease, WhatWasLostIsPaidByNobody) {
  apply(mixed_batch(seconds(8)));
  apply(core::LeaseClosed{kLease, Duration{0}});
  EXPECT_EQ(lines_[0], (core::LedgerLine{2'000'000, 2'000'000}));
  EXPECT_EQ(lines_[1].net_us(), 0);
}

TEST(ReplayReport, SaysWhetherTheBooksAgree) {
  ReplayReport report;
  report.ledger = {{"a", {5, 2}, {5, 2}, {5, 2}}};
  EXPECT_TRUE(report.ledger_agrees());
  report.ledger.push_back({"b", {5, 2}, {6, 3}, {5, 2}});
  EXPECT_FALSE(report.ledger_agrees());
  report.ledger.pop_back();
  report.mispriced = {TaskNo{3}};
  EXPECT_FALSE(report.ledger_agrees());
}

}  // namespace
}  // namespace berth::service::bills_test
