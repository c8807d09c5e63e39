// The agent's session with simulated work: what it reports, in which order, and how often.
#include "agent/agent.h"

#include <gtest/gtest.h>

#include "agent/testing/server_side.h"

namespace berth::agent::agent_test {
namespace {

using berth::v1::Report;
using testing::acknowledge;
using testing::lease_of;
using testing::options_in;
using testing::RunningAgent;
using testing::welcome;

class AgentTest : public ::testing::Test {
 protected:
  AgentOptions options() {
    AgentOptions made = options_in(folder_.path() / "agent");
    made.time_scale = 0;
    return made;
  }
  testing::TemporaryFolder folder_;
};

berth::v1::ServerMessage load(std::uint64_t number, const std::string& model, std::int64_t ms) {
  berth::v1::ServerMessage message;
  message.mutable_load()->set_load(number);
  message.mutable_load()->set_gpu("SIM-a100-0");
  message.mutable_load()->set_model(model);
  message.mutable_load()->set_weights_mb(8000);
  message.mutable_load()->set_expected_ms(ms);
  return message;
}

berth::v1::ServerMessage evict(std::uint64_t number, const std::string& model) {
  berth::v1::ServerMessage message;
  message.mutable_evict()->set_load(number);
  message.mutable_evict()->set_gpu("SIM-a100-0");
  message.mutable_evict()->set_model(model);
  return message;
}

TEST_F(AgentTest, SaysHelloWithItsGpusAndAHigherIncarnationEachTime) {
  std::uint64_t first = 0;
  {
    RunningAgent agent(options());
    first = agent.hello.incarnation();
    EXPECT_EQ(agent.hello.gpus_size(), 3);
    EXPECT_EQ(agent.hello.gpus(2).kind(), "L4");
    EXPECT_EQ(agent.hello.protocol_low(), 1u);
    EXPECT_FALSE(agent.hello.boot_id().empty());
    EXPECT_EQ(agent.hello.leases_size(), 0);
  }
  RunningAgent again(options());
  EXPECT_EQ(again.hello.incarnation(), first + 1);
}

TEST_F(AgentTest, TwoAgentsCannotShareAFolder) {
  RunningAgent agent(options());
  const auto second = Agent::start(options(), [](berth::v1::AgentMessage&&) {});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("Another agent uses"), std::string::npos);
}

TEST_F(AgentTest, ABatchStartsAndEndsWithAResultForEachTask) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(lease_of(7, 2));
  const Report started = agent.sent.report();
  EXPECT_EQ(started.lease_started().lease(), 7u);
  EXPECT_EQ(started.seq(), 1u);
  EXPECT_EQ(started.incarnation(), agent.hello.incarnation());
  const Report ended = agent.sent.report();
  EXPECT_EQ(ended.seq(), 2u);
  ASSERT_EQ(ended.lease_ended().outcomes_size(), 2);
  for (const auto& outcome : ended.lease_ended().outcomes()) {
    EXPECT_TRUE(outcome.result().completed());
    EXPECT_TRUE(outcome.result().simulated());
    EXPECT_EQ(
        outcome.result().result(),
        "{\"simulated\":true,\"queue\":\"llm\",\"model\":\"m\",\"batch\":2,\"gpu\":\"a100-0\","
        "\"run_ms\":0}");
  }
}

TEST_F(AgentTest, ALeaseThatComesTwiceRunsOnce) {
  RunningAgent agent(options());
  agent.give(welcome());
  agent.give(lease_of(7, 1));
  agent.give(lease_of(7, 1));
  agent.give(lease_of(8, 1));
  agent.sent.outcomes(8);
  EXPECT_EQ(agent.sent.reports().size(), 4u);
}

TEST_F(AgentTest, ReportsAreToldAgainUntilTheyAreAcknowledged) {
  RunningAgent agent(options());
  agent.give(lease_of(1, 1));  // before the welcome nothing is told
  agent.give(lease_of(2, 1));
  agent.give(welcome());
  agent.sent.outcomes(2);
  EXPECT_EQ(agent.sent.reports().size(), 4u);
  agent.give(acknowledge(3));
  agent.give(acknowledge(99));  // was never given
  agent.give(welcome());
  const Report again = agent.sent.report();
  EXPECT_EQ(again.seq(), 4u);
  EXPECT_EQ(again.lease_ended().lease(), 2u);
  agent.give(welcome(4));
  agent.give(lease_of(3, 1));
  EXPECT_EQ(agent.sent.report().seq(), 5u);
}

