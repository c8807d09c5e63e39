// Starting and stopping: the folder, the threads, and the way of messages onto the loop.
#include "agent/agent.h"

#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/lease_store.h"
#include "agent/loop.h"
#include "agent/session.h"
#include "agent/worker.h"

namespace berth::agent {
namespace {

constexpr Duration kReadingPeriod = seconds(3);
constexpr Duration kReadingLimit = seconds(5);

// One agent per folder. A predecessor that was just killed may hold it a moment longer.
Result<Fd> lock_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "lock";
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return file_error("open", path, errno);
  for (int tries = 0; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return file_error("lock", path, errno);
    if (tries == 100) {
      return Error{"Another agent uses " + folder.string() +
                   "; stop it, or give this one a folder "
                   "of its own."};
    }
    ::usleep(20'000);
  }
  return file;
}

// Goes up each time an agent starts on this folder, on disk before anyone hears of it.
Result<std::uint64_t> next_incarnation(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "incarnation";
  std::uint64_t last = 0;
  if (std::filesystem::exists(path)) {
    const Result<std::string> text = read_file(path);
    if (!text) return text.error();
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), last);
    if (error != std::errc{}) {
      return Error{path.string() +
                   " holds no number; if no task of this node runs any more, remove "
                   "it."};
    }
  }
  const Status written = write_file_durably(path, std::to_string(last + 1) + "\n");
  if (!written) return written.error();
  return last + 1;
}

}  // namespace

struct Agent::Parts {
  Parts(AgentOptions given, Fd lock, Fd its_work_lock, std::uint64_t incarnation, Send send)
      : options(std::move(given)),
        folder_lock(std::move(lock)),
        work_lock(std::move(its_work_lock)),
        session(loop, worker, options, incarnation, std::move(send)) {}

  void take_messages();
  void read_gpus_again_and_again();
  bool has_real_gpus() const;

  AgentOptions options;
  Fd folder_lock;
  Fd work_lock;
  Loop loop;
  Worker worker;
  Session session;

  std::mutex mutex;
  std::vector<berth::v1::ServerMessage> inbox;  // under mutex
  bool stopping = false;                        // under mutex
  std::condition_variable stopped;

  std::thread loop_thread;
  std::thread reading_thread;
};

Result<std::unique_ptr<Agent>> Agent::start(AgentOptions options, Send send) {
  const LeaseStore store(options.folder, options.work_folder);
  if (const Status made = store.prepare(); !made) return made.error();
  Result<Fd> lock = lock_folder(options.folder);
  if (!lock) return lock.error();
  Result<Fd> work_lock = lock_folder(store.work_root());
  if (!work_lock) return work_lock.error();
  const Result<std::uint64_t> incarnation = next_incarnation(options.folder);
  if (!incarnation) return incarnation.error();

  auto parts = std::make_unique<Parts>(std::move(options), std::move(*lock), std::move(*work_lock),
                                       *incarnation, std::move(send));
  Parts& running = *parts;
  Result<std::vector<FoundLease>> found = running.session.find_leases();
  if (!found) return found.error();
  running.loop.post(
      [&running, found = std::move(*found)]() mutable { running.session.begin(std::move(found)); });
  running.loop_thread = std::thread([&running] { running.loop.run(); });
  if (running.has_real_gpus()) {
    running.reading_thread = std::thread([&running] { running.read_gpus_again_and_again(); });
  }
  return std::unique_ptr<Agent>(new Agent(std::move(parts)));
}

Agent::Agent(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Agent::~Agent() { stop(); }

void Agent::receive(berth::v1::ServerMessage&& message) {
  bool first = false;
  {
    const std::lock_guard lock(parts_->mutex);
    first = parts_->inbox.empty();
    parts_->inbox.push_back(std::move(message));
  }
  if (first) parts_->loop.post([parts = parts_.get()] { parts->take_messages(); });
}

void Agent::Parts::take_messages() {
  std::vector<berth::v1::ServerMessage> messages;
  {
    const std::lock_guard lock(mutex);
    messages.swap(inbox);
  }
  for (berth::v1::ServerMessage& message : messages) {
    session.receive(std::move(message));
  }
}

void Agent::stop() {
  {
    const std::lock_guard lock(parts_->mutex);
    if (std::exchange(parts_->stopping, true)) return;
  }
  parts_->stopped.notify_all();
  if (parts_->reading_thread.joinable()) parts_->reading_thread.join();
  parts_->worker.stop();  // it works for the session
  parts_->loop.quit();
  parts_->loop_thread.join();
}

// ---- Readings
// ------------------------------------------------------------------------------------

bool Agent::Parts::has_real_gpus() const {
  for (const GpuDescription& gpu : options.gpus) {
    if (!gpu.simulated) return true;
  }
  return false;
}

void Agent::Parts::read_gpus_again_and_again() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    Result<std::vector<GpuReadings>> readings = read_gpus(kReadingLimit);
    loop.post([this, taken = std::move(readings)] { session.take_readings(taken); });
    lock.lock();
    stopped.wait_for(lock, std::chrono::nanoseconds(kReadingPeriod.ns),
                     [this] { return stopping; });
  }
}

}  // namespace berth::agent
