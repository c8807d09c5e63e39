// Tenants, queues and models as the API writes them, and back. Only fields that are present change
// a spec. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/problem.h"
#include "base/time.h"
#include "berth/v1/scheduler.pb.h"
#include "config/block_values.h"
#include "core/model/specs.h"
#include "service/names.h"

namespace berth::api {

inline std::int64_t ms_of(Duration duration) { return duration.ns / 1'000'000; }

v1::TenantConfig config_message(const service::TenantEntry& tenant, const service::Names& names);
v1::QueueConfig config_message(const service::QueueEntry& queue, const service::Names& names);
v1::ModelConfig config_message(const core::ModelSpec& spec);

// Each notes what is wrong with the fields of `config`; what is in range is taken over.
void merge(const v1::TenantConfig& config, config::TenantBlock& tenant,
           std::vector<FieldFlaw>& flaws);
void merge(const v1::QueueConfig& config, config::QueueBlock& queue, std::vector<FieldFlaw>& flaws);
void merge(const v1::ModelConfig& config, core::ModelSpec& spec, std::vector<FieldFlaw>& flaws);

// The fields that are present, as keys of the configuration.
std::vector<config::KeyValue> key_values(const google::protobuf::Message& config);

}  // namespace berth::api
