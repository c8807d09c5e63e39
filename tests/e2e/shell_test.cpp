// The shell as a newcomer uses it, against a running server: folders, environments, scripts, exit
// codes, and how errors lead on.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::shell_test {
namespace {

using support::ServerProcess;

class NewcomersShell : public ::testing::Test {
 protected:
  NewcomersShell() : server_({folder_.path() / "data", {}, {{"BERTH_TIME_SCALE", "0"}}}) {
    EXPECT_TRUE(server_.serves()) << server_.error();
    std::filesystem::create_directory(project_);
  }
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
  }
  // In the project's folder.
  Result shell(const std::string& arguments, const std::string& environment = "") const {
    const std::string program = std::filesystem::absolute(BERTH_BINARY).string();
    return run("cd " + project_.string() + " && " + environment +
               " BERTH_SERVER=" + server_.grpc_address() + " " + program + " " + arguments);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(project_ / name) << text;
    std::filesystem::permissions(project_ / name, std::filesystem::perms::owner_all);
  }
  static bool has(const Result& result, const std::string& text) {
    return result.out.find(text) != std::string::npos;
  }

  support::TempFolder folder_;
  const std::filesystem::path project_ = folder_.path() / "project";
  ServerProcess server_;
};

TEST_F(NewcomersShell, AProgramOfTheFolderRunsAsItIsCalled) {
  write("train.py",
        "import os, sys\nopen('made', 'w').write('x')\nprint(sys.argv[1], os.getcwd())\n");
  const Result done = shell("submit --queue llm --wait -- python3 train.py 0.1");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(has(done, "0.1 " + project_.string() + "\n")) << done.out;
  EXPECT_TRUE(std::filesystem::exists(project_ / "made"));
  const Result alone = shell("submit --queue llm --no-workdir --wait -- python3 train.py 0.1");
  EXPECT_EQ(alone.code, 2) << "python finds no train.py in an empty folder: " << alone.out;
}

TEST_F(NewcomersShell, TheActiveEnvironmentIsTheOneThatRuns) {
  std::filesystem::create_directories(project_ / "venv/bin");
  write("venv/bin/tool", "#!/bin/sh\necho from $VIRTUAL_ENV\n");
  const std::string venv = (project_ / "venv").string();
  const std::string active = "PATH=" + venv + "/bin:$PATH VIRTUAL_ENV=" + venv;
  const Result done = shell("submit --queue llm --wait -- tool", active);
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(has(done, "from " + venv + "\n")) << done.out;
  EXPECT_EQ(shell("submit --queue llm --no-env --wait -- tool", active).code, 127);
}

TEST_F(NewcomersShell, AFolderThatIsNotThereForTheCommandSaysWhatToDo) {
  const Result failed = shell("submit --queue llm --workdir gone --wait -- true");
  EXPECT_EQ(failed.code, 127) << failed.out;
  EXPECT_TRUE(has(failed, "Could not enter the working folder " + project_.string() +
                              "/gone: No such file or directory. Submit it with --no-workdir"))
      << failed.out;
}

TEST_F(NewcomersShell, TheExitCodeIsTheCommands) {
  EXPECT_EQ(shell("submit --queue llm --wait -- sh -c 'exit 37'").code, 37);
  EXPECT_EQ(shell("submit --queue llm --follow -- sh -c 'kill -9 $$'").code, 137);
  EXPECT_EQ(shell("submit --queue llm --id late --run-limit 100ms --wait -- sleep 60").code, 124);
  EXPECT_EQ(shell("wait late").code, 124);
  ASSERT_EQ(shell("submit --queue llm --id held --held -- true").code, 0);
  ASSERT_EQ(shell("cancel held").code, 0);
  EXPECT_EQ(shell("wait held").code, 121);
  EXPECT_EQ(shell("submit --queue llm --held --tolerated-wait 100ms --wait -- true").code, 122);
}

TEST_F(NewcomersShell, AScriptRunsAsItWasWhenItWasSubmitted) {
  write("job.sh",
        "#!/bin/bash\n#BERTH --queue llm --held --id job\n#SBATCH --output=job-%j.out "
        "--mail-type=END\n"
        "[[ $1 == one ]] && echo \"ran $1\"\nexit 5\n");
  const Result submitted = shell("submit job.sh one");
  ASSERT_EQ(submitted.code, 0) << submitted.out;
  EXPECT_TRUE(has(submitted, "job.sh:3: #SBATCH --mail-type=END is ignored")) << submitted.out;
  write("job.sh", "#!/bin/bash\nexit 0\n");
  ASSERT_EQ(shell("release job").code, 0);
  EXPECT_EQ(shell("wait job").code, 5);
  EXPECT_EQ(run("cat " + (project_ / "job-job.out").string()).out, "ran one\n");
}

TEST_F(NewcomersShell, ATaskOfAnotherTenantIsPointedAt) {
  ASSERT_EQ(shell("submit --queue llm --tenant user-123 --id task-1 -- true").code, 0);
  ASSERT_EQ(shell("wait task-1 --tenant user-123").code, 0);
  const Result lost = shell("status task-1");
  EXPECT_EQ(lost.code, 3);
  EXPECT_TRUE(has(lost, "tenant \"user-123\" has one\nAdd --tenant user-123.\n")) << lost.out;
  EXPECT_TRUE(has(shell("tasks --all"), "user-123"));
  EXPECT_TRUE(has(shell("events"), "  user-123  "));
}

