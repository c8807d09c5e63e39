// See server_sections.h. The checks of [server] are in server_checks.cpp, the
// hardware in server_hardware.cpp.
#include "config/server_sections.h"

#include <cstdint>

#include "config/server_checks.h"
#include "core/model/ranges.h"

namespace berth::config {
namespace {

constexpr std::int64_t kGiB = 1024 * kMiB;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillion = 1'000'000;

// A key whose values are a closed list and stay text.
void read_word(TableReader& table, std::string_view key, std::span<const std::string> names,
               std::string& out) {
  std::size_t position = 0;
  while (names[position] != out)
    ++position;
  table.choice(key, names, position);
  out = names[position];
}

}  // namespace

void read_server(TableReader& table, ServerSection& server) {
  table.text("grpc_address", server.grpc_address);
  table.text("http_address", server.http_address);
  table.text("data", server.data);
  table.text("timezone", server.timezone);
  table.number("max_downtime", server.max_downtime, durations());
  read_word(table, "log_level", log_level_names(), server.log_level);
  read_word(table, "log_format", log_format_names(), server.log_format);
  table.text("tls_certificate", server.tls_certificate);
  table.text("tls_key", server.tls_key);
  table.text("tls_client_ca", server.tls_client_ca);
  table.boolean("authentication", server.authentication);
  table.finish();
  check_server(table, server);
}

void read_limits(TableReader& table, LimitSection& limits) {
  table.number("max_payload", limits.max_payload, sizes(0, kGiB));
  table.number("max_message", limits.max_message, sizes(64 * 1024, kGiB));
  table.number("http_max_connections", limits.http_max_connections, integers(1, kMillion));
  constexpr NumberType kTimeout = durations(1'000'000, 3600 * kSecond);
  table.number("http_header_timeout", limits.http_header_timeout, kTimeout);
  table.number("http_body_timeout", limits.http_body_timeout, kTimeout);
  table.number("submit_ring", limits.submit_ring, integers(1, 16 * kMillion));
  table.number("max_streams", limits.max_streams, integers(1, kMillion));
  table.number("max_streams_per_tenant", limits.max_streams_per_tenant, integers(1, kMillion));
  table.number("max_stream_memory", limits.max_stream_memory, sizes(kMiB, 64 * kGiB));
  table.number("max_signals", limits.max_signals, integers(1, 10 * kMillion));
  table.finish();
  if (limits.max_payload > limits.max_message) {
    table.error("max_payload", "limits.max_payload: " + bytes_text(limits.max_payload) +
                                   " would not fit into a message of max_message, " +
                                   bytes_text(limits.max_message));
  }
}

void read_store(TableReader& table, StoreSection& store) {
  table.number("segment_size", store.segment_size, sizes(kMiB, 4 * kGiB));
  table.number("reserve", store.reserve, sizes(0, 1024 * kGiB));
  table.number("snapshot_every_events", store.snapshot_every_events,
               integers(1'000, 1'000'000 * kMillion));
  table.number("snapshot_every_size", store.snapshot_every_size, sizes(kMiB, 1024 * kGiB));
  table.number("keep_snapshots", store.keep_snapshots, integers(1, 1000));
  table.number("retention", store.retention, durations());
  table.number("history_retention", store.history_retention, durations());
  table.number("result_ttl", store.result_ttl, durations());
  table.finish();
}

void read_ids(TableReader& table, IdSection& ids) {
  table.number("remember", ids.remember, durations());
  table.finish();
}

void read_tasks(TableReader& table, TaskSection& tasks) {
  table.number("run_limit", tasks.run_limit, durations(1, kLongestRun));
  table.number("stop_grace", tasks.stop_grace, durations(0, 3600 * kSecond));
  table.number("output_cap", tasks.output_cap, sizes(0, 64 * kGiB));
  table.number("output_ttl", tasks.output_ttl, durations());
  table.text("run_as", tasks.run_as);
  table.text("folder", tasks.folder);
  table.boolean("no_new_privs", tasks.no_new_privs);
  table.text("cgroup", tasks.cgroup);
  if (tasks.cgroup != "auto" && tasks.cgroup != "off" && !tasks.cgroup.starts_with('/')) {
    table.error("cgroup",
                "tasks.cgroup: expected \"auto\", \"off\" or the path of a control group "
                "such as \"/sys/fs/cgroup/berth\", found " +
                    config::quoted(tasks.cgroup));
  }
  table.number("max_processes", tasks.max_processes, integers(0, 4 * kMillion));
  table.finish();
}

void read_tenant_defaults(TableReader& table, TenantDefaults& defaults) {
  read_tenant_limits(table, defaults.tenant.spec);
  read_tenant_rights(table, defaults.tenant);
  table.number("max_tenants", defaults.max_tenants, integers(1, kMillion));
  table.boolean("make_unknown", defaults.make_unknown);
  table.finish();
}

void read_tenant_rights(TableReader& table, Tenant& tenant) {
  table.number("tier", tenant.tier, integers(0, core::kTiers - 1));
  table.boolean("commands", tenant.commands);
}

void read_tenant(TableReader& table, std::span<const std::string> tenants, std::string& name,
                 Tenant& tenant) {
  read_tenant(table, tenants, name, tenant.spec);
  read_tenant_rights(table, tenant);
  table.text("unix_user", tenant.unix_user);
  table.finish();
}

namespace {

void read_task_defaults(TableReader& table, TaskDefaults& defaults) {
  table.number("default_share", defaults.share, thousandths(1, 1000));
  table.number("default_tolerated_wait", defaults.tolerated_wait, durations(1));
  table.number("default_run_limit", defaults.run_limit, durations(1));
  table.number("max_run_limit", defaults.max_run_limit, durations(1));
  if (defaults.run_limit && defaults.max_run_limit &&
      *defaults.run_limit > *defaults.max_run_limit) {
    table.error("default_run_limit", "queues.default_run_limit: expected at most max_run_limit");
  }
}

}  // namespace

void read_queue(TableReader& table, std::span<const std::string> models, std::string& name,
                Queue& queue) {
  read_queue(table, models, name, queue.spec, queue.work_class);
  table.choice("executor", executor_names(), queue.executor);
  table.choice("ranks", ranks_names(), queue.ranks);
  table.boolean("commands", queue.commands);
  read_task_defaults(table, queue.defaults);
  table.finish();
}

}  // namespace berth::config
