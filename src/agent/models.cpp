// Carrying out LoadModel and EvictModel.
#include "agent/models.h"

#include <algorithm>

namespace berth::agent {

void Models::load(const berth::v1::LoadModel& message) {
  const std::uint32_t gpu = gpus_.find(message.gpu());
  if (gpu == GpuTable::kAbsent) {
    return report_loaded(message, {}, "GPU " + message.gpu() + " is not on this node.");
  }
  streams_.push({&gpu, 1}, [this, message, gpu] {
    begin_load(message, gpu);
    return true;
  });
}

void Models::begin_load(const berth::v1::LoadModel& message, std::uint32_t gpu) {
  const auto [place, is_new] = gpus_[gpu].models.try_emplace(message.model());
  if (!is_new && place->second.load == message.load()) return;  // the message came twice
  place->second.load = message.load();
  place->second.weights_mb = message.weights_mb();
  place->second.ready = false;
  const double expected_ns =
      static_cast<double>(milliseconds(std::max<std::int64_t>(0, message.expected_ms())).ns);
  const Duration takes{static_cast<std::int64_t>(expected_ns * time_scale_)};
  loop_.after(takes, [this, message, gpu, takes] {
    const auto model = gpus_[gpu].models.find(message.model());
    if (model == gpus_[gpu].models.end() || model->second.load != message.load()) return;
    model->second.ready = true;
    report_loaded(message, takes, {});
    streams_.advance();
  });
}

void Models::report_loaded(const berth::v1::LoadModel& message, Duration took,
                           std::string failure) {
  berth::v1::Report report;
  berth::v1::ModelLoaded& body = *report.mutable_model_loaded();
  body.set_load(message.load());
  body.set_gpu(message.gpu());
  body.set_model(message.model());
  body.set_ok(failure.empty());
  body.set_took_us(took.ns / 1'000);
  body.set_message(std::move(failure));
  reports_.add(std::move(report));
}

void Models::evict(const berth::v1::EvictModel& message) {
  const std::uint32_t gpu = gpus_.find(message.gpu());
  if (gpu == GpuTable::kAbsent) return;
  streams_.push({&gpu, 1}, [this, message, gpu] { return try_evict(message, gpu); });
}

bool Models::try_evict(const berth::v1::EvictModel& message, std::uint32_t gpu) {
  const auto model = gpus_[gpu].models.find(message.model());
  const bool resident = model != gpus_[gpu].models.end() && model->second.load == message.load();
  if (resident && (!model->second.ready || model->second.users > 0)) return false;
  if (resident) gpus_[gpu].models.erase(model);
  berth::v1::Report report;  // also when it was not there: the server wants to know that it is gone
  berth::v1::ModelUnloaded& body = *report.mutable_model_unloaded();
  body.set_load(message.load());
  body.set_gpu(message.gpu());
  body.set_model(message.model());
  reports_.add(std::move(report));
  return true;
}

}  // namespace berth::agent
