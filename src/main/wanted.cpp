// See wanted.h.
#include "main/wanted.h"

#include "service/blocks.h"

namespace berth::main {

service::Configure wanted_by(const config::ServerConfig& config, std::int64_t wall_unix_ns) {
  service::Configure wanted{.policy = config.policy, .wall_unix_ns = wall_unix_ns};
  const config::Tenant& defaults = config.tenant_defaults.tenant;
  wanted.tenant_defaults = {.spec = defaults.spec,
                            .tier = defaults.tier,
                            .max_tenants = config.tenant_defaults.max_tenants,
                            .make_unknown = config.tenant_defaults.make_unknown,
                            .commands = defaults.commands};
  for (std::size_t i = 0; i < config.models.size(); ++i)
    wanted.models.push_back({config.models.names[i], config.models.specs[i]});
  for (std::size_t i = 0; i < config.queues.size(); ++i) {
    const config::Queue& queue = config.queues.specs[i];
    const ModelId model = queue.spec.model;
    wanted.queues.push_back(service::definition_of(config::QueueBlock{
        config.queues.names[i], queue, model ? config.models.names[model.value] : ""}));
  }
  for (std::size_t i = 0; i < config.tenants.size(); ++i) {
    const config::Tenant& tenant = config.tenants.specs[i];
    const TenantId parent = tenant.spec.parent;
    wanted.tenants.push_back(service::definition_of(config::TenantBlock{
        config.tenants.names[i], tenant, parent ? config.tenants.names[parent.value] : ""}));
  }
  return wanted;
}

}  // namespace berth::main
