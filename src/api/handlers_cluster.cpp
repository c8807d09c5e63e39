// Reads of the cluster: GPUs, queues, models, tenants, use, the server itself.
#include <algorithm>

#include "api/config_messages.h"
#include "api/ended_tasks.h"
#include "api/handlers.h"
#include "api/outcomes.h"
#include "api/task_status.h"
#include "core/engine.h"
#include "core/model/tenant_tree.h"

namespace berth::api {
namespace {

constexpr std::size_t kRunningMax = 1'000;  // tasks named per GPU

using service::Board;

void fill_batch(v1::RunningBatch& batch, LeaseId id, const service::LeaseLine& lease,
                const std::string& tenant, const Board& board) {
  batch.set_gpu_memory_mb(lease.vram.value);
  const Time since = lease.started == Time::never() ? lease.granted : lease.started;
  batch.set_started_unix_ms(unix_ms(since, board));
  batch.set_expected_end_unix_ms(unix_ms(since + lease.expected, board));
  for (const TaskNo task : lease.tasks) {
    if (static_cast<std::size_t>(batch.task_ids_size()) >= kRunningMax) break;
    const service::TaskLine* line = board.tasks().find(task);
    if (line == nullptr) continue;
    // Others' tasks are counted in the amounts, not named.
    const std::string& owner = board.names().tenants()[line->card->tenant.value].name;
    if (tenant.empty() || owner == tenant) batch.add_task_ids(service::id_of(*line->card));
  }
  // A batch of others alone is amounts alone.
  if (!tenant.empty() && batch.task_ids().empty()) return;
  batch.set_lease(id.value);
  batch.set_task_type(board.names().queues()[lease.queue.value].name);
}

void fill_gpu(v1::GpuStatus& status, std::size_t i, const std::string& tenant, const Board& board) {
  const service::GpuEntry& entry = board.names().gpus()[i];
  const service::GpuLine& line = board.gpus()[i];
  status.set_name(entry.name);
  status.set_uuid(entry.uuid);
  status.set_kind(entry.kind);
  status.set_node(entry.node);
  status.set_simulated(entry.simulated);
  status.set_state(entry.lost ? "lost" : entry.draining ? "draining" : "up");
  status.set_total_mb(entry.spec.vram.value);
  status.set_usable_mb(entry.spec.vram.value * board.names().policy().vram_usable.value / 1000);
  status.set_promised_mb(line.promised.value);
  status.set_load_milli(static_cast<std::uint32_t>(std::max<std::int64_t>(0, line.load.value)));
  for (const auto& [model, resident] : line.models) {
    if (!resident.loading) status.add_models(board.names().models()[model.value].name);
  }
  for (const LeaseId id : line.leases) {
    const auto lease = board.leases().find(id);
    if (lease != board.leases().end()) {
      fill_batch(*status.add_running(), id, lease->second, tenant, board);
    }
  }
}

// Where a model is: resident or being loaded.
template <class Status>
void fill_residence(Status& status, ModelId model, const Board& board, bool loading) {
  for (std::size_t gpu = 0; gpu < board.gpus().size(); ++gpu) {
    const auto at = board.gpus()[gpu].models.find(model);
    if (at == board.gpus()[gpu].models.end() || at->second.loading != loading) continue;
    if constexpr (std::is_same_v<Status, v1::ModelStatus>) {
      (loading ? status.add_loading_on() : status.add_resident_on())
          ->assign(board.names().gpus()[gpu].name);
    } else {
      status.add_resident_on(board.names().gpus()[gpu].name);
    }
  }
}

void fill_queue(v1::QueueStatus& status, std::size_t i, Time now, const Board& board) {
  const service::QueueEntry& entry = board.names().queues()[i];
  const service::QueueLine& line = board.queues()[i];
  status.set_name(entry.name);
  status.set_paused(entry.paused);
  status.set_draining(entry.draining);
  status.set_ready(line.pending);
  status.set_waiting(line.waiting);
  status.set_running(line.running);
  if (const auto since = board.oldest_pending({static_cast<std::uint32_t>(i)}))
    status.set_oldest_wait_ms(ms_of(now - *since));
  status.set_batches(line.batches);
  status.set_completed(line.ends.completed);
  status.set_failed(line.ends.failed);
  status.set_cancelled(line.ends.cancelled);
  status.set_expired(line.ends.expired);
  *status.mutable_config() = config_message(entry, board.names());
  status.set_removed(entry.removed);
  if (!entry.spec.model) return;
  const service::ModelLine& model = board.models()[entry.spec.model.value];
  status.set_model(board.names().models()[entry.spec.model.value].name);
  fill_residence(status, entry.spec.model, board, false);
  status.set_loads(model.loads);
  status.set_load_ms_total(ms_of(model.load_time));
}

void fill_model(v1::ModelStatus& status, std::size_t i, const Board& board) {
  const service::ModelEntry& entry = board.names().models()[i];
  const service::ModelLine& line = board.models()[i];
  const ModelId model{static_cast<std::uint32_t>(i)};
  status.set_name(entry.name);
  *status.mutable_config() = config_message(entry.spec);
  fill_residence(status, model, board, false);
  fill_residence(status, model, board, true);
  status.set_loads(line.loads);
  status.set_load_failures(line.load_failures);
  status.set_evictions(line.evictions);
  status.set_load_ms_total(ms_of(line.load_time));
}

void fill_tenant(v1::TenantStatus& status, std::size_t i, const Board& board) {
  const service::TenantEntry& entry = board.names().tenants()[i];
  const service::TenantLine& line = board.tenants()[i];
  status.set_name(entry.name);
  *status.mutable_config() = config_message(entry, board.names());
  status.set_paused(entry.paused);
  status.set_ready(line.pending);
  status.set_waiting(line.waiting);
  status.set_running(line.running);
  status.set_completed(line.ends.completed);
  status.set_failed(line.ends.failed);
  status.set_cancelled(line.ends.cancelled);
  status.set_expired(line.ends.expired);
}

void fill_ledger(v1::LedgerLine& to, const core::LedgerLine& from) {
  to.set_charged_us(from.charged_us);
  to.set_refunded_us(from.refunded_us);
  to.set_net_us(from.net_us());
}

void fill_ledgers(v1::TenantStatus& status, const core::LedgerLine& own,
                  const core::LedgerLine& with_below) {
  status.set_gpu_ms(own.net_us() / 1000);
  status.set_subtree_gpu_ms(with_below.net_us() / 1000);
  fill_ledger(*status.mutable_ledger(), own);
  fill_ledger(*status.mutable_subtree_ledger(), with_below);
}

// What each tenant was charged together with all below it.
std::vector<core::LedgerLine> ledger_with_below(const Board& board) {
  std::vector<TenantId> parents;
  for (const service::TenantEntry& entry : board.names().tenants())
    parents.push_back(entry.spec.parent);
  return core::summed_upwards(parents, board.ledger());
}

// Calls fill(i) for each of the entries, or for the one named. A name that is not there is told.
template <class Number, class Entries, class Fill>
std::optional<Problem> each_named(const Board& board, const std::string& noun,
                                  const std::string& name, Number number, const Entries& entries,
                                  const Fill& fill) {
  const auto is_gone = [&](Number one) {
    if constexpr (std::is_same_v<Number, GpuId>) {
      return false;
    } else {
      return is_forgotten(board, one);
    }
  };
  if (number && is_gone(number)) number = Number::none();
  if (!name.empty() && !number) return no_such(noun, name, names_in(entries));
  if (number) {
    fill(static_cast<std::size_t>(number.value));
    return std::nullopt;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_gone(Number{static_cast<std::uint32_t>(i)})) fill(i);
  }
  return std::nullopt;
}

}  // namespace

