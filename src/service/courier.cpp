// See courier.h.
#include "service/courier.h"

#include <algorithm>
#include <utility>

#include "core/mig/profiles.h"
#include "store/crash_points.h"

namespace berth::service {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerUs = 1'000;

// At least a millisecond: 0 would mean none.
std::int64_t run_limit_ms(const TaskCard& card) {
  return card.run_limit.ns > 0 ? std::max<std::int64_t>(1, card.run_limit.ns / kNsPerMs) : 0;
}
std::int64_t deadline_ms(const TaskCard& card, Time now) {
  if (card.deadline == Time::never()) return 0;
  return std::max<std::int64_t>(1, (card.deadline - now).ns / kNsPerMs);
}

const std::string& agent_of(NodeId node, const Board& board) {
  return board.names().nodes()[node.value].agent;
}

void name_gpus(Courier::Errand& errand, std::span<const GpuId> gpus, const Board& board) {
  for (const GpuId gpu : gpus)
    errand.gpus.push_back(board.names().gpus()[gpu.value].uuid);
  if (!gpus.empty()) {
    errand.agent = agent_of(board.names().gpus()[gpus.front().value].spec.node, board);
  }
}

// Rank r runs on the r-th GPU; hosts are numbered in the order of their first rank.
v1::Gang gang_of(std::span<const GpuId> gpus, const Board& board) {
  v1::Gang gang;
  std::vector<NodeId> hosts;
  std::vector<std::uint32_t> ranks;  // by host
  gang.set_size(static_cast<std::uint32_t>(gpus.size()));
  for (const GpuId gpu : gpus) {
    const GpuEntry& entry = board.names().gpus()[gpu.value];
    const auto at = std::ranges::find(hosts, entry.spec.node);
    const auto host = static_cast<std::size_t>(at - hosts.begin());
    if (at == hosts.end()) {
      hosts.push_back(entry.spec.node);
      ranks.push_back(0);
      gang.add_hosts(entry.node);
    }
    v1::Rank& rank = *gang.add_ranks();
    rank.set_rank(static_cast<std::uint32_t>(gang.ranks_size() - 1));
    rank.set_node_rank(static_cast<std::uint32_t>(host));
    rank.set_local_rank(ranks[host]++);
    rank.set_gpu(entry.uuid);
  }
  gang.set_master_address(board.names().nodes()[hosts.front().value].address);
  return gang;
}

void note_batch(Courier::Errand& errand, const core::BatchStarted& batch, const Board& board) {
  name_gpus(errand, batch.gpus, board);
  if (batch.gpus.empty()) errand.agent = agent_of(batch.node, board);
  const QueueEntry& queue = board.names().queues()[batch.queue.value];
  if (batch.gpus.size() > 1) {
    errand.gang = gang_of(batch.gpus, board);
    errand.gang.set_ranks_by_node(queue.ranks_by_node);
  }
  errand.queue = queue.name;
  errand.executor = queue.executor;
  errand.queue_spec = queue.spec;
  if (queue.spec.work_class) {
    errand.work_class = board.names().work_classes()[queue.spec.work_class.value];
  }
  if (batch.model) errand.model = board.names().models()[batch.model.value].name;
  for (const core::StartedTask& started : batch.tasks) {
    const TaskLine* line = board.tasks().find(started.task);
    errand.cards.push_back(line == nullptr ? nullptr : line->card);
    errand.tenants.push_back(
        line == nullptr ? "" : board.names().tenants()[line->card->tenant.value].name);
  }
}

}  // namespace

