// A server's configuration: its defaults, which layer holds, where each value came from.
#include "config/load_config.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::config::load_config_test {
namespace {

LoadedConfig load(const std::string& text, std::map<std::string, std::string> environment = {},
                  std::vector<Setting> settings = {}) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) { return std::optional(text); };
  std::optional<LoadedConfig> loaded = load_config(
      {"berth.toml", std::move(environment), std::move(settings)}, diagnostics, read_file);
  EXPECT_TRUE(loaded) << diagnostics.text();
  return loaded.value_or(LoadedConfig());
}

LoadedConfig without_file() {
  Diagnostics diagnostics;
  std::optional<LoadedConfig> loaded = load_config({}, diagnostics);
  EXPECT_TRUE(loaded) << diagnostics.text();
  return loaded.value_or(LoadedConfig());
}

// "value (origin)" of a key; "" if there is no such key.
std::string shown(const LoadedConfig& loaded, const std::string& key) {
  const auto found = std::ranges::find(loaded.values, key, &ConfigValue::key);
  return found == loaded.values.end() ? "" : found->value + " (" + found->origin + ")";
}

TEST(LoadConfig, WithoutAnythingThereAreDefaults) {
  const ServerConfig config = without_file().config;
  EXPECT_EQ(config.server, ServerSection());
  EXPECT_EQ(config.limits, LimitSection());
  EXPECT_EQ(config.store, StoreSection());
  EXPECT_EQ(config.ids, IdSection());
  EXPECT_EQ(config.tasks, TaskSection());
  EXPECT_EQ(config.policy, core::PolicySpec());
  EXPECT_EQ(config.table_every, minutes(10));
  EXPECT_EQ(config.tenant_defaults, TenantDefaults());
  EXPECT_EQ(config.tenants.names, std::vector<std::string>{"default"});
  EXPECT_EQ(config.tenants.specs[0], TenantDefaults().tenant);
  EXPECT_EQ(config.models.size(), 0U);
}

TEST(LoadConfig, QueuesAndGpusExistOutOfTheBox) {
  const ServerConfig config = without_file().config;
  EXPECT_EQ(config.queues.names, (std::vector<std::string>{"llm", "embedding", "diffusion"}));
  EXPECT_EQ(config.queues.specs[0].spec.max_batch_size, 8U);
  EXPECT_EQ(config.queues.specs[1].spec.max_batch_size, 32U);
  EXPECT_EQ(config.queues.specs[2].spec.max_batch_size, 4U);
  for (const Queue& queue : config.queues.specs) {
    EXPECT_FALSE(queue.spec.model);
    EXPECT_EQ(queue.executor, Executor::simulated);
    EXPECT_GT(queue.spec.max_batch_wait, milliseconds(0));
    EXPECT_GT(queue.spec.batch_base, milliseconds(0));
  }
  EXPECT_EQ(config.gpus.source, GpuSource::automatic);
  ASSERT_EQ(config.gpus.simulated.size(), 2U);
  EXPECT_EQ(config.gpus.simulated[0].name_of(1), "a100-1");
  EXPECT_EQ(config.gpus.simulated[0].vram, Mib{40 * 1024});
  EXPECT_EQ(config.gpus.simulated[1].name_of(0), "l4");
}

TEST(LoadConfig, TheNamesOfTheFirstDocumentsAreShown) {
  const LoadedConfig loaded = without_file();
  EXPECT_EQ(shown(loaded, "tenant_defaults.max_queue_size"), "1000 (default)");
  EXPECT_EQ(shown(loaded, "tenant_defaults.token_refill_rate"), "100 (default)");
  EXPECT_EQ(shown(loaded, "tenant_defaults.token_bucket_size"), "1000 (default)");
  EXPECT_EQ(shown(loaded, "tenant_defaults.daily_token_limit"), "1000000 (default)");
  EXPECT_EQ(shown(loaded, "policy.gpu_load_threshold"), "0.85 (default)");
  EXPECT_EQ(shown(loaded, "policy.aging_factor"), "0.1 (default)");
  EXPECT_EQ(shown(loaded, "policy.usage_window_minutes"), "5 (default)");
  EXPECT_EQ(shown(loaded, "queues.llm.max_batch_size"), "8 (default)");
  EXPECT_EQ(shown(loaded, "tasks.run_limit"), " (default)");
}

