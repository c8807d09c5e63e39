// See wanted.h.
#include "main/wanted.h"

#include <string>

namespace berth::main {
namespace {

service::DefineQueue definition(const std::string& name, const config::Queue& queue,
                                const config::ServerConfig& in) {
  const ModelId model = queue.spec.model;
  return {name, model ? in.models.names[model.value] : "", queue.spec, queue.work_class,
          queue.commands};
}

service::DefineTenant definition(const std::string& name, const config::Tenant& tenant,
                                 const config::ServerConfig& in) {
  const TenantId parent = tenant.spec.parent;
  return {name, tenant.spec, tenant.tier, parent ? in.tenants.names[parent.value] : "",
          tenant.commands};
}

}  // namespace

std::vector<service::Control> controls_for(const config::ServerConfig& config) {
  std::vector<service::Control> controls;
  controls.emplace_back(service::DefinePolicy{config.policy});
  for (std::size_t i = 0; i < config.models.size(); ++i)
    controls.emplace_back(service::DefineModel{config.models.names[i], config.models.specs[i]});
  for (std::size_t i = 0; i < config.queues.size(); ++i)
    controls.emplace_back(definition(config.queues.names[i], config.queues.specs[i], config));
  for (std::size_t i = 0; i < config.tenants.size(); ++i)
    controls.emplace_back(definition(config.tenants.names[i], config.tenants.specs[i], config));
  return controls;
}

std::vector<service::Control> controls_for(const config::ConfigChanges& changes,
                                           const config::ServerConfig& next) {
  using config::ChangeKind;
  std::vector<service::Control> controls;
  if (changes.policy) controls.emplace_back(service::DefinePolicy{*changes.policy});
  if (changes.tenant_defaults) {
    const config::Tenant& tenant = changes.tenant_defaults->tenant;
    controls.emplace_back(service::DefineTenantDefaults{
        .spec = tenant.spec,
        .tier = tenant.tier,
        .max_tenants = changes.tenant_defaults->max_tenants,
        .make_unknown = changes.tenant_defaults->make_unknown,
        .commands = tenant.commands});
  }
  for (const auto& model : changes.models) {
    if (model.kind != ChangeKind::removed) {
      controls.emplace_back(service::DefineModel{model.name, model.spec});
    }
  }
  for (const auto& queue : changes.queues) {
    if (queue.kind == ChangeKind::removed) {
      controls.emplace_back(service::SetQueueDraining{queue.name, true});
      continue;
    }
    controls.emplace_back(definition(queue.name, queue.spec, next));
    if (queue.kind == ChangeKind::added) {
      controls.emplace_back(service::SetQueueDraining{queue.name, false});
    }
  }
  for (const auto& tenant : changes.tenants) {
    if (tenant.kind == ChangeKind::removed) {
      const config::Tenant& defaults = next.tenant_defaults.tenant;
      controls.emplace_back(definition(tenant.name, defaults, next));
    } else {
      controls.emplace_back(definition(tenant.name, tenant.spec, next));
    }
  }
  return controls;
}

}  // namespace berth::main
