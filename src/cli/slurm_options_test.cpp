// Options of Slurm as flags of berth submit.
#include "cli/slurm_options.h"

#include <gtest/gtest.h>

#include "cli/script_words.h"

namespace berth::cli::slurm_options_test {
namespace {

SlurmReading read(const std::string& line) { return read_slurm(*words_of_line(line)); }

// The flags as one line; what is ignored in brackets, errors in braces.
std::string text_of(const std::string& line) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  const SlurmReading reading = read(line);
  for (const auto& flag : reading.flags) {
    for (const std::string& word : flag)
      add(word);
  }
  for (const std::string& option : reading.ignored)
    add("[" + option + "]");
  for (const std::string& error : reading.errors)
    add("{" + error.substr(0, error.find(':')) + "}");
  return text;
}

TEST(SlurmOptions, Gpus) {
  EXPECT_EQ(text_of("--gres=gpu:2"), "--gpus 2");
  EXPECT_EQ(text_of("--gres gpu:a100:4"), "--gpu-kind a100 --gpus 4");
  EXPECT_EQ(text_of("--gres=gpu"), "--gpus 1");
  EXPECT_EQ(text_of("--gres=gpu:h100"), "--gpu-kind h100 --gpus 1");
  EXPECT_EQ(text_of("--gres=gpu:1,nvme:2"), "--gpus 1 [nvme:2 of --gres=gpu:1,nvme:2]");
  EXPECT_EQ(text_of("--gpus=3"), "--gpus 3");
  EXPECT_EQ(text_of("-G a100:2"), "--gpu-kind a100 --gpus 2");
  EXPECT_EQ(text_of("--gpus=a:1,b:2"), "{--gpus=a}");
  EXPECT_EQ(text_of("--gres=gpu:a:b:c"), "{--gres=gpu}");
}

TEST(SlurmOptions, CpusMemoryAndTime) {
  EXPECT_EQ(text_of("--cpus-per-task=8 -c4"), "--cpus 8 --cpus 4");
  EXPECT_EQ(text_of("--mem=64G"), "--memory 64GB");
  EXPECT_EQ(text_of("--mem 4000"), "--memory 4000MB");
  EXPECT_EQ(text_of("--mem=1500k"), "--memory 2MB");
  EXPECT_EQ(text_of("--mem=0"), "[--mem=0]");
  EXPECT_EQ(text_of("--mem=lots"), "{--mem=lots}");
  EXPECT_EQ(text_of("--time=90"), "--run-limit 5400s");
  EXPECT_EQ(text_of("-t 90:30"), "--run-limit 5430s");
  EXPECT_EQ(text_of("--time=1:30:05"), "--run-limit 5405s");
  EXPECT_EQ(text_of("--time=2-12"), "--run-limit 216000s");
  EXPECT_EQ(text_of("--time=2-12:30"), "--run-limit 217800s");
  EXPECT_EQ(text_of("--time=0"), "[--time=0]");
  EXPECT_EQ(text_of("--time=soon"), "{--time=soon}");
}

// What is left out here would start a task too early.
TEST(SlurmOptions, DependenciesAreTakenOrRefused) {
  EXPECT_EQ(text_of("--dependency=afterok:a:b"), "--depends-on a --depends-on b");
  EXPECT_EQ(text_of("-d afterany:a,afterany:b"),
            "--depends-on a --depends-on b --run-after-failure");
  for (const char* refused :
       {"afternotok:a", "singleton", "afterok:a,afterany:b", "afterok", "afterok:a?afterok:b"})
    EXPECT_EQ(read(std::string("--dependency=") + refused).errors.size(), 1U) << refused;
}

TEST(SlurmOptions, NamesFilesAndTheRest) {
  EXPECT_EQ(text_of("--job-name=\"my run\" -p gpu,cpu"),
            "--group my run --queue gpu [cpu of -p gpu,cpu]");
  EXPECT_EQ(text_of("-o slurm-%j.out -e err"), "--output slurm-%j.out --error err");
  EXPECT_EQ(text_of("--array=0-99%10"), "--array 0-99%10");
  EXPECT_EQ(text_of("--nodes=1 -N2 --ntasks 1"), "[-N2]");
  EXPECT_EQ(text_of("--export=NONE --export=ALL"), "--no-env [--export=ALL]");
  EXPECT_EQ(text_of("-H --wait --chdir=/w"), "--held --wait --workdir /w");
  EXPECT_EQ(text_of("--mail-type=END --account lab --exclusive --qos=high # mine"),
            "[--mail-type=END] [--account lab] [--exclusive] [--qos=high]");
  EXPECT_EQ(text_of("--time"), "{--time}");
}

TEST(ScriptWords, AreSplitAsAShellSplitsThem) {
  EXPECT_EQ(*words_of_line("  a 'b c' \"d \\\" e\" f\\ g h#i # j"),
            (std::vector<std::string>{"a", "b c", "d \" e", "f g", "h#i"}));
  EXPECT_EQ(*words_of_line("''"), std::vector<std::string>{""});
  EXPECT_FALSE(words_of_line("a 'b"));
}

}  // namespace
}  // namespace berth::cli::slurm_options_test
