// What a world is configured with: policies, tenants, queues, models, nodes and GPUs from digits.
// See world.h.
#include "core/mig/profiles.h"
#include "tests/property/world.h"

namespace berth::property {
namespace {

using core::mig::Geometry;

}  // namespace

core::PolicySpec World::policy(Digits digits) const {
  core::PolicySpec spec;
  spec.order = static_cast<core::Order>(digits.pick(6));
  spec.packing = static_cast<core::Packing>(digits.pick(4));
  spec.gpu_load_threshold = digits.pick<Milli>({{850}, {1000}, {500}});
  spec.patience = digits.pick<Duration>({seconds(30), seconds(1), minutes(5), Duration{0}});
  spec.tier_patience = digits.pick<Duration>({minutes(10), seconds(5), Duration{0}});
  spec.age_step = digits.pick<Duration>({seconds(60), seconds(1), Duration{0}});
  spec.max_holds = digits.pick<std::uint32_t>({4, 1, 0});
  spec.starts_per_step = digits.pick<std::uint32_t>({64, 1, 2});
  spec.max_live_tasks = digits.pick<std::uint32_t>({1'000'000, 30});
  spec.usage_window = digits.pick<Duration>({minutes(5), seconds(3), minutes(50)});
  spec.poison_after = digits.pick<std::uint32_t>({3, 1, 2, 0});
  spec.max_infrastructure_losses = digits.pick<std::uint32_t>({10, 0, 1});
  spec.vram_usable = digits.pick<Milli>({{900}, {1000}, {600}});
  spec.reservations = digits.pick<std::uint32_t>({4, 0, 1});
  spec.backfill_visits = digits.pick<std::uint32_t>({256, 2});
  if (digits.one_in(4)) {
    spec.long_work = seconds(5);
    spec.long_share = Milli{500};
  }
  spec.protected_run = digits.pick<Duration>({Duration{0}, seconds(60), seconds(2)});
  spec.preemption = !digits.one_in(5);
  if (options_.one_start_per_step) spec.starts_per_step = 1;
  if (options_.mixes_ranks) {
    spec.preemption = true;
    spec.protected_run = digits.pick<Duration>({Duration{0}, seconds(2)});
  }
  return spec;
}

core::TenantSpec World::tenant(Digits digits, std::uint32_t number) const {
  core::TenantSpec spec;
  spec.weight = digits.pick<Milli>({{1000}, {3000}, {100}});
  if (digits.one_in(4)) spec.max_queue_size = 1 + digits.pick(8);
  if (digits.one_in(4)) {
    spec.token_bucket_size = 2 + digits.pick(10);
    spec.token_refill_rate = digits.pick(3);
  }
  if (digits.one_in(4)) spec.daily_token_limit = 5 + digits.pick(20);
  if (digits.one_in(3)) spec.guaranteed_gpus = Milli{500 + 500 * std::int64_t{digits.pick(4)}};
  if (digits.one_in(3)) spec.max_gpus = Milli{1000 + 250 * std::int64_t{digits.pick(8)}};
  if (digits.one_in(4)) spec.isolation = static_cast<core::Isolation>(1 + digits.pick(3));
  if (options_.mixes_ranks && number % 2 == 1) spec.guaranteed_gpus = Milli{2000};
  if (digits.one_in(4)) spec.borrow_gpus = Milli{500 * std::int64_t{digits.pick(4)}};
  // Below one of a lower number, so that there is never a cycle.
  if (number > 0 && digits.pick(3) > 0) spec.parent = TenantId{digits.pick(number)};
  return spec;
}

core::QueueSpec World::queue(Digits digits, std::uint32_t number) const {
  core::QueueSpec spec;
  const auto model = queue_model_.find(number);
  if (model != queue_model_.end()) spec.model = model->second;
  spec.max_batch_size = digits.pick<std::uint32_t>({1, 4, 2, 8});
  spec.max_batch_wait = digits.pick<Duration>({Duration{0}, milliseconds(120), seconds(4)});
  spec.adaptive_wait = digits.one_in(3);
  spec.refuse_late = digits.one_in(4);
  if (digits.one_in(4)) spec.max_gpus = Milli{850 + 300 * std::int64_t{digits.pick(8)}};
  if (digits.one_in(4)) spec.min_gpus = Milli{500 + 500 * std::int64_t{digits.pick(3)}};
  if (digits.one_in(3)) {
    spec.batch_base = milliseconds(10 * digits.pick(20));
    spec.batch_per_task = milliseconds(10 * digits.pick(20));
  }
  if (digits.one_in(3)) spec.work_class = WorkClassId{digits.pick<std::uint8_t>({0, 7})};
  spec.batch_commands = digits.one_in(3);
  if (digits.one_in(6)) spec.max_queue_size = 1 + digits.pick(12);
  if (digits.one_in(6)) spec.max_task_gpus = 1 + digits.pick(2);
  return spec;
}

core::ModelSpec World::model(Digits digits) const {
  core::ModelSpec spec;
  spec.weights = Mib{kGib * (1 + std::int64_t{digits.pick(10)})};
  spec.vram_per_task = Mib{512 * std::int64_t{digits.pick(8)}};
  spec.load_time = digits.pick<Duration>({seconds(5), milliseconds(10), minutes(2), Duration{0}});
  spec.keep_alive =
      digits.pick<Duration>({minutes(5), seconds(10), Duration{0}, Duration::forever()});
  return spec;
}

core::NodeSpec World::node(Digits digits) const {
  core::NodeSpec spec;
  spec.cpu = Milli{1000 * digits.pick<std::int64_t>({8, 4, 16, 0})};
  spec.memory = Mib{kGib * digits.pick<std::int64_t>({32, 8, 64, 0})};
  spec.rack = RackId{digits.pick(2)};
  return spec;
}

core::GpuSpec World::gpu(Digits digits) const {
  core::GpuSpec spec;
  if (options_.changes_mig) {
    spec.mig = digits.pick<Geometry>({Geometry::a100_40, Geometry::none, Geometry::a100_80});
  }
  spec.vram = Mib{kGib * digits.pick<std::int64_t>({40, 16, 24, 12})};
  spec.speed = digits.pick<Milli>({{1000}, {2000}, {500}});
  spec.kind = KindId{digits.pick(2)};
  spec.node = NodeId{digits.pick(2)};
  if (digits.one_in(2)) spec.island = IslandId{2 * spec.node.value + digits.pick(2)};
  if (!options_.changes_mig && digits.one_in(5)) {
    spec.mig = digits.pick<Geometry>({Geometry::a100_40, Geometry::a100_80});
  }
  if (digits.one_in(3)) spec.class_speeds.push_back({WorkClassId{7}, Milli{3000}});
  return spec;
}

}  // namespace berth::property
