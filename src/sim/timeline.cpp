// See timeline.h.
#include "sim/timeline.h"

#include "base/json.h"
#include "sim/csv.h"

namespace berth::sim {
namespace {

// Seconds with nine places: exact, and spreadsheets take it.
std::string seconds_text(Time at) {
  const std::int64_t whole = at.ns / 1'000'000'000;
  const std::string fraction = std::to_string(1'000'000'000 + at.ns % 1'000'000'000);
  return std::to_string(whole) + "." + fraction.substr(1);
}

}  // namespace

void Timeline::on_action(Time at, const core::Action& action) {
  if (const auto* batch = std::get_if<core::BatchStarted>(&action); batch != nullptr) {
    open_[batch->lease] = rows_.size();
    for (const core::StartedTask& task : batch->tasks)
      running_[task.task] = rows_.size();
    rows_.push_back({*batch, at});
  } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action); closed != nullptr) {
    const auto found = open_.find(closed->lease);
    if (found == open_.end()) return;
    rows_[found->second].ended = at;
    open_.erase(found);
  } else if (const auto* finished = std::get_if<core::TaskFinished>(&action); finished != nullptr) {
    const auto found = running_.find(finished->task);
    if (found == running_.end()) return;
    if (finished->state == core::TaskState::completed) ++rows_[found->second].completed;
    running_.erase(found);
  }
}

std::string Timeline::csv() const {
  std::string text = "lease,queue,model,gpus,start_s,end_s,size,completed,vram_mib,share,tasks\n";
  for (const Row& row : rows_) {
    const core::BatchStarted& batch = row.batch;
    std::string gpus = batch.node ? scenario_.nodes.all()[batch.node.value] : "";
    for (const GpuId gpu : batch.gpus) {
      gpus += (gpus.empty() ? "" : " ") + scenario_.gpus.names[gpu.value];
    }
    std::string tasks;
    for (const core::StartedTask& task : batch.tasks) {
      tasks += (tasks.empty() ? "" : " ") + std::to_string(task.task.value);
    }
    text += std::to_string(batch.lease.value) + ",";
    text += csv_cell(scenario_.queues.names[batch.queue.value]) + ",";
    text += (batch.model ? csv_cell(scenario_.models.names[batch.model.value]) : "") + ",";
    text += csv_cell(gpus) + "," + seconds_text(row.started) + ",";
    text += (row.ended == Time::never() ? "" : seconds_text(row.ended)) + ",";
    text += std::to_string(batch.tasks.size()) + "," + std::to_string(row.completed) + ",";
    text += std::to_string(batch.vram.value) + ",";
    text += decimal(static_cast<double>(batch.share.value) / 1000.0, 3) + "," + tasks + "\n";
  }
  return text;
}

}  // namespace berth::sim
