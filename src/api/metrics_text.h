// Metrics in Prometheus' text format: names begin with berth_, except those of GPUs, which have the
// names that dashboards know from DCGM. Base units; counters end with _total.
//
// GPUs have DCGM's labels too, but for `model_name`, since promtool refuses capitals inside a word.
// Labels are bounded: queues, models, GPUs, states; of tenants the first hundred, the rest summed.
#pragma once

#include <string>

#include "api/context.h"

namespace berth::api {

std::string metrics_text(const ApiContext& context);
std::string gpu_metrics_text(const ApiContext& context);

}  // namespace berth::api