void Handlers::get_gpu_status(const Caller& caller, const v1::GetGPUStatusRequest& request,
                              Reply<v1::GetGPUStatusResponse> reply) {
  v1::GetGPUStatusResponse response;
  const std::string tenant = sees_all(caller) ? "" : caller.tenant;
  const service::View& view = context_.service.view();
  auto missing = view.read([&](const Board& board) {
    return each_named(board, "gpu", request.gpu(), board.names().gpu(request.gpu()),
                      board.names().gpus(),
                      [&](std::size_t i) { fill_gpu(*response.add_gpus(), i, tenant, board); });
  });
  if (missing) return reply(std::move(*missing));
  for (v1::GpuStatus& gpu : *response.mutable_gpus()) {
    const GpuId id = view.read([&](const Board& board) { return board.names().gpu(gpu.uuid()); });
    const service::GpuReading reading = id ? view.reading(id) : service::GpuReading{};
    gpu.set_used_mb(reading.used_mb);
    gpu.set_utilisation_percent(reading.utilisation_percent);
    gpu.set_temperature_c(reading.temperature_c);
    gpu.set_power_w(reading.power_w);
  }
  reply(std::move(response));
}

void Handlers::get_queue_status(const Caller&, const v1::GetQueueStatusRequest& request,
                                Reply<v1::GetQueueStatusResponse> reply) {
  v1::GetQueueStatusResponse response;
  const Time now = context_.now();
  auto missing = context_.service.view().read([&](const Board& board) {
    return each_named(board, "queue", request.task_type(), board.names().queue(request.task_type()),
                      board.names().queues(),
                      [&](std::size_t i) { fill_queue(*response.add_queues(), i, now, board); });
  });
  if (missing) return reply(std::move(*missing));
  reply(std::move(response));
}

