// What agents say of their hardware: nodes, racks, islands; what changes, what leaves, what is
// refused; and where gangs and work without a GPU are sent.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "service/testing/desk.h"

namespace berth::service::hello_test {
namespace {

using core::TaskState;
using testing::Desk;
using testing::new_task;
using Kind = SubmitOutcome::Kind;

void add_node(v1::Hello& hello, const std::string& name, const std::string& rack = "",
              std::int64_t cpu_milli = 8000) {
  v1::Node& node = *hello.add_nodes();
  node.set_name(name);
  node.set_rack(rack);
  node.set_cpu_milli(cpu_milli);
  node.set_memory_mb(64'000);
  node.set_address("10.0.0." + std::to_string(hello.nodes_size()));
}

v1::Gpu& add_gpu(v1::Hello& hello, const std::string& node, const std::string& island = "") {
  v1::Gpu& gpu = *hello.add_gpus();
  gpu.set_node(node);
  gpu.set_uuid("GPU-" + std::to_string(hello.gpus_size() - 1));
  gpu.set_name(node + "/" + std::to_string(hello.gpus_size() - 1));
  gpu.set_kind("A100");
  gpu.set_vram_mb(40'000);
  gpu.set_island(island);
  return gpu;
}

void add_speed(v1::Gpu& gpu, const std::string& work_class, std::uint32_t speed_milli) {
  v1::ClassSpeed& speed = *gpu.add_speed_by_class();
  speed.set_work_class(work_class);
  speed.set_speed_milli(speed_milli);
}

// Two nodes of two GPUs, each pair an island.
v1::Hello two_nodes() {
  v1::Hello hello;
  hello.set_node("local");
  add_node(hello, "n0", "east");
  add_node(hello, "n1", "west", 16'000);
  for (const char* node : {"n0", "n0", "n1", "n1"})
    add_gpu(hello, node, node).set_socket(1);
  return hello;
}

class Hellos : public ::testing::Test {
 public:
  Hellos() {
    desk_.control(DefineQueue{"llm", "", {}});
    hello(two_nodes());
  }
  ~Hellos() override {
    // Whatever a test did: the journal leads to the same state as the live run, and a snapshot too.
    EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{});
    const std::vector<std::byte> bytes = desk_.snapshot();
    Replayer restored(minutes(24 * 60));
    const Status status = restored.restore(bytes);
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(restored.snapshot(), bytes);
  }

 protected:
  void hello(const v1::Hello& said) {
    desk_.agent.welcome.Clear();
    desk_.agent.hello(said);
    desk_.turn();
  }
  const core::State& state() const { return desk_.sequencer.engine().state(); }
  const Names& names() const { return desk_.sequencer.names(); }

  Desk desk_;
};

TEST_F(Hellos, NodesRacksAndLinksReachTheCore) {
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  ASSERT_EQ(state().nodes.size(), 2U);
  EXPECT_EQ(state().nodes[0].spec, (core::NodeSpec{RackId{0}, Milli{8000}, Mib{64'000}}));
  EXPECT_EQ(state().nodes[1].spec, (core::NodeSpec{RackId{1}, Milli{16'000}, Mib{64'000}}));
  EXPECT_EQ(names().rack("west"), RackId{1});
  ASSERT_EQ(state().gpus.size(), 4U);
  EXPECT_EQ(state().gpus[1].spec.node, NodeId{0});
  EXPECT_EQ(state().gpus[1].spec.island, state().gpus[0].spec.island);
  EXPECT_EQ(state().gpus[3].spec.node, NodeId{1});
  EXPECT_EQ(state().gpus[3].spec.socket, 1);
  EXPECT_NE(state().gpus[3].spec.island, state().gpus[0].spec.island);
}

TEST_F(Hellos, SpeedsByClassReachTheCoreAndLeasesNameTheClass) {
  desk_.control(DefineQueue{"llm", "", {}, "training"});
  v1::Hello said = two_nodes();
  add_speed(*said.mutable_gpus(1), "decode", 1400);
  add_speed(*said.mutable_gpus(1), "training", 4000);
  hello(said);
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  EXPECT_EQ(names().work_class("training"), WorkClassId{0});
  EXPECT_EQ(names().work_class("decode"), WorkClassId{1});
  using Speeds = std::vector<core::ClassSpeed>;
  EXPECT_EQ(state().gpus[1].spec.class_speeds,
            (Speeds{{WorkClassId{0}, Milli{4000}}, {WorkClassId{1}, Milli{1400}}}));
  EXPECT_EQ(state().gpus[0].spec.class_speeds, Speeds{});
  const std::uint64_t events = desk_.sequencer.next_seq();
  hello(said);
  EXPECT_EQ(desk_.sequencer.next_seq(), events) << "the same again is no event";

  desk_.submit(new_task("one"));
  ASSERT_EQ(desk_.agent.leases.size(), 1U);
  EXPECT_EQ(desk_.agent.leases[0].work_class(), "training");
  desk_.control(DefineQueue{"llm", "", {}});
  desk_.submit(new_task("two"));
  EXPECT_EQ(desk_.agent.leases.at(1).work_class(), "");
}

// What nothing names any more leaves its number to what is new.
TEST_F(Hellos, OfManyClassesOverTimeOnlyThoseCountThatAreNamed) {
  for (int i = 0; i < 40; ++i) {
    desk_.control(DefineQueue{"llm", "", {}, "class-" + std::to_string(i)});
    const WorkClassId its = names().queues()[0].spec.work_class;
    EXPECT_EQ(names().work_classes().at(its.value), "class-" + std::to_string(i));
  }
  EXPECT_FALSE(names().work_class("class-20"));
  v1::Hello said = two_nodes();
  for (int i = 0; i < 15; ++i)
    add_speed(*said.mutable_gpus(0), "speed-" + std::to_string(i), 1000);
  hello(said);
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  EXPECT_EQ(state().gpus[0].spec.class_speeds.size(), 15U);
  EXPECT_EQ(names().named_work_classes(), 0xffffU);
  const ControlOutcome outcome = desk_.control(DefineQueue{"other", "", {}, "more"});
  EXPECT_EQ(outcome.kind, ControlOutcome::Kind::too_many_classes);
  EXPECT_EQ(outcome.flaw.substr(0, 84),
            "queues and GPUs name 16 classes of work already, and no more are told apart; use one");
  EXPECT_FALSE(names().queue("other"));
}

TEST_F(Hellos, TheSameHelloAgainIsNoEvent) {
  const std::uint64_t events = desk_.sequencer.next_seq();
  hello(two_nodes());
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  EXPECT_EQ(desk_.sequencer.next_seq(), events);
}

TEST_F(Hellos, WhatChangesIsPutAgain) {
  v1::Hello next = two_nodes();
  next.mutable_nodes(0)->set_cpu_milli(4000);
  next.mutable_nodes(1)->set_rack("east");
  next.mutable_nodes(1)->set_address("elsewhere");
  next.mutable_gpus(0)->set_island("");
  next.mutable_gpus(1)->set_island("");
  next.mutable_gpus(3)->set_kind("H100");
  next.mutable_gpus(3)->set_island("");
  hello(next);
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  EXPECT_EQ(state().nodes[0].spec.cpu, Milli{4000});
  EXPECT_EQ(state().nodes[1].spec.rack, RackId{0});
  EXPECT_EQ(names().nodes()[1].address, "elsewhere");
  EXPECT_FALSE(state().gpus[0].spec.island);
  EXPECT_EQ(state().gpus[3].spec.kind, KindId{1});
  EXPECT_EQ(names().gpus()[3].kind, "H100");
}

TEST_F(Hellos, AGpuThatMovesToAnotherNodeIsThere) {
  v1::Hello next = two_nodes();
  for (int gpu : {0, 1})
    next.mutable_gpus(gpu)->set_node("n1");
  hello(next);
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  EXPECT_EQ(state().gpus[0].spec.node, NodeId{1});
  EXPECT_EQ(names().gpus()[0].node, "n1");
}

TEST_F(Hellos, ANodeThatIsNoLongerNamedHasNothingToGive) {
  v1::Hello next;
  next.set_node("local");
  add_node(next, "n0", "east");
  add_gpu(next, "n0", "n0").set_socket(1);
  add_gpu(next, "n0", "n0").set_socket(1);
  hello(next);
  EXPECT_EQ(state().nodes[1].spec.cpu, Milli{0});
  EXPECT_EQ(state().nodes[1].spec.memory, Mib{0});
  EXPECT_TRUE(state().gpus[1].up);
  EXPECT_FALSE(state().gpus[2].up);
  EXPECT_FALSE(state().gpus[3].up);
  hello(two_nodes());
  EXPECT_EQ(state().nodes[1].spec.cpu, Milli{16'000});
  EXPECT_TRUE(state().gpus[2].up);
}

TEST_F(Hellos, AnAgentThatSaysNothingOfItsNodeHasOneWithoutCpus) {
  v1::Hello old;
  old.set_node("other");
  add_gpu(old, "").set_uuid("GPU-x");
  hello(old);
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  ASSERT_EQ(state().nodes.size(), 3U);
  EXPECT_EQ(state().nodes[2].spec.cpu, Milli{0});
  EXPECT_EQ(names().nodes()[2].agent, "other");
  EXPECT_TRUE(state().gpus[0].up);  // another agent's
}

// ---- Refusals -----------------------------------------------------------------------------------

class Refusals : public Hellos {
 protected:
  std::string refusal(const v1::Hello& said) {
    const std::uint64_t events = desk_.sequencer.next_seq();
    hello(said);
    EXPECT_EQ(desk_.sequencer.next_seq(), events);
    return desk_.agent.welcome.refused();
  }
};

TEST_F(Refusals, OfNodes) {
  v1::Hello said = two_nodes();
  said.mutable_nodes(1)->set_name("n0");
  EXPECT_EQ(refusal(said), "the agent names node \"n0\" twice");
  said.mutable_nodes(1)->set_name("");
  EXPECT_EQ(refusal(said), "the agent speaks for a node without a name");
  said = two_nodes();
  said.mutable_nodes(1)->set_cpu_milli(-1);
  EXPECT_EQ(refusal(said),
            "the agent names node \"n1\" with -1/1000 CPUs and 64000 MiB of memory; expected CPUs "
            "in range");
  said = two_nodes();
  said.set_node("thief");
  EXPECT_EQ(refusal(said),
            "the agent of \"local\" already speaks for node \"n0\"; give the node another name, or "
            "stop that agent");
}

TEST_F(Refusals, OfGpus) {
  v1::Hello said = two_nodes();
  said.mutable_gpus(2)->set_uuid("GPU-0");
  EXPECT_EQ(refusal(said), "the agent names GPU \"GPU-0\" twice");
  said = two_nodes();
  said.mutable_gpus(2)->set_node("n7");
  EXPECT_EQ(refusal(said),
            "the agent names GPU \"GPU-2\" on node \"n7\", for which it does not speak");
  said = two_nodes();
  said.mutable_gpus(2)->set_socket(256);
  EXPECT_EQ(refusal(said),
            "the agent names GPU \"GPU-2\" on socket 256 and PCIe switch 0; they are numbered from "
            "0 to 255 inside a node");
}

TEST_F(Refusals, OfSpeedsByClass) {
  v1::Hello said = two_nodes();
  add_speed(*said.mutable_gpus(0), "decode", 0);
  const std::string what = "the agent names GPU \"GPU-0\" with a speed for work of class ";
  EXPECT_EQ(refusal(said), what + "\"decode\" of 0/1000; expected a speed in range");
  said = two_nodes();
  add_speed(*said.mutable_gpus(0), "", 1000);
  EXPECT_EQ(refusal(said), what + "\"\"; expected a name");
  said = two_nodes();
  for (int i = 0; i < 2; ++i)
    add_speed(*said.mutable_gpus(0), "decode", 1000);
  EXPECT_EQ(refusal(said), what + "\"decode\" twice");
  said = two_nodes();
  for (int i = 0; i < 17; ++i)
    add_speed(*said.mutable_gpus(i % 2), "class-" + std::to_string(i), 1000);
  EXPECT_EQ(refusal(said),
            "with this agent the cluster would have 17 classes of work; at most 16 are told apart");
}

TEST_F(Refusals, OfGpusThatCannotBeCutSo) {
  v1::Hello said = two_nodes();
  v1::Gpu& gpu = *said.mutable_gpus(2);
  gpu.set_mig("a30");
  EXPECT_EQ(refusal(said),
            "the agent names GPU \"GPU-2\" as cut by \"a30\"; expected one of a100_40, a100_80, "
            "h100_80, h200_141, b200_180");
  gpu.set_mig("a100_40");
  gpu.set_kind("L4");
  gpu.set_vram_mb(24'576);
  EXPECT_EQ(refusal(said),
            "the agent names GPU \"GPU-2\" in MIG mode: \"a100_40\" is how GPUs with 40192 to "
            "50240 MiB are cut; this one has 24576");
  gpu.set_kind("NVIDIA A100-SXM4-80GB");
  gpu.set_vram_mb(81'251);
  gpu.set_mig("h100_80");
  EXPECT_EQ(refusal(said),
            "the agent names GPU \"GPU-2\" in MIG mode: a GPU of kind \"NVIDIA A100-SXM4-80GB\" is "
            "cut as \"a100_80\", never as \"h100_80\"");
}

TEST_F(Hellos, AGpuInMigModeIsTakenAsItIsCut) {
  v1::Hello said = two_nodes();
  for (v1::Gpu& gpu : *said.mutable_gpus()) {
    gpu.set_kind("NVIDIA A100-SXM4-80GB");
    gpu.set_vram_mb(81'251);
  }
  said.mutable_gpus(2)->set_mig("a100_80");
  hello(said);
  EXPECT_EQ(desk_.agent.welcome.refused(), "");
  EXPECT_EQ(state().gpus[2].spec.mig, core::mig::Geometry::a100_80);
}

TEST_F(Refusals, OfLinksThatContradictOneAnother) {
  v1::Hello said = two_nodes();
  said.mutable_gpus(1)->set_kind("H100");
  EXPECT_EQ(refusal(said), "NVLink joins GPUs of one kind and size, and island \"n0\" has others");
  said = two_nodes();
  for (v1::Gpu& gpu : *said.mutable_gpus())
    gpu.set_island("wide");
  EXPECT_EQ(refusal(said),
            "an island lies inside one node or covers whole nodes of one rack, and island \"wide\" "
            "does neither");
  said.mutable_nodes(1)->set_rack("east");
  said.mutable_gpus(3)->set_island("");
  EXPECT_EQ(refusal(said),
            "an island lies inside one node or covers whole nodes of one rack, and island \"wide\" "
            "does neither");
  said = two_nodes();
  said.mutable_gpus(1)->set_socket(0);
  EXPECT_EQ(refusal(said), "PCIe switch 0 of node \"n0\" hangs under two sockets");
}

TEST_F(Refusals, OfMoreKindsThanCanBeToldApart) {
  v1::Hello said = two_nodes();
  for (int i = 0; i < 64; ++i)
    add_gpu(said, "n0").set_kind("kind-" + std::to_string(i));
  EXPECT_EQ(refusal(said),
            "with this agent the cluster would have 65 kinds of GPU; at most 64 are told apart");
}

// ---- Where work is sent -------------------------------------------------------------------------

TEST_F(Hellos, AGangIsOneLeaseThatKnowsItsRanks) {
  NewTask task = new_task("gang");
  task.spec.gpus = 4;
  EXPECT_EQ(desk_.submit(std::move(task)).kind, Kind::accepted);
  ASSERT_EQ(desk_.agent.leases.size(), 1U);
  const v1::Gang& gang = desk_.agent.leases[0].gang();
  EXPECT_EQ(gang.id(), 0U);
  EXPECT_EQ(gang.size(), 4U);
  EXPECT_EQ(std::vector<std::string>(gang.hosts().begin(), gang.hosts().end()),
            (std::vector<std::string>{"n0", "n1"}));
  EXPECT_EQ(gang.master_address(), "10.0.0.1");
  ASSERT_EQ(gang.ranks_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(gang.ranks(i).rank(), static_cast<std::uint32_t>(i));
    EXPECT_EQ(gang.ranks(i).node_rank(), static_cast<std::uint32_t>(i / 2));
    EXPECT_EQ(gang.ranks(i).local_rank(), static_cast<std::uint32_t>(i % 2));
    EXPECT_EQ(gang.ranks(i).gpu(), desk_.agent.leases[0].gpus(i));
  }
  EXPECT_EQ(desk_.ended.at(0).state, TaskState::completed);
}

TEST_F(Hellos, ATaskOnOneGpuIsNoGang) {
  desk_.submit(new_task("one"));
  ASSERT_EQ(desk_.agent.leases.size(), 1U);
  EXPECT_FALSE(desk_.agent.leases[0].has_gang());
}

NewTask cpu_task(const std::string& id) {
  NewTask task = new_task(id);
  task.spec.gpus = 0;
  task.spec.vram = Mib{0};
  task.spec.cpu = Milli{2000};
  return task;
}

TEST_F(Hellos, WorkWithoutAGpuIsSentStoppedAndKept) {
  desk_.agent.finishes_at_once = false;
  const SubmitOutcome stopped = desk_.submit(cpu_task("stopped"));
  const SubmitOutcome kept = desk_.submit(cpu_task("kept"));
  ASSERT_EQ(desk_.agent.leases.size(), 2U);
  EXPECT_EQ(desk_.agent.leases[0].gpus_size(), 0);
  desk_.control(CancelTasks{{stopped.task}});
  ASSERT_EQ(desk_.agent.stops.size(), 1U);
  EXPECT_EQ(desk_.agent.stops[0].task_no(), stopped.task.value);
  // The agent comes back and knows the second alone; the first has ended there.
  v1::Hello back = two_nodes();
  v1::HeldLease& held = *back.add_leases();
  held.set_lease(desk_.agent.leases[1].id());
  held.add_running(kept.task.value);
  hello(back);
  ASSERT_EQ(desk_.agent.welcome.adopt_size(), 1);
  EXPECT_EQ(desk_.state_of(kept.task), TaskState::running);
  hello(two_nodes());  // now it has lost that as well
  ASSERT_EQ(desk_.agent.leases.size(), 3U);
  EXPECT_EQ(desk_.agent.leases[2].tasks(0).task_no(), kept.task.value);
}

}  // namespace
}  // namespace berth::service::hello_test
