// See self_play.h.
#include "learn/self_play.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/rng.h"
#include "base/units.h"
#include "core/packing/fragment.h"
#include "core/packing/pack_index.h"

namespace berth::learn {
namespace {

using core::kCpuRatios;
using core::kMaxKinds;
using core::kResiduals;

constexpr std::int64_t kBackOffWeight = 5;  // how many marks what is known of the like counts for
constexpr std::int64_t kMillionthsOfHundredth = core::kGpuMillionths / 100;

// What was seen of one cell of the table.
struct Seen {
  std::int64_t idle = 0;  // summed, in hundredths of a GPU x kOne
  std::int64_t marks = 0;
};
constexpr std::int64_t kOne = 1024;  // marks fade by a quarter each round; this keeps the rest

// Luck of the rounds that learn, and of the last one, where the best tables meet again, and none.
constexpr std::uint64_t kLearning = 0;
constexpr std::uint64_t kFinal = 1;
constexpr std::size_t kFinalists = 3;
constexpr std::int64_t kArrivalsPerQuestion = 64;  // whether to go on

using SeenPage = std::array<std::array<Seen, kResiduals>, kCpuRatios>;

struct Outcome {
  std::int64_t used_at_full = 0;  // thousandths of a GPU in use when the demand was 100 %
  std::int64_t used_at_end = 0;
};

// The mean of what was seen and of what is known of the like, in millionths.
std::int64_t blend(const Seen& seen, std::int64_t back_off) {
  const std::int64_t sum = seen.idle * kMillionthsOfHundredth + kBackOffWeight * kOne * back_off;
  return sum / (seen.marks + kBackOffWeight * kOne);
}

// What is larger than every node is placed by the gang search, not by packing: it is not played.
core::TypicalMix played_on(const std::vector<core::NodeView>& nodes, const core::TypicalMix& mix) {
  std::uint32_t largest = 0;
  for (const core::NodeView& node : nodes)
    largest = std::max<std::uint32_t>(largest, node.gpus);
  core::TypicalMix played = mix;
  std::erase_if(played,
                [&](const core::TypicalShape& typical) { return typical.shape.gpus > largest; });
  return played;
}

std::int64_t capacity_of(const std::vector<core::NodeView>& nodes) {
  std::int64_t capacity = 0;
  for (const core::NodeView& node : nodes)
    capacity = std::accumulate(node.left.begin(), node.left.begin() + node.gpus, capacity);
  return capacity;
}

// So many of the nodes, each sort by its part.
std::vector<core::NodeView> some_of(std::vector<core::NodeView> nodes, std::size_t count) {
  std::ranges::stable_sort(nodes, [](const core::NodeView& a, const core::NodeView& b) {
    return std::tie(a.kind, a.gpus, a.cpu, a.memory) < std::tie(b.kind, b.gpus, b.cpu, b.memory);
  });
  std::vector<core::NodeView> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(nodes[i * nodes.size() / count]);
  return some;
}

// In an episode; 0: none of the shapes wants a GPU.
std::int64_t expected_arrivals(const std::vector<core::NodeView>& nodes,
                               const core::TypicalMix& played, const SelfPlaySettings& settings) {
  std::int64_t asked = 0;
  std::int64_t weight = 0;
  for (const core::TypicalShape& typical : played) {
    asked += std::int64_t{typical.shape.gpus} * typical.shape.share * typical.weight;
    weight += typical.weight;
  }
  if (asked == 0) return 0;
  return scale(capacity_of(nodes) * settings.horizon_percent / 100, weight, asked);
}

// The nodes, or as many of them as the most arrivals fill.
std::vector<core::NodeView> arena(const std::vector<core::NodeView>& nodes,
                                  const core::TypicalMix& played,
                                  const SelfPlaySettings& settings) {
  const std::int64_t arrivals = expected_arrivals(nodes, played, settings);
  if (arrivals <= settings.arrivals_most) return nodes;
  const auto all = static_cast<std::int64_t>(nodes.size());
  return some_of(nodes, static_cast<std::size_t>(scale(all, settings.arrivals_most, arrivals)));
}

class Trainer {
 public:
  Trainer(const std::vector<core::NodeView>& nodes, const core::TypicalMix& mix,
          const SelfPlaySettings& settings, const KeepPlaying& keep_playing)
      : mix_(mix),
        played_(played_on(nodes, mix)),
        nodes_(arena(nodes, played_, settings)),
        settings_(settings),
        keep_playing_(keep_playing),
        seen_(kMaxKinds),
        capacity_(capacity_of(nodes_)),
        arrivals_(expected_arrivals(nodes_, played_, settings)) {
    for (const core::NodeView& node : nodes_) {
      if (node.gpus > 0) kinds_ |= core::KindMask{1} << node.kind.value;
    }
    for (const core::TypicalShape& typical : played_)
      weight_ += typical.weight;
    if (arrivals_ > 0) episodes_ = std::max(settings.episodes, settings.arrivals_least / arrivals_);
  }

