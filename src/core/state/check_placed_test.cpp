// check_placed finds what is wrong with placed work: a history with gangs that run, wait and have
// reservations is clean, and each of many single mutations of its state is reported.
#include <gtest/gtest.h>

#include "core/state/state.h"
#include "core/testing/core_world.h"

namespace berth::core::check_placed_test {
namespace {

// Two nodes of four GPUs with CPUs, and a GPU in MIG mode. A gang of six runs, one of four waits
// with a reservation and one of five behind it, work without a GPU waits for CPUs, two tasks want
// the MIG GPU whole.
class CheckPlaced : public testing::Test {
 protected:
  void SetUp() override {
    world_.feed(SetPolicy{{.reservations = 1}});
    for (std::uint32_t node = 0; node < 3; ++node)
      world_.feed(PutNode{NodeId{node}, {RackId{node / 2}, Milli{8000}, Mib{64'000}}});
    for (std::uint32_t i = 0; i < 8; ++i)
      world_.feed(PutGpu{GpuId{i}, {.node = NodeId{i / 4}, .vram = Mib{40'960}}});
    world_.feed(PutGpu{GpuId{8},
                       {.node = NodeId{2},
                        .kind = KindId{1},
                        .vram = Mib{40'960},
                        .mig = mig::Geometry::a100_40}});
    world_.tenant();
    world_.tenant({.guaranteed_gpus = Milli{1000}});
    world_.queue({});
    gang(6);
    gang(4);
    gang(5);
    TaskSpec cpu = task(0);
    cpu.cpu = Milli{8000};
    cpu.memory = Mib{1000};
    for (int i = 0; i < 4; ++i)
      world_.submit(cpu);
    cpu.memory = Mib{2000};
    world_.submit(cpu);
    TaskSpec instance = task(1);
    instance.profile = mig::profile_named("7g.40gb");
    instance.share = Milli{1000};
    world_.submit(instance);
    world_.submit(instance);
  }

  static TaskSpec task(std::uint16_t gpus) {
    TaskSpec spec = task_spec(Mib{gpus > 0 ? 1000 : 0}, seconds(100));
    spec.gpus = gpus;
    spec.tier = 1;
    return spec;
  }
  void gang(std::uint16_t gpus) { world_.submit(task(gpus)); }
  // The first that is blocked, with a profile or without.
  std::uint32_t blocked(bool with_profile) const {
    const PlacedWork& placed = world_.state().placed;
    for (std::uint32_t i = 0; i < placed.shapes.size(); ++i) {
      const bool has_one = world_.state().shape_table.shape(i).profile != mig::kNoProfile;
      if (placed.shapes[i].bench == PlacedBench::blocked && has_one == with_profile) return i;
    }
    ADD_FAILURE() << "no such shape is blocked";
    return 0;
  }
  // A shape of one task, held back.
  std::uint32_t lone() const {
    const StayTree& lone = world_.state().placed.lone;
    return lone.node(lone.root()).member;
  }
  State& state() { return const_cast<State&>(world_.state()); }
  void expect_found(const char* what) {
    EXPECT_FALSE(check_state(world_.state()).empty()) << what << " was not found";
  }

  CoreWorld world_;
};

TEST_F(CheckPlaced, TheHistoryIsRichAndClean) {
  const PlacedWork& placed = state().placed;
  EXPECT_EQ(check_state(state()), std::vector<std::string>{});
  EXPECT_GE(state().running.leases, 3U);
  EXPECT_FALSE(placed.ranked.empty());
  EXPECT_FALSE(placed.blocked.empty());
  EXPECT_FALSE(placed.lone.empty());
  EXPECT_FALSE(placed.mig.blocked.empty());
  EXPECT_TRUE(placed.plan.kept);
  EXPECT_FALSE(placed.plan.reservations.empty());
  EXPECT_FALSE(placed.cells_stale);
  EXPECT_TRUE(placed.dirty.empty());
}

// MUTATION(Name, statement): the statement damages the state, and the check must say so.
#define MUTATION(name, ...)              \
  TEST_F(CheckPlaced, name) {            \
    PlacedWork& placed = state().placed; \
    __VA_ARGS__;                         \
    expect_found(#__VA_ARGS__);          \
  }

MUTATION(BenchIsNone, placed.shapes[blocked(false)].bench = PlacedBench::none)
MUTATION(BenchIsOpen, placed.shapes[blocked(false)].bench = PlacedBench::open)
MUTATION(KeyAboveTheExactOne, placed.shapes[blocked(false)].key.value += 1'000'000'000)
MUTATION(RankedForgets, placed.ranked.erase(placed.tenant_positions, placed.ranked.top().handle))
MUTATION(RankedAboveItsBestFlow, {
  OrderKey key = placed.ranked.top().key;
  key.rank += 100;
  placed.ranked.put(placed.tenant_positions, placed.ranked.top().handle, key);
})
MUTATION(TenantForgetsAFlow, {
  auto& flows = placed.of_tenant[placed.ranked.top().handle];
  flows.erase(placed.flow_positions, flows.top().handle);
})
MUTATION(NeedsForget, placed.needy.clear())
MUTATION(NeedyTenantsForget, {
  auto& needy = placed.needy.begin()->second;
  needy.tenants.erase(needy.positions, needy.tenants.top().handle);
})
MUTATION(OpenForNothing, placed.open.put(placed.positions, blocked(false), OrderKey{}))
MUTATION(LoneForgets, placed.lone = {})
MUTATION(LoneTakesMore, placed.shapes[lone()].lone->amount += 1000)
MUTATION(LoneForSeveral, placed.shapes[lone()].lone.reset())
MUTATION(LoneStandsElsewhere, {
  const std::uint32_t shape = lone();
  Stay stay = *placed.shapes[shape].lone;
  placed.lone.erase(shape, stay);
  stay.run = stay.run + seconds(1);
  placed.lone.insert(shape, stay, placed.shapes[shape].key);
})
MUTATION(BlockedForgets, placed.blocked.clear())
MUTATION(BlockedProfilesForget, placed.mig.blocked.clear())
MUTATION(CellView, placed.cells[0].view.cpu += Milli{1})
MUTATION(CellViewOfAGpu, placed.cells[0].view.left[0] += 1)
MUTATION(CellNode, placed.cells[0].node = NodeId{1})
MUTATION(CellGpus, placed.cells[0].gpus.pop_back())
MUTATION(CellOf, placed.cell_of[0] = 1)
MUTATION(FirstCell, ++placed.first_cell[1])
MUTATION(CellKinds, placed.kinds.pop_back())
MUTATION(FreedCells, placed.freed.insert(99))
MUTATION(DirtyNodes, placed.dirty.push_back(NodeId{0}))
MUTATION(PackingSeesOther, {
  NodeView view = placed.cells[0].view;
  view.memory += Mib{1};
  placed.pack.put(NodeId{0}, view);
})
MUTATION(PackingForgets, placed.pack.erase(NodeId{0}))
MUTATION(TreeSeesOther, placed.tree->set_node(NodeId{0}, {0xF, Milli{8000}, Mib{64'000}}))
MUTATION(PoolCapacity, placed.plan.pools.resize(placed.cells[0].pool, 1000))
MUTATION(PoolUse, {
  const Parts parts{{placed.cells[0].pool, 1000}};
  placed.plan.pools.start(parts, Time{0} + seconds(7));
})
MUTATION(ReservationWithoutRoom, placed.plan.reservations.pop_back())
MUTATION(Guarantees, ++placed.guarantees)
MUTATION(LowTiers, --placed.low_tier_tasks)

TEST_F(CheckPlaced, AJustBlockedShapeThatFits) {
  // The node is free again, and nobody noted it.
  PlacedWork& placed = state().placed;
  placed.freed.clear();
  for (Cell& cell : placed.cells) {
    cell.view.cpu = Milli{8000};
    cell.view.memory = Mib{64'000};
  }
  bool is_told = false;
  for (const std::string& finding : check_state(state()))
    is_told = is_told || finding.find("is blocked and fits cell") != std::string::npos;
  EXPECT_TRUE(is_told);
}

#undef MUTATION

}  // namespace
}  // namespace berth::core::check_placed_test
