// The sections that only a server's configuration has, one reader each, with the checks that need
// more than one key. See sections.h for those it shares with scenarios.
#pragma once

#include <span>
#include <string>

#include "config/fields.h"
#include "config/server_config.h"

namespace berth::config {

void read_server(TableReader& table, ServerSection& server);
void read_limits(TableReader& table, LimitSection& limits);
void read_store(TableReader& table, StoreSection& store);
void read_ids(TableReader& table, IdSection& ids);
void read_tasks(TableReader& table, TaskSection& tasks);
void read_tenant_defaults(TableReader& table, TenantDefaults& defaults);
void read_gpus(TableReader& table, GpuSection& gpus);
void read_node(TableReader& table, const FileSource& files, NodeSection& node);
// The blocks [[cluster.nodes]].
void read_cluster(TableReader& table, const FileSource& files, std::vector<NodeBlock>& nodes);
// What [gpus], [node] and [[cluster.nodes]] must be together.
void check_hardware(TableReader& root, const ServerConfig& config);

// What a tenant's tasks may be: `tier`, `commands`.
void read_tenant_rights(TableReader& table, Tenant& tenant);

// `tenant` holds the defaults when it comes.
void read_tenant(TableReader& table, std::span<const std::string> tenants, std::string& name,
                 Tenant& tenant);
void read_queue(TableReader& table, std::span<const std::string> models, std::string& name,
                Queue& queue);

}  // namespace berth::config
