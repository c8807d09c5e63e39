// The options of a line as fields of a spec: plain values, no names.
//
// Each reads what it knows from the line and leaves every other field as it is.
#pragma once

#include <string>

#include "core/model/specs.h"
#include "tests/scenarios/options.h"
#include "tests/scenarios/script.h"

namespace berth::scenario {

core::Failure read_failure(const Words& w, const std::string& name);

void read_fields(Words& w, core::PolicySpec& spec);
void read_fields(Words& w, core::TenantSpec& spec);
void read_fields(Words& w, core::ModelSpec& spec);
void read_fields(Words& w, core::NodeSpec& spec);
void read_fields(Words& w, core::GpuSpec& spec);
void read_fields(Words& w, core::QueueSpec& spec);
void read_fields(Words& w, core::TaskSpec& spec);
void read_fields(Words& w, core::ChangeTask& change);
void read_fields(Words& w, TaskPlan& plan);
void read_fields(Words& w, ModelPlan& plan);

}  // namespace berth::scenario
