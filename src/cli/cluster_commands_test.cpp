// The commands about the cluster and its administration, against canned answers.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "cli/testing/shell.h"

namespace berth::cli::cluster_commands_test {
namespace {

using testing::kNow;
using testing::Ran;
using testing::ServedShell;

class Cluster : public ::testing::Test, protected ServedShell {};

TEST_F(Cluster, Queues) {
  v1::GetQueueStatusResponse answer;
  v1::QueueStatus& queue = *answer.add_queues();
  queue.set_name("llm");
  queue.set_model("llama");
  queue.set_ready(1200);
  queue.set_oldest_wait_ms(65'000);
  queue.set_running(4);
  queue.add_resident_on("a0");
  queue.add_resident_on("a1");
  answer.add_queues()->set_name("idle");
  answer.mutable_queues(1)->set_paused(true);
  server.answer("GetQueueStatus", answer);
  EXPECT_EQ(run({"queues"}).out,
            "QUEUE  STATE   MODEL  READY  WAITING  RUNNING  OLDEST  COMPLETED  FAILED  "
            "RESIDENT-ON\n"
            "llm    open    llama  1,200        0        4   1m05s          0       0  a0, a1\n"
            "idle   paused  -          0        0        0       -          0       0  -\n");
  EXPECT_EQ(run({"queues", "llm", "-o", "name"}).out, "llm\nidle\n");
  EXPECT_EQ(server.request<v1::GetQueueStatusRequest>("GetQueueStatus").task_type(), "llm");
  EXPECT_EQ(run({"queues", "a", "b"}).err,
            "berth queues: expected one QUEUE, found also \"b\"\nTry 'berth queues --help'.\n");
}

TEST_F(Cluster, Gpus) {
  v1::GetGPUStatusResponse answer;
  v1::GpuStatus& gpu = *answer.add_gpus();
  gpu.set_name("a0");
  gpu.set_node("n1");
  gpu.set_kind("a100");
  gpu.set_state("up");
  gpu.set_total_mb(40960);
  gpu.set_usable_mb(39936);
  gpu.set_promised_mb(8192);
  gpu.set_used_mb(-1);
  gpu.set_utilisation_percent(93);
  gpu.set_temperature_c(-1);
  gpu.set_power_w(-1);
  v1::RunningBatch& batch = *gpu.add_running();
  batch.set_task_type("llm");
  batch.add_task_ids("t1");
  batch.add_task_ids("t2");
  gpu.add_running()->add_task_ids("alone");
  server.answer("GetGPUStatus", answer);
  EXPECT_EQ(run({"gpus"}).out,
            "GPU  NODE  KIND  STATE  PROMISED  USABLE  USED  UTIL  TEMP  MODELS  RUNNING\n"
            "a0   n1    a100  up          8GB    39GB     -   93%     -  -       2 of llm, "
            "alone\n");
  EXPECT_NE(run({"gpus", "-o", "wide"}).out.find("UUID"), std::string::npos);
}

TEST_F(Cluster, Models) {
  v1::GetModelStatusResponse answer;
  v1::ModelStatus& model = *answer.add_models();
  model.set_name("llama");
  model.mutable_config()->set_weights_mb(16384);
  model.mutable_config()->set_vram_per_task_mb(512);
  model.set_loads(4);
  model.set_load_ms_total(80'000);
  model.add_resident_on("a0");
  server.answer("GetModelStatus", answer);
  EXPECT_EQ(run({"models"}).out,
            "MODEL  WEIGHTS  PER-TASK  LOADS  MEAN-LOAD  FAILURES  EVICTIONS  LOADING-ON  "
            "RESIDENT-ON\n"
            "llama     16GB     512MB      4        20s         0          0  -           a0\n");
}

TEST_F(Cluster, TenantsAndUsage) {
  v1::GetTenantStatusResponse tenants;
  v1::TenantStatus& tenant = *tenants.add_tenants();
  tenant.set_name("research");
  tenant.mutable_config()->set_weight(2);
  tenant.set_running(3);
  tenant.set_gpu_ms(7'500'000);
  server.answer("GetTenantStatus", tenants);
  EXPECT_EQ(run({"tenants"}).out,
            "TENANT    STATE  WEIGHT  READY  WAITING  RUNNING  COMPLETED  FAILED  GPU-TIME\n"
            "research  open     2.00      0        0        3          0       0     2h05m\n");
  v1::TenantStatus& member = *tenants.add_tenants();
  member.set_name("ann");
  member.mutable_config()->set_parent("research");
  member.set_gpu_ms(1'000);
  member.set_subtree_gpu_ms(1'000);
  tenants.mutable_tenants(0)->set_subtree_gpu_ms(7'501'000);
  tenants.mutable_tenants(0)->mutable_ledger()->set_charged_us(9'000'000'000);
  tenants.mutable_tenants(0)->mutable_ledger()->set_refunded_us(1'500'000'000);
  server.answer("GetTenantStatus", tenants);
  EXPECT_EQ(run({"tenants"}).out,
            "TENANT    STATE  WEIGHT  READY  WAITING  RUNNING  COMPLETED  FAILED  GPU-TIME  "
            "WITH-BELOW\n"
            "research  open     2.00      0        0        3          0       0     2h05m       "
            "2h05m\n"
            "ann       open        -      0        0        0          0       0      1.0s        "
            "1.0s\n");
  const std::string wide = run({"tenants", "-o", "wide"}).out;
  EXPECT_NE(wide.find("CHARGED  REFUNDED"), std::string::npos) << wide;
  EXPECT_NE(wide.find("2h30m    25m00s"), std::string::npos) << wide;
  v1::GetUsageResponse usage;
  v1::UsageLine& line = *usage.add_lines();
  line.set_user_id("research");
  line.set_task_type("llm");
  line.set_day("2026-11-15");
  line.set_tasks(2);
  line.set_completed(1);
  line.set_gpu_ms(61'000);
  line.set_wait_ms(500);
  server.answer("GetUsage", usage);
  EXPECT_EQ(run({"usage", "--tenant", "research", "--days", "30"}).out,
            "TENANT    QUEUE  DAY         TASKS  COMPLETED  GPU-TIME  MEAN-WAIT\n"
            "research  llm    2026-11-15      2          1     1m01s      250ms\n");
  EXPECT_EQ(server.request<v1::GetUsageRequest>("GetUsage").days(), 30);
  usage.mutable_lines(0)->set_subtree_tasks(3);
  usage.mutable_lines(0)->set_subtree_gpu_ms(62'000);
  server.answer("GetUsage", usage);
  EXPECT_EQ(run({"usage"}).out,
            "TENANT    QUEUE  DAY         TASKS  COMPLETED  GPU-TIME  WITH-BELOW  MEAN-WAIT\n"
            "research  llm    2026-11-15      2          1     1m01s       1m02s      250ms\n");
  EXPECT_EQ(run({"usage", "--days", "x"}).code, kBadInput);
}

TEST_F(Cluster, Info) {
  v1::ServerInfo info;
  info.set_version("0.1.0");
  info.set_started_unix_ms(kNow - 60'000);
  info.set_live_tasks(12'345);
  info.set_simulated_gpus(true);
  server.answer("GetServerInfo", info);
  const std::string text = run({"info"}).out;
  for (const char* line :
       {"version         0.1.0\n", "live tasks      12,345\n",
        "started         2026-11-18 11:05:40Z (1m00s ago)\n", "gpus            simulated\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
  v1::ServerInfo copy;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(run({"info", "-o", "json"}).out, &copy).ok());
  EXPECT_EQ(copy.live_tasks(), 12'345U);
}

TEST_F(Cluster, PauseAndResumeNameOneTarget) {
  server.answer("Pause", v1::PauseResponse());
  server.answer("Resume", v1::ResumeResponse());
  EXPECT_EQ(run({"pause", "--queue", "llm", "--drain"}).err,
            "queue llm drains; next: berth resume --queue llm\n");
  EXPECT_TRUE(server.request<v1::PauseRequest>("Pause").drain());
  EXPECT_EQ(run({"pause", "--tenant", "a"}).err,
            "tenant a is paused; next: berth resume --tenant a\n");
  EXPECT_EQ(run({"resume", "--queue", "llm"}).err, "queue llm is open\n");
  EXPECT_EQ(server.request<v1::ResumeRequest>("Resume").task_type(), "llm");
  const std::size_t calls = server.calls("Pause");
  for (const auto& args :
       std::vector<std::vector<std::string>>{{"pause"},
                                             {"pause", "--queue", "q", "--tenant", "a"},
                                             {"resume"},
                                             {"pause", "--tenant", "a", "--drain"}})
    EXPECT_EQ(run(args).code, kBadInput);
  EXPECT_EQ(server.calls("Pause"), calls);
}

TEST_F(Cluster, DrainAndUndrain) {
  server.answer("DrainGPU", v1::DrainGPUResponse());
  server.answer("ResumeGPU", v1::ResumeGPUResponse());
  EXPECT_EQ(run({"drain", "a0"}).code, kOk);
  EXPECT_EQ(server.request<v1::DrainGPURequest>("DrainGPU").gpu(), "a0");
  EXPECT_EQ(run({"undrain", "a0"}).err, "GPU a0 takes work again\n");
  EXPECT_EQ(server.request<v1::ResumeGPURequest>("ResumeGPU").gpu(), "a0");
  EXPECT_EQ(run({"drain"}).code, kBadInput);
}

TEST_F(Cluster, ReloadAndBackup) {
  v1::ReloadConfigResponse reload;
  reload.add_changes("queue llm: max_batch_size 8 becomes 16");
  server.answer("ReloadConfig", reload);
  Ran ran = run({"reload", "--dry-run"});
  EXPECT_EQ(ran.out, "queue llm: max_batch_size 8 becomes 16\n");
  EXPECT_EQ(ran.err, "1 change; next: berth reload\n");
  EXPECT_TRUE(server.request<v1::ReloadConfigRequest>("ReloadConfig").dry_run());
  EXPECT_EQ(run({"reload"}).err, "1 change made\n");
  reload.add_refused("tenant \"gold\": too much");
  server.answer("ReloadConfig", reload);
  ran = run({"reload"});
  EXPECT_EQ(ran.code, 7);
  EXPECT_EQ(ran.err, "refused: tenant \"gold\": too much\n1 change made; 1 refused\n");
  EXPECT_EQ(run({"reload", "-o", "json"}).code, 7);
  v1::BackupResponse backup;
  backup.set_path("/b/1");
  backup.set_bytes(4096);
  backup.set_sequence(9);
  server.answer("Backup", backup);
  ran = run({"backup", "/b/1"});
  EXPECT_EQ(ran.out, "/b/1\n");
  EXPECT_EQ(ran.err, "4.0 KiB, up to event 9; next: berth restore /b/1\n");
  EXPECT_EQ(server.request<v1::BackupRequest>("Backup").path(), "/b/1");
}

TEST_F(Cluster, PutSetsTheFieldsThatAreGiven) {
  v1::PutQueueResponse made;
  made.set_created(true);
  server.answer("PutQueue", made);
  server.answer("PutTenant", v1::PutTenantResponse());
  server.answer("PutModel", v1::PutModelResponse());
  EXPECT_EQ(run({"put", "queue", "llm", "--model", "llama", "--max-batch-wait", "50ms",
                 "--adaptive", "false", "--max-gpus", "1.5", "--work-class", "decode"})
                .err,
            "queue llm made; next: berth queues llm\n");
  const auto queue = server.request<v1::PutQueueRequest>("PutQueue");
  EXPECT_EQ(queue.name(), "llm");
  EXPECT_EQ(queue.config().model(), "llama");
  EXPECT_EQ(queue.config().max_batch_wait_ms(), 50);
  EXPECT_TRUE(queue.config().has_adaptive());
  EXPECT_EQ(queue.config().max_gpus(), 1.5);
  EXPECT_EQ(queue.config().work_class(), "decode");
  EXPECT_FALSE(queue.config().has_refuse_late());
  EXPECT_EQ(run({"put", "model", "m", "--weights", "16GB", "--keep-alive", "5min"}).code, kOk);
  const auto model = server.request<v1::PutModelRequest>("PutModel");
  EXPECT_EQ(model.config().weights_mb(), 16384);
  EXPECT_EQ(model.config().keep_alive_ms(), 300'000);
  EXPECT_EQ(run({"put", "queue", "q", "--max-batch-wait", "0"}).code, kOk);
  EXPECT_TRUE(server.request<v1::PutQueueRequest>("PutQueue").config().has_max_batch_wait_ms());
  EXPECT_EQ(server.request<v1::PutQueueRequest>("PutQueue").config().max_batch_wait_ms(), 0);
  EXPECT_EQ(run({"put", "tenant", "a", "--tier", "2", "--daily-token-limit", "9"}).err,
            "tenant a changed; next: berth tenants a\n");
  EXPECT_EQ(server.request<v1::PutTenantRequest>("PutTenant").config().daily_token_limit(), 9);
  EXPECT_EQ(run({"put", "tenant", "plain"}).code, kOk) << "a name is enough";
  EXPECT_EQ(server.request<v1::PutTenantRequest>("PutTenant").name(), "plain");
}

TEST_F(Cluster, DeleteNamesWhatIsGoneAndWhereItsHistoryIs) {
  server.answer("DeleteQueue", v1::DeleteQueueResponse());
  server.answer("DeleteTenant", v1::DeleteTenantResponse());
  server.answer("DeleteModel", v1::DeleteModelResponse());
  EXPECT_EQ(run({"delete", "queue", "night"}).err,
            "queue night deleted; its history stays: berth tasks --all --queue night\n");
  EXPECT_EQ(server.request<v1::DeleteQueueRequest>("DeleteQueue").name(), "night");
  EXPECT_EQ(run({"delete", "tenant", "a b"}).err,
            "tenant a b deleted; its history stays: berth tasks --all --tenant 'a b'\n");
  EXPECT_EQ(server.request<v1::DeleteTenantRequest>("DeleteTenant").name(), "a b");
  EXPECT_EQ(run({"delete", "model", "llama"}).err, "model llama deleted\n");
  EXPECT_EQ(server.request<v1::DeleteModelRequest>("DeleteModel").name(), "llama");
  EXPECT_EQ(run({"delete", "queue"}).code, kBadInput);
  EXPECT_EQ(run({"delete"}).err,
            "berth delete: expected one of: tenant, queue, model\nTry 'berth delete --help'.\n");
}

TEST_F(Cluster, PutRefusesWhatItCannotRead) {
  EXPECT_EQ(run({"put", "queue", "q", "--adaptive", "yes", "--max-gpus", "x"}).err,
            "berth put queue: --adaptive: expected true or false, found \"yes\"\n"
            "berth put queue: --max-gpus: expected a number from 0 up, found \"x\"\n"
            "Try 'berth put queue --help'.\n");
  EXPECT_EQ(run({"put"}).err,
            "berth put: expected one of: tenant, queue, model\nTry 'berth put --help'.\n");
  EXPECT_EQ(server.calls("PutQueue"), 0U);
}

// Every field of the messages can be put, and each flag is a field.
TEST_F(Cluster, PutKnowsEveryField) {
  for (const Command& command : put_commands()) {
    const google::protobuf::Descriptor* message =
        command.name == "put tenant"  ? v1::TenantConfig::descriptor()
        : command.name == "put queue" ? v1::QueueConfig::descriptor()
                                      : v1::ModelConfig::descriptor();
    EXPECT_EQ(command.flags.size(), static_cast<std::size_t>(message->field_count()));
    for (int i = 0; i < message->field_count(); ++i) {
      std::string flag = "--" + message->field(i)->name();
      for (const char* unit : {"_ms", "_mb"}) {
        if (flag.ends_with(unit)) flag.resize(flag.size() - 3);
      }
      std::ranges::replace(flag, '_', '-');
      EXPECT_NE(std::ranges::find(command.flags, flag, &Flag::name), command.flags.end()) << flag;
    }
  }
}

}  // namespace
}  // namespace berth::cli::cluster_commands_test
