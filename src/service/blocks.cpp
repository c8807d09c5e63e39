// See blocks.h.
#include "service/blocks.h"

#include <algorithm>

namespace berth::service {
namespace {

// A queue whose work is simulated names no executor: a task with a command runs it all the same.
std::string executor_name(config::Executor executor) {
  if (executor == config::Executor::simulated) return "";
  return config::executor_names()[static_cast<std::size_t>(executor)];
}

config::Executor executor_named(const std::string& name) {
  const std::vector<std::string> names = config::executor_names();
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? config::Executor::simulated
                              : static_cast<config::Executor>(found - names.begin());
}

}  // namespace

config::TenantBlock block_of(const DefineTenant& tenant) {
  return {tenant.name, {tenant.spec, tenant.tier, tenant.commands, ""}, tenant.parent};
}

config::QueueBlock block_of(const DefineQueue& queue) {
  const auto ranks = queue.ranks_by_node ? config::RanksBy::node : config::RanksBy::gpu;
  return {queue.name,
          {queue.spec, queue.work_class, executor_named(queue.executor), ranks, queue.commands,
           queue.defaults},
          queue.model};
}

config::ModelBlock block_of(const DefineModel& model) { return {model.name, model.spec}; }

DefineTenant definition_of(const config::TenantBlock& block) {
  return {block.name, block.tenant.spec, block.tenant.tier, block.parent, block.tenant.commands};
}

DefineQueue definition_of(const config::QueueBlock& block) {
  return {block.name,
          block.model,
          block.queue.spec,
          block.queue.work_class,
          executor_name(block.queue.executor),
          block.queue.ranks == config::RanksBy::node,
          block.queue.commands,
          block.queue.defaults};
}

DefineModel definition_of(const config::ModelBlock& block) { return {block.name, block.spec}; }

config::TenantBlock tenant_block(const Names& names, TenantId tenant) {
  const TenantEntry& entry = names.tenants()[tenant.value];
  const TenantId parent = entry.spec.parent;
  return {entry.name,
          {entry.spec, entry.tier, entry.commands, ""},
          parent ? names.tenants()[parent.value].name : std::string()};
}

config::QueueBlock queue_block(const Names& names, QueueId queue) {
  const QueueEntry& entry = names.queues()[queue.value];
  DefineQueue known{.name = entry.name, .spec = entry.spec};
  if (entry.spec.model) known.model = names.models()[entry.spec.model.value].name;
  if (entry.spec.work_class) known.work_class = names.work_classes()[entry.spec.work_class.value];
  known.executor = entry.executor;
  known.ranks_by_node = entry.ranks_by_node;
  known.commands = entry.commands;
  known.defaults = entry.defaults;
  return block_of(known);
}

config::ModelBlock model_block(const Names& names, ModelId model) {
  const ModelEntry& entry = names.models()[model.value];
  return {entry.name, entry.spec};
}

}  // namespace berth::service
