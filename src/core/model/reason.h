// Reasons: why not now, or why never. A closed list; each carries the numbers that made it true.
//
// The code that says no fills a Reason; explain, refusals and logs print it. `need` and `have` are
// in the unit named in the table; `subject` is the id of the thing that binds (which noun it names
// follows from the code); `at` is the instant when asking again makes sense, if one is known.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace berth::core {

// name, never (true: waiting cannot help), unit of need/have, noun of subject, sentence
#define BERTH_REASONS(X)                                                                          \
  X(none, false, "", "", "nothing binds")                                                         \
  /* admission */                                                                                 \
  X(unknown_tenant, true, "", "tenant", "the tenant does not exist")                              \
  X(unknown_queue, true, "", "queue", "the queue does not exist")                                 \
  X(unknown_task, true, "", "task", "no live task has this number")                               \
  X(already_started, true, "", "task", "the task has started")                                    \
  X(bad_number, true, "", "task", "the task number is not the next one")                          \
  X(bad_spec, true, "", "", "a field of the task is out of range")                                \
  X(queue_draining, false, "", "queue", "the queue is draining and takes no new work")            \
  X(vram_over_any_gpu, true, "MiB", "gpu", "larger than the usable VRAM of any GPU")              \
  X(gpus_over_cluster, true, "GPUs", "", "more GPUs than the cluster has")                        \
  X(gpus_over_max, true, "milli-GPUs", "tenant",                                                  \
    "more GPUs than the tenant or queue may ever use")                                            \
  X(gang_with_model, true, "GPUs", "queue", "a queue with a model runs on one GPU per batch")     \
  X(shape_with_model, true, "", "queue",                                                          \
    "a queue with a model takes no CPUs, memory, GPU kinds, levels or MIG profiles")              \
  X(gpu_kind_absent, true, "", "", "no GPU is of a kind that the task allows")                    \
  /* have: the geometries there are, a bit each */                                                \
  X(mig_profile_absent, true, "", "mig_profile", "no GPU is cut so that it has the MIG profile")  \
  X(vram_over_profile, true, "MiB", "mig_profile", "more VRAM than the MIG profile has")          \
  X(isolation_forbids_mig, true, "", "tenant",                                                    \
    "the tenant's isolation is gpu; isolation = slice would allow MIG profiles")                  \
  X(gpus_over_node, true, "GPUs", "", "more GPUs than any node has of that kind and size")        \
  X(gpus_over_island, true, "GPUs", "", "more GPUs than any NVLink island has")                   \
  X(gpus_over_rack, true, "GPUs", "", "more GPUs than any rack has")                              \
  X(groups_over_cluster, true, "groups", "", "more such groups than the cluster can hold")        \
  X(cpu_over_node, true, "milli-CPUs", "", "more CPUs than any such node has")                    \
  X(memory_over_node, true, "MiB", "", "more memory than any such node has")                      \
  X(shape_over_node, true, "", "", "no node has enough of everything it asks for")                \
  X(dependency_unknown, true, "", "task", "depends on a task that is not known")                  \
  X(dependency_failed, true, "", "task", "depends on a task that did not complete")               \
  X(dependency_cycle, true, "", "task", "the dependencies form a cycle")                          \
  X(tenant_queue_full, false, "tasks", "tenant", "the tenant's max_queue_size is reached")        \
  X(cluster_queue_full, false, "tasks", "tenant", "the cluster's limit of live tasks is reached") \
  X(tokens_short, false, "tokens", "tenant", "the token bucket is short")                         \
  X(tokens_over_bucket, true, "tokens", "tenant", "costs more than the bucket can ever hold")     \
  X(daily_tokens_spent, false, "tokens", "tenant", "the daily token limit is reached")            \
  X(would_start_late, false, "ns", "queue", "would start later than it tolerates")                \
  /* waiting */                                                                                   \
  X(waits_for_task, false, "", "task", "waits for another task")                                  \
  X(waits_for_signal, false, "", "signal", "waits for a signal")                                  \
  X(waits_for_time, false, "ns", "", "not eligible before an instant")                            \
  X(task_held, false, "", "task", "held until released")                                          \
  X(poison_held, false, "failures", "task", "held: it failed in the same way again and again")    \
  /* pending */                                                                                   \
  X(queue_paused, false, "", "queue", "the queue is paused")                                      \
  X(tenant_paused, false, "", "tenant", "the tenant is paused")                                   \
  X(batch_filling, false, "tasks", "queue", "the batch is still filling")                         \
  X(queue_at_max, false, "milli-GPUs", "queue", "the queue uses all the GPUs it may")             \
  X(tenant_at_max, false, "milli-GPUs", "tenant", "the tenant uses all the GPUs it may")          \
  X(behind_in_flow, false, "tasks", "task", "others of the same flow come first")                 \
  X(behind_in_order, false, "tasks", "task", "others come first in the order")                    \
  X(no_gpu_up, false, "GPUs", "", "no GPU is up and accepting work")                              \
  X(vram_short, false, "MiB", "gpu", "no GPU has enough free VRAM")                               \
  X(compute_short, false, "milli-GPUs", "gpu", "no GPU has enough free compute")                  \
  X(gpus_short, false, "GPUs", "", "not enough free GPUs at once")                                \
  X(node_gpus_short, false, "GPUs", "", "no node has enough free GPUs at once")                   \
  X(island_gpus_short, false, "GPUs", "", "no island has enough free GPUs at once")               \
  X(rack_gpus_short, false, "GPUs", "", "no rack has enough free GPUs at once")                   \
  X(groups_short, false, "groups", "", "not all groups of the gang find room at once")            \
  X(mig_start_short, false, "GPUs", "mig_profile",                                                \
    "of the GPUs that have the MIG profile none has a free start")                                \
  X(behind_reservation, false, "", "task", "would delay work that has a reservation")             \
  X(cpu_short, false, "milli-CPUs", "", "no node with enough free GPUs has enough free CPUs")     \
  X(memory_short, false, "MiB", "", "no node with enough free GPUs has enough free memory")       \
  X(node_short, false, "", "", "no node has enough of everything at once")                        \
  X(preempting, false, "GPUs", "task", "its GPUs are its own; the work on them is being stopped") \
  X(model_loading, false, "", "gpu", "the model is being loaded")                                 \
  X(model_busy, false, "MiB", "gpu", "every GPU that holds the model is in use")                  \
  X(model_not_loaded, false, "MiB", "gpu", "no GPU has room to load the model")                   \
  X(models_in_the_way, false, "ns", "gpu",                                                        \
    "idle models for which work is predicted have the VRAM")                                      \
  X(load_not_worth, false, "ns", "gpu", "loading the model now would cost more than it brings")   \
  X(load_failed, false, "loads", "gpu", "the model failed to load; it is tried again later")      \
  X(gpu_held, false, "", "gpu", "the free GPUs are held for overdue work")                        \
  /* ends */                                                                                      \
  X(by_request, true, "", "task", "cancelled by request")                                         \
  X(waited_too_long, true, "ns", "task", "waited past its tolerated wait")                        \
  X(attempts_spent, true, "attempts", "task", "failed and has no attempt left")                   \
  X(not_retried, true, "", "task", "failed in a way its retry rule does not cover")               \
  X(infrastructure_lost, true, "losses", "gpu", "lost its GPU too often")                         \
  X(gpu_lost, false, "", "gpu", "the GPU was lost")                                               \
  X(preempted, false, "", "task", "stopped for work of a higher rank; it starts again")           \
  /* snapshots hold the place of a reason in this list: new ones come here */                     \
  X(cancelling, false, "", "task", "is being cancelled; it ends when its processes have ended")   \
  X(deadline_passed, true, "", "task", "its deadline has passed")                                 \
  X(not_started, false, "", "", "was promised to an agent that never began it")                   \
  X(attempt_stopping, false, "", "gpu", "its last attempt is still being stopped")                \
  X(queue_full, false, "tasks", "queue", "the queue's max_queue_size is reached")                 \
  X(gpus_over_task_max, true, "GPUs", "queue", "more GPUs than a task of its queue may ask for")  \
  X(gpu_reserved, false, "", "gpu", "the free GPUs are reserved for work that comes first")       \
  X(group_at_limit, false, "tasks", "", "its array has as many tasks at once as it may")          \
  X(long_work_short, false, "milli-GPUs", "",                                                     \
    "too much of the GPUs that long work may have together (policy.long_share) is in use")

enum class ReasonCode : std::uint8_t {
#define X(name, never, unit, subject, sentence) name,
  BERTH_REASONS(X)
#undef X
};

struct ReasonInfo {
  std::string_view name;
  bool never;
  std::string_view unit;
  std::string_view subject;
  std::string_view sentence;
};

inline constexpr std::array kReasons = {
#define X(name, never, unit, subject, sentence) ReasonInfo{#name, never, unit, subject, sentence},
    BERTH_REASONS(X)
#undef X
};

struct Reason {
  static constexpr std::uint64_t kNoSubject = UINT64_MAX;

  ReasonCode code = ReasonCode::none;
  std::int64_t need = 0;
  std::int64_t have = 0;
  std::uint64_t subject = kNoSubject;
  Time at = Time::never();

  bool operator==(const Reason&) const = default;
  explicit operator bool() const { return code != ReasonCode::none; }
};

constexpr const ReasonInfo& info_of(ReasonCode code) {
  return kReasons[static_cast<std::size_t>(code)];
}

}  // namespace berth::core