  std::optional<core::ValueTable> train() {
    if (arrivals_ == 0) return std::nullopt;
    const Candidate none{play_round(kLearning, std::nullopt), std::nullopt};
    std::vector<Candidate> finalists;
    for (std::uint32_t round = 0; round < settings_.rounds && !stopped_; ++round) {
      Candidate candidate{0, make_table()};
      fade();
      candidate.score = play_round(kLearning, candidate.table);
      keep_best(finalists, std::move(candidate));
    }
    finalists.push_back(none);
    for (Candidate& finalist : finalists)
      finalist.score += play_round(kFinal, finalist.table);
    if (stopped_) return std::nullopt;
    return std::ranges::max_element(finalists, {}, &Candidate::score)->table;
  }

 private:
  struct Candidate {
    std::int64_t score = 0;
    std::optional<core::ValueTable> table;
  };

  static void keep_best(std::vector<Candidate>& best, Candidate&& candidate) {
    best.push_back(std::move(candidate));
    if (best.size() <= kFinalists) return;
    best.erase(std::ranges::min_element(best, {}, &Candidate::score));
  }

  struct Mark {
    std::uint32_t cell = 0;  // (kind, ratio, residual)
    std::uint32_t gpu = 0;   // node x kNodeGpusMax + index
  };

  // The score of the table that was played: the GPUs in use, in millionths. All tables of a stage
  // meet the same luck.
  std::int64_t play_round(std::uint64_t stage, const std::optional<core::ValueTable>& table) {
    std::int64_t used = 0;
    for (std::int64_t episode = 0; episode < episodes_; ++episode) {
      const auto number = static_cast<std::uint64_t>(episode);
      const Outcome outcome = play(Rng::keyed(settings_.seed, {stage, number}), table);
      used += outcome.used_at_full + outcome.used_at_end;
    }
    return scale(used, core::kGpuMillionths, 2 * capacity_ * episodes_);
  }

  Outcome play(Rng rng, const std::optional<core::ValueTable>& table) {
    core::PackIndex index;
    index.set_mix(mix_);
    index.set_table(table);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      index.put(NodeId{i}, nodes_[i]);
    Outcome outcome;
    std::int64_t arrived = 0;
    marks_.clear();
    // Luck may bring more arrivals than are expected; twice as many end the episode.
    for (std::int64_t i = 0; i < 2 * settings_.arrivals_most; ++i) {
      if (arrived * 100 >= capacity_ * settings_.horizon_percent || is_stopped(i)) break;
      const core::Shape shape = draw(rng);
      const std::int64_t asked = std::int64_t{shape.gpus} * shape.share;
      arrived += asked;
      if (const auto choice = index.best(shape)) {
        core::NodeView view = *index.find(choice->node);
        start(view, shape, choice->gpus);
        index.put(choice->node, view);
        mark(choice->node, view);
        outcome.used_at_end += asked;
      }
      if (arrived <= capacity_) outcome.used_at_full = outcome.used_at_end;
    }
    learn(index);
    return outcome;
  }

  bool is_stopped(std::int64_t arrivals) {
    if (keep_playing_ && arrivals % kArrivalsPerQuestion == 0) stopped_ |= !keep_playing_();
    return stopped_;
  }

  core::Shape draw(Rng& rng) const {
    std::int64_t at = rng.between(0, weight_ - 1);
    std::size_t i = 0;
    while (at >= played_[i].weight)
      at -= played_[i++].weight;
    core::Shape shape;
    shape.gpus = played_[i].shape.gpus;
    shape.share = played_[i].shape.share;
    shape.cpu = Milli{played_[i].shape.cpu};
    shape.memory = Mib{played_[i].memory};
    shape.kinds = played_[i].shape.kinds;
    return shape;
  }

