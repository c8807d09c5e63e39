// Admission: each refusal with its numbers and the instant when asking again helps, and the limit
// itself, which is still let in.
#include "core/admission/admission.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/testing/core_world.h"

namespace berth::core::admission_test {
namespace {

constexpr std::int64_t kNano = 1'000'000'000;

// One tenant, one queue and a GPU of 10'000 MiB, of which 9'000 are usable.
class Admission : public testing::Test {
 protected:
  void set_up(const TenantSpec& tenant = {}, const QueueSpec& queue = {}) {
    world_.tenant(tenant);
    world_.queue(queue);
    world_.gpu(Mib{10'000});
  }
  // What a submit of these tasks would be answered now.
  Reason judge(const std::vector<TaskSpec>& specs) const {
    return judge_submit(world_.state(), world_.next(), specs).reason;
  }
  Reason judge(const TaskSpec& spec) const { return judge(std::vector<TaskSpec>{spec}); }

  // Work that waits, so that it can be counted.
  void submit_waiting(std::uint32_t tenant, int count) {
    TaskSpec spec = task_spec();
    spec.tenant = TenantId{tenant};
    spec.held = true;
    for (int i = 0; i < count; ++i) {
      world_.submit(spec);
      ASSERT_FALSE(world_.refusal());
    }
  }

  // A submit that asks for memory makes the engine look at its nodes; judging alone does not.
  void look_at_nodes() {
    TaskSpec spec = task_spec();
    spec.memory = Mib{1};
    world_.submit(spec);
    ASSERT_EQ(world_.refusal().code, ReasonCode::memory_over_node);
  }

  CoreWorld world_;
};

Reason reason(ReasonCode code, std::int64_t need, std::int64_t have, std::uint64_t subject,
              Time at = Time::never()) {
  return {code, need, have, subject, at};
}
Reason about(ReasonCode code, std::uint64_t subject) { return reason(code, 0, 0, subject); }

TaskSpec costing(std::uint32_t tokens) {
  TaskSpec spec = task_spec();
  spec.tokens = tokens;
  return spec;
}

// ---- What can never run -------------------------------------------------------------------------

TEST_F(Admission, VramUpToNineTenthsOfTheLargestGpu) {
  set_up();
  EXPECT_FALSE(judge(task_spec(Mib{9000})));
  EXPECT_EQ(judge(task_spec(Mib{9001})), reason(ReasonCode::vram_over_any_gpu, 9001, 9000, 0));
  world_.gpu(Mib{10'009});  // 9'008.1
  EXPECT_FALSE(judge(task_spec(Mib{9008})));
  EXPECT_EQ(judge(task_spec(Mib{9009})), reason(ReasonCode::vram_over_any_gpu, 9009, 9008, 1));
}

TEST_F(Admission, WithoutAnyGpuNothingFits) {
  world_.tenant();
  world_.queue();
  EXPECT_EQ(judge(task_spec(Mib{1})),
            reason(ReasonCode::vram_over_any_gpu, 1, 0, Reason::kNoSubject));
}

TEST_F(Admission, WeightsCountBesideTheTask) {
  world_.model({.weights = Mib{4000}, .vram_per_task = Mib{5001}});
  set_up({}, {.model = ModelId{0}});
  EXPECT_FALSE(judge(task_spec(Mib{5000})));
  EXPECT_EQ(judge(task_spec(Mib{5001})), reason(ReasonCode::vram_over_any_gpu, 9001, 9000, 0));
  // A task that says nothing needs what its model says.
  EXPECT_EQ(judge(task_spec(Mib{0})), reason(ReasonCode::vram_over_any_gpu, 9001, 9000, 0));
}

TEST_F(Admission, AsManyGpusAsAreLargeEnough) {
  set_up();
  world_.gpu(Mib{20'000});
  look_at_nodes();
  TaskSpec gang = task_spec(Mib{9000});
  gang.gpus = 2;
  EXPECT_FALSE(judge(gang));
  gang.gpus = 3;
  EXPECT_EQ(judge(gang), reason(ReasonCode::gpus_over_cluster, 3, 2, Reason::kNoSubject));
  gang.gpus = 2;
  gang.vram = Mib{9001};
  EXPECT_EQ(judge(gang), reason(ReasonCode::gpus_over_cluster, 2, 1, Reason::kNoSubject));
}

TEST_F(Admission, MaxGpusOfTenantAndQueue) {
  set_up({.max_gpus = Milli{2000}}, {.max_gpus = Milli{3000}});
  for (int i = 0; i < 3; ++i)
    world_.gpu(Mib{10'000});
  look_at_nodes();
  TaskSpec gang = task_spec();
  gang.gpus = 2;
  EXPECT_FALSE(judge(gang));
  gang.gpus = 3;
  EXPECT_EQ(judge(gang), reason(ReasonCode::gpus_over_max, 3000, 2000, 0));
  gang.gpus = 4;
  gang.tenant = world_.tenant();
  EXPECT_EQ(judge(gang), reason(ReasonCode::gpus_over_max, 4000, 3000, Reason::kNoSubject));
}

TEST_F(Admission, AGangWithAModel) {
  world_.model({.weights = Mib{100}});
  set_up({}, {.model = ModelId{0}});
  TaskSpec gang = task_spec();
  gang.gpus = 2;
  EXPECT_EQ(judge(gang), reason(ReasonCode::gang_with_model, 2, 1, 0));
}

TEST_F(Admission, NamesThatDoNotExist) {
  set_up();
  TaskSpec spec = task_spec();
  spec.tenant = TenantId{1};
  EXPECT_EQ(judge(spec), about(ReasonCode::unknown_tenant, 1));
  spec = task_spec();
  spec.queue = QueueId{7};
  EXPECT_EQ(judge(spec), about(ReasonCode::unknown_queue, 7));
}

TEST_F(Admission, FieldsAtTheEdgeOfTheirRange) {
  set_up();
  const auto refuses = [&](auto change) {
    TaskSpec spec = task_spec();
    change(spec);
    return judge(spec) == about(ReasonCode::bad_spec, Reason::kNoSubject);
  };
  EXPECT_FALSE(refuses([](TaskSpec& spec) { spec.tier = 3; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.tier = 4; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.gpus = 0; }));
  EXPECT_FALSE(refuses([](TaskSpec& spec) { spec.share = Milli{1}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.share = Milli{0}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.share = Milli{1001}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) {
    spec.gpus = 2;
    spec.share = Milli{999};
  }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.vram = Mib{-1}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.vram = Mib{std::int64_t{1} << 31}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.expected_run = Duration{-1}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.tolerated_wait = Duration{-1}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.checkpoint_interval = Duration{-1}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.restart_cost = Duration{-1}; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.retry.max_attempts = 0; }));
  EXPECT_TRUE(refuses([](TaskSpec& spec) { spec.retry.backoff = Duration{-1}; }));
}

// ---- Numbers ------------------------------------------------------------------------------------

TEST_F(Admission, ARefusalSpendsItsNumberUnlessTheNumberWasWrong) {
  set_up();
  world_.submit(task_spec(Mib{9001}));
  EXPECT_TRUE(world_.refusal());
  EXPECT_EQ(world_.next(), TaskNo{1});
  world_.feed(Submit{TaskNo{5}, task_spec()});
  EXPECT_EQ(world_.refusal(), about(ReasonCode::bad_number, 1));
  EXPECT_EQ(world_.next(), TaskNo{1});
}

// ---- Dependencies -------------------------------------------------------------------------------

TEST_F(Admission, DependenciesThatCannotBeMet) {
  set_up();
  submit_waiting(0, 2);
  world_.feed(Cancel{TaskNo{0}});
  TaskSpec spec = task_spec();
  const auto depends_on = [&](std::uint64_t no) {
    spec.depends_on = {{Dependency::Kind::task, no}};
    return judge(spec);
  };
  EXPECT_FALSE(depends_on(1));
  EXPECT_EQ(depends_on(0), about(ReasonCode::dependency_failed, 0));
  EXPECT_EQ(depends_on(2), about(ReasonCode::dependency_cycle, 2));  // its own number
  EXPECT_EQ(depends_on(3), about(ReasonCode::dependency_unknown, 3));
  spec.on_dependency_failure = OnDependencyFailure::release;
  EXPECT_FALSE(depends_on(0));
  EXPECT_EQ(depends_on(3), about(ReasonCode::dependency_unknown, 3));
}

TEST_F(Admission, ACycleInAWorkflow) {
  set_up();
  std::vector<TaskSpec> tasks(3, task_spec());
  tasks[1].depends_on = {{Dependency::Kind::task, 2}};
  EXPECT_FALSE(judge(tasks));
  tasks[2].depends_on = {{Dependency::Kind::signal, 1}, {Dependency::Kind::task, 1}};
  EXPECT_EQ(judge(tasks), about(ReasonCode::dependency_cycle, 1));
}

// ---- How many -----------------------------------------------------------------------------------

TEST_F(Admission, MaxQueueSizeCountsWhatHasNotStarted) {
  set_up({.max_queue_size = 1000});
  world_.submit(task_spec());  // starts
  submit_waiting(0, 999);
  EXPECT_FALSE(judge(task_spec()));
  submit_waiting(0, 1);
  EXPECT_EQ(judge(task_spec()), reason(ReasonCode::tenant_queue_full, 1001, 1000, 0));
  world_.feed(Cancel{TaskNo{1}});
  EXPECT_FALSE(judge(task_spec()));
}

TEST_F(Admission, AWorkflowCountsItsOwnTasks) {
  set_up({.max_queue_size = 3});
  submit_waiting(0, 1);
  EXPECT_FALSE(judge(std::vector<TaskSpec>(2, task_spec())));
  const std::vector<TaskSpec> three(3, task_spec());
  const AdmissionVerdict verdict = judge_submit(world_.state(), world_.next(), three);
  EXPECT_EQ(verdict.reason, reason(ReasonCode::tenant_queue_full, 4, 3, 0));
  EXPECT_EQ(verdict.task, 2U);
}

TEST_F(Admission, TheReserveIsForTenantsBelowTheirShare) {
  // 20 tasks, of which 4 are the reserve of two tenants: 2 each.
  world_.feed(SetPolicy{{.max_live_tasks = 20, .live_reserve = Milli{200}}});
  set_up();
  world_.tenant();
  submit_waiting(0, 16);
  EXPECT_EQ(judge(task_spec()), reason(ReasonCode::cluster_queue_full, 17, 16, 0));
  submit_waiting(1, 2);
  TaskSpec of_other = task_spec();
  of_other.tenant = TenantId{1};
  EXPECT_EQ(judge(of_other), reason(ReasonCode::cluster_queue_full, 19, 16, 1));
  world_.feed(Cancel{TaskNo{0}});
  EXPECT_EQ(judge(task_spec()), reason(ReasonCode::cluster_queue_full, 18, 16, 0));
  world_.feed(Cancel{TaskNo{1}});
  world_.feed(Cancel{TaskNo{2}});
  EXPECT_FALSE(judge(task_spec()));  // the 16th
}

// ---- Tokens -------------------------------------------------------------------------------------

TEST_F(Admission, TheBucketRefillsToTheNanosecond) {
  set_up({.token_bucket_size = 1000, .token_refill_rate = 100});
  EXPECT_FALSE(judge(costing(1000)));
  EXPECT_EQ(judge(costing(1001)), reason(ReasonCode::tokens_over_bucket, 1001, 1000, 0));

  world_.submit(costing(1000));
  const Tenant& tenant = world_.state().tenant(TenantId{0});
  EXPECT_EQ(token_level_nano(tenant, world_.now()), 0);
  const Time refilled{milliseconds(10).ns};
  EXPECT_EQ(judge(costing(1)), reason(ReasonCode::tokens_short, 1, 0, 0, refilled));
  world_.wait(milliseconds(10) - nanoseconds(1));
  EXPECT_EQ(judge(costing(1)), reason(ReasonCode::tokens_short, 1, 0, 0, refilled));
  EXPECT_EQ(token_level_nano(tenant, world_.now()), kNano - 100);
  world_.wait(nanoseconds(1));
  EXPECT_FALSE(judge(costing(1)));
  EXPECT_EQ(token_level_nano(tenant, Time{seconds(10).ns - 1}), 1000 * kNano - 100);
  EXPECT_EQ(token_level_nano(tenant, Time{seconds(10).ns + 1}), 1000 * kNano);  // and no more
}

TEST_F(Admission, TheInstantToAskAgainIsRoundedUp) {
  set_up({.token_bucket_size = 5, .token_refill_rate = 3});
  world_.submit(costing(5));
  EXPECT_EQ(judge(costing(1)), reason(ReasonCode::tokens_short, 1, 0, 0, Time{333'333'334}));
}

TEST_F(Admission, ABucketThatNeverRefillsNamesNoInstant) {
  set_up({.token_bucket_size = 5, .token_refill_rate = 0});
  world_.submit(costing(3));
  EXPECT_FALSE(judge(costing(2)));
  EXPECT_EQ(judge(costing(3)), reason(ReasonCode::tokens_short, 3, 2, 0, Time::never()));
}

TEST_F(Admission, ARefusalTakesNoTokens) {
  set_up({.token_bucket_size = 10, .token_refill_rate = 0, .daily_token_limit = 10});
  TaskSpec too_large = task_spec(Mib{9001});
  too_large.tokens = 10;
  world_.submit(too_large);
  ASSERT_TRUE(world_.refusal());
  const Tenant& tenant = world_.state().tenant(TenantId{0});
  EXPECT_EQ(token_level_nano(tenant, world_.now()), 10 * kNano);
  EXPECT_EQ(tenant.tokens_today, 0);
}

TEST_F(Admission, TheDayEndsByAnEvent) {
  set_up({.daily_token_limit = 1'000'000});
  world_.submit(costing(999'999));
  EXPECT_FALSE(judge(costing(1)));
  EXPECT_EQ(judge(costing(2)), reason(ReasonCode::daily_tokens_spent, 1'000'001, 1'000'000, 0));
  world_.feed(DayBoundary{});
  EXPECT_FALSE(judge(costing(1'000'000)));
}

TEST_F(Admission, ACancelBeforeTheStartGivesTokensBack) {
  set_up({.token_bucket_size = 10, .token_refill_rate = 1, .daily_token_limit = 100});
  const Tenant& tenant = world_.state().tenant(TenantId{0});
  world_.submit(costing(4));  // starts
  world_.submit(costing(4));
  EXPECT_EQ(token_level_nano(tenant, world_.now()), 2 * kNano);
  world_.wait(seconds(5));
  world_.feed(Cancel{TaskNo{1}});
  EXPECT_EQ(token_level_nano(tenant, world_.now()), 10 * kNano);  // 7 + 4, but no more than full
  EXPECT_EQ(tenant.tokens_today, 4);
  world_.feed(Cancel{TaskNo{0}});
  EXPECT_EQ(tenant.tokens_today, 4);
}

// ---- Time ---------------------------------------------------------------------------------------

TEST_F(Admission, RefusesWhatWouldStartLaterThanTolerated) {
  set_up({}, {.refuse_late = true, .batch_base = seconds(10)});
  world_.submit(task_spec());  // runs for 10 s
  world_.submit(task_spec());  // 10 s more
  world_.wait(seconds(3));
  TaskSpec spec = task_spec();
  spec.tolerated_wait = seconds(17) + nanoseconds(1);
  EXPECT_FALSE(judge(spec));
  spec.tolerated_wait = seconds(17);  // at that instant it would expire
  EXPECT_EQ(judge(spec),
            reason(ReasonCode::would_start_late, seconds(17).ns, seconds(17).ns, 0, world_.now()));
}

}  // namespace
}  // namespace berth::core::admission_test