TEST(LoadConfig, AUnitMayStandInTheKeyOrInTheValue) {
  EXPECT_EQ(load("[policy]\nusage_window_minutes = 7").config.policy.usage_window, minutes(7));
  EXPECT_EQ(load("[policy]\nusage_window = \"7min\"").config.policy.usage_window, minutes(7));
  EXPECT_EQ(load("[limits]\nmax_payload = \"64KiB\"").config.limits.max_payload, 65'536);
  EXPECT_EQ(load("[limits]\nmax_payload_mb = 2").config.limits.max_payload, 2 * kMiB);
  const LoadedConfig odd = load("[policy]\nusage_window = \"1234567us\"");
  EXPECT_EQ(shown(odd, "policy.usage_window"), "\"1234.567ms\" (file berth.toml:2)");
}

TEST(LoadConfig, AFlagHoldsOverTheEnvironmentOverTheFileOverTheDefault) {
  const std::string file = "[server]\ndata = \"from-file\"\n[policy]\nmax_holds = 9\n";
  const std::map<std::string, std::string> environment = {
      {"BERTH_SERVER_DATA", "from-environment"}, {"HOME", "/"}, {"BERTH_TOKEN", "none of ours"}};
  LoadedConfig loaded = load(file);
  EXPECT_EQ(shown(loaded, "server.data"), "\"from-file\" (file berth.toml:2)");
  EXPECT_EQ(shown(loaded, "policy.max_holds"), "9 (file berth.toml:4)");
  EXPECT_EQ(shown(loaded, "server.timezone"), "\"UTC\" (default)");

  loaded = load(file, environment);
  EXPECT_EQ(shown(loaded, "server.data"), "\"from-environment\" (environment BERTH_SERVER_DATA)");
  EXPECT_EQ(loaded.config.server.data, "from-environment");

  loaded = load(file, environment, {{"server.data=from-set"}});
  EXPECT_EQ(shown(loaded, "server.data"), "\"from-set\" (flag --set)");

  loaded = load(file, environment, {{"server.data=from-set"}, {"server.data=x", "--data"}});
  EXPECT_EQ(shown(loaded, "server.data"), "\"x\" (flag --data)");
}

TEST(LoadConfig, TheEnvironmentReachesEveryKeyOutsideOfBlocks) {
  const ServerConfig config = load("", {{"BERTH_BUILTIN_QUEUES", "false"},
                                        {"BERTH_TENANT_DEFAULTS_MAX_QUEUE_SIZE", "5"},
                                        {"BERTH_POLICY_USAGE_WINDOW_MINUTES", "9"},
                                        {"BERTH_POLICY_PATIENCE", "2s"},
                                        {"BERTH_SERVER_HTTP_ADDRESS", "[::1]:0"},
                                        {"BERTH_GPUS_SOURCE", "nvidia-smi"}})
                                  .config;
  EXPECT_EQ(config.queues.size(), 0U);
  EXPECT_EQ(config.tenants.specs[0].spec.max_queue_size, 5U);
  EXPECT_EQ(config.policy.usage_window, minutes(9));
  EXPECT_EQ(config.policy.patience, seconds(2));
  EXPECT_EQ(config.server.http_address, "[::1]:0");
  EXPECT_EQ(config.gpus.source, GpuSource::nvidia_smi);
}

TEST(LoadConfig, ABlockWithABuiltInNameChangesOnlyWhatItSays) {
  const LoadedConfig loaded = load(R"(
[[queues]]
name = "chat"
executor = "process"
[[queues]]
name = "llm"
max_batch_size = 16
batch_base_ms = 70
)");
  const ServerConfig& config = loaded.config;
  EXPECT_EQ(config.queues.names,
            (std::vector<std::string>{"embedding", "diffusion", "chat", "llm"}));
  EXPECT_EQ(config.queues.specs[2].executor, Executor::process);
  EXPECT_EQ(config.queues.specs[3].spec.max_batch_size, 16U);
  EXPECT_EQ(config.queues.specs[3].spec.batch_base, milliseconds(70));
  EXPECT_EQ(config.queues.specs[3].spec.batch_per_task, milliseconds(10));
  EXPECT_EQ(shown(loaded, "queues.llm.max_batch_size"), "16 (file berth.toml:7)");
  EXPECT_EQ(shown(loaded, "queues.llm.batch_per_task"), "\"10ms\" (default)");
}

TEST(LoadConfig, BuiltInQueuesCanBeLeftOut) {
  const std::string file = "builtin_queues = false\n[[queues]]\nname = \"llm\"\n";
  const ServerConfig config = load(file).config;
  EXPECT_EQ(config.queues.names, std::vector<std::string>{"llm"});
  EXPECT_EQ(config.queues.specs[0], Queue());
  EXPECT_EQ(load(file, {}, {{"builtin_queues=true"}}).config.queues.size(), 3U);
  EXPECT_EQ(load("", {}, {{"builtin_queues=false"}}).config.queues.size(), 0U);
}

TEST(LoadConfig, SettingsReachBuiltInBlocks) {
  const ServerConfig config =
      load("", {}, {{"queues.llm.max_batch_size=2"}, {"gpus.simulated.l4.count=3"}}).config;
  EXPECT_EQ(config.queues.specs[0].spec.max_batch_size, 2U);
  EXPECT_EQ(config.queues.specs[1].spec.max_batch_size, 32U);
  EXPECT_EQ(config.gpus.simulated[1].count, 3);
}

TEST(LoadConfig, TenantsBeginWithTheDefaults) {
  const LoadedConfig loaded = load(R"(
[[tenants]]
name = "team.a"
weight = 2
tier = 1
[tenant_defaults]
max_queue_size = 7
)");
  const ServerConfig& config = loaded.config;
  EXPECT_EQ(config.tenants.names, (std::vector<std::string>{"default", "team.a"}));
  const Tenant& tenant = config.tenants.specs[1];
  EXPECT_EQ(tenant.spec.weight, Milli{2000});
  EXPECT_EQ(tenant.tier, 1);
  EXPECT_EQ(tenant.spec.max_queue_size, 7U);
  EXPECT_EQ(tenant.spec.daily_token_limit, 1'000'000);
  EXPECT_EQ(shown(loaded, "tenants.\"team.a\".weight"), "2 (file berth.toml:4)");
  EXPECT_EQ(shown(loaded, "tenants.\"team.a\".max_queue_size"), "7 (file berth.toml:7)");
  EXPECT_EQ(shown(loaded, "tenants.\"team.a\".token_refill_rate"), "100 (default)");
}

TEST(LoadConfig, WhoeverDescribesGpusMeansAllOfThem) {
  const LoadedConfig loaded = load("[[gpus.simulated]]\nkind = \"H100\"\nvram = \"80GB\"\n");
  ASSERT_EQ(loaded.config.gpus.simulated.size(), 1U);
  EXPECT_EQ(loaded.config.gpus.simulated[0].name, "h100");
  EXPECT_EQ(shown(loaded, "gpus.simulated[0].vram"), "\"80GB\" (file berth.toml:3)");
}

TEST(LoadConfig, QueuesReferToModelsByName) {
  const ServerConfig config = load(R"(
[[queues]]
name = "chat"
model = "llama"
[[models]]
name = "sdxl"
weights = "7GB"
[[models]]
name = "llama"
weights = "16GB"
)")
                                  .config;
  EXPECT_EQ(config.queues.specs[3].spec.model, ModelId{1});
  EXPECT_EQ(config.models.specs[1].weights, Mib{16 * 1024});
}

TEST(LoadConfig, AnAddressForOthersIsTakenWithTlsAndAuthentication) {
  const ServerConfig config = load(R"(
[server]
grpc_address = "0.0.0.0:50051"
tls_certificate = "server.pem"
tls_key = "server.key"
authentication = true
)")
                                  .config;
  EXPECT_TRUE(config.server.uses_tls());
}

TEST(LoadConfig, WithAuthenticationSubmitsMakeNoTenantsUnlessTold) {
  const auto makes = [](const std::string& text) {
    return load(text).config.tenant_defaults.make_unknown;
  };
  EXPECT_TRUE(makes(""));
  EXPECT_FALSE(makes("[server]\nauthentication = true\n"));
  EXPECT_TRUE(makes("[server]\nauthentication = true\n[tenant_defaults]\nmake_unknown = true\n"));
  EXPECT_FALSE(makes("[tenant_defaults]\nmake_unknown = false\n"));
}

TEST(LoadConfig, WhatIsShownLoadsToTheSame) {
  const LoadedConfig loaded = load(R"(
builtin_queues = false
[server]
data = "C:\\a \"b\""
timezone = "Europe/Berlin"
[tasks]
run_limit = "1h"
[policy]
usage_window = "90s"
order = "cost_aware"
[[tenants]]
name = "a.b"
max_gpus = 1.5
[[models]]
name = "m"
weights = "4.5GB"
[[queues]]
name = "q"
model = "m"
executor = "process"
work_class = "decode"
[[gpus.simulated]]
vram = "80GB"
speed_by_class = { decode = 1.4, "in \"quotes\"" = 2 }
[[gpus.simulated]]
kind = "L4"
vram = "24GB"
)");
  const std::string toml = config_toml(loaded.values);
  EXPECT_EQ(load(toml).config, loaded.config) << toml;
  EXPECT_NE(toml.find("\n[server]\ngrpc_address = \"127.0.0.1:50051\"\n"), toml.npos) << toml;
  EXPECT_NE(toml.find("usage_window_minutes = 1.5\n"), toml.npos) << toml;
  EXPECT_NE(toml.find("work_class = \"decode\"\n"), toml.npos) << toml;
  EXPECT_NE(toml.find("speed_by_class = { decode = 1.4, \"in \\\"quotes\\\"\" = 2 }\n"), toml.npos)
      << toml;
  EXPECT_EQ(loaded.config.gpus.simulated[0].speed_by_class,
            (SpeedByClass{{"decode", Milli{1400}}, {"in \"quotes\"", Milli{2000}}}));
  EXPECT_NE(toml.find("# tls_key is not set\n"), toml.npos) << toml;
}

TEST(LoadConfig, SpeedsOfGpusThatAreFoundStandByKind) {
  const LoadedConfig loaded = load(R"([[gpus.kinds]]
name = "H100"
speed = 2
speed_by_class = { decode = 1.4 }
[[gpus.kinds]]
name = "A100"
)");
  EXPECT_EQ(loaded.config.gpus.kinds,
            (std::vector<KindSpeed>{{"H100", Milli{2000}, {{"decode", Milli{1400}}}},
                                    {"A100", std::nullopt, {}}}));
  EXPECT_EQ(load(config_toml(loaded.values)).config, loaded.config);
  EXPECT_EQ(shown(loaded, "gpus.kinds.H100.speed_by_class"),
            "{ decode = 1.4 } (file berth.toml:4)");
}

TEST(LoadConfig, EveryKnownKeyIsShown) {
  std::vector<std::string> shown_keys;
  for (const char* text :
       {"[[models]]\nname = \"m\"\nweights = \"1GB\"\n", "[[gpus.kinds]]\nname = \"k\"\n",
        "[[cluster.nodes]]\nname = \"n\"\ncpu = 1\n"}) {
    for (const ConfigValue& value : load(text).values) {
      const std::string name(value.name == "usage_window_minutes" ? "usage_window" : value.name);
      shown_keys.push_back(value.section.empty() ? name : value.section + "." + name);
      shown_keys.push_back(value.section);
    }
  }
  for (const std::string& key : known_config_keys()) {
    if (key == "gpus" || key == "cluster") continue;
    EXPECT_NE(std::ranges::find(shown_keys, key), shown_keys.end()) << key;
  }
}

}  // namespace
}  // namespace berth::config::load_config_test
