// See learner.h.
#include "service/learner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "core/packing/packing_table.h"
#include "learn/empty_nodes.h"
#include "service/named_thread.h"

namespace berth::service {
namespace {

// Fewer arrivals tell little; the core too looks at its mix from here on.
constexpr std::uint64_t kFirstLook = 64;
constexpr std::uint64_t kSamePercent = 95;

// Of one class, and the mean of the memory has not moved by more than a tenth.
bool is_alike(const core::TypicalShape& a, const core::TypicalShape& b) {
  const auto [less, more] = std::minmax(a.memory, b.memory);
  return (more - less) * 10 <= more;
}

}  // namespace

bool is_another_mix(const core::TypicalMix& before, const core::TypicalMix& now) {
  std::map<core::ShapeClass, core::TypicalShape> known;
  for (const core::TypicalShape& typical : before)
    known.emplace(typical.shape, typical);
  std::uint64_t in_both = 0;
  for (const core::TypicalShape& typical : now) {
    const auto found = known.find(typical.shape);
    if (found == known.end() || !is_alike(found->second, typical)) continue;
    in_both += std::min(found->second.weight, typical.weight);
  }
  return in_both * 100 < std::uint64_t{core::kWeightTotal} * kSamePercent;
}

Learner::Learner(LearnerOptions options, const View& view, Duration every)
    : options_(std::move(options)), view_(view), every_(every) {}

Learner::~Learner() { stop(); }

void Learner::start() {
  thread_ = background_thread("berth-learn", [this] { run(); });
}

void Learner::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    news_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Learner::set_every(Duration every) {
  const std::lock_guard lock(mutex_);
  every_ = every;
  news_.notify_all();
}

bool Learner::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Learner::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Duration every = every_;
    const auto changed = [&] { return stopping_ || every_ != every; };
    if (every.ns == 0) {
      news_.wait(lock, changed);
    } else if (!news_.wait_for(lock, std::chrono::nanoseconds(every.ns), changed)) {
      lock.unlock();
      look();
      lock.lock();
    }
  }
}

void Learner::look() {
  const std::lock_guard one_at_a_time(look_mutex_);
  Ground on = ground();
  if (on.nodes.empty()) return;
  const std::optional<ControlOutcome> answer = ask(ReadPacking{});
  if (!answer || !answer->packing) return;
  const PackingKnown& known = *answer->packing;
  if (known.arrivals < kFirstLook) return;
  if (on == played_on_ && !is_another_mix(played_mix_, known.mix)) return;

  const std::optional<core::ValueTable> values = play(on, known.mix);
  if (is_stopping()) return;
  std::vector<std::uint8_t> table;
  if (values) table = core::encode(core::PackingTable{known.mix, *values});
  const bool is_new = table != known.table;
  if (is_new && !put(std::move(table), known.mix.size(), on.nodes.size())) return;
  played_mix_ = known.mix;
  played_on_ = std::move(on);
}

// No nodes: packing does not ask for a table, or there is no GPU. What is lost may never come back,
// so it does not play.
Learner::Ground Learner::ground() const {
  std::vector<core::NodeSpec> nodes;
  std::vector<core::GpuSpec> gpus;
  const core::PolicySpec policy = view_.read([&](const Board& board) {
    const Names& names = board.names();
    if (names.policy().packing != core::Packing::frag) return names.policy();
    for (const NodeEntry& node : names.nodes())
      nodes.push_back(node.lost ? core::NodeSpec{} : node.spec);
    for (const GpuEntry& gpu : names.gpus()) {
      if (!gpu.lost) gpus.push_back(gpu.spec);
    }
    return names.policy();
  });
  if (gpus.empty()) return {};
  return {learn::empty_nodes(nodes, gpus, policy.vram_usable), policy.gpu_load_threshold};
}

std::optional<core::ValueTable> Learner::play(const Ground& on, const core::TypicalMix& mix) {
  ++plays_;
  learn::SelfPlaySettings settings = options_.self_play;
  settings.gpu_load_threshold = on.gpu_load_threshold;
  return learn::train_value_table(on.nodes, mix, settings, [this] { return !is_stopping(); });
}

bool Learner::put(std::vector<std::uint8_t> table, std::size_t shapes, std::size_t nodes) {
  const bool is_none = table.empty();
  const std::optional<ControlOutcome> answer = ask(PutPackingTable{std::move(table)});
  if (!answer || !answer->packing) return false;
  const std::string version = std::to_string(answer->packing->version);
  options_.inform("packing has table " + version + (is_none ? ", which is none" : "") +
                  ", learned from " + std::to_string(shapes) + " shapes on " +
                  std::to_string(nodes) + " nodes");
  return true;
}

// None: the ring is full, or the service stops.
std::optional<ControlOutcome> Learner::ask(Control what) {
  const auto answer = std::make_shared<std::optional<ControlOutcome>>();
  const auto done = [this, answer](const ControlOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    *answer = outcome;
    news_.notify_all();
  };
  if (!options_.offer(ControlCommand{std::move(what), done})) return std::nullopt;
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return stopping_ || answer->has_value(); });
  return *answer;
}

}  // namespace berth::service
