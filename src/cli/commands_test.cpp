// The shell as users meet it: help, wrong usage, exit codes. Runs commands inside the test.
#include "cli/commands.h"

#include <array>
#include <cstdio>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "cli/arguments.h"
#include "cli/table.h"

namespace berth::cli::commands_test {
namespace {

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

Result run(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  Result result;
  result.code = run_command_line(args, console);
  result.out = out.str();
  result.err = err.str();
  return result;
}

// A scenario of three tasks, written where tests may write.
std::string small_scenario() {
  const std::string path = ::testing::TempDir() + "berth_small.toml";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(
      "name = \"small\"\n[[cluster.gpus]]\nvram = \"40GB\"\n[[queues]]\nname = \"q\"\n"
      "[[workload]]\nkind = \"fixed_gap\"\ngap = \"1s\"\ncount = 3\nexpected_run = \"2s\"\n",
      file);
  std::fclose(file);
  return path;
}

std::string read_file(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST(Commands, HelpNamesEveryCommandAndEveryFlag) {
  const Result top = run({"--help"});
  EXPECT_EQ(top.code, kOk);
  for (const Command& command : own_commands()) {
    if (command.group == Group::hidden) continue;
    EXPECT_NE(top.out.find(command.name), std::string::npos) << command.name;
  }
  const Result sim = run({"sim", "--help"});
  EXPECT_EQ(sim.code, kOk);
  for (const char* flag : {"--json", "--timeline", "--events", "--seed", "--seeds", "--policy",
                           "--set", "--quiet", "compare"}) {
    EXPECT_NE(sim.out.find(flag), std::string::npos) << flag;
  }
  EXPECT_EQ(run({"sim", "compare", "--help"}).code, kOk);
  EXPECT_TRUE(run({"--version"}).out.starts_with("berth "));
}

TEST(Commands, WithoutArgumentsHelpGoesToStandardError) {
  const Result result = run({});
  EXPECT_EQ(result.code, kBadInput);
  EXPECT_TRUE(result.out.empty());
  EXPECT_NE(result.err.find("usage: berth COMMAND"), std::string::npos);
}

TEST(Commands, WrongUsageSaysWhatWasMeant) {
  EXPECT_EQ(run({"sims"}).err,
            "berth: unknown command \"sims\"; did you mean \"sim\"?\nTry 'berth --help'.\n");
  EXPECT_EQ(run({"--server=host:1", "info"}).err,
            "berth: --server stands behind the command: berth COMMAND --server …\n"
            "Try 'berth --help'.\n");
  EXPECT_EQ(run({"--verison"}).err,
            "berth: unknown option \"--verison\"; did you mean \"--version\"?\n"
            "Try 'berth --help'.\n");
  EXPECT_EQ(run({"sim", "x.toml", "--sede", "3"}).err,
            "berth sim: unknown option --sede; did you mean --seed?\nTry 'berth sim --help'.\n");
  EXPECT_EQ(run({"sim"}).err,
            "berth sim: expected FILE, a scenario in TOML\nTry 'berth sim --help'.\n");
  EXPECT_EQ(run({"sim", "a", "b"}).err,
            "berth sim: expected one FILE, found also \"b\"\nTry 'berth sim --help'.\n");
  EXPECT_EQ(run({"sim", "a", "--seed"}).err,
            "berth sim: --seed needs a value: --seed N\nTry 'berth sim --help'.\n");
  EXPECT_EQ(run({"sim", "a", "--json=1"}).err,
            "berth sim: --json takes no value\nTry 'berth sim --help'.\n");
  EXPECT_EQ(run({"sim", "a", "--seeds", "0"}).err,
            "berth sim: --seeds: expected an integer from 1 to 100000, found \"0\"\n"
            "Try 'berth sim --help'.\n");
  for (const auto& args : std::vector<std::vector<std::string>>{
           {"sims"}, {"sim"}, {"sim", "a", "b"}, {"sim", "a", "--seeds", "x"}}) {
    EXPECT_EQ(run(args).code, kBadInput);
  }
}

TEST(Commands, EveryHelpFitsATerminalAndIsReachedEachWay) {
  std::vector<std::vector<std::string>> commands = {{}, {"put"}, {"bench"}};
  for (const Command& command : own_commands()) {
    if (command.reach == Reach::unread) continue;
    std::istringstream words{std::string(command.name)};
    std::vector<std::string> name;
    for (std::string word; words >> word;)
      name.push_back(word);
    commands.push_back(name);
  }
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> behind = command;
    behind.emplace_back("--help");
    const Result result = run(behind);
    behind.back() = "-h";
    EXPECT_EQ(run(behind).out, result.out);
    std::vector<std::string> before = command;
    before.insert(before.begin(), "help");
    EXPECT_EQ(run(before).out, result.out);
    EXPECT_EQ(result.code, kOk);
    EXPECT_NE(result.out.find("usage: berth"), std::string::npos);
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(width_of(line), 100U) << line;
  }
}

TEST(Commands, HelpOfACommandListsAllItTakes) {
  for (const Command& command : own_commands()) {
    if (command.reach == Reach::unread) continue;
    const std::string help = run({"help", std::string(command.name)}).out;
    ASSERT_FALSE(help.empty()) << command.name;
    EXPECT_FALSE(command.group != Group::hidden && command.examples.empty()) << command.name;
    for (const Flag& flag : command.flags)
      EXPECT_NE(help.find("  " + std::string(flag.name)), std::string::npos) << flag.name;
  }
}

TEST(Commands, TheRootBringsItsOwn) {
  static constexpr std::array kMore = {
      Command{.name = "shim",
              .group = Group::hidden,
              .summary = "hidden",
              .usage = "",
              .run =
                  [](const Call& call) {
                    for (const std::string& word : call.args.positional())
                      call.console.out << "[" << word << "]";
                    return 42;
                  },
              .reach = Reach::unread},
      Command{.name = "serve",
              .group = Group::local,
              .summary = "run the server",
              .usage = "[OPTIONS]",
              .run = [](const Call&) { return 43; }},
  };
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const std::vector<std::string> shim = {"shim", "--help", "--", "-x"};
  EXPECT_EQ(run_command_line(shim, console, kMore), 42);
  EXPECT_EQ(out.str(), "[--help][--][-x]");
  const std::vector<std::string> serve = {"serve"};
  EXPECT_EQ(run_command_line(serve, console, kMore), 43);
  const std::vector<std::string> misspelled = {"serv"};
  EXPECT_EQ(run_command_line(misspelled, console, kMore), kBadInput);
  EXPECT_NE(err.str().find("did you mean \"serve\"?"), std::string::npos);
  const std::vector<std::string> help = {"--help"};
  EXPECT_EQ(run_command_line(help, console, kMore), kOk);
  EXPECT_NE(out.str().find("  serve "), std::string::npos);
  EXPECT_EQ(out.str().find("  shim "), std::string::npos);
}

// All that the help of compare lists is taken, and nothing else.
TEST(Commands, CompareTakesWhatItsHelpLists) {
  const std::string file = small_scenario();
  const std::string help = run({"sim", "compare", "--help"}).out;
  for (const std::vector<std::string>& flag : std::vector<std::vector<std::string>>{
           {"--policy", "sticky,cost_aware,round_robin,fifo,fair"},
           {"--vary", "policy.aging_factor=0,0.1"},
           {"--seed", "4"},
           {"--seeds", "2"},
           {"--set", "seed=3"},
           {"--json"},
           {"--quiet"}}) {
    std::vector<std::string> args = {"sim", "compare", file};
    args.insert(args.end(), flag.begin(), flag.end());
    EXPECT_EQ(run(args).code, kOk) << flag.front();
    EXPECT_NE(help.find("  " + flag.front() + " "), std::string::npos) << flag.front();
  }
  for (const char* flag : {"--timeline", "--events"}) {
    EXPECT_EQ(run({"sim", "compare", file, flag, "x"}).code, kBadInput) << flag;
    EXPECT_EQ(help.find(std::string("  ") + flag + " "), std::string::npos) << flag;
  }
}

TEST(Commands, AMisspelledSubcommandIsAnsweredWithTheNearest) {
  EXPECT_EQ(run({"sim", "compar", "a.toml"}).err,
            "berth sim: expected one FILE, found \"compar\" before it; did you mean \"compare\"?\n"
            "Try 'berth sim --help'.\n");
  EXPECT_EQ(run({"bench", "cor"}).err,
            "berth bench: unknown command \"cor\"; did you mean \"core\"?\n"
            "Try 'berth bench --help'.\n");
  EXPECT_EQ(run({"bench"}).err,
            "berth bench: expected one of: core, cluster\nTry 'berth bench --help'.\n");
  EXPECT_EQ(run({"bench", "core", "core"}).err,
            "berth bench core: unexpected argument \"core\"\n"
            "Try 'berth bench core --help'.\n");
  EXPECT_EQ(run({"bench", "core", "--gpus", "1e6"}).err,
            "berth bench core: --gpus: expected an integer from 1 to 1000000, found \"1e6\"\n"
            "Try 'berth bench core --help'.\n");
}

TEST(Commands, NoFileIsWrittenTwiceAndNoScenarioOverwritten) {
  const std::string file = small_scenario();
  const std::string before = read_file(file);
  const std::string output = ::testing::TempDir() + "berth_both.txt";
  const std::string detour = ::testing::TempDir() + "./berth_both.txt";
  for (const std::string& events : {output, detour}) {
    const Result result = run({"sim", file, "--timeline", output, "--events", events});
    EXPECT_EQ(result.code, kBadInput);
    EXPECT_EQ(result.err, "berth sim: --timeline and --events name the same file, \"" + output +
                              "\"\nTry 'berth sim --help'.\n");
  }
  EXPECT_EQ(run({"sim", file, "--timeline", file}).err,
            "berth sim: --timeline would overwrite the scenario, \"" + file +
                "\"\nTry 'berth sim --help'.\n");
  EXPECT_EQ(run({"sim", file, "--events", file}).code, kBadInput);
  EXPECT_EQ(read_file(file), before);
}

TEST(Commands, AWrongPolicyIsAnsweredWithTheNearest) {
  const std::string file = small_scenario();
  EXPECT_EQ(run({"sim", file, "--policy", "faire"}).err,
            "berth sim: --policy: no policy is named \"faire\"; did you mean \"fair\"?\n"
            "Try 'berth sim --help'.\n");
  EXPECT_EQ(run({"sim", "compare", file, "--policy", "fifo,,fair"}).code, kBadInput);
  EXPECT_EQ(run({"sim", "compare", file, "--policy", "fair,fifo,fair"}).err,
            "berth sim compare: --policy: \"fair\" is named twice\n"
            "Try 'berth sim compare --help'.\n");
}

TEST(Commands, ABadScenarioRunsNothing) {
  const Result result = run({"sim", small_scenario(), "--set", "queues.max_batch_size=-1"});
  EXPECT_EQ(result.code, kBadInput);
  EXPECT_TRUE(result.out.empty());
  EXPECT_EQ(result.err,
            "--set queues.max_batch_size=-1: queues.max_batch_size: expected an integer from 1 to "
            "100000, found the integer -1\n1 error; nothing was run\n");
  EXPECT_EQ(run({"sim", "none.toml"}).code, kBadInput);
}

TEST(Commands, ASummaryIsATableOfTheRun) {
  const Result result = run({"sim", small_scenario()});
  EXPECT_EQ(result.code, kOk);
  EXPECT_TRUE(result.err.empty());
  EXPECT_TRUE(result.out.starts_with("small, policy fair, seed 1\n\n")) << result.out;
  // One GPU, 2 s each, 1 s apart: waits 0, 1 and 2 s; all done after 6 s.
  EXPECT_NE(result.out.find("  tasks       3 submitted: 3 completed\n"), std::string::npos);
  EXPECT_NE(result.out.find("  wait        1.00 s mean, 1.00 s p50, 2.00 s p99, 2.00 s max\n"),
            std::string::npos);
  EXPECT_NE(result.out.find("  throughput  0.50 tasks/s over 6.00 s\n"), std::string::npos);
  EXPECT_TRUE(run({"sim", small_scenario(), "--quiet"}).out.empty());
}

TEST(Commands, JsonHasTheFieldsThatScriptsRelyOn) {
  const std::string json = run({"sim", small_scenario(), "--json", "--quiet"}).out;
  for (const char* field : {"\"tasks\": {",      "\"submitted\": 3",
                            "\"completed\": 3",  "\"refused\": 0",
                            "\"cancelled\": 0",  "\"failed\": 0",
                            "\"expired\": 0",    "\"batches\": 3",
                            "\"wait_ms\": {",    "\"mean\": 1000",
                            "\"p50\": 1000",     "\"p99\": 2000",
                            "\"max\": 2000",     "\"throughput_per_s\": 0.5",
                            "\"makespan_s\": 6", "\"busy_ratio\": 1",
                            "\"vram_ratio\": 0", "\"models\": {",
                            "\"loads\": 0",      "\"evictions\": 0",
                            "\"events\": ",      "\"actions_hash\": \"",
                            "\"wall_s\": ",      "\"refusals\": {}",
                            "\"queues\": [",     "\"tenants\": ["}) {
    EXPECT_NE(json.find(field), std::string::npos) << field << "\n" << json;
  }
}

TEST(Commands, ARunThatEndsWithTasksLeftSaysWhy) {
  const std::vector<std::string> stopped = {"sim", small_scenario(), "--set", "stop_at=1500ms"};
  const std::string table = run(stopped).out;
  EXPECT_NE(table.find("  not finished because                           tasks  such as\n"
                       "  running: had started when the run ended            1   task 0\n"
                       "  compute_short: no GPU has enough free compute      1   task 1\n"),
            std::string::npos)
      << table;
  std::vector<std::string> as_json = stopped;
  as_json.emplace_back("--json");
  const std::string json = run(as_json).out;
  EXPECT_NE(json.find("\"unfinished\": [\n    {\n      \"reason\": \"running\",\n      "
                      "\"count\": 1,\n      \"example\": 0\n    },"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"unfinished_asked\": 2,"), std::string::npos) << json;
  EXPECT_EQ(run({"sim", small_scenario()}).out.find("not finished"), std::string::npos);
}

TEST(Commands, TimelineAndEventsAreWritten) {
  const std::string timeline = ::testing::TempDir() + "berth_timeline.csv";
  const std::string events = ::testing::TempDir() + "berth_events.jsonl";
  EXPECT_EQ(run({"sim", small_scenario(), "--timeline", timeline, "--events", events}).code, kOk);
  EXPECT_TRUE(read_file(timeline).starts_with("lease,queue,model,gpus,start_s,end_s,size,"));
  EXPECT_NE(read_file(events).find("\"action\":\"batch_started\""), std::string::npos);
}

TEST(Commands, AFileThatCannotBeWrittenEndsTheCommandBeforeTheRun) {
  const Result result = run({"sim", small_scenario(), "--timeline", "/no/such/folder/t.csv"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_TRUE(result.out.empty());
  EXPECT_EQ(result.err,
            "berth sim: cannot write /no/such/folder/t.csv: No such file or directory\n");
  EXPECT_EQ(run({"sim", small_scenario(), "--events", "/dev/full"}).code, kFailed);
  EXPECT_EQ(run({"sim", small_scenario(), "--timeline", "t", "--seeds", "2"}).code, kBadInput);
}

TEST(Commands, SeedsGiveADistribution) {
  const Result table = run({"sim", small_scenario(), "--seeds", "3"});
  EXPECT_EQ(table.code, kOk);
  EXPECT_NE(table.out.find("3 seeds from 1"), std::string::npos);
  EXPECT_NE(table.out.find("over the seeds"), std::string::npos);
  const std::string json = run({"sim", small_scenario(), "--seeds", "3", "--json"}).out;
  EXPECT_NE(json.find("\"summary\": {"), std::string::npos);
  EXPECT_NE(json.find("\"wait_ms_mean\": {\n      \"min\": 1000"), std::string::npos) << json;
  EXPECT_NE(json.find("\"seed\": 3"), std::string::npos);
}

TEST(Commands, CompareShowsPoliciesSideBySide) {
  const Result table = run({"sim", "compare", small_scenario(), "--policy", "fifo,fair"});
  EXPECT_EQ(table.code, kOk);
  EXPECT_NE(table.out.find("fifo"), std::string::npos);
  EXPECT_NE(table.out.find("fair"), std::string::npos);
  const std::string json =
      run({"sim", "compare", small_scenario(), "--policy", "fifo,fair", "--json"}).out;
  EXPECT_NE(json.find("\"policy\": \"fifo\""), std::string::npos);
}

TEST(Commands, CompareVariesOneKey) {
  const std::string file = small_scenario();
  const std::string vary = "policy.aging_factor=0,0.1";
  const Result one = run({"sim", "compare", file, "--policy", "cost_aware", "--vary", vary});
  EXPECT_EQ(one.code, kOk) << one.err;
  EXPECT_NE(one.out.find("cost_aware"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("  aging_factor=0  aging_factor=0.1\n"), std::string::npos) << one.out;
  const Result two = run({"sim", "compare", file, "--policy", "cost_aware,fair", "--vary", vary});
  EXPECT_NE(two.out.find("fair aging_factor=0.1\n"), std::string::npos) << two.out;
  const std::string json = run({"sim", "compare", file, "--vary", vary, "--json"}).out;
  EXPECT_NE(json.find("\"set\": \"policy.aging_factor=0.1\""), std::string::npos) << json;
  // What is wrong is said before anything runs.
  EXPECT_EQ(run({"sim", "compare", file, "--vary", "policy.aging_factor"}).err,
            "berth sim compare: --vary: expected PATH=A,B,..., found \"policy.aging_factor\"\n"
            "Try 'berth sim compare --help'.\n");
  const Result wrong = run({"sim", "compare", file, "--vary", "policy.aging_factor=0,much"});
  EXPECT_EQ(wrong.code, kBadInput);
  EXPECT_TRUE(wrong.out.empty());
  EXPECT_NE(wrong.err.find("much"), std::string::npos) << wrong.err;
}

TEST(Arguments, HelpBehindTheDashesIsNotAskedFor) {
  EXPECT_TRUE(asks_for_help(std::vector<std::string>{"a", "-h"}));
  EXPECT_FALSE(asks_for_help(std::vector<std::string>{"a", "--", "--help"}));
}

TEST(Arguments, DashesEndFlagsAndTheLastValueHolds) {
  const std::vector<Flag> flags = {{"--seed", "N", ""}, {"--json", "", ""}};
  const std::vector<std::string> args = {"--seed", "1", "--seed=2", "a", "--", "--json", "-"};
  std::string error;
  const auto arguments = Arguments::parse(args, flags, error);
  ASSERT_TRUE(arguments) << error;
  EXPECT_EQ(arguments->value("--seed"), "2");
  EXPECT_EQ(arguments->values("--seed"), (std::vector<std::string>{"1", "2"}));
  EXPECT_FALSE(arguments->has("--json"));
  EXPECT_EQ(arguments->positional(), (std::vector<std::string>{"a", "--json", "-"}));
  EXPECT_EQ(arguments->before_dashes(), 1U);
}

TEST(Table, NumbersArePleasant) {
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(percent_text(0.5534), "55 %");
  EXPECT_EQ(percent_text(0.0312), "3.1 %");
  EXPECT_EQ(milliseconds_text(63.42), "63.4 ms");
  EXPECT_EQ(milliseconds_text(2345), "2.35 s");
  EXPECT_EQ(milliseconds_text(180'000), "3.0 min");
  EXPECT_EQ(plural(1, "batch"), "1 batch");
  EXPECT_EQ(plural(2, "batch"), "2 batches");
}

TEST(Table, ColumnsAreAlignedByWhatIsSeen) {
  Table table;
  table.add({"name", "n"});
  table.add({"größe", "12"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "  name    n\n  größe  12\n");
}

}  // namespace
}  // namespace berth::cli::commands_test
