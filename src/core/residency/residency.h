// Residency: which model is loaded where, and which idle one makes room.
//
// A load reserves its VRAM at once; loads run beside batches and beside each other. A model that a
// batch uses or that is loading is never evicted, nor, except for overdue work, one that was loaded
// and has not served yet. Among the rest the victim is the least value per byte, where value is the
// work predicted for it while it would be kept, at most its reload; an eviction must bring more
// than it destroys. Where the model is resident but idle neighbours take the VRAM its next batch
// needs, evicting them is all there is to do. Work inspected per decision is bounded: kGpusTried
// candidates.
//
// A load that failed is not tried on that GPU again before a pause has passed; other GPUs are tried
// at once. Only when all that would do are pausing does the queue wait, for the first to end.
//
// Another copy of a model is considered when no copy stands where work may start at all (on a GPU
// that is up, accepting and held for nobody); when the backlog outlasts two loads on the copies
// that do; and when a queue has found all of them busy for as long as a load takes and none is
// expected to be free before a load would be done. So waiting never costs much more than the load
// it saves, and nobody has to be passed over for it.
#pragma once

#include <vector>

#include "core/action.h"
#include "core/event.h"
#include "core/state/state.h"

namespace berth::core {

struct LoadPlan {
  GpuId gpu;                     // none: not now
  std::vector<ModelId> victims;  // evicted first
  bool loads = true;             // false: it is resident there and only lacked room
  Reason reason;                 // why not
  explicit operator bool() const { return static_cast<bool>(gpu); }
};

// Where to make room for the head of this queue. `forced`: the queue is overdue.
LoadPlan plan_load(const State& state, QueueId queue, bool forced);
// The same on one given GPU, which is held for the queue; also for a queue without a model.
LoadPlan plan_load_on(const State& state, QueueId queue, GpuId gpu);

// Where idle models keep out the head of a queue without a model, on as many GPUs as it asks for:
// which of them would make room.
struct RoomPlan {
  struct Eviction {
    GpuId gpu;
    ModelId model;
  };
  std::vector<Eviction> evictions;  // empty: no
  Duration lost{0};                 // work predicted for them, at most their reload each
  explicit operator bool() const { return !evictions.empty(); }
};
RoomPlan plan_room(const State& state, QueueId queue, bool forced);
// Where idle models on this GPU cut the queue's next batch short: those that go because larger
// batches save the backlog more time than loading them again would take. (Who was not asked for yet
// may be soon: nothing but the reload is a safe price where all that is won is time.)
struct LargerBatch {
  std::int64_t now = 1;     // tasks that fit as it is
  std::int64_t wanted = 1;  // tasks of the whole batch, and the VRAM that they take
  Mib vram;
};
RoomPlan plan_larger_batch(const State& state, QueueId queue, GpuId gpu, const LargerBatch& batch);

// What the load would be charged, in the unit of the tenants' counter of the queue's leader.
std::int64_t load_charge(const State& state, QueueId queue);

void begin_load(State& state, const LoadModel& load);
void evict(State& state, const EvictModel& eviction);
// Reports of agents. A model may also appear or vanish unasked. A report about another load than
// the one that the residence comes from is late or a duplicate, and changes nothing.
void finish_load(State& state, const ModelLoaded& loaded);
void note_unloaded(State& state, const ModelUnloaded& unloaded);
// The queue's load, or the room it needs, was found not worth it; it is asked again when due or
// when it has doubled. After failed loads only time or another GPU's room helps.
void decline_load(State& state, const QueuePassedOver& passed);
// Every copy has been busy for as long as a load takes: the queue asks for another, or, where one
// is expected to be free sooner than a load would be done, again when that has proved wrong.
void consider_copy(State& state, QueueId queue);
// Models of this GPU whose keep-alive has passed with no work waiting.
std::vector<ModelId> idle_too_long(const State& state, GpuId gpu);

}  // namespace berth::core
