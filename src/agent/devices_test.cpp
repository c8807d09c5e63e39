// Reading nvidia-smi's text, and programs that run too long.
#include "agent/devices.h"

#include <gtest/gtest.h>

#include "agent/run_program.h"

namespace berth::agent::devices_test {
namespace {

TEST(Devices, ReadsWhatNvidiaSmiLists) {
  const auto gpus = parse_smi_gpus(
      "0, GPU-67db5ef6-1eff-336c-a107-652f41dc1e21, NVIDIA H200, 143771, "
      "00000000:0A:00.0\n"
      "1, GPU-00000000-0000-0000-0000-000000000001, NVIDIA A100-SXM4-40GB, 40960, "
      "00000000:0B:00.0\n"
      "2, GPU-00000000-0000-0000-0000-000000000002, NVIDIA GeForce RTX 4090, 24564, "
      "00000000:0C:00.0\n"
      "3, GPU-00000000-0000-0000-0000-000000000003, Tesla T4, 15360, [N/A]\n");
  ASSERT_EQ(gpus.size(), 4u);
  EXPECT_EQ(gpus[0], (GpuDescription{"GPU-67db5ef6-1eff-336c-a107-652f41dc1e21", "h200-0", "H200",
                                     143'771, 3000, false, "", 0, 0, "", "0000:0a:00.0", 0}));
  EXPECT_EQ(gpus[1].kind, "A100");
  EXPECT_EQ(gpus[2].name, "rtx-4090-2");
  EXPECT_EQ(gpus[3].kind, "T4");
  EXPECT_EQ(gpus[3].pci, "");
}

TEST(Devices, LeavesOutLinesItCannotRead) {
  EXPECT_TRUE(parse_smi_gpus("No devices were found\n").empty());
  EXPECT_TRUE(parse_smi_gpus("").empty());
  EXPECT_TRUE(parse_smi_gpus("0, GPU-1, NVIDIA H200, [N/A], 00000000:0A:00.0\n").empty());
  EXPECT_TRUE(parse_smi_readings("NVIDIA-SMI has failed because it couldn't communicate").empty());
}

TEST(Devices, ReadsReadingsAndKnowsWhatIsNotSupported) {
  const auto readings = parse_smi_readings(
      "GPU-67db5ef6-1eff-336c-a107-652f41dc1e21, 0, 0, 39, 124.40\n"
      "GPU-2, 1024, [N/A], 41, [Not Supported]\n");
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0], (GpuReadings{"GPU-67db5ef6-1eff-336c-a107-652f41dc1e21", 0, 0, 39, 124}));
  EXPECT_EQ(readings[1], (GpuReadings{"GPU-2", 1024, -1, 41, -1}));
}

TEST(Devices, SimulatesTwoA100AndAnL4) {
  const auto gpus = simulated_gpus();
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0].vram_mb, 40'960);
  EXPECT_EQ(gpus[2].vram_mb, 24'576);
  for (const GpuDescription& gpu : gpus) {
    EXPECT_TRUE(gpu.simulated);
  }
}

TEST(RunProgram, TakesTheOutputOfAProgramThatEndsWell) {
  const auto text = run_program({"printf", "a b"}, seconds(10));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "a b");
  EXPECT_FALSE(run_program({"false"}, seconds(10)).ok());
  EXPECT_FALSE(run_program({"berth-no-such-program"}, seconds(10)).ok());
}

TEST(RunProgram, EndsAProgramThatTakesTooLong) {
  const auto text = run_program({"sleep", "600"}, milliseconds(50));
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("did not end in time"), std::string::npos);
}

}  // namespace
}  // namespace berth::agent::devices_test