TEST_F(AgentTest, TimesAreThoseOfTheQueueAndOfTheScale) {
  AgentOptions scaled = options();
  scaled.time_scale = 0.1;
  RunningAgent agent(scaled);
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(1, 3);
  lease.set_batch_base_us(200'000);
  lease.set_batch_per_task_us(100'000);
  const auto begun = std::chrono::steady_clock::now();
  agent.give(lease);
  agent.sent.outcomes(1);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(50));
}

TEST_F(AgentTest, WorkRunsAtTheSpeedOfItsClass) {
  AgentOptions scaled = options();
  scaled.time_scale = 0.01;
  scaled.gpus[0].speed_by_class = {{"decode", 4000}, {"training", 500}};
  RunningAgent agent(scaled);
  ASSERT_EQ(agent.hello.gpus(0).speed_by_class_size(), 2);
  EXPECT_EQ(agent.hello.gpus(0).speed_by_class(1).work_class(), "training");
  EXPECT_EQ(agent.hello.gpus(0).speed_by_class(1).speed_milli(), 500u);
  agent.give(welcome());
  std::uint64_t id = 0;
  const auto run_ms = [&](const std::string& work_class) {
    berth::v1::Lease lease = lease_of(++id, 1);
    lease.set_batch_base_us(1'000'000);
    lease.set_work_class(work_class);
    agent.give(lease);
    const std::string json = agent.sent.outcomes(id).at(0).result().result();
    return json.substr(json.find("\"run_ms\""));
  };
  EXPECT_EQ(run_ms(""), "\"run_ms\":10}");
  EXPECT_EQ(run_ms("decode"), "\"run_ms\":2}");  // 2.5 ms
  EXPECT_EQ(run_ms("training"), "\"run_ms\":20}");
  EXPECT_EQ(run_ms("prefill"), "\"run_ms\":10}");
}

TEST_F(AgentTest, AStoppedTaskEndsAtOnceAndTheOthersGoOn) {
  AgentOptions real_time = options();
  real_time.time_scale = 1;
  RunningAgent agent(real_time);
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(1, 2);
  lease.set_expected_ms(3'600'000);
  agent.give(lease);
  agent.give(testing::stop(1, 2));
  const Report one = agent.sent.report(Report::kTaskEnded);
  EXPECT_EQ(one.task_ended().outcome().task_no(), 2u);
  EXPECT_FALSE(one.task_ended().outcome().result().completed());
  EXPECT_EQ(one.task_ended().outcome().result().failure(), berth::v1::FAILURE_KIND_UNSPECIFIED);
  agent.give(testing::stop(1, 0));
  const auto rest = agent.sent.outcomes(1);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].task_no(), 1u);
}

TEST_F(AgentTest, ASimulatedTaskPastItsLimitTimesOut) {
  AgentOptions real_time = options();
  real_time.time_scale = 1;
  RunningAgent agent(real_time);
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(1, 2);
  lease.set_expected_ms(60);
  lease.mutable_tasks(0)->set_run_limit_ms(10);
  agent.give(lease);
  const auto outcomes = agent.sent.outcomes(1);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].task_no(), 1u);
  EXPECT_EQ(outcomes[0].result().failure(), berth::v1::TIMEOUT);
  EXPECT_TRUE(outcomes[1].result().completed());
}

TEST_F(AgentTest, WhatIsBehindAnEvictionBeginsWhenItIsDone) {
  AgentOptions real_time = options();
  real_time.time_scale = 1;
  RunningAgent agent(real_time);
  agent.give(welcome());
  agent.give(load(11, "m", 1));
  EXPECT_TRUE(agent.sent.report().model_loaded().ok());
  berth::v1::Lease user = lease_of(1, 1);
  user.set_expected_ms(50);
  agent.give(user);
  agent.give(evict(11, "m"));
  agent.give(load(12, "n", 1));
  berth::v1::Lease behind = lease_of(2, 1);
  behind.set_model("n");
  agent.give(behind);
  berth::v1::Lease elsewhere = lease_of(3, 1);
  elsewhere.set_gpus(0, "SIM-a100-1");
  agent.give(elsewhere);

  EXPECT_EQ(agent.sent.report().lease_started().lease(), 1u);
  EXPECT_EQ(agent.sent.report().lease_started().lease(), 3u);
  EXPECT_EQ(agent.sent.report().lease_ended().lease(), 3u);
  EXPECT_EQ(agent.sent.report().lease_ended().lease(), 1u);
  EXPECT_EQ(agent.sent.report().model_unloaded().load(), 11u);
  EXPECT_EQ(agent.sent.report().lease_started().lease(), 2u);
}

