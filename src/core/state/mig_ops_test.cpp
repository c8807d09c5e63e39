// GPUs in MIG mode in the engine: what is kept of instances, what is checked of it, and changes of
// mode. Rules that can be told as a story stand in tests/scenarios/placed/mig_*.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine.h"
#include "core/mig/profiles.h"
#include "core/state/state.h"

namespace berth::core::mig_ops_test {
namespace {

using mig::Geometry;

class MigOps : public testing::Test {
 protected:
  void SetUp() override {
    feed(SetPolicy{});
    feed(PutNode{NodeId{0}, {.cpu = Milli{8000}, .memory = Mib{64'000}}});
    put_gpu(0, Geometry::a100_40);
    put_gpu(1, Geometry::a100_80);
    put_gpu(2, Geometry::none);
    feed(PutTenant{TenantId{0}, {}});
    feed(PutQueue{QueueId{0}, {}});
  }

  void put_gpu(std::uint32_t gpu, Geometry geometry) {
    GpuSpec spec;
    spec.vram = Mib{geometry == Geometry::a100_40 ? 40'960 : 81'920};
    spec.kind = KindId{gpu};
    spec.mig = geometry;
    feed(PutGpu{GpuId{gpu}, spec});
  }
  void feed(EventBody body) {
    last_.clear();
    engine_.step({Time{0}, std::move(body)}, last_);
    ASSERT_EQ(engine_.check_invariants(), std::vector<std::string>{});
  }
  TaskNo submit(const char* profile, std::int64_t vram = 0, std::int64_t cpu = 0) {
    TaskSpec spec;
    spec.tenant = TenantId{0};
    spec.queue = QueueId{0};
    spec.profile = *profile == 0 ? mig::kNoProfile : mig::profile_named(profile);
    spec.vram = Mib{vram};
    spec.cpu = Milli{cpu};
    spec.expected_run = seconds(10);
    const TaskNo no = engine_.next_task_no();
    feed(Submit{no, spec});
    return no;
  }
  // What the last step started; none: nothing.
  const BatchStarted* started() const {
    for (const Action& action : last_) {
      if (const auto* batch = std::get_if<BatchStarted>(&action)) return batch;
    }
    return nullptr;
  }
  const Gpu& gpu(std::uint32_t id) const { return engine_.state().gpus[id]; }
  State& state() { return const_cast<State&>(engine_.state()); }

  Engine engine_;
  Actions last_;
};

TEST_F(MigOps, TheStateOfAGpuIsTheByteOfItsSlices) {
  submit("3g.20gb");
  ASSERT_NE(started(), nullptr);
  const BatchStarted batch = *started();
  EXPECT_EQ(batch.gpus, std::vector<GpuId>{GpuId{0}});
  EXPECT_EQ(batch.instance,
            (MigInstance{Geometry::a100_40, mig::profile_named("3g.20gb"), batch.instance->start}));
  EXPECT_EQ(batch.vram, Mib{19'968});
  EXPECT_EQ(batch.share, Milli{428});
  EXPECT_EQ(gpu(0).slices.used, 0b1111 << batch.instance->start);
  EXPECT_EQ(gpu(0).leased, Mib{0});
  feed(LeaseEnded{batch.lease, {}});
  EXPECT_EQ(gpu(0).slices.used, 0);
  EXPECT_EQ(gpu(0).cut, Geometry::none);
}

TEST_F(MigOps, OneNameMeansOtherSlicesElsewhere) {
  submit("1g.10gb", 9800);  // a little more than the plain slice of the 80 GB GPU has
  ASSERT_NE(started(), nullptr);
  EXPECT_EQ(started()->gpus, std::vector<GpuId>{GpuId{0}});
  EXPECT_EQ(gpu(0).slices.used, 0b1100'0000);
  feed(DrainGpu{GpuId{0}, true});
  submit("1g.10gb", 9800);
  EXPECT_EQ(started(), nullptr);
  submit("1g.10gb");
  ASSERT_NE(started(), nullptr);
  EXPECT_EQ(started()->gpus, std::vector<GpuId>{GpuId{1}});
  EXPECT_EQ(gpu(1).slices.used, 0b0100'0000);
}

TEST_F(MigOps, AChangeOfModeWaitsForWhatRuns) {
  submit("1g.5gb");
  const LeaseId instance = started()->lease;
  put_gpu(0, Geometry::none);
  submit("");
  EXPECT_EQ(started()->gpus, std::vector<GpuId>{GpuId{2}});
  const LeaseId whole = started()->lease;
  submit("");
  EXPECT_EQ(started(), nullptr) << "the GPU that left MIG mode still has an instance";
  feed(LeaseEnded{instance, {}});
  ASSERT_NE(started(), nullptr);
  EXPECT_EQ(started()->gpus, std::vector<GpuId>{GpuId{0}});
  put_gpu(2, Geometry::a100_80);
  submit("7g.80gb");
  submit("7g.80gb");
  EXPECT_EQ(started(), nullptr) << "the GPU that goes into MIG mode still runs a batch";
  feed(LeaseEnded{whole, {}});
  ASSERT_NE(started(), nullptr);
  EXPECT_EQ(started()->gpus, std::vector<GpuId>{GpuId{2}});
}

TEST_F(MigOps, IdleModelsLeaveAGpuThatGoesIntoMigMode) {
  feed(PutModel{ModelId{0}, {.weights = Mib{4000}, .keep_alive = Duration::forever()}});
  feed(ModelLoaded{GpuId{2}, ModelId{0}, true, seconds(1)});
  ASSERT_EQ(gpu(2).residences.size(), 1U);
  put_gpu(2, Geometry::a100_80);
  EXPECT_TRUE(gpu(2).residences.empty());
  feed(ModelLoaded{GpuId{1}, ModelId{0}, true, seconds(1)});
  EXPECT_TRUE(gpu(1).residences.empty()) << "nothing is taken over there";
}

TEST_F(MigOps, ALostGpuGivesItsSlicesBackOnce) {
  submit("4g.20gb");
  const LeaseId lease = started()->lease;
  feed(GpuLost{GpuId{0}});
  EXPECT_EQ(gpu(0).slices.used, 0);
  feed(LeaseEnded{lease, {}});
  feed(GpuReturned{GpuId{0}});
  ASSERT_NE(started(), nullptr);
  EXPECT_EQ(gpu(0).slices.used, 0b1111);
  feed(LeaseEnded{lease, {}});
  EXPECT_EQ(gpu(0).slices.used, 0b1111);
}

TEST_F(MigOps, FreedCpusWakeAnInstance) {
  submit("1g.5gb", 0, 8000);
  const LeaseId lease = started()->lease;
  submit("1g.5gb", 0, 1000);
  EXPECT_EQ(started(), nullptr);
  feed(PutNode{NodeId{0}, {.cpu = Milli{9000}, .memory = Mib{64'000}}});
  ASSERT_NE(started(), nullptr);
  submit("1g.5gb", 0, 4000);
  EXPECT_EQ(started(), nullptr);
  feed(LeaseEnded{lease, {}});
  EXPECT_NE(started(), nullptr);
}

// --- the check notices ---

#define MIG_MUTATION(name, statement)                                  \
  TEST_F(MigOps, CheckNotices##name) {                                 \
    submit("3g.20gb");                                                 \
    submit("4g.20gb");                                                 \
    submit("7g.40gb");                                                 \
    State& s = state();                                                \
    statement;                                                         \
    EXPECT_NE(engine_.check_invariants(), std::vector<std::string>{}); \
  }

MIG_MUTATION(Slices, s.gpus[0].slices.used = 1)
MIG_MUTATION(Media, s.gpus[0].slices.media = true)
MIG_MUTATION(Cut, s.gpus[0].cut = Geometry::a100_80)
MIG_MUTATION(Entry, s.gpus[1].mig_entry.reset())
MIG_MUTATION(Index, s.placed.mig.gpus.begin()->second.erase(GpuId{0}, s.gpus[0].slices))
MIG_MUTATION(Overlap, s.leases[0].instance = s.leases[1].instance)
MIG_MUTATION(Start, s.leases[0].instance->start = 3)
MIG_MUTATION(Blocked, s.leases[0].instance.reset())
MIG_MUTATION(Leased, s.gpus[0].leased += Mib{1})
MIG_MUTATION(Usable, s.usable.insert(usable_key(s, GpuId{0})))

}  // namespace
}  // namespace berth::core::mig_ops_test
