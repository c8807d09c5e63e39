// For the checks' own files: how a disagreement is put into words, and the parts of check_state.
//
// Each part derives what it checks by plain loops over the task table, leases, GPUs and specs; it
// never asks the code that keeps the indexes.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/indexed_heap.h"
#include "base/time.h"
#include "base/units.h"
#include "core/state/state.h"

namespace berth::core {

// Sentences about what disagrees.
class Findings {
 public:
  template <class... Parts>
  void say(const Parts&... parts) {
    std::string sentence;
    (sentence.append(text(parts)), ...);
    sentences_.push_back(std::move(sentence));
  }

  // Says "<what> is <found>, derived <derived>" unless they are equal.
  template <class Found, class Derived, class... What>
  void same(const Found& found, const Derived& derived, const What&... what) {
    if (found == derived) return;
    say(what..., " is ", found, ", derived ", derived);
  }
  // Says the sentence unless it holds.
  template <class... What>
  void must(bool holds, const What&... what) {
    if (!holds) say(what...);
  }

  std::vector<std::string> take() { return std::move(sentences_); }

 private:
  static std::string text(std::string_view words) { return std::string(words); }
  static std::string text(const char* words) { return words; }
  static std::string text(bool value) { return value ? "true" : "false"; }
  template <std::integral Number>
  static std::string text(Number value) {
    return std::to_string(value);
  }
  template <class Tag, class Rep>
  static std::string text(Id<Tag, Rep> id) {
    return id ? std::to_string(id.value) : "none";
  }
  static std::string text(Time time) {
    return time == Time::never() ? "never" : std::to_string(time.ns) + " ns";
  }
  static std::string text(Duration duration) { return std::to_string(duration.ns) + " ns"; }
  static std::string text(Mib amount) { return std::to_string(amount.value) + " MiB"; }
  static std::string text(Milli amount) { return std::to_string(amount.value) + " thousandths"; }
  static std::string text(const OrderKey& key) {
    return "(" + std::to_string(key.rank) + ", " + std::to_string(key.value) + ", " +
           std::to_string(key.head) + ", " + std::to_string(key.tie) + ")";
  }
  static std::string text(TaskState state) { return std::string(name_of(state)); }
  static std::string text(Bench bench) {
    constexpr std::string_view kNames[] = {"none", "hot", "shape", "cold"};
    return std::string(kNames[static_cast<std::size_t>(bench)]);
  }

  std::vector<std::string> sentences_;
};

// No child before its parent, and each entry where the positions say.
template <class Key>
void check_heap(Findings& findings, const IndexedHeap<Key>& heap, const HeapPositions& positions,
                std::string_view name) {
  const auto& entries = heap.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t parent = i == 0 ? 0 : (i - 1) / IndexedHeap<Key>::kArity;
    findings.must(!(entries[i].key < entries[parent].key), name, ": the entry of ",
                  entries[i].handle, " at ", i, " is less than its parent at ", parent);
    findings.same(positions.get(entries[i].handle), i, name, ": position of ", entries[i].handle);
  }
}

// What a flow must look like, from its pending tasks alone.
struct DerivedFlow {
  std::uint32_t live = 0;
  Head head;  // slot none: the flow is empty
  Time oldest = Time::never();
  bool startable = false;  // its tenant may start the head
  OrderKey key;            // of the head
};

// What several parts compare with, derived once.
struct Derived {
  std::vector<std::uint32_t> live;  // the slots of live tasks
  std::vector<DerivedFlow> flows;   // by flow number
};
// From the state and its live tasks. (check_flows.cpp)
std::vector<DerivedFlow> derive_flows(const State& state, const std::vector<std::uint32_t>& live);

// Counters of tenants, queues, models and the lease table. (check_counters.cpp)
void check_counters(const State& state, const Derived& derived, Findings& findings);
// The tree of tenants. (check_tenants.cpp)
void check_tenants(const State& state, const Derived& derived, Findings& findings);
// GPUs: what is used, held and resident, and the indexes by room. (check_gpus.cpp)
void check_gpus(const State& state, Findings& findings);
void check_mig(const State& state, Findings& findings);
// Lanes, flows and the heaps of flows. (check_flows.cpp)
void check_flows(const State& state, const Derived& derived, Findings& findings);
// Leader, readiness, bench, turn, patience, holds of queues. (check_queues.cpp)
void check_queues(const State& state, const Derived& derived, Findings& findings);
// Benches, cells and plan of placed work. (check_placed.cpp)
void check_placed(const State& state, const Derived& derived, Findings& findings);
// Timers. (check_timers.cpp)
void check_timers(const State& state, const Derived& derived, Findings& findings);
// Groups, dependencies, signals, ripe tasks. (check_links.cpp)
void check_links(const State& state, const Derived& derived, Findings& findings);

}  // namespace berth::core
