// Outputs: what commands wrote, for whoever asks, and until when it is kept.
//
// A lease's output is live until the server has acknowledged its end, then kept for its time, then
// removed. Reads files; the tasks' shims write them. On the loop's thread; moves and removals on
// the worker's. That a lease wrote nothing is remembered of the last few thousand, and not across a
// restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/files.h"
#include "agent/lease_store.h"
#include "agent/loop.h"
#include "agent/reports.h"
#include "agent/worker.h"
#include "base/time.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

class Outputs {
 public:
  using Send = Reports::Send;
  using IsOpen = std::function<bool(std::uint64_t lease, std::uint64_t task_no)>;

  static constexpr std::size_t kSilentMax = 4096;

  // `ttl`: for tasks that name no time of their own. `clock` goes on over restarts. `is_open`: it
  // has not ended yet.
  Outputs(Loop& loop, Worker& worker, LeaseStore& store, Duration ttl, std::function<Time()> clock,
          Send send, IsOpen is_open)
      : loop_(loop),
        worker_(worker),
        store_(store),
        ttl_(ttl),
        clock_(std::move(clock)),
        send_(std::move(send)),
        is_open_(std::move(is_open)) {}

  // From when the lease comes; leases without commands are passed over.
  void add(const berth::v1::Lease& lease);
  // The server has acknowledged the lease's end. Nothing happens if it is not here.
  void keep(std::uint64_t lease);
  // Looks for what earlier incarnations kept. Requests wait until that is known.
  void find_kept();
  // From now on, while the disk of the working folders has less room than this, those go that are
  // kept; what their tasks wrote to their outputs stays.
  void keep_room(std::uint64_t wanted_bytes);

  // No more is sent than there is room for where it goes, so a slow reader costs nothing here. One
  // that follows may come before its lease, and waits for it a while.
  void request(const berth::v1::LogRequest& request);

 private:
  using Attempt = std::pair<std::uint64_t, std::uint32_t>;  // task, attempt
  struct Entry {
    std::vector<Attempt> attempts;
    Duration ttl{};
    bool kept = false;
  };
  struct Stream {
    Fd file;
    bool at_end = false;
  };
  struct Reader {
    berth::v1::LogRequest request;
    std::uint64_t lease = 0;
    std::uint64_t task_no = 0;
    Stream out;
    Stream err;
    std::uint64_t window = 0;  // bytes that whoever asked has room for
  };

  std::int64_t now_ms() const;
  void forget_at(std::uint64_t lease, std::int64_t until_unix_ms);
  void forget(std::uint64_t lease);
  void remember_as_silent(std::uint64_t lease);
  std::vector<Attempt> take_out(std::uint64_t lease);
  std::optional<std::uint64_t> lease_of(const berth::v1::LogRequest& request) const;
  void answer_early();
  void begin(const berth::v1::LogRequest& request, std::uint64_t lease);
  void widen(const berth::v1::LogRequest& request);
  void refuse_if_early(std::uint64_t request);
  void read_more(std::uint64_t request);
  void read_stream(Reader& reader, Stream& stream, std::uint32_t number);
  void open_stream(const Reader& reader, Stream& stream, std::uint32_t number) const;
  void finish(Reader& reader);
  void refuse(const berth::v1::LogRequest& request);

  Loop& loop_;
  Worker& worker_;
  LeaseStore& store_;
  Duration ttl_;
  std::function<Time()> clock_;
  Send send_;
  IsOpen is_open_;
  bool kept_known_ = false;
  std::vector<berth::v1::LogRequest> early_;  // came before kept_known_, or before their lease
  std::map<std::uint64_t, Entry> leases_;
  std::map<Attempt, std::uint64_t> by_attempt_;
  std::deque<std::uint64_t> silent_;  // leases whose end is acknowledged and that left no output
  std::map<std::uint64_t, Reader> readers_;
};

}  // namespace berth::agent
