// A bad configuration: each kind of error, with the exact text a user sees, all of them at once.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/names.h"
#include "config/load_config.h"
#include "config/server_checks.h"

namespace berth::config::config_errors_test {
namespace {

using Texts = std::vector<std::string>;

// Every error, as "place: message".
Texts errors_in(const std::string& text, const std::map<std::string, std::string>& environment = {},
                const std::vector<Setting>& settings = {}) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) { return std::optional(text); };
  const auto loaded = load_config({"b.toml", environment, settings}, diagnostics, read_file);
  EXPECT_EQ(loaded.has_value(), diagnostics.empty());
  Texts result;
  for (const Diagnostic& diagnostic : diagnostics.sorted())
    result.push_back(diagnostics.place(diagnostic.at) + ": " + diagnostic.message);
  return result;
}

TEST(ConfigErrors, AFileThatCannotBeRead) {
  Diagnostics diagnostics;
  EXPECT_FALSE(load_config({.path = "/nonexistent/berth.toml"}, diagnostics));
  EXPECT_EQ(diagnostics.text(),
            "/nonexistent/berth.toml: cannot read the configuration: No such file or directory\n");
}

TEST(ConfigErrors, ASyntaxErrorIsReportedAlone) {
  const Texts errors = errors_in("[server\ndata = 3\n");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors[0].starts_with("b.toml:1:")) << errors[0];
  EXPECT_NE(errors[0].find("not valid TOML"), std::string::npos) << errors[0];
}

TEST(ConfigErrors, AControlGroupIsAPathOrAWord) {
  EXPECT_EQ(errors_in("[tasks]\ncgroup = \"of\"\n"),
            Texts{"b.toml:2:10: tasks.cgroup: expected \"auto\", \"off\" or the path of a control "
                  "group such as \"/sys/fs/cgroup/berth\", found \"of\""});
  EXPECT_EQ(errors_in("[tasks]\ncgroup = \"/sys/fs/cgroup/a\"\nrun_as = \"nobody\"\n"), Texts{});
}

TEST(ConfigErrors, AllAppearAtOnceWithTheirLines) {
  Diagnostics diagnostics;
  const ReadFile read_file = [](const std::string&, std::string&) {
    return std::optional<std::string>("[server]\ndatta = \"x\"\n[store]\nkeep_snapshots = 0\n");
  };
  EXPECT_FALSE(load_config({.path = "b.toml"}, diagnostics, read_file));
  EXPECT_EQ(diagnostics.text(),
            "b.toml:2:1: unknown key \"datta\" in server; did you mean \"data\"?\n"
            "    2 | datta = \"x\"\n"
            "      | ^\n"
            "b.toml:4:18: store.keep_snapshots: expected an integer from 1 to 1000, found the "
            "integer 0\n"
            "    4 | keep_snapshots = 0\n"
            "      |                  ^\n");
}

TEST(ConfigErrors, UnknownSections) {
  EXPECT_EQ(errors_in("[polcy]\norder = \"fifo\"\n"),
            Texts{"b.toml:1:2: unknown key \"polcy\"; did you mean \"policy\"?"});
  EXPECT_EQ(errors_in("[[server]]\ndata = \"x\"\n"),
            Texts{"b.toml:1:1: server: expected a table [server], found a list"});
  EXPECT_EQ(errors_in("[queues]\nname = \"x\"\n"),
            Texts{"b.toml:1:1: queues: expected [[queues]] blocks, found a table"});
}

TEST(ConfigErrors, ValuesOfAWrongKind) {
  EXPECT_EQ(errors_in("[server]\nauthentication = \"yes\"\nlog_level = \"warn\"\ndata = 3\n"),
            (Texts{"b.toml:2:18: server.authentication: expected true or false, found the string "
                   "\"yes\"",
                   "b.toml:3:13: server.log_level: expected one of \"debug\", \"info\", "
                   "\"warning\", \"error\", found the string \"warn\"; did you mean \"warning\"?",
                   "b.toml:4:8: server.data: expected a string, found the integer 3"}));
  EXPECT_EQ(errors_in("[limits]\nmax_message = 5\nmax_payload = \"5 pages\"\n"),
            (Texts{"b.toml:2:15: limits.max_message: expected a size such as \"64MiB\", from 64KiB "
                   "to 1GiB, found the integer 5; write the unit as in \"1MiB\" or in the key as "
                   "in max_message_mb",
                   "b.toml:3:15: limits.max_payload: expected a size such as \"64MiB\", from 0B to "
                   "1GiB, found the string \"5 pages\"; its unit must be B, KiB, MiB or GiB"}));
  EXPECT_EQ(errors_in("[[queues]]\nname = \"q\"\nexecutor = \"docker\"\n"),
            Texts{"b.toml:3:12: queues.executor: expected one of \"simulated\", \"process\", found "
                  "the string \"docker\""});
}