void Handlers::get_model_status(const Caller&, const v1::GetModelStatusRequest& request,
                                Reply<v1::GetModelStatusResponse> reply) {
  v1::GetModelStatusResponse response;
  auto missing = context_.service.view().read([&](const Board& board) {
    return each_named(board, "model", request.model(), board.names().model(request.model()),
                      board.names().models(),
                      [&](std::size_t i) { fill_model(*response.add_models(), i, board); });
  });
  if (missing) return reply(std::move(*missing));
  reply(std::move(response));
}

void Handlers::get_tenant_status(const Caller& caller, const v1::GetTenantStatusRequest& request,
                                 Reply<v1::GetTenantStatusResponse> reply) {
  std::string name = request.user_id();
  if (!sees_all(caller)) {
    auto own = tenant_of(caller, name);
    if (auto* problem = std::get_if<Problem>(&own)) return reply(std::move(*problem));
    name = std::get<std::string>(own);
  }
  v1::GetTenantStatusResponse response;
  auto missing = context_.service.view().read([&](const Board& board) {
    const std::vector<core::LedgerLine> with_below = ledger_with_below(board);
    return each_named(board, "tenant", name, board.names().tenant(name), board.names().tenants(),
                      [&](std::size_t i) {
                        v1::TenantStatus& status = *response.add_tenants();
                        fill_tenant(status, i, board);
                        fill_ledgers(status, board.ledger()[i], with_below[i]);
                      });
  });
  // Others' names are for those who see them anyway.
  if (missing) return reply(sees_all(caller) ? std::move(*missing) : no_such("tenant", name));
  reply(std::move(response));
}

void Handlers::get_usage(const Caller& caller, const v1::GetUsageRequest& request,
                         Reply<v1::GetUsageResponse> reply) {
  const int days = request.days() == 0 ? kUsageDays : request.days();
  if (days < 1 || days > kUsageDaysMax) {
    return reply(bad_field("days", "must be between 1 and " + std::to_string(kUsageDaysMax)));
  }
  std::string tenant = request.user_id();
  if (!sees_all(caller)) {
    auto own = tenant_of(caller, tenant);
    if (auto* problem = std::get_if<Problem>(&own)) return reply(std::move(*problem));
    tenant = std::get<std::string>(own);
  }
  v1::GetUsageResponse response;
  Result<std::vector<v1::UsageLine>> lines = usage_lines(context_, tenant, days);
  if (!lines) return reply(damaged_history(lines.error()));
  for (v1::UsageLine& line : *lines)
    *response.add_lines() = std::move(line);
  reply(std::move(response));
}

void Handlers::get_server_info(const Caller& caller, const v1::GetServerInfoRequest&,
                               Reply<v1::ServerInfo> reply) {
  const service::ServiceStats stats = context_.service.stats();
  v1::ServerInfo info;
  info.set_version(context_.hooks.version);
  info.set_epoch(stats.epoch);
  info.set_started_unix_ms(context_.started_unix_ms);
  info.set_sequence(context_.service.feed().last());
  info.set_hash(stats.hash);
  info.set_live_tasks(
      context_.service.view().read([](const Board& board) { return board.tasks().size(); }));
  info.set_events(stats.events);
  if (sees_all(caller)) info.set_data_dir(context_.service.options().data.string());
  info.set_authentication(context_.hooks.authentication);
  info.set_simulated_gpus(context_.hooks.simulated_gpus);
  info.set_behaviour(core::kBehaviour);
  info.set_history_lag(stats.history_lag);
  reply(std::move(info));
}

}  // namespace berth::api
