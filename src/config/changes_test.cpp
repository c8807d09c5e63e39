// A reload: what is added, changed and removed, and what needs a restart.
#include "config/changes.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::config::changes_test {
namespace {

using Texts = std::vector<std::string>;

LoadedConfig load(const std::string& text) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) { return std::optional(text); };
  std::optional<LoadedConfig> loaded = load_config({.path = "b.toml"}, diagnostics, read_file);
  EXPECT_TRUE(loaded) << diagnostics.text();
  return loaded.value_or(LoadedConfig());
}

ConfigChanges between(const std::string& before, const std::string& next) {
  return changes(load(before), load(next));
}

constexpr const char* kModels = R"(
[[models]]
name = "a"
weights = "1GB"
[[models]]
name = "b"
weights = "2GB"
[[queues]]
name = "q"
model = "b"
)";

TEST(Changes, TheSameValuesAreNoChangeHoweverTheyAreWritten) {
  const ConfigChanges none = between("[policy]\npatience = \"60s\"\n",
                                     "[server]\nlog_level = \"info\"\n[policy]\npatience = "
                                     "\"1min\"\n");
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(between("[[gpus.simulated]]\nkind = \"L4\"\nvram = \"24GB\"\n",
                      "[[gpus.simulated]]\nname = \"l4\"\nkind = \"L4\"\nvram_gb = 24\n")
                  .empty());
  EXPECT_TRUE(none.restart.empty());
}

TEST(Changes, PolicyAndDefaults) {
  const ConfigChanges found = between("",
                                      "[policy]\npatience = \"1s\"\n[tenant_defaults]\n"
                                      "max_queue_size = 5\n");
  ASSERT_EQ(found.tenants.size(), 1U);  // the tenant `default` has the defaults
  EXPECT_EQ(found.tenants[0].kind, ChangeKind::changed);
  EXPECT_TRUE(found.restart.empty());
  EXPECT_EQ(found.sentences, (Texts{"policy.patience: \"30s\" becomes \"1s\"",
                                    "tenant_defaults.max_queue_size: 1000 becomes 5",
                                    "tenants.default.max_queue_size: 1000 becomes 5"}));
}

TEST(Changes, HowOftenTheServerLearnsIsNoMatterOfTheCore) {
  const ConfigChanges found = between("", "[policy]\ntable_every = \"0s\"\n");
  ASSERT_TRUE(found.table_every);
  EXPECT_EQ(*found.table_every, Duration{0});
  EXPECT_TRUE(found.restart.empty());
  EXPECT_EQ(found.sentences, (Texts{"policy.table_every: \"10min\" becomes \"0s\""}));
}

TEST(Changes, AKeyThatIsShownInAnotherUnitIsStillAChange) {
  const ConfigChanges found = between("", "[policy]\nusage_window = \"1234567us\"\n");
  EXPECT_EQ(found.sentences, (Texts{"policy.usage_window: not set becomes \"1234.567ms\"",
                                    "policy.usage_window_minutes: 5 becomes not set"}));
}

TEST(Changes, TenantsComeChangeAndGo) {
  const ConfigChanges found = between("[[tenants]]\nname = \"a\"\n[[tenants]]\nname = \"b\"\n",
                                      "[[tenants]]\nname = \"c\"\n[[tenants]]\nname = \"b\"\n"
                                      "max_gpus = 2\n");
  ASSERT_EQ(found.tenants.size(), 3U);
  EXPECT_EQ(found.tenants[0].kind, ChangeKind::added);
  EXPECT_EQ(found.tenants[0].name, "c");
  EXPECT_EQ(found.tenants[1].kind, ChangeKind::changed);
  EXPECT_EQ(found.tenants[1].name, "b");
  EXPECT_EQ(found.tenants[1].spec.spec.max_gpus, Milli{2000});
  EXPECT_EQ(found.tenants[2].kind, ChangeKind::removed);
  EXPECT_EQ(found.tenants[2].name, "a");
  EXPECT_EQ(found.sentences,
            (Texts{"tenants.b.max_gpus: not set becomes 2", "tenant \"c\" is added",
                   "tenant \"a\" is removed: it has the tenant_defaults from "
                   "now on"}));
}

TEST(Changes, TenantsAreTheSameWhereverTheirParentStands) {
  const std::string child = "[[tenants]]\nname = \"c\"\nparent = \"p\"\n";
  const std::string parent = "[[tenants]]\nname = \"p\"\n";
  const std::string other = "[[tenants]]\nname = \"o\"\n";
  EXPECT_TRUE(between(child + parent, parent + child).empty());
  const ConfigChanges found = between(
      parent + other + child, "[[tenants]]\nname = \"c\"\nparent = \"o\"\n" + parent + other);
  ASSERT_EQ(found.tenants.size(), 1U);
  EXPECT_EQ(found.tenants[0].name, "c");
  EXPECT_EQ(found.sentences, Texts{"tenants.c.parent: \"p\" becomes \"o\""});
}

TEST(Changes, QueuesAreTheSameWhenTheirModelIsWhereverItStands) {
  const ConfigChanges moved = between(kModels, R"(
[[models]]
name = "b"
weights = "2GB"
[[queues]]
name = "q"
model = "b"
)");
  EXPECT_TRUE(moved.queues.empty());
  ASSERT_EQ(moved.models.size(), 1U);
  EXPECT_EQ(moved.models[0].kind, ChangeKind::removed);
  EXPECT_EQ(moved.sentences, Texts{"model \"a\" is removed: it is forgotten when no queue "
                                   "names it and no GPU has it"});

  const LoadedConfig next = load(std::string(kModels) + "executor = \"process\"\n");
  const ConfigChanges changed = changes(load(kModels), next);
  ASSERT_EQ(changed.queues.size(), 1U);
  EXPECT_EQ(changed.queues[0].kind, ChangeKind::changed);
  EXPECT_EQ(changed.queues[0].spec.executor, Executor::process);
  EXPECT_EQ(changed.sentences, Texts{"queues.q.executor: \"simulated\" becomes \"process\""});
}