TEST(ConfigErrors, NamesThatAreTakenOrMissing) {
  EXPECT_EQ(errors_in("[[queues]]\nname = \"llm\"\n[[queues]]\nname = \"llm\"\n[[tenants]]\n"),
            (Texts{"b.toml:4:8: queues.name: \"llm\" is already the name of a queue, at "
                   "b.toml:2:8",
                   "b.toml:5:1: missing tenants.name: expected a name"}));
  EXPECT_EQ(errors_in("[[gpus.simulated]]\nvram = \"1GB\"\n[[gpus.simulated]]\nvram = \"1GB\"\n"),
            Texts{"b.toml:3:1: gpus.simulated.name: \"gpu\" is already the name of a GPU, at "
                  "b.toml:1:1"});
}

TEST(ConfigErrors, ReferencesToModels) {
  EXPECT_EQ(errors_in("[[models]]\nname = \"llama3\"\nweights = \"1GB\"\n"
                      "[[queues]]\nname = \"q\"\nmodel = \"lama3\"\n"),
            Texts{"b.toml:6:9: queues.model: no model is named \"lama3\"; did you mean "
                  "\"llama3\"?"});
}

TEST(ConfigErrors, SpeedsByClassOfWork) {
  const std::string speed = ": expected a number from 0.001 to 1000, found ";
  EXPECT_EQ(errors_in("[[gpus.simulated]]\nvram = \"1GB\"\n"
                      "speed_by_class = { a = \"fast\", b = 0, c = nan, \"\" = 1 }\n"),
            (Texts{"b.toml:3:24: gpus.simulated.speed_by_class.a" + speed + "the string \"fast\"",
                   "b.toml:3:36: gpus.simulated.speed_by_class.b" + speed + "the integer 0",
                   "b.toml:3:43: gpus.simulated.speed_by_class.c" + speed + "the number nan",
                   "b.toml:3:48: gpus.simulated.speed_by_class: \"\" is no name of a class of "
                   "work; expected " +
                       name_expectation()}));
  EXPECT_EQ(errors_in("[[gpus.simulated]]\nvram = \"1GB\"\nspeed_by_class = [1]\n"),
            Texts{"b.toml:3:18: gpus.simulated.speed_by_class: expected speeds by the name of a "
                  "class of work, such as { decode = 1.4 }, found a list"});
}

TEST(ConfigErrors, SpeedsOfKindsAreForGpusThatAreFound) {
  EXPECT_EQ(errors_in("[[gpus.kinds]]\nname = \"A\"\nspeed = 0\n[[gpus.kinds]]\nname = \"A\"\n"),
            (Texts{"b.toml:3:9: gpus.kinds.speed: expected a number from 0.001 to 1000, found the "
                   "integer 0",
                   "b.toml:5:8: gpus.kinds.name: \"A\" is already the name of a kind of GPU, at "
                   "b.toml:2:8"}));
  EXPECT_EQ(errors_in("[gpus]\nsource = \"simulated\"\n[[gpus.kinds]]\nname = \"A\"\n"),
            Texts{"b.toml:3:1: gpus.kinds: speeds of simulated GPUs stand in gpus.simulated"});
  EXPECT_EQ(errors_in("[[gpus.kinds]]\nname = \"A\"\n[[cluster.nodes]]\nname = \"n\"\ncpu = 1\n"),
            Texts{"b.toml:1:1: gpus.kinds: speeds of simulated GPUs stand in cluster.nodes"});
}

TEST(ConfigErrors, MoreClassesOfWorkThanCanBeToldApart) {
  std::string queues;
  for (int i = 0; i < 15; ++i) {
    const std::string number = std::to_string(i);
    queues += "[[queues]]\nname = \"q" + number + "\"\nwork_class = \"c" + number + "\"\n";
  }
  const std::string gpu = "[[gpus.simulated]]\nvram = \"1GB\"\nspeed_by_class = ";
  EXPECT_EQ(errors_in(queues + gpu + "{ c3 = 1, d = 1 }\n"), Texts{});
  EXPECT_EQ(errors_in(queues + gpu + "{ c3 = 1, d = 1, e = 2, f = 3 }\n"),
            Texts{"b.toml:48:18: gpus.simulated.speed_by_class: \"e\" is one class of work too "
                  "many; queues and GPUs together may name 16"});
}