TEST_F(AgentTest, AGangStartsWhenItIsTold) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(1, 1);
  lease.mutable_gang()->set_id(5);
  lease.mutable_gang()->set_generation(2);
  agent.give(lease);
  const auto prepared = agent.sent.next([](const auto& m) { return m.has_prepared(); }).prepared();
  EXPECT_TRUE(prepared.ok());
  EXPECT_EQ(prepared.gang(), 5u);
  berth::v1::ServerMessage old;
  old.mutable_start_gang()->set_gang(5);
  old.mutable_start_gang()->set_generation(1);
  agent.give(old);
  berth::v1::Lease other = lease_of(2, 1);
  agent.give(other);
  EXPECT_EQ(agent.sent.report().lease_started().lease(), 2u);
  berth::v1::ServerMessage start = old;
  start.mutable_start_gang()->set_generation(2);
  agent.give(start);
  agent.sent.outcomes(1);
}

TEST_F(AgentTest, APayloadForAQueueThatRunsCommandsIsRefusedInWords) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease commands = lease_of(1, 1);
  commands.set_runtime("process");
  agent.give(commands);
  const auto refused = agent.sent.outcomes(1);
  EXPECT_EQ(refused.at(0).result().failure(), berth::v1::ERROR);
  EXPECT_NE(refused[0].result().message().find("submit it with a command"), std::string::npos);
  berth::v1::Lease odd = lease_of(2, 1);
  odd.set_runtime("magic");
  agent.give(odd);
  EXPECT_NE(agent.sent.outcomes(2).at(0).result().message().find("\"magic\""), std::string::npos);
}

TEST_F(AgentTest, ATaskThatTheServerCouldNotDescribeFails) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(1, 1);
  lease.mutable_tasks(0)->clear_spec();
  agent.give(lease);
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::ERROR);
}

TEST_F(AgentTest, TaskZeroCanBeStoppedAlone) {
  AgentOptions real_time = options();
  real_time.time_scale = 1;
  RunningAgent agent(real_time);
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(0, 2);
  lease.mutable_tasks(0)->set_task_no(0);
  lease.set_expected_ms(3'600'000);
  agent.give(lease);
  agent.give(testing::stop(0, 0));
  const Report one = agent.sent.report();
  EXPECT_TRUE(one.has_lease_started());
  EXPECT_EQ(agent.sent.report().task_ended().outcome().task_no(), 0u);
  agent.give(testing::stop(0, 2));
  EXPECT_EQ(agent.sent.report().lease_ended().outcomes(0).task_no(), 2u);
}

TEST_F(AgentTest, ALeaseOnAGpuThatIsNotHereFails) {
  RunningAgent agent(options());
  agent.give(welcome());
  berth::v1::Lease lease = lease_of(1, 1);
  lease.add_gpus("GPU-elsewhere");
  agent.give(lease);
  EXPECT_EQ(agent.sent.outcomes(1).at(0).result().failure(), berth::v1::ERROR);
}

TEST_F(AgentTest, HeartbeatsTellWhatIsResidentAndRuns) {
  AgentOptions real_time = options();
  real_time.time_scale = 1;
  RunningAgent agent(real_time);
  EXPECT_EQ(agent.sent.heartbeat().readings(0).used_mb(), 450);
  agent.give(welcome());
  agent.give(load(1, "m", 0));
  berth::v1::Lease lease = lease_of(1, 1);
  lease.set_vram_mb(1000);
  lease.set_expected_ms(3'600'000);
  agent.give(lease);
  agent.sent.report(Report::kLeaseStarted);
  const auto busy = agent.sent.next([](const auto& m) {
    return m.has_heartbeat() && m.heartbeat().readings(0).utilisation_percent() > 5;
  });
  EXPECT_EQ(busy.heartbeat().readings(0).used_mb(), 450 + 8000 + 1000);
  EXPECT_EQ(busy.heartbeat().readings(1).utilisation_percent(), 0);
}

TEST_F(AgentTest, ALeaseThatStopsOnDisconnectStopsWhenTheServerIsNotHeard) {
  AgentOptions real_time = options();
  real_time.time_scale = 1;
  RunningAgent agent(real_time);
  berth::v1::ServerMessage short_lived = welcome();
  short_lived.mutable_welcome()->set_ttl_ms(120);
  short_lived.mutable_welcome()->set_margin_ms(20);
  agent.give(short_lived);
  berth::v1::Lease keep = lease_of(1, 1);
  keep.set_expected_ms(3'600'000);
  agent.give(keep);
  berth::v1::Lease stop = lease_of(2, 1);
  stop.set_expected_ms(3'600'000);
  stop.set_on_disconnect("stop");
  agent.give(stop);
  agent.sent.outcomes(2);
  for (const Report& report : agent.sent.reports()) {
    EXPECT_NE(report.lease_ended().lease(), 1u);
  }
}

}  // namespace
}  // namespace berth::agent::agent_test
