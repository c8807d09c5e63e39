// A data folder of the version before this one opens, says all that it held, and its work goes on.
// data_folders/make.sh made it, with tasks in every state, and kill -9 at the end.
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/support/server_process.h"

namespace berth::e2e::old_folder_test {
namespace {

using support::ServerProcess;
using States = std::map<std::string, std::string>;

const States kEnded = {
    {"done-1", "completed"},     {"done-2", "completed"},     {"done-3", "completed"},
    {"done-4", "completed"},     {"done-5", "completed"},     {"done-6", "completed"},
    {"done-7", "completed"},     {"done-8", "completed"},     {"done-9", "completed"},
    {"echoed", "completed"},     {"large-done", "completed"}, {"exits-3", "failed"},
    {"t-10", "completed"},       {"expired", "expired"},      {"cancelled", "cancelled"},
    {"after-ready", "completed"}};
const States kWaiting = {{"pending-1", "pending"},     {"pending-2", "pending"},
                         {"pending-3", "pending"},     {"pending-4", "pending"},
                         {"large-pending", "pending"}, {"flow-a", "pending"},
                         {"flow-b", "waiting"},        {"waits-task", "waiting"},
                         {"waits-signal", "waiting"},  {"held", "waiting"}};
// Their server was killed; the command of the last one ended meanwhile.
const States kRan = {{"long-1", ""}, {"in-late", ""}, {"sleeps", ""}};

class OldFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::sanitized()) GTEST_SKIP() << "servers as processes are tested in other builds";
    const Result unpacked = run("tar -C '" + folder_.path().string() +
                                "' -xzf tests/e2e/data_folders/before-identity.tar.gz");
    ASSERT_EQ(unpacked.code, 0) << unpacked.out;
  }
  std::string data() const { return (folder_.path() / "data").string(); }
  ServerProcess::Options options() const {
    return {data(),
            {"--set", "store.history_retention=\"36500d\"", "--set", "ids.remember=\"36500d\"",
             "--set", "store.segment_size=\"1MiB\""},
            {{"BERTH_TIME_SCALE", "0"}}};
  }
  static Result shell(const ServerProcess& server, const std::string& arguments) {
    return run("BERTH_SERVER=" + server.grpc_address() + " " + BERTH_BINARY + " " + arguments);
  }
  static States states(const ServerProcess& server) {
    std::istringstream lines(shell(server, "tasks --all --no-headers -o wide").out);
    States found;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string id, number, tenant, queue, state;
      words >> id >> number >> tenant >> queue >> state;
      EXPECT_TRUE(found.emplace(id, state).second) << line;
    }
    return found;
  }
  // All have completed; waits for that.
  static void expect_completed(const ServerProcess& server, const States& tasks) {
    const auto all_have = [&] {
      const States now = states(server);
      return std::ranges::all_of(tasks,
                                 [&](const auto& one) { return now.at(one.first) == "completed"; });
    };
    for (int i = 0; i < 300 && !all_have(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const States now = states(server);
    for (const auto& [id, state] : tasks)
      EXPECT_EQ(now.at(id), "completed") << id;
  }
  void expect_healthy() const {
    const Result looked = berth("fsck --data " + data());
    EXPECT_EQ(looked.code, 0) << looked.out;
  }

  support::TempFolder folder_;
};

TEST_F(OldFolder, OpensListsEverythingAndGoesOn) {
  expect_healthy();
  {
    ServerProcess server(options());
    ASSERT_TRUE(server.serves()) << server.error();
    States found = states(server);
    EXPECT_EQ(found.size(), kEnded.size() + kWaiting.size() + kRan.size());
    for (const States* part : {&kEnded, &kWaiting})
      for (const auto& [id, state] : *part)
        EXPECT_EQ(found[id], state) << id;
    EXPECT_EQ(shell(server, "logs echoed").out, "hello\n");

    // Ids and request ids are remembered, with what they were used for.
    const std::string again =
        "submit --queue embedding --tenant research --id done-1 --request-id r-1 --label run=1 "
        "--group g-1 --expected-run 1ms --payload ";
    EXPECT_EQ(shell(server, again + "'text 1'").code, 0);
    EXPECT_EQ(shell(server, again + "other").code, 7);
    EXPECT_EQ(shell(server,
                    "submit --queue diffusion --tenant batch --id pending-4 --payload "
                    "'picture 4'")
                  .code,
              0);
    EXPECT_EQ(states(server).size(), found.size());

    // A signal that was given stays given, and the next number is the next.
    EXPECT_EQ(shell(server,
                    "submit --queue train --id later --depends-on signal:ready "
                    "--wait -- true")
                  .code,
              0);
    EXPECT_NE(shell(server, "tasks --all -o wide").out.find("later          30 "),
              std::string::npos);

    EXPECT_EQ(shell(server, "resolve go").code, 0);
    EXPECT_EQ(shell(server, "release held").code, 0);
    EXPECT_EQ(shell(server, "resume --queue diffusion").code, 0);
    expect_completed(server, kWaiting);
    expect_completed(server, kRan);
    EXPECT_EQ(server.stop(), 0);
  }
  expect_healthy();
  States before;
  {
    ServerProcess server(options());
    ASSERT_TRUE(server.serves()) << server.error();
    before = states(server);
    EXPECT_EQ(before.size(), kEnded.size() + kWaiting.size() + kRan.size() + 1);
    EXPECT_EQ(shell(server, "submit --queue llm --id newest --wait -- true").code, 0);
    before["newest"] = "completed";
    server.kill();
  }
  ServerProcess server(options());
  ASSERT_TRUE(server.serves()) << server.error();
  EXPECT_EQ(states(server), before);
  EXPECT_EQ(server.stop(), 0);
  expect_healthy();
  const Result replayed = berth("replay " + data());
  EXPECT_EQ(replayed.code, 0) << replayed.out;
}

}  // namespace
}  // namespace berth::e2e::old_folder_test
