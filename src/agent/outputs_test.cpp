// Asking for the output of commands, while they run and afterwards.
#include "agent/outputs.h"

#include <gtest/gtest.h>

#include "agent/testing/commands.h"

namespace berth::agent::outputs_test {
namespace {

using testing::acknowledge;
using testing::command_lease;
using testing::command_options;
using testing::content;
using testing::RunningAgent;
using testing::script_lease;
using testing::wait_until;
using testing::welcome;

struct Logs {
  std::string out;
  std::string err;
  bool out_cut = false;
  std::string error;
};

class OutputsTest : public ::testing::Test {
 protected:
  AgentOptions options() { return command_options(folder_.path() / "agent"); }
  LeaseStore store() { return LeaseStore(folder_.path() / "agent"); }
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }

  static berth::v1::ServerMessage ask(std::uint64_t request, std::uint64_t task_no,
                                      std::uint32_t attempt, bool follow = false) {
    berth::v1::ServerMessage message;
    message.mutable_log()->set_request(request);
    message.mutable_log()->set_task_no(task_no);
    message.mutable_log()->set_attempt(attempt);
    message.mutable_log()->set_follow(follow);
    return message;
  }

  // All that comes for a request, to its end.
  static Logs logs(RunningAgent& agent, std::uint64_t request) {
    Logs logs;
    while (true) {
      const berth::v1::LogData data = agent.sent
                                          .next([request](const auto& m) {
                                            return m.log().request() == request && m.has_log();
                                          })
                                          .log();
      EXPECT_LE(data.data().size(), 65536u);
      if (data.stream() == 1) logs.out += data.data();
      if (data.stream() == 2) logs.err += data.data();
      if (data.stream() == 1 && data.truncated()) logs.out_cut = true;
      logs.error = data.error();
      if (data.end() || data.request() == 0) return logs;
    }
  }

  testing::TemporaryFolder folder_;
};

TEST_F(OutputsTest, GivesWhatWasWrittenAndSaysWhatWasCut) {
  AgentOptions given = options();
  given.output_cap_bytes = 1'000'000;
  RunningAgent agent(given);
  agent.give(welcome());
  agent.give(script_lease(1, "head -c 2000000 /dev/zero; echo oh >&2"));
  agent.sent.outcomes(1);
  agent.give(ask(7, 1, 1));
  const Logs got = logs(agent, 7);
  EXPECT_EQ(got.out.size(), 1'000'000u);
  EXPECT_EQ(got.err, "oh\n");
  EXPECT_TRUE(got.out_cut);
  EXPECT_EQ(got.error, "");
}

TEST_F(OutputsTest, SendsNoMoreThanThereIsRoomFor) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "head -c 300000 /dev/zero; echo oh >&2"));
  agent.sent.outcomes(1);
  berth::v1::ServerMessage small = ask(7, 1, 1);
  small.mutable_log()->set_window(100'000);
  agent.give(small);
  const auto is_log = [](const auto& m) { return m.has_log(); };
  std::size_t sent = 0;
  while (sent < 100'000) {
    const berth::v1::LogData data = agent.sent.next(is_log).log();
    ASSERT_EQ(data.request(), 7u);
    sent += data.data().size();
  }
  EXPECT_EQ(sent, 100'000u);
  agent.give(ask(8, 1, 1));  // read to its end, with nothing for the other in between
  for (std::size_t other = 0; other < 300'003;) {
    const berth::v1::LogData data = agent.sent.next(is_log).log();
    ASSERT_EQ(data.request(), 8u);
    other += data.data().size();
  }
  berth::v1::ServerMessage more;
  more.mutable_log()->set_request(7);
  more.mutable_log()->set_more(1'000'000);
  agent.give(more);
  const Logs rest = logs(agent, 7);
  EXPECT_EQ(rest.out.size(), 200'000u);
  EXPECT_EQ(rest.err, "oh\n");
}

TEST_F(OutputsTest, FollowsARunningTaskToItsEnd) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(
      1, "echo one; while [ ! -e " + file("go") + " ]; do sleep 0.01; done; echo two"));
  agent.give(ask(7, 1, 0, true));
  const auto first = agent.sent.next([](const auto& m) { return m.has_log(); }).log();
  EXPECT_EQ(first.data(), "one\n");
  ASSERT_TRUE(write_file_durably(file("go"), "").ok());
  EXPECT_EQ(logs(agent, 7).out, "two\n");
}

