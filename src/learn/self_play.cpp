// See self_play.h.
#include "learn/self_play.h"

#include <algorithm>
#include <array>
#include <bit>
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

// Luck of the rounds that learn, and of the last one, where the best tables meet again.
constexpr std::uint64_t kLearning = 0;
constexpr std::uint64_t kFinal = 1;
constexpr std::size_t kFinalists = 3;

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

class Trainer {
 public:
  Trainer(const std::vector<core::NodeView>& nodes, const core::TypicalMix& mix,
          const SelfPlaySettings& settings)
      : nodes_(nodes), mix_(mix), settings_(settings), seen_(kMaxKinds) {
    for (const core::NodeView& node : nodes) {
      for (std::size_t i = 0; i < node.gpus; ++i)
        capacity_ += node.left[i];
      if (node.gpus > 0) kinds_ |= core::KindMask{1} << node.kind.value;
    }
    for (const core::TypicalShape& typical : mix) {
      weight_ += typical.weight;
      if (typical.shape.gpus > 0) demand_ += typical.weight;
    }
  }

  bool possible() const { return capacity_ > 0 && demand_ > 0; }

  std::optional<core::ValueTable> train(const SelfPlayReport& report) {
    std::optional<core::ValueTable> table;
    std::vector<Candidate> best;
    for (std::uint32_t round = 0; round <= settings_.rounds; ++round) {
      fade();
      const std::int64_t score = play_round(kLearning, table);
      if (table) keep_best(best, {score, *table});
      if (report && !report({round, settings_.rounds, score})) break;
      table = make_table();
    }
    for (Candidate& candidate : best)
      candidate.score += play_round(kFinal, candidate.table);
    if (best.empty()) return std::nullopt;
    return std::max_element(best.begin(), best.end(), by_score)->table;
  }

 private:
  struct Candidate {
    std::int64_t score = 0;
    core::ValueTable table;
  };
  static bool by_score(const Candidate& a, const Candidate& b) { return a.score < b.score; }

  static void keep_best(std::vector<Candidate>& best, Candidate candidate) {
    best.push_back(std::move(candidate));
    if (best.size() > kFinalists) best.erase(std::min_element(best.begin(), best.end(), by_score));
  }

  struct Mark {
    std::uint32_t cell = 0;  // (kind, ratio, residual)
    std::uint32_t gpu = 0;   // node x kNodeGpusMax + index
  };

  // The score of the table that was played: the GPUs in use, in millionths. All tables of a stage
  // meet the same luck.
  std::int64_t play_round(std::uint64_t stage, const std::optional<core::ValueTable>& table) {
    std::int64_t used = 0;
    for (std::uint32_t episode = 0; episode < settings_.episodes; ++episode) {
      const Outcome outcome = play(Rng::keyed(settings_.seed, {stage, episode}), table);
      used += outcome.used_at_full + outcome.used_at_end;
    }
    return scale(used, core::kGpuMillionths, 2 * capacity_ * settings_.episodes);
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
    while (arrived * 100 < capacity_ * settings_.horizon_percent) {
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

  core::Shape draw(Rng& rng) const {
    auto at = static_cast<std::uint64_t>(rng.between(0, static_cast<std::int64_t>(weight_) - 1));
    std::size_t i = 0;
    while (at >= mix_[i].weight)
      at -= mix_[i++].weight;
    core::Shape shape;
    shape.gpus = mix_[i].shape.gpus;
    shape.share = mix_[i].shape.share;
    shape.cpu = Milli{mix_[i].shape.cpu};
    shape.memory = Mib{mix_[i].memory};
    shape.kinds = mix_[i].shape.kinds;
    return shape;
  }

  static void start(core::NodeView& view, const core::Shape& shape, core::GpuSet gpus) {
    view.cpu -= shape.cpu;
    view.memory -= shape.memory;
    for (; gpus != 0; gpus &= gpus - 1) {
      std::uint16_t& left = view.left[static_cast<std::size_t>(std::countr_zero(gpus))];
      left = static_cast<std::uint16_t>(left - shape.share);
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

  const std::vector<core::NodeView>& nodes_;
  const core::TypicalMix& mix_;
  SelfPlaySettings settings_;
  std::vector<SeenPage> seen_;  // by kind
  std::vector<Mark> marks_;     // of the episode being played
  std::int64_t capacity_ = 0;   // thousandths of a GPU
  core::KindMask kinds_ = 0;
  std::uint64_t weight_ = 0;
  std::uint64_t demand_ = 0;
};

}  // namespace

std::optional<core::ValueTable> train_value_table(const std::vector<core::NodeView>& empty_nodes,
                                                  const core::TypicalMix& mix,
                                                  const SelfPlaySettings& settings,
                                                  const SelfPlayReport& report) {
  Trainer trainer(empty_nodes, mix, settings);
  if (!trainer.possible()) return std::nullopt;
  return trainer.train(report);
}

}  // namespace berth::learn