TEST(ConfigErrors, TenantsThatMakeNoTree) {
  const auto tenant = [](const std::string& name, const std::string& parent) {
    return "[[tenants]]\nname = \"" + name + "\"\nparent = \"" + parent + "\"\n";
  };
  EXPECT_EQ(errors_in(tenant("vision", "reserch") + "[[tenants]]\nname = \"research\"\n"),
            Texts{"b.toml:3:10: tenants.parent: no tenant is named \"reserch\"; did you mean "
                  "\"research\"?"});
  EXPECT_EQ(errors_in(tenant("a", "b") + tenant("b", "c") + tenant("c", "a")),
            Texts{"b.toml:3:10: tenants.parent: \"a\" -> \"b\" -> \"c\" -> \"a\": a tenant cannot "
                  "stand below itself"});
  EXPECT_EQ(errors_in(tenant("own", "own")),
            Texts{"b.toml:3:10: tenants.parent: \"own\" -> \"own\": a tenant cannot stand below "
                  "itself"});
  std::string chain = "[[tenants]]\nname = \"t1\"\n";
  for (int i = 2; i <= 8; ++i)
    chain += tenant("t" + std::to_string(i), "t" + std::to_string(i - 1));
  EXPECT_EQ(errors_in(chain), Texts{});
  EXPECT_EQ(errors_in(chain + tenant("t9", "t8")),
            Texts{"b.toml:26:10: tenants.parent: \"t9\" -> \"t8\" -> \"t7\" -> \"t6\" -> \"t5\" -> "
                  "\"t4\" -> \"t3\" -> \"t2\" -> \"t1\": 9 levels, expected at most 8"});
}

// What the API could not ask for is not made: one rule for names in files and in requests.
TEST(ConfigErrors, NamesThatNobodyCouldAskFor) {
  EXPECT_EQ(errors_in("[[queues]]\nname = \"caf\xc3\xa9\"\n[[tenants]]\nname = \" x\"\n"),
            (Texts{"b.toml:2:8: queues.name: expected " + name_expectation() +
                       ", found the string \"caf\xc3\xa9\"",
                   "b.toml:4:8: tenants.name: expected " + name_expectation() +
                       ", found the string \" x\""}));
  const std::string longest(kNameMax, 'x');
  EXPECT_EQ(errors_in("[[queues]]\nname = \"" + longest + "\"\n"), Texts{});
  EXPECT_EQ(errors_in("[[queues]]\nname = \"" + longest + "x\"\n").size(), 1U);
}

TEST(ConfigErrors, KeysThatDoNotGoTogether) {
  EXPECT_EQ(errors_in("[limits]\nmax_payload = \"8MiB\"\n"),
            Texts{"b.toml:2:15: limits.max_payload: 8MiB would not fit into a message of "
                  "max_message, 4MiB"});
  EXPECT_EQ(errors_in("[tenant_defaults]\nguaranteed_gpus = 2\nmax_gpus = 1\n[[tenants]]\n"
                      "name = \"t\"\nguaranteed_gpus = 0\n"),
            Texts{"b.toml:3:12: tenant_defaults.max_gpus: expected at least guaranteed_gpus, 2, "
                  "found 1"});
  EXPECT_EQ(errors_in("[tenant_defaults]\nmax_tenants = 1\n[[tenants]]\nname = \"t\"\n"),
            Texts{"b.toml:3:1: tenants: there are 2, more than tenant_defaults.max_tenants, 1"});
  EXPECT_EQ(errors_in("[server]\ntls_certificate = \"c\"\n"),
            Texts{"b.toml:2:19: server.tls_certificate: needs server.tls_key as well"});
  EXPECT_EQ(errors_in("[server]\ntls_key = \"c\"\n"),
            Texts{"b.toml:2:11: server.tls_key: needs server.tls_certificate as well"});
  EXPECT_EQ(errors_in("[server]\ntls_client_ca = \"c\"\n"),
            Texts{"b.toml:2:17: server.tls_client_ca: needs server.tls_certificate as well"});
}

