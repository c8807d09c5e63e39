// What is made from the table of commands: completion scripts, man pages, the guide's reference.
#include "cli/manual.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "cli/completion.h"
#include "cli/testing/shell.h"

namespace berth::cli::manual_test {
namespace {

using testing::ServedShell;
using testing::Shell;

// A folder that is gone with the test.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
};

// The output of a shell command, stderr included, and its status.
std::pair<int, std::string> output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), got);
  return {pclose(pipe), text};
}

bool is_installed(const std::string& program) {
  return output_of("command -v " + program).first == 0;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Completion, FollowsFromTheNameOfAValue) {
  EXPECT_EQ(completion_of("QUEUE").words, std::vector<std::string>{"queues"});
  EXPECT_EQ(completion_of("a|b|c").words, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(completion_of("FILE").kind, Completion::Kind::files);
  EXPECT_EQ(completion_of("N").kind, Completion::Kind::nothing);
  EXPECT_EQ(completion_of("TEXT|@FILE").kind, Completion::Kind::nothing);
}

TEST(Completion, ScriptsNameEveryCommandAndFlagAndParse) {
  const Folder folder;
  Shell shell;
  for (const std::string name : {"bash", "zsh", "fish"}) {
    const std::string script = shell.run({"completion", name}).out;
    for (const Command& command : own_commands()) {
      const bool hidden = command.group == Group::hidden;
      for (const Flag& flag : command.flags) {
        const std::string word(flag.name.substr(name == "fish" ? 2 : 0));
        EXPECT_NE(script.find(word), std::string::npos) << name << " " << flag.name;
      }
      if (hidden || name == "fish") continue;
      EXPECT_NE(script.find("'" + std::string(command.name) + "')"), std::string::npos);
    }
    if (!is_installed(name)) continue;
    const auto [status, text] = output_of(name + " -n " + folder.write(name, script));
    EXPECT_EQ(status, 0) << text;
  }
  EXPECT_EQ(shell.run({"completion", "bsh"}).err,
            "berth completion: no completion for \"bsh\"; did you mean \"bash\"?\n"
            "Try 'berth completion --help'.\n");
}

// What bash offers for a command line whose last word is being typed.
std::string offered(const Folder& folder, const std::string& words) {
  const std::string script = folder.write("berth.bash", Shell().run({"completion", "bash"}).out);
  // Stands in for the program, and shows what it is asked.
  folder.write("berth", "#!/bin/sh\necho \"$2-from-server\"\n");
  std::filesystem::permissions(folder.path / "berth", std::filesystem::perms::owner_all);
  return output_of("PATH=" + folder.path.string() + ":$PATH bash -c '. " + script +
                   "; COMP_WORDS=(" + words +
                   "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _berth; echo \"${COMPREPLY[@]}\"'")
      .second;
}

TEST(Completion, BashOffersWhatFits) {
  const Folder folder;
  EXPECT_EQ(offered(folder, "berth sub"), "submit\n");
  EXPECT_EQ(offered(folder, "berth submit --que"), "--queue\n");
  EXPECT_EQ(offered(folder, "berth submit --queue \"\""), "queues-from-server\n");
  EXPECT_EQ(offered(folder, "berth submit --gpu-kind \"\""), "kinds-from-server\n");
  EXPECT_EQ(offered(folder, "berth submit --within n"), "node\n");
  EXPECT_EQ(offered(folder, "berth status \"\""), "tasks-from-server\n");
  EXPECT_EQ(offered(folder, "berth tasks -o w"), "wide\n");
  EXPECT_EQ(offered(folder, "berth put \"\""), "tenant queue model\n");
  EXPECT_EQ(offered(folder, "berth put queue x --adap"), "--adaptive\n");
  EXPECT_EQ(offered(folder, "berth put queue x --model \"\""), "models-from-server\n");
  EXPECT_EQ(offered(folder, "berth completion f"), "fish\n");
  EXPECT_EQ(offered(folder, "berth submit --queue q -- --que"), "\n");
}

TEST(Completion, NamesComeFromTheServer) {
  ServedShell shell;
  v1::GetQueueStatusResponse queues;
  for (const char* name : {"llm", "embedding", "two words", "\x1b"})
    queues.add_queues()->set_name(name);
  shell.server.answer("GetQueueStatus", queues);
  v1::ListTasksResponse tasks;
  tasks.add_tasks()->set_task_id("t1");
  shell.server.answer("ListTasks", tasks);
  v1::GetGPUStatusResponse gpus;
  for (const char* kind : {"l4", "a100", "l4"})
    gpus.add_gpus()->set_kind(kind);
  shell.server.answer("GetGPUStatus", gpus);
  EXPECT_EQ(shell.run({"__complete", "kinds"}).out, "a100\nl4\n");
  EXPECT_EQ(shell.run({"__complete", "queues"}).out, "llm\nembedding\n");
  EXPECT_EQ(shell.run({"__complete", "tasks", "status", "--tenant", "a", ""}).out, "t1\n");
  EXPECT_EQ(shell.server.request<v1::ListTasksRequest>("ListTasks").filter().user_id(), "a");
  shell.environment["BERTH_SERVER"] = "";
  EXPECT_EQ(shell.run({"__complete", "queues", "tasks", "--server", shell.server.address()}).out,
            "llm\nembedding\n");
  shell.server.stop();
  const auto away = shell.run({"__complete", "queues", "--server=" + shell.server.address()});
  EXPECT_EQ(away.code, kOk);
  EXPECT_EQ(away.out + away.err, "");
}

TEST(ManPages, HaveTheirSectionsAndNoWarnings) {
  const Folder folder;
  ASSERT_EQ(Shell().run({"man", folder.path / "man1"}).code, kOk);
  std::size_t pages = 0;
  for (const Command& command : own_commands()) {
    if (command.group == Group::hidden) continue;
    const std::filesystem::path page = folder.path / "man1" / man_file_name(command);
    const std::string text = read_file(page);
    for (const char* section : {".TH \"BERTH-", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n",
                                ".SH \"EXIT STATUS\"\n", ".SH EXAMPLES\n"})
      EXPECT_NE(text.find(section), std::string::npos) << page << " " << section;
    ++pages;
  }
  EXPECT_GE(pages, 30U);
  if (!is_installed("man")) return;
  const auto [status, text] = output_of("for page in " + (folder.path / "man1").string() +
                                        "/*.1; do MANROFFOPT=-ww LC_ALL=C.UTF-8 man --warnings "
                                        "-E UTF-8 -l -Tutf8 -Z \"$page\" > /dev/null || exit 1; "
                                        "done");
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, "");
}

TEST(ManPages, AFolderThatCannotBeMadeIsSaid) {
  const auto ran = Shell().run({"man", "/dev/null/x"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_TRUE(ran.err.starts_with("berth: error: cannot make /dev/null/x: ")) << ran.err;
}

TEST(Guide, ShowsTheCommandsAsTheyAre) {
  const std::string guide = read_file(std::string(BERTH_SOURCE_DIR) + "/docs/guide/cli.md");
  EXPECT_NE(guide.find(reference_common()), std::string::npos);
  for (const Command& command : own_commands()) {
    if (command.group == Group::hidden) continue;
    EXPECT_NE(guide.find(reference_section(command)), std::string::npos)
        << "docs/guide/cli.md: berth " << command.name
        << " is not as the table has it; 'berth __reference' prints the sections";
  }
}

}  // namespace
}  // namespace berth::cli::manual_test
