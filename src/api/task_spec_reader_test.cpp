// Every field of a task spec, and every error.
#include "api/task_spec_reader.h"

#include <functional>

#include <gtest/gtest.h>

#include "core/mig/profiles.h"

namespace berth::api::task_spec_reader_test {
namespace {

constexpr Time kNow{1'700'000'000'000'000'000};
constexpr std::int64_t kNowMs = kNow.ns / 1'000'000;

SpecContext context() {
  return {.tenant = "alice", .path = "task.", .request_id = "r", .now = kNow, .limits = {}};
}

v1::TaskSpec minimal() {
  v1::TaskSpec spec;
  spec.set_task_type("llm");
  spec.set_payload("x");
  return spec;
}

// Of a task that has no payload then.
v1::Command& command_of(v1::TaskSpec& spec) {
  spec.clear_payload();
  return *spec.mutable_command();
}

service::NewTask good(const v1::TaskSpec& spec) {
  auto read = read_task_spec(spec, context());
  if (auto* flaws = std::get_if<1>(&read)) {
    ADD_FAILURE() << flaws->at(0).field << ": " << flaws->at(0).flaw;
    return {};
  }
  return std::move(std::get<0>(read));
}

std::vector<FieldFlaw> flaws_in(const v1::TaskSpec& spec) {
  auto read = read_task_spec(spec, context());
  auto* flaws = std::get_if<1>(&read);
  return flaws == nullptr ? std::vector<FieldFlaw>{} : *flaws;
}

TEST(TaskSpecReader, DefaultsAreThoseOfTheProto) {
  const service::NewTask task = good(minimal());
  EXPECT_EQ(task.tenant, "alice");
  EXPECT_EQ(task.queue, "llm");
  EXPECT_FALSE(task.tier.has_value());
  EXPECT_EQ(task.spec.gpus, 1);
  EXPECT_EQ(task.spec.share, kWholeGpu);
  EXPECT_EQ(task.spec.tokens, 1U);
  EXPECT_EQ(task.spec.tolerated_wait, Duration::forever());
  EXPECT_EQ(task.spec.not_before, Time{0});
  EXPECT_EQ(task.spec.retry, core::RetryRule{});
  EXPECT_FALSE(task.spec.held);
  EXPECT_EQ(task.card->request_id, "r");
  EXPECT_EQ(task.card->deadline, Time::never());
  v1::TaskSpec kept;
  ASSERT_TRUE(kept.ParseFromString(task.card->spec));
  EXPECT_EQ(kept.user_id(), "alice");
}

TEST(TaskSpecReader, TakesEveryField) {
  v1::TaskSpec spec = minimal();
  spec.set_task_id("my-task");
  spec.set_gpu_memory_mb(8192);
  command_of(spec).add_argv("echo");
  command_of(spec).add_argv("hi");
  (*spec.mutable_env())["A"] = "b";
  spec.set_workdir("/tmp");
  spec.set_tier(2);
  spec.set_priority(-5);
  spec.set_gpus(4);
  spec.set_cpus_milli(8000);
  spec.set_memory_mb(65'536);
  spec.add_gpu_kinds("a100");
  spec.add_gpu_kinds("h100");
  spec.set_groups(2);
  spec.set_within("node");
  spec.set_required(true);
  spec.set_expected_run_ms(1500);
  spec.set_not_before_unix_ms(kNowMs + 1000);
  spec.set_tolerated_wait_ms(60'000);
  spec.set_checkpoint_interval_ms(600'000);
  spec.set_restart_cost_ms(30'000);
  spec.set_run_limit_ms(90'000);
  spec.set_deadline_unix_ms(kNowMs + 30'000);
  spec.mutable_retry()->set_attempts(3);
  spec.mutable_retry()->set_backoff_ms(200);
  spec.mutable_retry()->add_on(v1::CRASH);
  spec.mutable_retry()->add_on(v1::TIMEOUT);
  spec.add_depends_on("other");
  spec.add_depends_on("t-12");
  spec.add_depends_on("signal:go");
  spec.set_run_after_failure(true);
  spec.set_group("nightly");
  (*spec.mutable_labels())["z"] = "1";
  (*spec.mutable_labels())["a"] = "2";
  spec.set_result_ttl_ms(5000);
  spec.set_stop_signal("INT");
  spec.set_stop_grace_ms(100);
  spec.set_tokens(7);
  spec.set_held(true);
  const service::NewTask task = good(spec);
  EXPECT_EQ(task.tier, 2);
  EXPECT_EQ(task.spec.vram, Mib{8192});
  EXPECT_EQ(task.spec.priority, -5);
  EXPECT_EQ(task.spec.gpus, 4);
  EXPECT_EQ(task.spec.cpu, Milli{8000});
  EXPECT_EQ(task.spec.memory, Mib{65'536});
  EXPECT_EQ(task.gpu_kinds, (std::vector<std::string>{"a100", "h100"}));
  EXPECT_EQ(task.spec.groups, 2);
  EXPECT_EQ(task.spec.within, core::Level::node);
  EXPECT_TRUE(task.spec.required);
  EXPECT_EQ(task.spec.expected_run, milliseconds(1500));
  EXPECT_EQ(task.spec.not_before, kNow + seconds(1));
  EXPECT_EQ(task.spec.tolerated_wait, seconds(30)) << "the deadline is nearer";
  EXPECT_EQ(task.spec.checkpoint_interval, minutes(10));
  EXPECT_EQ(task.spec.restart_cost, seconds(30));
  EXPECT_EQ(task.spec.retry.max_attempts, 3);
  EXPECT_EQ(task.spec.retry.backoff, milliseconds(200));
  EXPECT_EQ(task.spec.retry.on,
            core::mask_of(core::Failure::crash) | core::mask_of(core::Failure::timeout));
  EXPECT_EQ(task.depends_on, (std::vector<std::string>{"other", "t-12", "signal:go"}));
  EXPECT_EQ(task.spec.on_dependency_failure, core::OnDependencyFailure::release);
  EXPECT_EQ(task.spec.tokens, 7U);
  EXPECT_TRUE(task.spec.held);
  EXPECT_EQ(task.card->id, "my-task");
  EXPECT_EQ(task.card->group_name, "nightly");
  EXPECT_EQ(task.card->run_limit, seconds(90));
  EXPECT_EQ(task.card->result_ttl, seconds(5));
  EXPECT_EQ(task.card->deadline, kNow + seconds(30));
  EXPECT_EQ(task.card->labels.front().first, "a");
}

TEST(TaskSpecReader, InstantsBecomeEngineTimeByTheWallClock) {
  const Duration ahead = minutes(24 * 60);  // of the wall clock, against engine time
  SpecContext where = context();
  where.clock.ahead = ahead;
  v1::TaskSpec spec = minimal();
  spec.set_not_before_unix_ms((kNow + ahead + seconds(1)).ns / 1'000'000);
  spec.set_deadline_unix_ms((kNow + ahead + seconds(30)).ns / 1'000'000);
  auto read = read_task_spec(spec, where);
  ASSERT_EQ(read.index(), 0U);
  const service::NewTask& task = std::get<0>(read);
  EXPECT_EQ(task.spec.not_before, kNow + seconds(1));
  EXPECT_EQ(task.card->deadline, kNow + seconds(30));
  EXPECT_EQ(task.spec.tolerated_wait, seconds(30));

  spec.set_deadline_unix_ms((kNow + seconds(30)).ns / 1'000'000);
  read = read_task_spec(spec, where);
  ASSERT_EQ(read.index(), 1U);
  EXPECT_EQ(std::get<1>(read).at(0).flaw,
            "has passed: it was 86370000 ms ago by the server's clock");
}

TEST(TaskSpecReader, AShareAndAPayloadAreTaken) {
  v1::TaskSpec spec = minimal();
  spec.set_share_milli(250);
  spec.set_payload(std::string(1U << 20, 'x'));
  EXPECT_EQ(good(spec).spec.share, Milli{250});
}

TEST(TaskSpecReader, AMigProfileIsTaken) {
  v1::TaskSpec spec = minimal();
  spec.set_mig_profile("1g.10gb");
  EXPECT_EQ(good(spec).spec.profile, core::mig::profile_named("1g.10gb"));
}

TEST(TaskSpecReader, AtMostOnceEndsWithItsGpu) {
  v1::TaskSpec spec = minimal();
  spec.set_start(v1::AT_MOST_ONCE);
  EXPECT_TRUE(good(spec).spec.retry.on & core::kLossEndsIt);
}

struct Wrong {
  const char* field;
  std::function<void(v1::TaskSpec&)> make;
};

TEST(TaskSpecReader, SaysWhichFieldIsWrong) {
  const std::vector<Wrong> cases = {
      {"task.task_type", [](auto& s) { s.clear_task_type(); }},
      {"task.task_type", [](auto& s) { s.set_task_type("a\nb"); }},
      {"task.task_id", [](auto& s) { s.set_task_id("t-7"); }},
      {"task.task_id", [](auto& s) { s.set_task_id(std::string(kNameMax + 1, 'x')); }},
      {"task.task_id", [](auto& s) { s.set_task_id("signal:x"); }},
      {"task.task_id", [](auto& s) { s.set_task_id(" x"); }},
      {"task.gpu_memory_mb", [](auto& s) { s.set_gpu_memory_mb(-1); }},
      {"task.payload", [](auto& s) { s.set_payload(std::string((1U << 20) + 1, 'x')); }},
      {"task.payload",
       [](auto& s) {
         s.set_payload("x");
         s.mutable_command()->add_argv("true");
       }},
      {"task.payload", [](auto& s) { s.clear_payload(); }},
      {"task.payload", [](auto& s) { s.set_payload(""); }},
      {"task.command.argv", [](auto& s) { command_of(s); }},
      {"task.command.argv", [](auto& s) { command_of(s).add_argv(std::string("a\0b", 3)); }},
      {"task.command", [](auto& s) { command_of(s).add_argv(std::string(200'000, 'a')); }},
      {"task.env", [](auto& s) { (*s.mutable_env())["A"] = "1"; }},
      {"task.env",
       [](auto& s) {
         command_of(s).add_argv("true");
         (*s.mutable_env())["A=B"] = "1";
       }},
      {"task.workdir", [](auto& s) { s.set_workdir("/tmp"); }},
      {"task.workdir",
       [](auto& s) {
         command_of(s).add_argv("true");
         s.set_workdir("tmp");
       }},
      {"task.tier", [](auto& s) { s.set_tier(4); }},
      {"task.priority", [](auto& s) { s.set_priority(40'000); }},
      {"task.gpus", [](auto& s) { s.set_gpus(70'000); }},
      {"task.share_milli", [](auto& s) { s.set_share_milli(1001); }},
      {"task.share_milli",
       [](auto& s) {
         s.set_gpus(2);
         s.set_share_milli(500);
       }},
      {"task.gpus", [](auto& s) { s.set_gpus(0); }},
      {"task.memory_mb", [](auto& s) { s.set_memory_mb(-1); }},
      {"task.gpu_kinds[0]", [](auto& s) { s.add_gpu_kinds(""); }},
      {"task.groups",
       [](auto& s) {
         s.set_gpus(3);
         s.set_groups(2);
         s.set_within("node");
       }},
      {"task.within", [](auto& s) { s.set_within("nod"); }},
      {"task.required", [](auto& s) { s.set_required(true); }},
      {"task.mig_profile", [](auto& s) { s.set_mig_profile("9g.9gb"); }},
      {"task.expected_run_ms", [](auto& s) { s.set_expected_run_ms(-1); }},
      {"task.not_before_unix_ms", [](auto& s) { s.set_not_before_unix_ms(-1); }},
      {"task.not_before_unix_ms", [](auto& s) { s.set_not_before_unix_ms(INT64_MAX); }},
      {"task.tolerated_wait_ms", [](auto& s) { s.set_tolerated_wait_ms(INT64_MAX); }},
      {"task.checkpoint_interval_ms", [](auto& s) { s.set_checkpoint_interval_ms(-1); }},
      {"task.restart_cost_ms", [](auto& s) { s.set_restart_cost_ms(INT64_MAX); }},
      {"task.run_limit_ms", [](auto& s) { s.set_run_limit_ms(-1); }},
      {"task.deadline_unix_ms", [](auto& s) { s.set_deadline_unix_ms(kNowMs - 1); }},
      {"task.deadline_unix_ms", [](auto& s) { s.set_deadline_unix_ms(INT64_MAX); }},
      {"task.deadline_unix_ms",
       [](auto& s) {
         s.set_not_before_unix_ms(kNowMs + 10);
         s.set_deadline_unix_ms(kNowMs + 10);
       }},
      {"task.retry.attempts", [](auto& s) { s.mutable_retry()->set_attempts(256); }},
      {"task.retry.attempts",
       [](auto& s) {
         s.set_start(v1::AT_MOST_ONCE);
         s.mutable_retry()->set_attempts(2);
       }},
      {"task.retry.backoff_ms", [](auto& s) { s.mutable_retry()->set_backoff_ms(-1); }},
      {"task.retry.on", [](auto& s) { s.mutable_retry()->add_on(v1::INFRASTRUCTURE); }},
      {"task.retry.on",
       [](auto& s) { s.mutable_retry()->add_on(static_cast<v1::FailureKind>(99)); }},
      {"task.start", [](auto& s) { s.set_start(static_cast<v1::StartRule>(9)); }},
      {"task.depends_on[0]", [](auto& s) { s.add_depends_on(""); }},
      {"task.depends_on[1]",
       [](auto& s) {
         s.add_depends_on("a");
         s.add_depends_on("a");
       }},
      {"task.depends_on[0]",
       [](auto& s) {
         s.set_task_id("me");
         s.add_depends_on("me");
       }},
      {"task.depends_on",
       [](auto& s) {
         for (int i = 0; i < 1001; ++i)
           s.add_depends_on("d" + std::to_string(i));
       }},
      {"task.group", [](auto& s) { s.set_group("\x01"); }},
      {"task.labels", [](auto& s) { (*s.mutable_labels())[""] = "x"; }},
      {"task.labels.k", [](auto& s) { (*s.mutable_labels())["k"] = std::string(300, 'x'); }},
      {"task.result_ttl_ms", [](auto& s) { s.set_result_ttl_ms(-1); }},
      {"task.stop_signal", [](auto& s) { s.set_stop_signal("KILL"); }},
      {"task.stop_grace_ms", [](auto& s) { s.set_stop_grace_ms(-1); }},
      {"task.#999",
       [](auto& s) { s.GetReflection()->MutableUnknownFields(&s)->AddVarint(999, 1); }},
  };
  for (const Wrong& wrong : cases) {
    v1::TaskSpec spec = minimal();
    wrong.make(spec);
    const std::vector<FieldFlaw> flaws = flaws_in(spec);
    ASSERT_EQ(flaws.size(), 1U) << wrong.field << "\n" << spec.ShortDebugString().substr(0, 200);
    EXPECT_EQ(flaws[0].field, wrong.field) << flaws[0].flaw;
    EXPECT_FALSE(flaws[0].flaw.empty());
  }
}

TEST(TaskSpecReader, SaysEveryErrorAtOnce) {
  v1::TaskSpec spec;
  spec.set_payload("x");
  spec.set_tier(9);
  spec.set_gpus(70'000);
  spec.set_within("nod");
  spec.set_mig_profile("1g");
  spec.set_checkpoint_interval_ms(-1);
  spec.set_restart_cost_ms(-1);
  spec.set_stop_signal("FOO");
  EXPECT_EQ(flaws_in(spec).size(), 8U);
}

TEST(TaskSpecReader, ThePayloadLimitIsSaid) {
  v1::TaskSpec spec = minimal();
  spec.set_payload(std::string((1U << 20) + 1, 'x'));
  EXPECT_NE(flaws_in(spec).at(0).flaw.find("1048576"), std::string::npos);
}

TEST(TaskSpecReader, TheDigestIsOfTheContentAlone) {
  v1::TaskSpec a = minimal();
  v1::TaskSpec b = minimal();
  for (int i = 0; i < 40; ++i) {
    (*a.mutable_labels())["k" + std::to_string(i)] = "v";
    (*b.mutable_labels())["k" + std::to_string(39 - i)] = "v";
  }
  b.set_user_id("alice");  // said or not: the same tenant
  EXPECT_EQ(good(a).card->digest, good(b).card->digest);
  EXPECT_EQ(good(a).card->spec, good(b).card->spec);
  b.set_priority(1);
  EXPECT_NE(good(a).card->digest, good(b).card->digest);
}

TEST(FirstDifference, NamesTheField) {
  v1::TaskSpec a = minimal();
  EXPECT_EQ(first_difference(a, a), "");
  v1::TaskSpec b = a;
  b.set_priority(3);
  EXPECT_EQ(first_difference(a, b), "priority");
  b = a;
  b.mutable_retry()->set_attempts(2);
  EXPECT_EQ(first_difference(a, b), "retry");
  a.mutable_retry()->set_attempts(1);
  EXPECT_EQ(first_difference(a, b), "retry.attempts");
  b = a;
  (*b.mutable_labels())["x"] = "y";
  EXPECT_EQ(first_difference(a, b), "labels");
}

}  // namespace
}  // namespace berth::api::task_spec_reader_test
