// berth submit SCRIPT: what is read from the script, what is sent, and that the copy runs.
#include "cli/batch_script.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/testing/shell.h"
#include "cli/text.h"

namespace berth::cli::batch_script_test {
namespace {

using testing::Ran;
using testing::ServedShell;

class Script : public ::testing::Test, protected ServedShell {
 protected:
  Script() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-XXXXXX").string();
    folder = mkdtemp(name.data());
    v1::SubmitTaskResponse response;
    response.set_task_id("t1");
    server.answer("SubmitTask", response);
  }
  ~Script() override { std::filesystem::remove_all(folder); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(std::filesystem::path(folder) / name, std::ios::binary) << text;
  }
  v1::TaskSpec sent() { return server.request<v1::SubmitTaskRequest>("SubmitTask").task(); }

  // What the command that was sent prints, and its status.
  std::pair<int, std::string> result_of(const v1::Command& command) const {
    std::string line = "cd / && TMPDIR=" + folder;
    for (const std::string& word : command.argv()) {
      line += " '";
      for (const char c : word)
        line += c == '\'' ? std::string("'\\''") : std::string(1, c);
      line += "'";
    }
    std::string text;
    std::FILE* pipe = popen((line + " 2>&1").c_str(), "r");
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
      text += static_cast<char>(c);
    return {WEXITSTATUS(pclose(pipe)), text};
  }
};

TEST_F(Script, ItsLinesAreFlagsAndTheCommandLineWins) {
  write("train.sh",
        "#!/bin/bash\n"
        "#BERTH --queue llm --gpus 2\n"
        "\n"
        "# a remark\n"
        "#BERTH --vram=40GB --env A=1 --label 'k=a b'\n"
        "##BERTH --tier 0\n"
        "echo hi\n"
        "#BERTH --tier 1\n");
  const Ran ran = run({"submit", "--gpus", "4", "--env", "B=2", "train.sh", "--gpus", "8", "x"});
  ASSERT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.err, "next: berth status t1\n");
  EXPECT_EQ(sent().task_type(), "llm");
  EXPECT_EQ(sent().gpus(), 4U);
  EXPECT_EQ(sent().gpu_memory_mb(), 40'960);
  EXPECT_EQ(sent().env().at("A"), "1");
  EXPECT_EQ(sent().env().at("B"), "2");
  EXPECT_EQ(sent().labels().at("k"), "a b");
  EXPECT_FALSE(sent().has_tier()) << "neither in a remark nor below the first command";
  EXPECT_EQ(sent().workdir(), folder);
  const v1::Command command = sent().command();
  const auto& argv = command.argv();
  ASSERT_EQ(argv.size(), 7);
  EXPECT_EQ(argv[0], "/bin/bash");
  EXPECT_EQ(argv[1], "-c");
  EXPECT_TRUE(argv[2].starts_with("#!/bin/bash\n#BERTH"));
  EXPECT_EQ(argv[3], folder + "/train.sh");
  EXPECT_EQ(argv[4], "--gpus") << "what stands behind the script is the script's";
  EXPECT_EQ(argv[6], "x");
}

TEST_F(Script, TheFolderOfTheCommandLineReplacesTheScripts) {
  write("a.sh", "#BERTH --queue q --workdir /data\ntrue\n");
  ASSERT_EQ(run({"submit", "a.sh"}).code, kOk);
  EXPECT_EQ(sent().workdir(), "/data");
  ASSERT_EQ(run({"submit", "--no-workdir", "a.sh"}).code, kOk);
  EXPECT_EQ(sent().workdir(), "");
}

TEST_F(Script, LinesOfSlurmAreReadAndWhatIsIgnoredIsSaid) {
  write("job.sh",
        "#!/bin/sh\n"
        "#SBATCH --job-name=night --partition=llm\n"
        "#SBATCH --gres=gpu:a100:2 --mail-type=END\n"
        "#SBATCH --time=1:00:00\n"
        "#BERTH --run-limit 2h --gpu-kind h100\n"
        "#SBATCH --output=%x-%j.out\n"
        "true\n");
  const Ran ran = run({"submit", "job.sh"});
  ASSERT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.err,
            "berth submit: job.sh:3: #SBATCH --mail-type=END is ignored\nnext: berth status t1\n");
  EXPECT_EQ(sent().task_type(), "llm");
  EXPECT_EQ(sent().group(), "night");
  EXPECT_EQ(sent().gpus(), 2U);
  ASSERT_EQ(sent().gpu_kinds_size(), 1) << "#BERTH goes before #SBATCH";
  EXPECT_EQ(sent().gpu_kinds(0), "h100");
  EXPECT_EQ(sent().run_limit_ms(), 7'200'000);
  EXPECT_EQ(sent().command().argv(2), "exec \"$@\" >>'night-'\"$BERTH_TASK_ID\"'.out' 2>&1");
}

TEST_F(Script, AnOptionWhoseFlagIsNotKnownHereIsIgnoredAloud) {
  const std::array<Flag, 1> known = {Flag{"--queue", "QUEUE", ""}};
  write("a.sh", "#SBATCH --array=0-9 -p q\ntrue\n");
  const ScriptFlags flags = flags_of(*read_batch_script("a.sh", folder), known);
  EXPECT_EQ(flags.flags.value("--queue"), "q");
  EXPECT_TRUE(flags.errors.empty());
  EXPECT_EQ(flags.ignored, std::vector<std::string>{
                               "a.sh:1: #SBATCH --array is ignored: this berth has no such flag"});
}

