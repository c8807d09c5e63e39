// A reservation is a promise: once the first task in the order has one, nothing that is backfilled
// moves it, and the task starts by then. With exact run times, on GPUs as whole nodes and racks
// count them.
//
// Why: what is backfilled must fit beside every reservation for as long as it runs, and the pools
// count the GPUs of each node, rack and kind exactly. CPUs and memory are not reserved.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"
#include "tests/property/closed_world.h"

namespace berth::property {
namespace {

constexpr std::uint32_t kNodeGpus = 4;

class PromisedWorld {
 public:
  explicit PromisedWorld(const Case& input) : input_(input) {
    world_.on_step = [this](const Step& step) { read(step); };
  }

  void run() {
    set_up();
    for (const Command& command : input_.commands) {
      Digits digits(command.a);
      world_.submit(task(digits));
      world_.wait_until(world_.now() + seconds(command.gap % 60));
    }
    world_.wait_until(world_.now() + seconds(100'000));
    if (!pending_.empty()) fail(world_.steps(), "work was left over");
  }

  std::size_t backfilled() const { return backfilled_; }

 private:
  void set_up() {
    Digits digits(input_.setup[0]);
    core::PolicySpec policy;
    policy.order = core::Order::fifo;
    policy.reservations = 1 + digits.pick(3);
    if (digits.one_in(2)) policy.packing = core::Packing::frag;
    nodes_ = 1 + digits.pick(5);
    world_.feed(core::SetPolicy{policy});
    world_.feed(core::PutTenant{TenantId{0}, {}});
    world_.feed(core::PutQueue{QueueId{0}, {}});
    for (std::uint32_t i = 0; i < nodes_; ++i)
      world_.feed(core::PutNode{NodeId{i}, {RackId{i / 2}, Milli{64'000}, Mib{100'000}}});
    for (std::uint32_t i = 0; i < nodes_ * kNodeGpus; ++i) {
      core::GpuSpec gpu;
      gpu.vram = Mib{20'000};
      gpu.node = NodeId{i / kNodeGpus};
      gpu.island = IslandId{i / 2};
      world_.feed(core::PutGpu{GpuId{i}, gpu});
    }
  }

  core::TaskSpec task(Digits& digits) const {
    core::TaskSpec spec;
    spec.tenant = TenantId{0};
    spec.queue = QueueId{0};
    spec.expected_run = seconds(1 + digits.pick(200));
    spec.within = digits.pick<core::Level>(
        {core::Level::cluster, core::Level::node, core::Level::rack, core::Level::island});
    spec.required = spec.within != core::Level::cluster && spec.within != core::Level::island;
    const std::uint32_t most = !spec.required ? nodes_ * kNodeGpus
                               : spec.within == core::Level::node
                                   ? kNodeGpus
                                   : std::min(nodes_, 2U) * kNodeGpus;
    spec.gpus = static_cast<std::uint16_t>(1 + digits.pick(most));
    spec.cpu = Milli{1};  // placed, even where it is one GPU
    return spec;
  }

  void read(const Step& step) {
    for (const core::Action& action : step.actions) {
      if (const auto* accepted = std::get_if<core::TaskAccepted>(&action)) {
        pending_.insert(accepted->task);
      } else if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
        const TaskNo started = batch->tasks.front().task;
        if (started != *pending_.begin()) ++backfilled_;
        pending_.erase(started);
      }
    }
    if (!pending_.empty()) look_at(*pending_.begin());
  }

  // What the first one was promised, and whether that holds.
  void look_at(TaskNo first) {
    world_.engine().explain(first);  // reservations are made when someone asks
    const auto& reservations = world_.engine().state().placed.plan.reservations;
    const auto own =
        std::find_if(reservations.begin(), reservations.end(),
                     [&](const core::Reservation& r) { return r.handle == first.value; });
    const auto known = promises_.find(first);
    if (known != promises_.end() && known->second < world_.now()) {
      fail(world_.steps(), "task " + std::to_string(first.value) + " waits longer than promised");
    }
    if (own == reservations.end()) return;
    if (known != promises_.end() && known->second < own->start) {
      fail(world_.steps(), "the promise of task " + std::to_string(first.value) + " moved from " +
                               std::to_string(known->second.ns) + " to " +
                               std::to_string(own->start.ns));
    }
    promises_[first] = own->start;
  }

  const Case& input_;
  ClosedWorld world_;
  std::uint32_t nodes_ = 1;
  std::set<TaskNo> pending_;
  std::map<TaskNo, Time> promises_;
  std::size_t backfilled_ = 0;
};

TEST(Reservations, NothingBackfilledDelaysTheFirst) {
  std::size_t backfilled = 0;
  for_cases({.cases = 150, .commands = 60}, [&](const Case& input) {
    PromisedWorld world(input);
    world.run();
    backfilled += world.backfilled();
  });
  std::printf("%zu tasks were backfilled\n", backfilled);
  EXPECT_GT(backfilled, 100u);
}

}  // namespace
}  // namespace berth::property
