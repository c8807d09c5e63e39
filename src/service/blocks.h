// Tenants, queues and models between the configuration's blocks and the service's definitions.
// Pure.
#pragma once

#include "config/block_values.h"
#include "service/commands.h"
#include "service/names.h"

namespace berth::service {

config::TenantBlock block_of(const DefineTenant& tenant);
config::QueueBlock block_of(const DefineQueue& queue);
config::ModelBlock block_of(const DefineModel& model);

DefineTenant definition_of(const config::TenantBlock& block);
DefineQueue definition_of(const config::QueueBlock& block);
DefineModel definition_of(const config::ModelBlock& block);

// As it is known now. REQUIRES that it is.
config::TenantBlock tenant_block(const Names& names, TenantId tenant);
config::QueueBlock queue_block(const Names& names, QueueId queue);
config::ModelBlock model_block(const Names& names, ModelId model);

}  // namespace berth::service
