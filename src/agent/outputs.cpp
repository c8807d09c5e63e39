// The index of outputs, their end, and the readers that follow them.
#include "agent/outputs.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

#include "agent/task_record.h"
#include "agent/wall_clock.h"

namespace berth::agent {
namespace {

constexpr std::size_t kReadChunk = 64 * 1024;
constexpr int kReadChunksPerTurn = 8;  // then others have their turn
constexpr Duration kFollow = milliseconds(100);
constexpr Duration kLookAtRoom = seconds(1);
constexpr Duration kLeaseComesWithin = seconds(10);
constexpr std::uint32_t kOut = 1;
constexpr std::uint32_t kErr = 2;

}  // namespace

// ---- What there is
// -------------------------------------------------------------------------------

void Outputs::add(const berth::v1::Lease& lease) {
  for (const berth::v1::LeasedTask& task : lease.tasks()) {
    if (task.spec().command().argv_size() == 0) continue;
    Entry& entry = leases_[lease.id()];
    const std::int64_t own_ms = task.spec().result_ttl_ms();
    entry.ttl = std::max(entry.ttl, own_ms > 0 ? milliseconds(own_ms) : ttl_);
    const Attempt attempt{task.task_no(), task.attempt()};
    const auto [place, is_new] = by_attempt_.try_emplace(attempt, lease.id());
    if (!is_new && std::exchange(place->second, lease.id()) == lease.id()) continue;  // told again
    entry.attempts.push_back(attempt);
  }
  if (!early_.empty()) answer_early();
}

void Outputs::keep(std::uint64_t lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.kept) return;
  const std::int64_t until = now_ms() + found->second.ttl.ns / 1'000'000;
  found->second.kept = true;
  worker_.post([this, lease, until, attempts = found->second.attempts] {
    bool is_silent = true;
    for (const auto& [task_no, attempt] : attempts) {
      if (store_.keep(lease, task_no, until)) is_silent = false;
    }
    loop_.post([this, lease, until, is_silent] {
      is_silent ? remember_as_silent(lease) : forget_at(lease, until);
    });
  });
}

void Outputs::find_kept() {
  worker_.post([this] {
    loop_.post([this, found = store_.find_kept()] {
      for (const KeptTask& kept : found) {
        const std::uint64_t lease = kept.lease.id();
        const bool is_new = !leases_.contains(lease);
        add(kept.lease);
        if (!is_new) continue;  // others of this lease were kept too, or are about to be
        leases_[lease].kept = true;
        forget_at(lease, kept.until_unix_ms);
      }
      kept_known_ = true;
      answer_early();
    });
  });
}

void Outputs::keep_room(std::uint64_t wanted_bytes) {
  worker_.post([this, wanted_bytes] { store_.make_room(wanted_bytes); });
  loop_.after(kLookAtRoom, [this, wanted_bytes] { keep_room(wanted_bytes); });
}

std::int64_t Outputs::now_ms() const { return clock_ ? clock_().ns / 1'000'000 : unix_ms(); }

void Outputs::forget_at(std::uint64_t lease, std::int64_t until_unix_ms) {
  const Duration left = milliseconds(std::max<std::int64_t>(0, until_unix_ms - now_ms()));
  loop_.after(left, [this, lease] { forget(lease); });
}

// Most commands write nothing, and there can be hundreds each second.
void Outputs::remember_as_silent(std::uint64_t lease) {
  silent_.push_back(lease);
  if (silent_.size() <= kSilentMax) return;
  take_out(silent_.front());
  silent_.pop_front();
}

std::vector<Outputs::Attempt> Outputs::take_out(std::uint64_t lease) {
  std::vector<Attempt> attempts = std::move(leases_[lease].attempts);
  leases_.erase(lease);
  for (const Attempt& attempt : attempts) {
    const auto found = by_attempt_.find(attempt);
    if (found != by_attempt_.end() && found->second == lease) by_attempt_.erase(found);
  }
  return attempts;
}

void Outputs::forget(std::uint64_t lease) {
  worker_.post([this, lease, attempts = take_out(lease)] {
    for (const auto& [task_no, attempt] : attempts) {
      store_.remove_kept(lease, task_no);
    }
  });
}

// ---- Who asks for it
// -----------------------------------------------------------------------------

void Outputs::request(const berth::v1::LogRequest& request) {
  if (request.cancel()) {
    readers_.erase(request.request());
    std::erase_if(early_, [&](const auto& each) { return each.request() == request.request(); });
    return;
  }
  if (request.more() > 0) return widen(request);
  if (const std::optional<std::uint64_t> lease = lease_of(request)) return begin(request, *lease);
  if (kept_known_ && !request.follow()) return refuse(request);
  early_.push_back(request);
  if (!request.follow()) return;
  loop_.after(kLeaseComesWithin, [this, number = request.request()] { refuse_if_early(number); });
}

void Outputs::answer_early() {
  for (const berth::v1::LogRequest& waiting : std::exchange(early_, {})) {
    if (const std::optional<std::uint64_t> lease = lease_of(waiting)) {
      begin(waiting, *lease);
    } else if (kept_known_ && !waiting.follow()) {
      refuse(waiting);
    } else {
      early_.push_back(waiting);
    }
  }
}