TEST_F(Script, WhatIsWrongHasItsPlace) {
  write("a.sh",
        "#BERTH --queu llm\n#BERTH --queue q --payload x\n#BERTH word\n"
        "#SBATCH --dependency=singleton\ntrue\n");
  EXPECT_EQ(run({"submit", "a.sh"}).err,
            "berth submit: a.sh:1: unknown option --queu; did you mean --queue?\n"
            "berth submit: a.sh:2: a script takes no --payload: it is the command\n"
            "berth submit: a.sh:3: expected a flag, found \"word\"\n"
            "berth submit: a.sh:4: #SBATCH --dependency=singleton: berth knows afterok:ID and "
            "afterany:ID, with a comma between several\n"
            "Try 'berth submit --help'.\n");
  write("b.sh", "#BERTH --queue q\n#BERTH --vram 8\ntrue\n");
  EXPECT_EQ(run({"submit", "b.sh"}).err,
            "berth submit: b.sh:2: --vram: expected a size such as 8GB or 512MB, found \"8\"\n"
            "Try 'berth submit --help'.\n");
  write("c.sh", "#BERTH --queue 'q\ntrue\n");
  EXPECT_NE(run({"submit", "c.sh"}).err.find("c.sh:1: a quote is not closed"), std::string::npos);
  EXPECT_EQ(server.calls("SubmitTask"), 0U);
}

TEST_F(Script, WhatIsNoScriptIsRefusedWithTheWayOut) {
  EXPECT_EQ(run({"submit", "--queue", "q", "echo", "hi"}).err,
            "berth submit: cannot read the script \"echo\": No such file or directory; a command "
            "stands behind --: berth submit … -- echo\nTry 'berth submit --help'.\n");
  write("program", std::string("\x7f"
                               "ELF\0\0",
                               6));
  EXPECT_NE(run({"submit", "--queue", "q", "program"}).err.find("is a program, not a script"),
            std::string::npos);
  write("dos.sh", "#!/bin/sh\r\ntrue\r\n");
  EXPECT_NE(run({"submit", "--queue", "q", "dos.sh"}).err.find("CR LF"), std::string::npos);
  write("empty.sh", "\n");
  EXPECT_NE(run({"submit", "--queue", "q", "empty.sh"}).err.find("is empty"), std::string::npos);
  write("long.sh", std::string(kScriptBytesMax + 1, '#'));
  EXPECT_NE(run({"submit", "--queue", "q", "long.sh"}).err.find("the limit is 122880"),
            std::string::npos);
  EXPECT_NE(run({"submit", "--queue", "q", "."}).err.find("it is a folder"), std::string::npos);
  EXPECT_EQ(server.calls("SubmitTask"), 0U);
}

TEST_F(Script, HelpBehindTheScriptIsTheScripts) {
  write("a.sh", "#BERTH --queue q\ntrue\n");
  EXPECT_EQ(run({"submit", "--gpus", "2", "a.sh", "--help"}).out, "t1\n");
  EXPECT_EQ(sent().command().argv(4), "--help");
  EXPECT_NE(run({"submit", "--gpus", "2", "--help"}).out.find("usage: berth submit"),
            std::string::npos);
  EXPECT_EQ(run({"submit", "a.sh", "--", "-x"}).out, "t1\n");
  EXPECT_EQ(sent().command().argv(4), "-x");
}

TEST_F(Script, TheCopyRunsHoweverTheFileChanges) {
  write("a.sh", "#!/bin/sh -e\n#BERTH --queue q\necho \"$0 got $# words: $2\"\nfalse\necho no\n");
  ASSERT_EQ(run({"submit", "a.sh", "one", "it's two"}).code, kOk);
  write("a.sh", "gone");
  EXPECT_EQ(result_of(sent().command()),
            (std::pair<int, std::string>{1, folder + "/a.sh got 2 words: it's two\n"}));
  write("b", "#!/usr/bin/env bash\n#BERTH --queue q\nexit 7\n");
  ASSERT_EQ(run({"submit", "b"}).code, kOk);
  EXPECT_EQ(sent().command().argv(0), "/usr/bin/env");
  EXPECT_EQ(sent().command().argv(1), "bash");
  EXPECT_EQ(result_of(sent().command()).first, 7);
  write("c", "#BERTH --queue q\necho plain\n");
  ASSERT_EQ(run({"submit", "c"}).code, kOk);
  EXPECT_EQ(result_of(sent().command()).second, "plain\n");
}

TEST_F(Script, AnotherInterpreterReadsACopyThatLeavesNoFile) {
  write("a.py",
        "#!/usr/bin/env python3\n#BERTH --queue q\nimport sys\nprint(sys.argv[1:])\n"
        "sys.exit(5)\n");
  ASSERT_EQ(run({"submit", "a.py", "-x", "y z"}).code, kOk);
  write("a.py", "gone");
  EXPECT_EQ(result_of(sent().command()), (std::pair<int, std::string>{5, "['-x', 'y z']\n"}));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder))
    ++files;
  EXPECT_EQ(files, 1U) << "a.py alone";
}

TEST(ScriptLimit, IsThatOfTheGuide) {
  std::ifstream in(std::string(BERTH_SOURCE_DIR) + "/docs/guide/cli.md");
  std::ostringstream guide;
  guide << in.rdbuf();
  const std::string sentence =
      "a copy of the script, up to " + std::to_string(kScriptBytesMax >> 10U) + " KiB:";
  EXPECT_NE(guide.str().find(sentence), std::string::npos)
      << "docs/guide/cli.md lacks: " << sentence;
}

}  // namespace
}  // namespace berth::cli::batch_script_test