TEST_F(NewcomersShell, AListSaysWhyTasksWait) {
  ASSERT_EQ(shell("submit --queue llm --vram 35GB --id a -- sleep 60").code, 0);
  ASSERT_EQ(shell("submit --queue llm --vram 35GB --id b -- sleep 60").code, 0);
  ASSERT_EQ(shell("submit --queue llm --vram 35GB --id c -- sleep 60").code, 0);
  Result tasks;
  for (int look = 0; look < 100 && !has(tasks, "VRAM: needs"); ++look)
    tasks = shell("tasks --state pending");
  EXPECT_TRUE(has(tasks, "no GPU has enough free VRAM: needs")) << tasks.out;
  EXPECT_EQ(shell("cancel --queue llm --yes").code, 0);
}

TEST_F(NewcomersShell, ErrorsNameTheFlags) {
  const Result past = shell("submit --queue llm --deadline 2020-01-01T00:00:00Z -- true");
  EXPECT_EQ(past.code, 2);
  EXPECT_TRUE(has(past, "cannot submit the task: --deadline: has passed")) << past.out;
  const Result both = shell("submit --queue llm --at-most-once --attempts 3 -- true");
  EXPECT_TRUE(has(both, "--attempts: must be 1")) << both.out;
}

TEST_F(NewcomersShell, EveryListIsPrintedInEveryFormat) {
  ASSERT_EQ(shell("submit --queue llm --id a --wait -- true").code, 0);
  ASSERT_EQ(shell("submit --queue llm --id x --array 0-2 --wait -- true").code, 0);
  ASSERT_EQ(shell("submit --queue llm --id w --depends-on signal:go -- true").code, 0);
  // One document, or one on each line.
  write("judge.py",
        "import json, sys\ntext = sys.stdin.read().strip()\nassert text\n"
        "while text:\n    _, end = json.JSONDecoder().raw_decode(text)\n"
        "    text = text[end:].strip()\n");
  // Each with a name that its list has.
  const std::pair<std::string, std::string> kLists[] = {
      {"tasks --all", "a"},
      {"tasks --all", "x"},
      {"tasks --all --unfold", "x[1]"},
      {"status a", "a"},
      {"status x", "x"},
      {"explain a", ""},
      {"queues", "llm"},
      {"gpus", "a100-0"},
      {"models", ""},
      {"tenants", "default"},
      {"usage", ""},
      {"signals", "go"},
      {"info", ""},
      {"events", ""},
      {"config show --running", ""},
      {"update w --priority 1", "w"},
  };
  for (const auto& [command, name] : kLists) {
    for (const std::string format : {"table", "wide", "json", "yaml", "name"}) {
      const Result shown = shell(command + " -o " + format);
      EXPECT_EQ(shown.code, 0) << command << " -o " << format << "\n" << shown.out;
      if (format == "json") {
        const Result judged = shell(command + " -o json 2>/dev/null | python3 judge.py");
        EXPECT_EQ(judged.code, 0) << command << " prints no JSON: " << judged.out << shown.out;
      }
      if (format == "name" && !name.empty()) {
        EXPECT_NE(("\n" + shown.out).find("\n" + name + "\n"), std::string::npos)
            << command << " has no line " << name << ":\n"
            << shown.out;
      }
    }
  }
}

// Commands that work on a data folder; the server may run meanwhile.
TEST_F(NewcomersShell, LocalCommandsPrintDocumentsToo) {
  write("has.py", "import json, sys\nassert sys.argv[1] in json.load(sys.stdin)\n");
  const std::string data = (folder_.path() / "data").string();
  ASSERT_EQ(shell("token create --role admin --data " + data).code, 0);
  ASSERT_EQ(shell("submit --queue llm --wait -- true").code, 0);
  server_.stop();
  const std::pair<std::string, std::string> kCommands[] = {{"token list --data " + data, "tokens"},
                                                           {"doctor --data " + data, "findings"},
                                                           {"fsck --data " + data, "journal"},
                                                           {"replay --ledger " + data, "ledger"}};
  for (const auto& [command, key] : kCommands) {
    const Result json = shell(command + " -o json 2>/dev/null | python3 has.py " + key);
    EXPECT_EQ(json.code, 0) << command << json.out;
    const Result yaml = shell(command + " -o yaml");
    EXPECT_TRUE(has(yaml, key + ":")) << yaml.out;
    EXPECT_EQ(shell(command + " -o xml").code, 2) << command;
  }
}

TEST_F(NewcomersShell, APayloadComesFromStandardInput) {
  const Result done =
      run("echo '{\"prompt\": \"hi\"}' | " + std::string(BERTH_BINARY) + " submit --server " +
          server_.grpc_address() + " --queue llm --id p --wait --payload @-");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(has(shell("status p -o json"), "eyJwcm9tcHQiOiAiaGkifQo=")) << "as it was piped";
}

}  // namespace
}  // namespace berth::e2e::shell_test
