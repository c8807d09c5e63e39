// Tenants, queues and models as the API writes them, and back. Only fields that are present change
// a spec. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/problem.h"
#include "base/time.h"
#include "berth/v1/scheduler.pb.h"
#include "core/model/specs.h"
#include "service/names.h"

namespace berth::api {

inline std::int64_t ms_of(Duration duration) { return duration.ns / 1'000'000; }

v1::TenantConfig config_message(const core::TenantSpec& spec, std::uint8_t tier,
                                const service::Names& names);
v1::QueueConfig config_message(const core::QueueSpec& spec, const service::Names& names);
v1::ModelConfig config_message(const core::ModelSpec& spec);

// Each notes what is wrong with the fields of `config`; what is in range is taken over.
void merge(const v1::TenantConfig& config, core::TenantSpec& spec, std::uint8_t& tier,
           std::string& parent, std::vector<FieldFlaw>& flaws);
void merge(const v1::QueueConfig& config, core::QueueSpec& spec, std::string& model,
           std::string& work_class, std::vector<FieldFlaw>& flaws);
void merge(const v1::ModelConfig& config, core::ModelSpec& spec, std::vector<FieldFlaw>& flaws);

}  // namespace berth::api