TEST_F(OutputsTest, OneThatFollowsMayComeBeforeItsTask) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(ask(7, 1, 1, true));
  agent.give(ask(8, 99, 1));  // the agent has looked at both when it answers this one
  EXPECT_NE(logs(agent, 8).error, "");
  berth::v1::Lease lease = command_lease(1, {"echo", "late"});
  lease.set_start_after_ms(50);  // the lease is here, its command not yet
  agent.give(lease);
  const Logs got = logs(agent, 7);
  EXPECT_EQ(got.out, "late\n");
  EXPECT_EQ(got.error, "");
}

TEST_F(OutputsTest, OfATaskThatWroteNothingThereIsNothing) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(command_lease(1, {"true"}));
  agent.sent.outcomes(1);
  agent.give(acknowledge(2));
  wait_until([&] { return !std::filesystem::exists(store().files(1, 1).claimed()); });
  agent.give(ask(7, 1, 1));
  const Logs got = logs(agent, 7);
  EXPECT_EQ(got.out + got.err + got.error, "");
}

// Else each of hundreds of commands a second would be remembered for a day.
TEST_F(OutputsTest, OfLeasesThatWroteNothingOnlyTheLastAreRemembered) {
  LeaseStore files = store();
  ASSERT_TRUE(files.prepare().ok());
  Loop loop;
  testing::Collector sent;
  Worker worker;
  Outputs outputs(
      loop, worker, files, seconds(1000), {},
      [&](berth::v1::AgentMessage&& message) { sent.take(std::move(message)); },
      [](std::uint64_t, std::uint64_t) { return false; });
  outputs.find_kept();
  for (std::uint64_t id = 1; id <= Outputs::kSilentMax + 1; ++id) {
    berth::v1::Lease lease = command_lease(id, {"true"});
    lease.mutable_tasks(0)->set_task_no(id);
    outputs.add(lease);
    outputs.keep(id);
  }
  std::thread runs([&] { loop.run(); });
  // The worker and the loop do these after all that was asked for above.
  worker.post([&] {
    loop.post([&] {
      outputs.request(ask(1, 1, 1).log());
      outputs.request(ask(2, 2, 1).log());
    });
  });
  const auto end_of = [&](std::uint64_t request) {
    return sent.next([&](const auto& m) { return m.log().request() == request; }).log();
  };
  EXPECT_NE(end_of(1).error(), "");
  EXPECT_EQ(end_of(2).error(), "");
  worker.stop();
  loop.quit();
  runs.join();
}

TEST_F(OutputsTest, AFollowerThatCancelsHearsNoMore) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo one; exec sleep 600"));
  agent.give(ask(7, 1, 1, true));
  agent.sent.next([](const auto& m) { return m.has_log(); });
  berth::v1::ServerMessage cancel = ask(7, 1, 1);
  cancel.mutable_log()->set_cancel(true);
  agent.give(cancel);
  agent.give(testing::stop(1, 0));
  agent.sent.outcomes(1);
  agent.give(ask(8, 1, 1));
  const auto next = agent.sent.next([](const auto& m) { return m.has_log(); }).log();
  EXPECT_EQ(next.request(), 8u);
}

TEST_F(OutputsTest, WhatRanNoCommandHereHasNone) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(ask(7, 99, 1));
  EXPECT_NE(logs(agent, 7).error.find("no output of task 99"), std::string::npos);
}

TEST_F(OutputsTest, IsKeptAfterTheAcknowledgementAndARestartUntilItsTimeIsOver) {
  {
    RunningAgent agent(options());
    agent.give(welcome());
    agent.give(command_lease(1, {"echo", "first"}));
    agent.sent.outcomes(1);
    berth::v1::Lease again = command_lease(2, {"echo", "second"});
    again.mutable_tasks(0)->set_attempt(2);
    agent.give(again);
    agent.sent.outcomes(2);
    agent.give(acknowledge(4));
    wait_until([&] { return std::filesystem::exists(store().files(2, 1).kept()); });
    agent.give(ask(1, 1, 1));
    EXPECT_EQ(logs(agent, 1).out, "first\n");
  }
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(ask(1, 1, 1));
  EXPECT_EQ(logs(agent, 1).out, "first\n");
  agent.give(ask(2, 1, 0));  // the last attempt
  EXPECT_EQ(logs(agent, 2).out, "second\n");

  berth::v1::Lease brief = command_lease(3, {"echo", "brief"});
  brief.mutable_tasks(0)->set_task_no(5);
  brief.mutable_tasks(0)->mutable_spec()->set_result_ttl_ms(1);
  agent.give(brief);
  agent.sent.outcomes(3);
  agent.give(acknowledge(2));
  wait_until([&] { return !std::filesystem::exists(store().files(3, 5).claimed()); });
  wait_until([&] { return !std::filesystem::exists(store().files(3, 5).out()); });
  agent.give(ask(3, 5, 1));
  EXPECT_NE(logs(agent, 3).error, "");
}

