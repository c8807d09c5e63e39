// What a task asks of the hardware: every field, and every contradiction.
#include "api/task_shape_reader.h"

#include <functional>

#include <gtest/gtest.h>

#include "core/mig/profiles.h"
#include "core/model/ranges.h"

namespace berth::api::task_shape_reader_test {
namespace {

using Make = std::function<void(v1::TaskSpec&)>;

core::TaskSpec good(const Make& make) {
  v1::TaskSpec spec;
  make(spec);
  core::TaskSpec task;
  for (const FieldFlaw& flaw : read_task_shape(spec, task))
    ADD_FAILURE() << flaw.field << ": " << flaw.flaw;
  EXPECT_EQ(core::flaw_in(task), nullptr) << spec.ShortDebugString();
  return task;
}

// The fields that are wrong, each with a space behind it.
std::string wrong_fields(const Make& make) {
  v1::TaskSpec spec;
  make(spec);
  core::TaskSpec task;
  std::string fields;
  for (const FieldFlaw& flaw : read_task_shape(spec, task))
    fields += flaw.field + " ";
  return fields;
}

std::string first_flaw(const Make& make) {
  v1::TaskSpec spec;
  make(spec);
  core::TaskSpec task;
  const std::vector<FieldFlaw> flaws = read_task_shape(spec, task);
  return flaws.empty() ? "" : flaws.front().flaw;
}

TEST(TaskShape, WithoutAWordItIsOneWholeGpu) {
  EXPECT_EQ(core::shape_of(good([](auto&) {}), Mib{0}), core::Shape{});
}

TEST(TaskShape, TakesEveryField) {
  const core::TaskSpec task = good([](auto& s) {
    s.set_gpus(16);
    s.set_gpu_memory_mb(40'000);
    s.set_cpus_milli(32'500);
    s.set_memory_mb(131'072);
    s.set_groups(2);
    s.set_within("island");
    s.set_required(true);
    s.add_gpu_kinds("h100");
  });
  EXPECT_EQ(core::shape_of(task, task.vram), (core::Shape{.gpus = 16,
                                                          .groups = 2,
                                                          .within = core::Level::island,
                                                          .required = true,
                                                          .vram = 40'000,
                                                          .cpu = Milli{32'500},
                                                          .memory = Mib{131'072}}))
      << "kinds are left to the sequencer";
}

TEST(TaskShape, EveryLevelHasItsName) {
  const auto level = [](const char* name) {
    return good([&](auto& s) { s.set_within(name); }).within;
  };
  EXPECT_EQ(level("island"), core::Level::island);
  EXPECT_EQ(level("node"), core::Level::node);
  EXPECT_EQ(level("rack"), core::Level::rack);
  EXPECT_EQ(level("cluster"), core::Level::cluster);
}

TEST(TaskShape, AProfileIsANumberOfTheTables) {
  EXPECT_EQ(good([](auto& s) { s.set_mig_profile("3g.40gb"); }).profile,
            core::mig::profile_named("3g.40gb"));
}

TEST(TaskShape, NoGpuIsNotTheDefault) {
  EXPECT_EQ(good([](auto& s) {
              s.set_gpus(0);
              s.set_cpus_milli(500);
            }).gpus,
            0);
  EXPECT_EQ(good([](auto& s) {
              s.set_gpus(0);
              s.set_memory_mb(1);
            }).gpus,
            0);
}

TEST(TaskShape, SaysEveryContradiction) {
  struct Case {
    const char* fields;
    Make make;
  };
  const std::vector<Case> cases = {
      {"gpus ", [](auto& s) { s.set_gpus(0); }},
      {"gpus ", [](auto& s) { s.set_gpus(65'536); }},
      {"groups ", [](auto& s) { s.set_groups(65'536); }},
      {"share_milli ", [](auto& s) { s.set_share_milli(1001); }},
      {"gpu_memory_mb ", [](auto& s) { s.set_gpu_memory_mb(-1); }},
      {"memory_mb ", [](auto& s) { s.set_memory_mb(-1); }},
      {"memory_mb ", [](auto& s) { s.set_memory_mb(core::kMibMax + 1); }},
      {"gpu_memory_mb share_milli gpu_kinds groups within required mig_profile ",
       [](auto& s) {
         s.set_gpus(0);
         s.set_cpus_milli(1);
         s.set_gpu_memory_mb(1);
         s.set_share_milli(500);
         s.add_gpu_kinds("a100");
         s.set_groups(2);
         s.set_within("node");
         s.set_required(true);
         s.set_mig_profile("1g.10gb");
       }},
      {"within mig_profile gpus required ",
       [](auto& s) {
         s.set_gpus(0);
         s.set_within("nod");
         s.set_required(true);
         s.set_mig_profile("1g");
       }},
      {"share_milli mig_profile ",
       [](auto& s) {
         s.set_gpus(2);
         s.set_share_milli(500);
         s.set_mig_profile("1g.10gb");
       }},
      {"share_milli ",
       [](auto& s) {
         s.set_share_milli(500);
         s.set_mig_profile("1g.10gb");
       }},
      {"groups ",
       [](auto& s) {
         s.set_gpus(3);
         s.set_groups(2);
         s.set_within("node");
       }},
      {"groups required ",
       [](auto& s) {
         s.set_gpus(4);
         s.set_groups(2);
         s.set_required(true);
       }},
      {"required ",
       [](auto& s) {
         s.set_within("cluster");
         s.set_required(true);
       }},
      {"within groups ",
       [](auto& s) {
         s.set_gpus(3);
         s.set_groups(2);
         s.set_within("nod");
         s.set_required(true);
       }},
      {"within ", [](auto& s) { s.set_within("gpu"); }},
      {"mig_profile ", [](auto& s) { s.set_mig_profile("1g.11gb"); }},
      {"gpu_kinds[1] gpu_kinds[2] ",
       [](auto& s) {
         s.add_gpu_kinds("a100");
         s.add_gpu_kinds("");
         s.add_gpu_kinds("a100");
       }},
      {"gpu_kinds ",
       [](auto& s) {
         for (int i = 0; i < 65; ++i)
           s.add_gpu_kinds("k" + std::to_string(i));
       }},
  };
  for (const Case& each : cases)
    EXPECT_EQ(wrong_fields(each.make), each.fields);
}

TEST(TaskShape, OffersTheNearestName) {
  EXPECT_EQ(first_flaw([](auto& s) { s.set_within("nodes"); }),
            "no level is named \"nodes\"; did you mean \"node\"?");
  EXPECT_EQ(first_flaw([](auto& s) { s.set_within("datacenter"); }),
            "no level is named \"datacenter\"; known: \"island\", \"node\", \"rack\", \"cluster\"");
  EXPECT_EQ(first_flaw([](auto& s) { s.set_mig_profile("3g.40g"); }),
            "no MIG profile is named \"3g.40g\"; did you mean \"3g.40gb\"?");
  EXPECT_EQ(first_flaw([](auto& s) { s.set_mig_profile("half of it"); }),
            "no MIG profile is named \"half of it\"; they are named as in \"1g.10gb\"");
}

// What the reader lets through must be what the core takes: else a user is told "bad_spec".
TEST(TaskShape, WhatIsTakenHasNoFlawForTheCore) {
  const std::vector<Make> parts = {
      [](auto& s) { s.set_gpus(0); },
      [](auto& s) { s.set_gpus(2); },
      [](auto& s) { s.set_cpus_milli(1000); },
      [](auto& s) { s.set_memory_mb(1024); },
      [](auto& s) { s.set_share_milli(250); },
      [](auto& s) { s.set_groups(2); },
      [](auto& s) { s.set_within("rack"); },
      [](auto& s) { s.set_required(true); },
      [](auto& s) { s.set_mig_profile("1g.10gb"); },
  };
  std::size_t taken = 0;
  for (std::uint32_t mask = 0; mask < 1U << parts.size(); ++mask) {
    v1::TaskSpec spec;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if ((mask >> i & 1U) != 0) parts[i](spec);
    core::TaskSpec task;
    if (!read_task_shape(spec, task).empty()) continue;
    ++taken;
    EXPECT_EQ(core::flaw_in(task), nullptr) << spec.ShortDebugString();
  }
  EXPECT_GT(taken, 50U);
}

}  // namespace
}  // namespace berth::api::task_shape_reader_test