void Outputs::refuse_if_early(std::uint64_t request) {
  const auto found = std::find_if(early_.begin(), early_.end(),
                                  [&](const auto& each) { return each.request() == request; });
  if (found == early_.end()) return;
  refuse(*found);
  early_.erase(found);
}

void Outputs::begin(const berth::v1::LogRequest& request, std::uint64_t lease) {
  const std::uint64_t window = request.window() > 0 ? request.window() : UINT64_MAX;
  readers_[request.request()] = Reader{request, lease, request.task_no(), {}, {}, window};
  loop_.post([this, number = request.request()] { read_more(number); });
}

void Outputs::widen(const berth::v1::LogRequest& request) {
  const auto found = readers_.find(request.request());
  if (found == readers_.end()) return;
  const bool stood_still = found->second.window == 0;
  found->second.window += request.more();
  if (stood_still) loop_.post([this, number = request.request()] { read_more(number); });
}

// Attempt 0 asks for the last.
std::optional<std::uint64_t> Outputs::lease_of(const berth::v1::LogRequest& request) const {
  if (request.attempt() != 0) {
    const auto found = by_attempt_.find({request.task_no(), request.attempt()});
    if (found == by_attempt_.end()) return std::nullopt;
    return found->second;
  }
  const auto after = by_attempt_.upper_bound({request.task_no(), UINT32_MAX});
  if (after == by_attempt_.begin()) return std::nullopt;
  const auto last = std::prev(after);
  if (last->first.first != request.task_no()) return std::nullopt;
  return last->second;
}

void Outputs::read_more(std::uint64_t request) {
  const auto found = readers_.find(request);
  if (found == readers_.end()) return;  // cancelled
  Reader& reader = found->second;
  // Asked first: what the task wrote before its end is then read below.
  const bool more_may_come = reader.request.follow() && is_open_(reader.lease, reader.task_no);
  read_stream(reader, reader.out, kOut);
  read_stream(reader, reader.err, kErr);
  if (reader.window == 0) return;  // until there is room again
  if (!reader.out.at_end || !reader.err.at_end) {
    loop_.post([this, request] { read_more(request); });
  } else if (more_may_come) {
    loop_.after(kFollow, [this, request] { read_more(request); });
  } else {
    finish(reader);
    readers_.erase(found);
  }
}

void Outputs::open_stream(const Reader& reader, Stream& stream, std::uint32_t number) const {
  const TaskFiles files = store_.files(reader.lease, reader.task_no);
  stream.file =
      Fd(::open((number == kOut ? files.out() : files.err()).c_str(), O_RDONLY | O_CLOEXEC));
}

void Outputs::read_stream(Reader& reader, Stream& stream, std::uint32_t number) {
  if (!stream.file) open_stream(reader, stream, number);
  stream.at_end = true;
  if (!stream.file) return;  // it has not begun
  for (int chunk = 0; chunk < kReadChunksPerTurn && reader.window > 0; ++chunk) {
    std::string data(std::min<std::uint64_t>(kReadChunk, reader.window), '\0');
    const ssize_t got = ::read(stream.file.get(), data.data(), data.size());
    if (got <= 0) return;
    data.resize(static_cast<std::size_t>(got));
    reader.window -= data.size();
    berth::v1::AgentMessage message;
    berth::v1::LogData& log = *message.mutable_log();
    log.set_request(reader.request.request());
    log.set_stream(number);
    log.set_data(std::move(data));
    send_(std::move(message));
  }
  stream.at_end = false;
}

void Outputs::finish(Reader& reader) {
  const TaskFiles files = store_.files(reader.lease, reader.task_no);
  Result<std::optional<TaskRecord>> record = read_record(files.claimed());
  if (record.ok() && !*record) record = read_record(files.kept());
  const bool has_exit = record.ok() && *record && (*record)->exit;
  const ExitRecord exit = has_exit ? *(*record)->exit : ExitRecord{};
  for (const std::uint32_t number : {kOut, kErr}) {
    if (!(number == kOut ? exit.out_cut : exit.err_cut)) continue;
    berth::v1::AgentMessage message;
    message.mutable_log()->set_request(reader.request.request());
    message.mutable_log()->set_stream(number);
    message.mutable_log()->set_truncated(true);
    send_(std::move(message));
  }
  berth::v1::AgentMessage end;
  end.mutable_log()->set_request(reader.request.request());
  end.mutable_log()->set_end(true);
  send_(std::move(end));
}

void Outputs::refuse(const berth::v1::LogRequest& request) {
  berth::v1::AgentMessage message;
  message.mutable_log()->set_request(request.request());
  message.mutable_log()->set_end(true);
  message.mutable_log()->set_error("There is no output of task " +
                                   std::to_string(request.task_no()) +
                                   " on this node: it ran no command here, wrote nothing and "
                                   "ended long ago or before the last restart, or its time is "
                                   "over.");
  send_(std::move(message));
}

}  // namespace berth::agent