TEST(Changes, AnotherModelIsAChangeOfTheQueue) {
  std::string other = kModels;
  other.replace(other.rfind("\"b\""), 3, "\"a\"");
  const ConfigChanges changed = between(kModels, other);
  EXPECT_TRUE(changed.models.empty());
  ASSERT_EQ(changed.queues.size(), 1U);
  EXPECT_EQ(changed.queues[0].spec.spec.model, ModelId{0});
  EXPECT_EQ(changed.sentences, Texts{"queues.q.model: \"b\" becomes \"a\""});
}

TEST(Changes, BuiltInQueuesGoAsQueues) {
  const ConfigChanges found = between("", "builtin_queues = false\n");
  ASSERT_EQ(found.queues.size(), 3U);
  EXPECT_EQ(found.queues[0].kind, ChangeKind::removed);
  EXPECT_EQ(found.queues[0].spec.spec.max_batch_size, 8U);
  EXPECT_TRUE(found.restart.empty());
}

TEST(Changes, WhatWasPutStaysWhenTheFileDropsIt) {
  const std::string queues = "[[queues]]\nname = \"a\"\n[[queues]]\nname = \"b\"\n";
  const auto was_put = [](std::string_view noun, const std::string& name) {
    return noun == "queue" && name == "b";
  };
  EXPECT_EQ(changes(load(queues), load(""), was_put).sentences,
            (Texts{"queue \"a\" is removed: it takes no new tasks, and is forgotten when it is "
                   "empty",
                   "queue \"b\" is removed from the file and stays, because it was put"}));
}

TEST(Changes, WhatNeedsARestartIsNamed) {
  const ConfigChanges found = between("", R"(
[server]
data = "elsewhere"
[store]
keep_snapshots = 5
[[gpus.simulated]]
name = "l4"
kind = "L4"
vram = "24GB"
)");
  EXPECT_EQ(found.restart, (Texts{"server.data", "store.keep_snapshots", "gpus.simulated"}));
  EXPECT_EQ(found.sentences[0], "server.data: \"./var\" becomes \"elsewhere\" after a restart");
  EXPECT_EQ(found.sentences[2], "gpus.simulated: others after a restart");
  EXPECT_TRUE(found.tenants.empty());
  EXPECT_TRUE(found.queues.empty());
}

TEST(Changes, WhatNeedsARestartIsNotInForceHoweverOftenTheFileIsRead) {
  const LoadedConfig start = load(
      "[server]\nauthentication = true\n[tasks]\nrun_as = \"ada\"\n[store]\nkeep_snapshots = 5\n"
      "[[gpus.simulated]]\nkind = \"L4\"\nvram = \"24GB\"\n");
  const LoadedConfig next =
      load("[policy]\npatience = \"1s\"\n[[tenants]]\nname = \"red\"\nunix_user = \"red\"\n");
  const LoadedConfig once = after_reload(start, next);
  EXPECT_EQ(once.config.server, start.config.server);
  EXPECT_EQ(once.config.tasks, start.config.tasks);
  EXPECT_EQ(once.config.store, start.config.store);
  EXPECT_EQ(once.config.gpus, start.config.gpus);
  EXPECT_EQ(once.config.policy, next.config.policy);
  EXPECT_EQ(once.config.tenants, next.config.tenants);
  EXPECT_FALSE(once.config.tenant_defaults.make_unknown) << "tokens are still asked for";
  const Texts waits = changes(once, next).restart;
  EXPECT_EQ(waits, (Texts{"server.authentication", "store.keep_snapshots", "tasks.run_as",
                          "tenant_defaults.make_unknown", "gpus.simulated"}));
  EXPECT_EQ(changes(once, next).sentences.size(), waits.size()) << "and nothing else";

  const LoadedConfig twice = after_reload(once, next);
  EXPECT_EQ(twice.config, once.config);
  EXPECT_EQ(twice.values, once.values);
  EXPECT_EQ(changes(twice, next).restart, waits);
}

TEST(Changes, TheValuesInForceLoadToTheConfigurationInForce) {
  const LoadedConfig start = load(
      "[server]\nauthentication = true\n[[cluster.nodes]]\nname = \"n\"\ncpu = 8\n"
      "memory = \"8GB\"\ngpus = 1\nkind = \"L4\"\nvram = \"24GB\"\n");
  const LoadedConfig next = load(std::string(kModels) + "[tasks]\nrun_as = \"ada\"\n");
  const LoadedConfig held = after_reload(start, next);
  EXPECT_EQ(load(config_toml(held.values)).config, held.config) << config_toml(held.values);
}

TEST(Changes, WhatTheFileSaysOfUnknownTenantsHoldsAtOnce) {
  const LoadedConfig start = load("[server]\nauthentication = true\n");
  const LoadedConfig next = load("[tenant_defaults]\nmake_unknown = true\n");
  EXPECT_TRUE(after_reload(start, next).config.tenant_defaults.make_unknown);
  const LoadedConfig open = load(
      "[server]\nauthentication = true\n[tenant_defaults]\n"
      "make_unknown = true\n");
  const LoadedConfig held = after_reload(open, load(""));
  EXPECT_FALSE(held.config.tenant_defaults.make_unknown) << "nothing is said any more";
  EXPECT_EQ(changes(open, held).sentences,
            Texts{"tenant_defaults.make_unknown: true becomes false"});
}

}  // namespace
}  // namespace berth::config::changes_test