void Courier::note(core::Action& action, Time now, const Board& board,
                   std::vector<Errand>& errands) {
  Errand errand;
  errand.now = now;
  if (auto* batch = std::get_if<core::BatchStarted>(&action)) {
    note_batch(errand, *batch, board);
    errand.what = std::move(*batch);
  } else if (const auto* stop = std::get_if<core::StopTask>(&action)) {
    const auto lease = board.leases().find(stop->lease);
    if (lease == board.leases().end()) return;
    name_gpus(errand, lease->second.gpus, board);
    if (lease->second.node) errand.agent = agent_of(lease->second.node, board);
    errand.what = *stop;
  } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
    name_gpus(errand, {&load->gpu, 1}, board);
    errand.model = board.names().models()[load->model.value].name;
    errand.weights = board.names().models()[load->model.value].spec.weights;
    errand.what = *load;
  } else if (const auto* evict = std::get_if<core::EvictModel>(&action)) {
    name_gpus(errand, {&evict->gpu, 1}, board);
    errand.model = board.names().models()[evict->model.value].name;
    errand.what = *evict;
  } else {
    return;
  }
  errands.push_back(std::move(errand));
}

v1::ServerMessage Courier::lease_for(Errand& errand, const core::BatchStarted& batch) const {
  v1::ServerMessage message;
  v1::Lease& lease = *message.mutable_lease();
  lease.set_id(batch.lease.value);
  lease.set_epoch(epoch_);
  lease.set_queue(errand.queue);
  lease.set_model(errand.model);
  lease.set_share_milli(static_cast<std::uint32_t>(batch.share.value));
  lease.set_vram_mb(batch.vram.value);
  lease.set_expected_ms(batch.expected.ns / kNsPerMs);
  lease.set_batch_base_us(errand.queue_spec.batch_base.ns / kNsPerUs);
  lease.set_batch_per_task_us(errand.queue_spec.batch_per_task.ns / kNsPerUs);
  lease.set_work_class(std::move(errand.work_class));
  lease.set_runtime(std::move(errand.executor));
  for (std::string& gpu : errand.gpus)
    lease.add_gpus(std::move(gpu));
  if (errand.gang.size() > 0) *lease.mutable_gang() = std::move(errand.gang);
  if (batch.instance) {
    const std::string_view profile = core::mig::name_of(batch.instance->profile);
    lease.mutable_instance()->set_profile(profile.data(), profile.size());
    lease.mutable_instance()->set_start(batch.instance->start);
  }
  for (std::size_t i = 0; i < batch.tasks.size(); ++i) {
    const CardPtr& card = errand.cards[i];
    v1::LeasedTask& task = *lease.add_tasks();
    task.set_task_no(batch.tasks[i].task.value);
    task.set_attempt(batch.tasks[i].attempt);
    if (!card) continue;
    task.set_task_id(id_of(*card));
    task.set_tenant(std::move(errand.tenants[i]));
    task.set_run_limit_ms(run_limit_ms(*card));
    task.set_deadline_ms(deadline_ms(*card, errand.now));
    const Result<std::string> spec = read_spec_(*card);
    // A spec that cannot be read leaves the task without a command; the agent reports it failed.
    if (spec) task.mutable_spec()->ParseFromString(*spec);
  }
  return message;
}

v1::ServerMessage Courier::message_for(Errand& errand) const {
  if (const auto* batch = std::get_if<core::BatchStarted>(&errand.what)) {
    return lease_for(errand, *batch);
  }
  v1::ServerMessage message;
  if (const auto* stop = std::get_if<core::StopTask>(&errand.what)) {
    message.mutable_stop()->set_lease(stop->lease.value);
    message.mutable_stop()->set_task_no(stop->task.value);
  } else if (const auto* load = std::get_if<core::LoadModel>(&errand.what)) {
    v1::LoadModel& out = *message.mutable_load();
    out.set_load(load->load.value);
    out.set_gpu(std::move(errand.gpus.front()));
    out.set_model(std::move(errand.model));
    out.set_weights_mb(errand.weights.value);
    out.set_expected_ms(load->expected.ns / kNsPerMs);
  } else if (const auto* evict = std::get_if<core::EvictModel>(&errand.what)) {
    v1::EvictModel& out = *message.mutable_evict();
    out.set_load(evict->load.value);
    out.set_gpu(std::move(errand.gpus.front()));
    out.set_model(std::move(errand.model));
  }
  return message;
}