// A task that was put back for other work is the same task with the next number.
TEST_F(OutputsTest, WhatAStoppedAttemptWroteIsThereBesideTheNext) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(script_lease(1, "echo first; exec sleep 60"));
  agent.give(ask(1, 1, 1, true));
  agent.sent.next([](const auto& m) { return m.log().data() == "first\n"; });
  agent.give(testing::stop(1, 0));
  agent.sent.outcomes(1);
  berth::v1::Lease again = command_lease(2, {"echo", "second"});
  again.mutable_tasks(0)->set_attempt(2);
  agent.give(again);
  agent.sent.outcomes(2);
  for (const bool acknowledged : {false, true}) {
    if (acknowledged) agent.give(acknowledge(4));
    agent.give(ask(2, 1, 1));
    EXPECT_EQ(logs(agent, 2).out, "first\n");
    agent.give(ask(3, 1, 2));
    EXPECT_EQ(logs(agent, 3).out, "second\n");
  }
}

// ---- Room on the disk
// ----------------------------------------------------------------------------

TEST_F(OutputsTest, WhileThereIsNoRoomTheFoldersOfEndedTasksGo) {
  AgentOptions given = options();
  given.work_reserve_bytes = UINT64_MAX - 1;  // there is never as much
  RunningAgent agent(given);
  agent.give(welcome());
  agent.give(script_lease(1, "echo much > big; echo done"));
  agent.sent.outcomes(1);
  agent.give(script_lease(2, "echo much > big; echo ready; exec sleep 600"));
  wait_until([&] { return content(store().files(2, 1).out()) == "ready\n"; });
  agent.give(acknowledge(agent.sent.reports().back().seq()));
  wait_until([&] { return !std::filesystem::exists(store().files(1, 1).work()); });
  EXPECT_EQ(content(store().files(1, 1).out()), "done\n");
  EXPECT_TRUE(std::filesystem::exists(store().files(2, 1).work())) << "it runs";
  agent.give(testing::stop(2, 1));
  agent.sent.outcomes(2);
}

TEST_F(OutputsTest, RoomIsMadeFromTheNewestOnAndNoMoreThanIsNeeded) {
  LeaseStore kept = store();
  ASSERT_TRUE(kept.prepare().ok());
  for (const std::uint64_t id : {1, 2, 3}) {
    berth::v1::Lease lease = command_lease(id, {"true"});
    lease.mutable_tasks(0)->set_task_no(id);
    ASSERT_TRUE(kept.write_intent(lease, lease.tasks(0)).ok());
    const TaskFiles its = kept.files(id, id);
    const Result<Fd> record = claim_intent(its);
    ASSERT_TRUE(record.ok());
    const std::int64_t ended_unix_ms = id == 2 ? 9000 : 1000 + static_cast<std::int64_t>(id);
    ASSERT_TRUE(write_exit(*record, its, {.ended_unix_ms = ended_unix_ms}).ok());
    ASSERT_TRUE(write_file(its.work() + "/result", "text").ok());
    EXPECT_TRUE(kept.keep(id, id, INT64_MAX));
  }
  const auto has_work = [&](std::uint64_t id) {
    return std::filesystem::exists(kept.files(id, id).work());
  };
  kept.make_room(1);
  EXPECT_TRUE(has_work(1) && has_work(2) && has_work(3)) << "there is room";
  kept.make_room(UINT64_MAX - 1);
  EXPECT_TRUE(has_work(1) && !has_work(2) && has_work(3));
}

}  // namespace
}  // namespace berth::agent::outputs_test