  void start(core::NodeView& view, const core::Shape& shape, core::GpuSet gpus) const {
    view.cpu -= shape.cpu;
    view.memory -= shape.memory;
    for (; gpus != 0; gpus &= gpus - 1) {
      std::uint16_t& left = view.left[static_cast<std::size_t>(std::countr_zero(gpus))];
      const std::int64_t room =
          left == kWholeGpu.value ? settings_.gpu_load_threshold.value : std::int64_t{left};
      left = static_cast<std::uint16_t>(std::max<std::int64_t>(0, room - shape.share));
    }
  }

  void mark(NodeId node, const core::NodeView& view) {
    const core::NodeState state = core::outline(view);
    const std::uint32_t ratio = core::cpu_ratio(core::cpu_low(state.cpu), core::idle_of(state));
    for (std::uint32_t i = 0; i < state.gpus; ++i) {
      if (state.left[i] == 0) continue;
      const std::uint32_t cell =
          (view.kind.value * kCpuRatios + ratio) * kResiduals + state.left[i];
      marks_.push_back({cell, node.value * core::kNodeGpusMax + i});
    }
  }

  void learn(const core::PackIndex& index) {
    for (const Mark& mark : marks_) {
      const NodeId node{mark.gpu / core::kNodeGpusMax};
      const std::uint32_t left = index.find(node)->left[mark.gpu % core::kNodeGpusMax];
      const std::uint32_t ratio = mark.cell / kResiduals % kCpuRatios;
      Seen& seen = seen_[mark.cell / kResiduals / kCpuRatios][ratio][mark.cell % kResiduals];
      seen.idle += left / core::kResidualStep * kOne;
      seen.marks += kOne;
    }
  }

  void fade() {
    for (SeenPage& page : seen_) {
      for (auto& row : page) {
        for (Seen& seen : row)
          seen = {seen.idle * 3 / 4, seen.marks * 3 / 4};
      }
    }
  }

  core::ValueTable make_table() const {
    core::ValueTable table;
    for (std::uint32_t r = 0; r < kResiduals; ++r) {
      Seen all;
      std::array<Seen, kCpuRatios> by_ratio{};
      for (const SeenPage& page : seen_) {
        for (std::uint32_t ratio = 0; ratio < kCpuRatios; ++ratio)
          add(by_ratio[ratio], page[ratio][r]);
      }
      for (const Seen& seen : by_ratio)
        add(all, seen);
      const std::int64_t rough = blend(all, std::min<std::int64_t>(r, 10) * kMillionthsOfHundredth);
      for (std::uint32_t ratio = 0; ratio < kCpuRatios; ++ratio)
        table.any[ratio][r] = static_cast<std::int32_t>(blend(by_ratio[ratio], rough));
    }
    for (std::uint32_t kind = 0; kind < kMaxKinds; ++kind) {
      if ((kinds_ >> kind & 1) == 0) continue;
      auto& [id, page] = table.pages.emplace_back();
      id = KindId{kind};
      for (std::uint32_t ratio = 0; ratio < kCpuRatios; ++ratio) {
        for (std::uint32_t r = 0; r < kResiduals; ++r)
          page[ratio][r] =
              static_cast<std::int32_t>(blend(seen_[kind][ratio][r], table.any[ratio][r]));
      }
    }
    return table;
  }

  static void add(Seen& to, const Seen& more) {
    to.idle += more.idle;
    to.marks += more.marks;
  }

  const core::TypicalMix& mix_;  // in force, as it will be in the core
  const core::TypicalMix played_;
  const std::vector<core::NodeView> nodes_;
  const SelfPlaySettings settings_;
  const KeepPlaying& keep_playing_;
  std::vector<SeenPage> seen_;   // by kind
  std::vector<Mark> marks_;      // of the episode being played
  const std::int64_t capacity_;  // thousandths of a GPU
  const std::int64_t arrivals_;  // expected in an episode
  std::int64_t episodes_ = 0;    // in a round
  core::KindMask kinds_ = 0;
  std::int64_t weight_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::optional<core::ValueTable> train_value_table(const std::vector<core::NodeView>& empty_nodes,
                                                  const core::TypicalMix& mix,
                                                  const SelfPlaySettings& settings,
                                                  const KeepPlaying& keep_playing) {
  return Trainer(empty_nodes, mix, settings, keep_playing).train();
}

}  // namespace berth::learn
