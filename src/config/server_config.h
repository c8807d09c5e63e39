// ServerConfig: all that `berth serve` is told, as checked plain values. How and where it was
// written is forgotten; load_config.h knows that.
//
// The fields have the names of their keys, and the defaults here are the defaults of the keys:
// docs/guide/configuration.md has them all. Sizes are in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "config/node_blocks.h"
#include "config/sections.h"
#include "core/model/specs.h"

namespace berth::config {

inline constexpr std::int64_t kMiB = 1024 * 1024;

// [server]
struct ServerSection {
  std::string grpc_address = "127.0.0.1:50051";
  std::string http_address = "127.0.0.1:8080";
  std::string data = "./var";
  std::string timezone = "UTC";                  // whose midnight resets daily limits
  Duration max_downtime = minutes(7 * 24 * 60);  // more counts as none
  std::string log_level = "info";
  std::string log_format = "text";
  std::string tls_certificate;  // paths; "": none
  std::string tls_key;
  std::string tls_client_ca;
  bool authentication = false;

  bool uses_tls() const { return !tls_certificate.empty(); }
  bool operator==(const ServerSection&) const = default;
};

// [limits]
struct LimitSection {
  std::int64_t max_payload = kMiB;
  std::int64_t max_message = 4 * kMiB;
  std::uint32_t http_max_connections = 1024;
  Duration http_header_timeout = seconds(5);
  Duration http_body_timeout = seconds(30);
  std::uint32_t submit_ring = 65'536;  // requests that wait for the engine
  std::uint32_t max_streams = 1024;
  std::uint32_t max_streams_per_tenant = 128;
  std::int64_t max_stream_memory = 128 * kMiB;  // of all streams together
  std::uint32_t max_signals = 10'000;           // of one tenant

  bool operator==(const LimitSection&) const = default;
};

// [store]
struct StoreSection {
  std::int64_t segment_size = 64 * kMiB;
  std::int64_t reserve = 256 * kMiB;  // free on the data disk, or no new task is taken
  std::int64_t snapshot_every_events = 1'000'000;
  std::int64_t snapshot_every_size = 64 * kMiB;
  std::uint32_t keep_snapshots = 2;
  Duration retention = minutes(24 * 60);  // of whole journal segments
  Duration history_retention = minutes(30 * 24 * 60);
  Duration result_ttl = minutes(7 * 24 * 60);

  bool operator==(const StoreSection&) const = default;
};

// [ids]
struct IdSection {
  Duration remember = minutes(24 * 60);  // past the task's end

  bool operator==(const IdSection&) const = default;
};

// [tasks]
struct TaskSection {
  std::optional<Duration> run_limit;
  Duration stop_grace = seconds(10);
  std::int64_t output_cap = 16 * kMiB;
  Duration output_ttl = minutes(24 * 60);
  std::string run_as;        // a user of the machine, for all commands; "": the server's own
  std::string folder;        // of working folders; "": one in /var/tmp that names the data folder
  bool no_new_privs = true;  // for commands of other users than the server's
  std::string cgroup = "auto";          // the path of a control group, "auto" or "off"
  std::int64_t max_processes = 16'384;  // of a task, with its threads; 0: without limit

  bool operator==(const TaskSection&) const = default;
};

struct Tenant {
  core::TenantSpec spec;  // its parent is a position in ServerConfig::tenants
  std::uint8_t tier = 0;  // the best its tasks may have, and their default
  bool commands = true;   // its tasks may have some
  std::string unix_user;  // as whom they run; "": as tasks.run_as says

  bool operator==(const Tenant&) const = default;
};

// [tenant_defaults]: what a tenant has where it says nothing else.
struct TenantDefaults {
  Tenant tenant{.spec = {.max_queue_size = 1000,
                         .token_bucket_size = 1000,
                         .token_refill_rate = 100,
                         .daily_token_limit = 1'000'000}};
  std::uint32_t max_tenants = 10'000;  // in all; no more are made on their first submit
  bool make_unknown = true;            // on their first submit; with authentication: false

  bool operator==(const TenantDefaults&) const = default;
};

enum class Executor : std::uint8_t { simulated, process };

// What a gang's command runs once for.
enum class RanksBy : std::uint8_t { gpu, node };

// What a queue's tasks have that do not say it themselves, and the most they may say.
struct TaskDefaults {
  std::optional<Milli> share;  // of tasks of one GPU
  std::optional<Duration> tolerated_wait;
  std::optional<Duration> run_limit;
  std::optional<Duration> max_run_limit;

  bool operator==(const TaskDefaults&) const = default;
};

struct Queue {
  core::QueueSpec spec;    // its model is a position in ServerConfig::models; it has no class
  std::string work_class;  // "": none
  Executor executor = Executor::simulated;
  RanksBy ranks = RanksBy::gpu;
  bool commands = true;  // its tasks may have some
  TaskDefaults defaults;

  bool operator==(const Queue&) const = default;
};

enum class GpuSource : std::uint8_t { automatic, simulated, nvidia_smi };

// [[gpus.kinds]]: how fast GPUs of a kind are, of those that nvidia-smi finds.
struct KindSpeed {
  std::string name;
  std::optional<Milli> speed;  // none: what is known of the kind
  SpeedByClass speed_by_class;

  bool operator==(const KindSpeed&) const = default;
};

// [gpus]
struct GpuSection {
  GpuSource source = GpuSource::automatic;
  std::vector<KindSpeed> kinds;
  std::vector<GpuBlock> simulated;

  bool operator==(const GpuSection&) const = default;
};

// [node]: this machine, unless [[cluster.nodes]] describes others.
struct NodeSection {
  std::optional<Milli> cpu;           // none: those of the machine
  std::optional<Mib> memory;          // none: nine tenths of the machine's
  std::string rack;                   // "": that of all nodes that name none
  std::optional<HwlocNode> hardware;  // the key topology: where its GPUs sit

  bool operator==(const NodeSection&) const = default;
};

struct ServerConfig {
  bool builtin_queues = true;
  ServerSection server;
  LimitSection limits;
  StoreSection store;
  IdSection ids;
  TaskSection tasks;
  core::PolicySpec policy;
  Duration table_every = minutes(10);  // [policy] as well, but not the core's
  TenantDefaults tenant_defaults;
  Catalog<Tenant> tenants;  // "default" is always one of them
  Catalog<core::ModelSpec> models;
  Catalog<Queue> queues;
  GpuSection gpus;
  NodeSection node;
  std::vector<NodeBlock> nodes;  // [[cluster.nodes]]: simulated, instead of this machine

  bool operator==(const ServerConfig&) const = default;
};

// What the keys with a closed list of values may be; the last three in the order of their enums.
std::vector<std::string> log_level_names();
std::vector<std::string> log_format_names();
std::vector<std::string> executor_names();
std::vector<std::string> ranks_names();
std::vector<std::string> gpu_source_names();

}  // namespace berth::config