TEST(ConfigErrors, AnAddressForOthersNeedsTlsAndAuthentication) {
  const std::string needs =
      " can be reached from other machines, which needs TLS and authentication; set ";
  const std::string instead = ", or use a loopback address such as \"127.0.0.1:8080\"";
  EXPECT_EQ(errors_in("[server]\nhttp_address = \"0.0.0.0:80\"\n"),
            Texts{"b.toml:2:16: server.http_address: \"0.0.0.0:80\"" + needs +
                  "server.tls_certificate and server.tls_key, and server.authentication = true" +
                  instead});
  EXPECT_EQ(errors_in("[server]\ngrpc_address = \"gpu1:50051\"\nauthentication = true\n"),
            Texts{"b.toml:2:16: server.grpc_address: \"gpu1:50051\"" + needs +
                  "server.tls_certificate and server.tls_key" + instead});
  EXPECT_EQ(errors_in("[server]\ngrpc_address = \"[::]:1\"\ntls_certificate = \"c\"\ntls_key = "
                      "\"k\"\n"),
            Texts{"b.toml:2:16: server.grpc_address: \"[::]:1\"" + needs +
                  "server.authentication = true" + instead});
  EXPECT_EQ(errors_in("", {{"BERTH_SERVER_HTTP_ADDRESS", "nowhere"}}),
            Texts{"environment BERTH_SERVER_HTTP_ADDRESS: server.http_address: expected host:port "
                  "such as \"127.0.0.1:8080\" or \"[::1]:8080\", found \"nowhere\""});
}

TEST(ConfigErrors, OnlyThisMachineIsLoopback) {
  for (const char* address : {"127.0.0.1:1", "127.9.9.9:65535", "[::1]:0", "localhost:80"}) {
    EXPECT_TRUE(is_address(address)) << address;
    EXPECT_TRUE(is_loopback(address)) << address;
  }
  for (const char* address : {"0.0.0.0:1", "127.evil.example:1", "10.0.0.1:1", "[::]:1",
                              "[::ffff:127.0.0.1]:1", "localhost.example:80"}) {
    EXPECT_TRUE(is_address(address)) << address;
    EXPECT_FALSE(is_loopback(address)) << address;
  }
  for (const char* text : {"", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80",
                           "[::1]", "[nonsense]:80", "http://x:80", "127.0.0.1:80x", "a b:80"}) {
    EXPECT_FALSE(is_address(text)) << text;
  }
}

TEST(ConfigErrors, TimeZonesAreThoseOfTheSystem) {
  EXPECT_TRUE(is_timezone("UTC"));
  EXPECT_TRUE(is_timezone("America/New_York"));
  for (const char* name : {"", "Europe", "../zoneinfo/UTC", "/etc/localtime", "zone.tab"})
    EXPECT_FALSE(is_timezone(name)) << name;
  EXPECT_EQ(errors_in("[server]\ntimezone = \"Europe/Berln\"\n"),
            Texts{"b.toml:2:12: server.timezone: no time zone is named \"Europe/Berln\" in "
                  "/usr/share/zoneinfo; did you mean \"Europe/Berlin\"?"});
}

TEST(ConfigErrors, OfTheEnvironmentAndOfFlagsNameThem) {
  EXPECT_EQ(errors_in("", {{"BERTH_SERVER_DATTA", "x"},
                           {"BERTH_POLICY_MAX_HOLDS", "many"},
                           {"BERTH_QUEUES_MAX_BATCH_SIZE", "3"},
                           {"BERTH_TASK_ID", "7"}}),
            (Texts{"environment BERTH_POLICY_MAX_HOLDS: policy.max_holds: expected an integer from "
                   "0 to 1000000, found the string \"many\"",
                   "environment BERTH_SERVER_DATTA: no key has this variable; did you mean "
                   "\"BERTH_SERVER_DATA\"?"}));
  EXPECT_EQ(errors_in("", {}, {{"queues.lllm.max_batch_size=3"}, {"server.data=7", "--data"}}),
            (Texts{"--set queues.lllm.max_batch_size=3: no block of queues is named \"lllm\"; did "
                   "you mean \"llm\"?",
                   "--data: server.data: expected a string, found the integer 7"}));
}

TEST(ConfigErrors, ADamagedFileIsReadOrRefusedNeverHalfTaken) {
  std::string problem;
  const std::optional<std::string> example =
      read_whole_file(std::string(BERTH_SOURCE_DIR) + "/examples/berth.toml", problem);
  ASSERT_TRUE(example) << problem;
  std::minstd_rand random(7);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = *example;
    for (int i = 0; i < 3; ++i)
      text[random() % text.size()] = "[]\"=.#0-\n\xff"[random() % 10];
    text.erase(random() % text.size(), random() % 20);
    refused += errors_in(text).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace berth::config::config_errors_test
