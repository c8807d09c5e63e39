// A server with two simulated nodes that run real processes: gangs with their ranks, a server that
// is killed while one runs, and nodes that leave the configuration.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::cluster_test {
namespace {

using support::ServerProcess;
using Lines = std::vector<std::string>;

constexpr const char* kTwoNodes = R"([[cluster.nodes]]
name = "n"
count = 2
cpu = 8
memory = "32GB"
gpus = 2
kind = "A100"
vram = "40GB"

[[queues]]
name = "train"

[[queues]]
name = "launch"
ranks = "node"
)";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class LiveCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
    configure(kTwoNodes);
  }
  void configure(const std::string& text) const {
    std::ofstream(folder_.path() / "berth.toml") << text;
  }
  std::unique_ptr<ServerProcess> serve() const {
    auto server = std::make_unique<ServerProcess>(
        ServerProcess::Options{folder_.path() / "data",
                               {"--config", (folder_.path() / "berth.toml").string()},
                               {{"BERTH_TIME_SCALE", "0"}}});
    EXPECT_TRUE(server->serves()) << server->error();
    return server;
  }
  static void submit(ServerProcess& server, const std::string& id, const std::string& queue,
                     std::uint32_t gpus, const std::string& script) {
    v1::SubmitTaskRequest request;
    v1::TaskSpec& task = *request.mutable_task();
    task.set_task_id(id);
    task.set_task_type(queue);
    task.set_gpus(gpus);
    for (const std::string& word : {std::string("sh"), std::string("-c"), script})
      task.mutable_command()->add_argv(word);
    const auto answer = server.client().submit(request);
    EXPECT_TRUE(answer.ok()) << answer.failure().message;
  }
  static v1::TaskStatus status(ServerProcess& server, const std::string& id) {
    v1::GetTaskStatusRequest request;
    request.set_task_id(id);
    const auto answer = server.client().task_status(request);
    EXPECT_TRUE(answer.ok()) << answer.failure().message;
    return answer.ok() ? *answer : v1::TaskStatus();
  }
  static v1::TaskStatus ended(ServerProcess& server, const std::string& id) {
    v1::TaskStatus now = status(server, id);
    for (int i = 0; i < 600 && now.state() < v1::COMPLETED; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      now = status(server, id);
    }
    return now;
  }
  static Lines sorted_output(ServerProcess& server, const std::string& id) {
    const Result logs = berth("logs " + id + " --server " + server.grpc_address());
    Lines lines;
    std::istringstream text(logs.out);
    for (std::string line; std::getline(text, line);)
      lines.push_back(line);
    std::ranges::sort(lines);
    return lines;
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // Waits until the rank has written its pid.
  int pid_of(int rank) const {
    const std::string path = file("pid." + std::to_string(rank));
    for (int i = 0; i < 600 && !text_of(path).ends_with('\n'); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::string text = text_of(path);
    return text.empty() ? -1 : std::stoi(text);
  }
  static bool runs(int pid) {
    const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
    return pid > 0 && !stat.empty() && stat.find(") Z ") == std::string::npos;
  }

  support::TempFolder folder_;
};

TEST_F(LiveCluster, TheRanksOfAGangSeeOneAnother) {
  const auto server = serve();
  submit(*server, "gang", "train", 4,
         "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK of $BERTH_HOSTS, "
         "GPUs $CUDA_VISIBLE_DEVICES, $MASTER_ADDR");
  const v1::TaskStatus done = ended(*server, "gang");
  EXPECT_EQ(done.state(), v1::COMPLETED) << done.result().message();
  EXPECT_EQ(Lines(done.gpus().begin(), done.gpus().end()),
            (Lines{"n-0/0", "n-0/1", "n-1/0", "n-1/1"}));
  EXPECT_EQ(sorted_output(*server, "gang"),
            (Lines{"[0] 0/4 0/2 0 of n-0,n-1, GPUs 0,1, 127.0.0.1",
                   "[1] 1/4 1/2 0 of n-0,n-1, GPUs 0,1, 127.0.0.1",
                   "[2] 2/4 0/2 1 of n-0,n-1, GPUs 0,1, 127.0.0.1",
                   "[3] 3/4 1/2 1 of n-0,n-1, GPUs 0,1, 127.0.0.1"}));
  submit(*server, "launcher", "launch", 4, "echo $RANK/$WORLD_SIZE GPUs $CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(ended(*server, "launcher").state(), v1::COMPLETED);
  EXPECT_EQ(sorted_output(*server, "launcher"), (Lines{"[0] 0/2 GPUs 0,1", "[1] 1/2 GPUs 0,1"}));
}

// The port that the ranks are given can be listened on by rank 0 and reached by the others.
TEST_F(LiveCluster, RanksMeetAtTheirMaster) {
  const auto server = serve();
  const std::string meet =
      "import os, socket, time\n"
      "address = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))\n"
      "others = int(os.environ['WORLD_SIZE']) - 1\n"
      "if os.environ['RANK'] == '0':\n"
      "  s = socket.create_server(address)\n"
      "  print(sorted(int(s.accept()[0].recv(9)) for _ in range(others)))\n"
      "else:\n"
      "  for _ in range(200):\n"
      "    try: s = socket.create_connection(address); break\n"
      "    except OSError: time.sleep(0.05)\n"
      "  s.send(os.environ['RANK'].encode())\n";
  std::ofstream(file("meet.py")) << meet;
  submit(*server, "gang", "train", 3, "exec python3 " + file("meet.py"));
  const v1::TaskStatus done = ended(*server, "gang");
  EXPECT_EQ(done.state(), v1::COMPLETED) << done.result().message();
  EXPECT_EQ(sorted_output(*server, "gang"), Lines{"[0] [1, 2]"});
}

TEST_F(LiveCluster, AGangFailsOnceByTheRankThatFailed) {
  const auto server = serve();
  submit(
      *server, "gang", "train", 4,
      "echo $$ > " + file("pid.") + "$RANK; [ $RANK = 1 ] && sleep 0.3 && exit 3; exec sleep 600");
  const v1::TaskStatus failed = ended(*server, "gang");
  EXPECT_EQ(failed.state(), v1::FAILED);
  EXPECT_EQ(failed.attempts(), 1U);
  EXPECT_EQ(failed.result().exit_status(), 3);
  EXPECT_NE(failed.result().message().find("Rank 1 ended with status 3"), std::string::npos)
      << failed.result().message();
  for (const int rank : {0, 2, 3})
    EXPECT_FALSE(runs(pid_of(rank))) << rank;
}

TEST_F(LiveCluster, AServerThatIsKilledFindsTheGangAgainAndStartsNothingTwice) {
  {
    const auto server = serve();
    submit(*server, "gang", "train", 4,
           "echo $$ > " + file("pid.") + "$RANK; echo $RANK >> " + file("starts") +
               "; while [ ! -e " + file("go") + " ]; do sleep 0.05; done");
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_TRUE(runs(pid_of(rank)));
    server->kill();
  }
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(runs(pid_of(rank)));  // the gang does not depend on the server
  const auto server = serve();
  EXPECT_EQ(status(*server, "gang").state(), v1::RUNNING);
  std::ofstream(file("go")) << "";
  EXPECT_EQ(ended(*server, "gang").state(), v1::COMPLETED);
  EXPECT_EQ(support::count_lines(file("starts")),
            (std::map<std::string, int>{{"0", 1}, {"1", 1}, {"2", 1}, {"3", 1}}));
}

TEST_F(LiveCluster, AGangThatIsCancelledLeavesNobody) {
  const auto server = serve();
  submit(*server, "gang", "train", 4, "echo $$ > " + file("pid.") + "$RANK; exec sleep 600");
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(runs(pid_of(rank)));
  EXPECT_EQ(berth("cancel gang --server " + server->grpc_address()).code, 0);
  for (int rank = 0; rank < 4; ++rank) {
    for (int i = 0; i < 600 && runs(pid_of(rank)); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(runs(pid_of(rank))) << rank;
  }
}

TEST_F(LiveCluster, ANodeThatLeavesTheConfigurationIsLost) {
  serve()->stop();
  std::string one = kTwoNodes;
  one.replace(one.find("count = 2"), 9, "count = 1");
  one.replace(one.find("name = \"n\""), 10, "name = \"n-0\"");
  configure(one);
  const auto server = serve();
  const auto gpus = server->client().gpus({});
  ASSERT_TRUE(gpus.ok());
  Lines states;
  for (const v1::GpuStatus& gpu : gpus->gpus())
    states.push_back(gpu.name() + " " + gpu.state());
  EXPECT_EQ(states, (Lines{"n-0/0 up", "n-0/1 up", "n-1/0 lost", "n-1/1 lost"}));
  submit(*server, "pair", "train", 2, "true");
  EXPECT_EQ(ended(*server, "pair").state(), v1::COMPLETED);
}

// Two instances side by side on one GPU, each told which it is; a third waits for one of them, and
// is taken up by a server that comes back.
TEST_F(LiveCluster, InstancesShareAGpuInMigMode) {
  configure(
      "[[cluster.nodes]]\nname = \"n\"\ncpu = 8\nmemory = \"32GB\"\ngpus = 1\nkind = \"A100\"\n"
      "vram = \"80GB\"\nmig = true\n\n[[queues]]\nname = \"train\"\n");
  const std::string script = "'echo $CUDA_VISIBLE_DEVICES >> " + file("devices") +
                             "; while [ ! -e " + file("go") + " ]; do sleep 0.05; done'";
  const auto start = [&](ServerProcess& server, const std::string& id) {
    const Result result =
        berth("submit --server " + server.grpc_address() +
              " --queue train --mig-profile 3g.40gb --id " + id + " -- /bin/sh -c " + script);
    EXPECT_EQ(result.code, 0) << result.out;
  };
  {
    const auto server = serve();
    for (const std::string id : {"one", "two", "three"})
      start(*server, id);
    for (int i = 0; i < 600 && support::count_lines(file("devices")).size() < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(support::count_lines(file("devices")),
              (std::map<std::string, int>{{"MIG-SIM-n/0/0/0", 1}, {"MIG-SIM-n/0/4/0", 1}}));
    EXPECT_EQ(status(*server, "three").state(), v1::PENDING);
    const Result refused = berth("submit --server " + server->grpc_address() +
                                 " --queue train --mig-profile 1g.5gb -- true");
    EXPECT_NE(refused.out.find("1g.5gb"), std::string::npos) << refused.out;
    EXPECT_NE(refused.code, 0);
    server->kill();
  }
  const auto server = serve();
  EXPECT_EQ(status(*server, "two").state(), v1::RUNNING);
  std::ofstream(file("go")) << "";
  for (const std::string id : {"one", "two", "three"})
    EXPECT_EQ(ended(*server, id).state(), v1::COMPLETED);
}

TEST_F(LiveCluster, AWorkerWithoutGpusRunsOnItsNode) {
  const auto server = serve();
  const Result result = berth("submit --server " + server->grpc_address() +
                              " --queue train --gpus 0 --cpus 2 --wait -- /bin/sh -c "
                              "'echo GPUs: $CUDA_VISIBLE_DEVICES.'");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(result.out.find("GPUs: ."), std::string::npos) << result.out;
}

TEST_F(LiveCluster, WrongNodesAreRefusedBeforeAnythingStarts) {
  configure("[[cluster.nodes]]\nname = \"n\"\ngpus = 4\nvram_gb = 40\nisland = 3\n");
  const Result refused = berth("serve --config " + file("berth.toml"));
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_NE(refused.out.find("berth.toml:5:10: cluster.nodes.island: 3 does not divide the GPUs of "
                             "a node, 4"),
            std::string::npos)
      << refused.out;
}

}  // namespace
}  // namespace berth::e2e::cluster_test