void Courier::run(std::vector<Errand>&& errands) {
  for (Errand& errand : errands) {
    if (auto* direct = std::get_if<ToAgentMessage>(&errand.what)) {
      send_to_session(std::move(*direct));
      continue;
    }
    store::crash_point(store::CrashPoint::lease_before);
    send_to_agent(errand.agent, message_for(errand));
    store::crash_point(store::CrashPoint::lease_sent);
  }
}

void Courier::send_to_agent(const std::string& agent, v1::ServerMessage&& message) {
  const std::lock_guard lock(mutex_);
  const auto session = agent_sessions_.find(agent);
  if (session == agent_sessions_.end()) {
    unsent_[agent].push_back(std::move(message));
  } else {
    sessions_[session->second].to_agent(std::move(message));
  }
}

// A welcome opens the way for what waits for the agent.
void Courier::send_to_session(ToAgentMessage&& to) {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(to.session);
  if (session == sessions_.end()) return;
  const bool welcome = to.message.has_welcome() && to.message.welcome().refused().empty();
  session->second.to_agent(std::move(to.message));
  if (!welcome) return;
  agent_sessions_[to.agent] = to.session;
  for (v1::ServerMessage& message : unsent_[to.agent])
    session->second.to_agent(std::move(message));
  unsent_.erase(to.agent);
}

std::uint64_t Courier::open(ToAgent to_agent) {
  const std::lock_guard lock(mutex_);
  sessions_[next_session_] = {std::move(to_agent)};
  return next_session_++;
}

void Courier::close(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(session);
  std::erase_if(agent_sessions_, [&](const auto& entry) { return entry.second == session; });
}

void Courier::answer_heartbeat(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  v1::ServerMessage message;
  message.mutable_heartbeat()->set_epoch(epoch_);
  found->second.to_agent(std::move(message));
}

// ---- Output
// --------------------------------------------------------------------------------------

std::uint64_t Courier::open_log(const LogWish& wish, LogSink sink) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t log = next_log_++;
  auto session = agent_sessions_.find(wish.agent);
  // Of a task that has ended: with one agent there is no choice.
  if (wish.agent.empty() && agent_sessions_.size() == 1) session = agent_sessions_.begin();
  if (session == agent_sessions_.end()) {
    v1::LogData none;
    none.set_request(log);
    none.set_end(true);
    none.set_error("the agent of \"" + wish.agent + "\" is not connected");
    sink(none);
    return log;
  }
  logs_[log] = {session->second, std::move(sink)};
  v1::LogRequest request;
  request.set_request(log);
  request.set_task_no(wish.task.value);
  request.set_attempt(wish.attempt);
  request.set_follow(wish.follow);
  request.set_window(wish.window);
  send_about_log(session->second, request);
  return log;
}

void Courier::send_about_log(std::uint64_t session, const v1::LogRequest& request) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  v1::ServerMessage message;
  *message.mutable_log() = request;
  found->second.to_agent(std::move(message));
}

void Courier::more_log(std::uint64_t log, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(log);
  if (found == logs_.end()) return;
  v1::LogRequest request;
  request.set_request(log);
  request.set_more(bytes);
  send_about_log(found->second.session, request);
}

void Courier::close_log(std::uint64_t log) {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(log);
  if (found == logs_.end()) return;
  v1::LogRequest request;
  request.set_request(log);
  request.set_cancel(true);
  send_about_log(found->second.session, request);
  logs_.erase(found);
}

void Courier::log_data(const v1::LogData& data) {
  LogSink sink;
  {
    const std::lock_guard lock(mutex_);
    const auto at = logs_.find(data.request());
    if (at == logs_.end()) return;
    sink = at->second.sink;
    if (data.end()) logs_.erase(at);
  }
  if (!sink(data) && !data.end()) close_log(data.request());
}

}  // namespace berth::service
