// The gRPC door before a real service: tasks from submit to end, errors with their details, health,
// reflection, streams, stopping.
#include <atomic>
#include <functional>
#include <thread>

#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::grpc_door_test {
namespace {

using testing::Doors;
using testing::reason_of;
using Stub = v1::Scheduler::Stub;

TEST(GrpcDoor, ATaskGoesFromSubmitToItsResult) {
  Doors doors;
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response, "alice").ok());
  EXPECT_EQ(response.task_id(), "a");
  const v1::TaskStatus status = doors.end_of("a", "alice");
  EXPECT_EQ(status.state(), v1::COMPLETED);
  EXPECT_EQ(status.user_id(), "alice");
  EXPECT_EQ(status.task_type(), "llm");
  EXPECT_EQ(status.attempts(), 1U);
  EXPECT_EQ(status.result().result(), "done");
  EXPECT_GT(status.ended_unix_ms(), 0);
  // By its number too, and without the tenant's name, since nobody asks for tokens.
  EXPECT_EQ(doors.status_of("t-" + std::to_string(response.task_no())).task_id(), "a");
}

TEST(GrpcDoor, AGangRunsOnAllOfItsGpusAndKeepsItsSpec) {
  Doors doors;
  v1::SubmitTaskRequest request;
  v1::TaskSpec& spec = *request.mutable_task();
  spec = testing::plain_task();
  spec.set_task_id("gang");
  spec.set_gpus(2);
  spec.set_groups(2);
  spec.set_within("node");
  spec.set_required(true);
  spec.add_gpu_kinds("test");
  spec.set_checkpoint_interval_ms(600'000);
  spec.set_restart_cost_ms(30'000);
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.call(&Stub::SubmitTask, request, response).ok());
  EXPECT_EQ(doors.end_of("gang").gpus_size(), 2);
  v1::GetTaskStatusRequest ask;
  ask.set_task_id("gang");
  ask.set_with_spec(true);
  v1::TaskStatus status;
  ASSERT_TRUE(doors.call(&Stub::GetTaskStatus, ask, status).ok());
  EXPECT_EQ(status.spec().groups(), 2U);
  EXPECT_EQ(status.spec().within(), "node");
  EXPECT_TRUE(status.spec().required());
  EXPECT_EQ(status.spec().gpu_kinds(0), "test");
  EXPECT_EQ(status.spec().checkpoint_interval_ms(), 600'000);
  EXPECT_EQ(status.spec().restart_cost_ms(), 30'000);
}

TEST(GrpcDoor, WhatNoHardwareHereHasIsRefusedWithItsReason) {
  Doors doors;
  const auto refusal = [&](const std::function<void(v1::TaskSpec&)>& make) {
    v1::SubmitTaskRequest request;
    *request.mutable_task() = testing::plain_task();
    make(*request.mutable_task());
    v1::SubmitTaskResponse response;
    return doors.call(&Stub::SubmitTask, request, response);
  };
  grpc::Status status = refusal([](auto& s) { s.add_gpu_kinds("tset"); });
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(reason_of(status), "unknown_gpu_kind");
  EXPECT_EQ(status.error_message(),
            "gpu_kinds names \"tset\", and no GPU is of that kind; did you mean \"test\"?");
  status = refusal([](auto& s) { s.set_gpus(3); });
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(reason_of(status), "gpus_over_cluster");
  status = refusal([](auto& s) { s.set_cpus_milli(4'000'000'000); });
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(reason_of(status), "cpu_over_node");
  EXPECT_NE(status.error_message().find("needs 4000000 CPUs"), std::string::npos)
      << status.error_message();
  status = refusal([](auto& s) {
    s.set_gpus(2);
    s.set_within("island");
    s.set_required(true);
  });
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION) << status.error_message();
  status = refusal([](auto& s) { s.set_mig_profile("1g.10gb"); });
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION) << status.error_message();
}

TEST(GrpcDoor, ATaskFromTheHistoryLooksLikeTheOneThatJustEnded) {
  Doors doors;
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response).ok());
  doors.end_of("a");
  while (doors.running.service().stats().history_lag > 0)
    std::this_thread::yield();
  v1::GetTaskStatusRequest request;
  request.set_task_id("a");
  request.set_with_spec(true);
  request.set_with_history(true);
  v1::TaskStatus status;
  ASSERT_TRUE(doors.call(&Stub::GetTaskStatus, request, status).ok());
  EXPECT_EQ(status.state(), v1::COMPLETED);
  EXPECT_EQ(status.result().result(), "done");
  EXPECT_TRUE(status.result().completed());
  EXPECT_EQ(status.spec().gpu_memory_mb(), 1000);
  ASSERT_EQ(status.history_size(), 1);
  EXPECT_EQ(status.history(0).gpus_size(), 1);
  EXPECT_GT(status.submitted_unix_ms(), 0);
}

TEST(GrpcDoor, AWaitingTaskHasAReason) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response).ok());
  ASSERT_TRUE(doors.submit("b", response).ok());
  const v1::TaskStatus status = doors.status_of("b");
  EXPECT_EQ(status.state(), v1::PENDING);
  EXPECT_EQ(status.reason().code(), "queue_paused");
  EXPECT_FALSE(status.has_position()) << "the view does not know the order";
  v1::ExplainTaskRequest request;
  request.set_task_id("b");
  v1::ExplainTaskResponse explained;
  ASSERT_TRUE(doors.call(&Stub::ExplainTask, request, explained).ok());
  ASSERT_GE(explained.binding_size(), 1);
  EXPECT_EQ(explained.binding(0).code(), "queue_paused");
  EXPECT_EQ(explained.ahead_in_queue(), 1U);
}

TEST(GrpcDoor, TheSameRequestTwiceIsOneTask) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskRequest request;
  *request.mutable_task() = testing::plain_task();
  request.set_request_id("key-1");
  v1::SubmitTaskResponse first;
  v1::SubmitTaskResponse second;
  ASSERT_TRUE(doors.call(&Stub::SubmitTask, request, first).ok());
  ASSERT_TRUE(doors.call(&Stub::SubmitTask, request, second).ok());
  EXPECT_EQ(first.task_no(), second.task_no());
  EXPECT_FALSE(first.duplicate());
  EXPECT_TRUE(second.duplicate());
  request.mutable_task()->set_priority(4);
  const grpc::Status status = doors.call(&Stub::SubmitTask, request, second);
  EXPECT_EQ(status.error_code(), grpc::ALREADY_EXISTS);
  EXPECT_EQ(reason_of(status), "request_id_reused");
  EXPECT_NE(status.error_message().find("priority"), std::string::npos) << status.error_message();
}

TEST(GrpcDoor, ErrorsSayWhatAndHowToGoOn) {
  Doors doors;
  v1::SubmitTaskRequest request;
  v1::SubmitTaskResponse response;
  grpc::Status status = doors.call(&Stub::SubmitTask, request, response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  request.mutable_task()->set_tier(9);
  status = doors.call(&Stub::SubmitTask, request, response);
  const auto bad = testing::detail_of<google::rpc::BadRequest>(status);
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->field_violations_size(), 3) << "no queue, a wrong tier, nothing to do";
  *request.mutable_task() = testing::plain_task();
  request.mutable_task()->set_task_type("lln");
  status = doors.call(&Stub::SubmitTask, request, response);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_NE(status.error_message().find("did you mean \"llm\""), std::string::npos);
  request.mutable_task()->set_task_type("llm");
  request.mutable_task()->set_gpu_memory_mb(10'000'000);
  status = doors.call(&Stub::SubmitTask, request, response);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(reason_of(status), "vram_over_any_gpu");
  request.mutable_task()->set_gpu_memory_mb(1);
  request.mutable_task()->add_depends_on("nothing");
  status = doors.call(&Stub::SubmitTask, request, response);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(reason_of(status), "dependency_unknown");
  v1::GetTaskStatusRequest ask;
  ask.set_task_id("nothing");
  v1::TaskStatus task;
  EXPECT_EQ(doors.call(&Stub::GetTaskStatus, ask, task).error_code(), grpc::NOT_FOUND);
}

TEST(GrpcDoor, ATenantsLimitIsAQuotaWithADelay) {
  service::ServiceOptions options;
  options.tenant_defaults.max_queue_size = 1;
  Doors doors({}, options);
  doors.pause();
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response).ok());
  const grpc::Status status = doors.submit("b", response);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(reason_of(status), "tenant_queue_full");
  EXPECT_TRUE(testing::detail_of<google::rpc::RetryInfo>(status).has_value());
  const auto quota = testing::detail_of<google::rpc::QuotaFailure>(status);
  ASSERT_TRUE(quota.has_value());
  EXPECT_EQ(quota->violations(0).subject(), "tenant:default");
}

TEST(GrpcDoor, ListsArePagedAndFiltered) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  for (int i = 0; i < 25; ++i)
    ASSERT_TRUE(
        doors.submit("a" + std::to_string(i), response, "alice", "", i % 5 ? "" : "g").ok());
  ASSERT_TRUE(doors.submit("b", response, "bob").ok());
  v1::ListTasksRequest request;
  request.mutable_filter()->set_user_id("alice");
  request.set_page_size(10);
  std::vector<std::string> ids;
  int pages = 0;
  do {
    v1::ListTasksResponse page;
    ASSERT_TRUE(doors.call(&Stub::ListTasks, request, page).ok());
    for (const auto& task : page.tasks())
      ids.push_back(task.task_id());
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(ids.size(), 25U);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(ids.back(), "a24");
  v1::ListTasksResponse page;
  request.mutable_filter()->set_group("g");
  ASSERT_TRUE(doors.call(&Stub::ListTasks, request, page).ok());
  EXPECT_EQ(page.tasks_size(), 5);
  request.set_page_token("l3.1");
  EXPECT_EQ(doors.call(&Stub::ListTasks, request, page).error_code(), grpc::INVALID_ARGUMENT);
}

TEST(GrpcDoor, EndedTasksAreListedNewestFirst) {
  Doors doors;
  v1::SubmitTaskResponse response;
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(doors.submit(id, response).ok());
    doors.end_of(id);
  }
  while (doors.running.service().stats().history_lag > 0)
    std::this_thread::yield();
  v1::ListTasksRequest request;
  request.mutable_filter()->add_states(v1::COMPLETED);
  request.set_page_size(2);
  v1::ListTasksResponse page;
  ASSERT_TRUE(doors.call(&Stub::ListTasks, request, page).ok());
  ASSERT_EQ(page.tasks_size(), 2);
  EXPECT_EQ(page.tasks(0).task_id(), "c");
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(doors.call(&Stub::ListTasks, request, page).ok());
  ASSERT_EQ(page.tasks_size(), 1);
  EXPECT_EQ(page.tasks(0).task_id(), "a");
}

TEST(GrpcDoor, CancelsOneOrAGroupAndCountsFirst) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  for (int i = 0; i < 1500; ++i)
    ASSERT_TRUE(doors.submit("", response, "", "", i % 3 ? "g" : "").ok());
  v1::CancelTaskRequest request;
  v1::CancelTaskResponse answer;
  EXPECT_EQ(doors.call(&Stub::CancelTask, request, answer).error_code(), grpc::INVALID_ARGUMENT);
  request.set_group("g");
  request.set_dry_run(true);
  ASSERT_TRUE(doors.call(&Stub::CancelTask, request, answer).ok());
  EXPECT_EQ(answer.matched(), 1000U);
  EXPECT_EQ(answer.cancelled(), 0U);
  request.set_dry_run(false);
  ASSERT_TRUE(doors.call(&Stub::CancelTask, request, answer).ok());
  EXPECT_EQ(answer.cancelled(), 1000U);
  v1::CancelTaskRequest one;
  one.set_task_id(response.task_id());
  ASSERT_TRUE(doors.call(&Stub::CancelTask, one, answer).ok());
  EXPECT_EQ(doors.end_of(response.task_id()).state(), v1::CANCELLED);
  ASSERT_TRUE(doors.call(&Stub::CancelTask, one, answer).ok()) << "twice does no harm";
  EXPECT_EQ(answer.cancelled(), answer.matched() - 1);
}

TEST(GrpcDoor, HeldTasksAndSignalsWait) {
  Doors doors;
  v1::SubmitTaskRequest request;
  *request.mutable_task() = testing::plain_task();
  request.mutable_task()->set_task_id("held");
  request.mutable_task()->set_held(true);
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.call(&Stub::SubmitTask, request, response).ok());
  request.mutable_task()->set_task_id("signalled");
  request.mutable_task()->set_held(false);
  request.mutable_task()->add_depends_on("signal:go");
  ASSERT_TRUE(doors.call(&Stub::SubmitTask, request, response).ok());
  for (const auto& [id, reason] :
       {std::pair("held", "task_held"), std::pair("signalled", "waits_for_signal")}) {
    v1::ExplainTaskRequest why;
    why.set_task_id(id);
    v1::ExplainTaskResponse explained;
    ASSERT_TRUE(doors.call(&Stub::ExplainTask, why, explained).ok());
    EXPECT_EQ(explained.status().reason().code(), reason);
  }
  v1::ReleaseTaskRequest release;
  release.set_task_id("held");
  v1::ReleaseTaskResponse released;
  ASSERT_TRUE(doors.call(&Stub::ReleaseTask, release, released).ok());
  v1::ResolveDependencyRequest resolve;
  resolve.set_signal("go");
  v1::ResolveDependencyResponse resolved;
  ASSERT_TRUE(doors.call(&Stub::ResolveDependency, resolve, resolved).ok());
  EXPECT_EQ(resolved.released(), 1U);
  EXPECT_EQ(doors.end_of("held").state(), v1::COMPLETED);
  EXPECT_EQ(doors.end_of("signalled").state(), v1::COMPLETED);
}

TEST(GrpcDoor, WorkflowsAreAllOrNothing) {
  Doors doors;
  doors.pause();
  v1::SubmitWorkflowRequest request;
  for (const char* id : {"one", "two"}) {
    v1::TaskSpec& task = *request.add_tasks() = testing::plain_task();
    task.set_task_id(id);
  }
  request.mutable_tasks(1)->add_depends_on("one");
  request.set_request_id("w");
  v1::SubmitWorkflowResponse first;
  v1::SubmitWorkflowResponse again;
  ASSERT_TRUE(doors.call(&Stub::SubmitWorkflow, request, first).ok());
  ASSERT_EQ(first.task_ids_size(), 2);
  ASSERT_TRUE(doors.call(&Stub::SubmitWorkflow, request, again).ok());
  EXPECT_TRUE(again.duplicate());
  EXPECT_EQ(again.task_nos(1), first.task_nos(1));
  request.mutable_tasks(1)->set_priority(1);
  EXPECT_EQ(doors.call(&Stub::SubmitWorkflow, request, again).error_code(), grpc::ALREADY_EXISTS);
  v1::SubmitWorkflowRequest cycle;
  for (const char* id : {"x", "y"}) {
    v1::TaskSpec& task = *cycle.add_tasks() = testing::plain_task();
    task.set_task_id(id);
    task.add_depends_on(id[0] == 'x' ? "y" : "x");
  }
  const grpc::Status refused = doors.call(&Stub::SubmitWorkflow, cycle, again);
  EXPECT_EQ(reason_of(refused), "dependency_cycle");
  EXPECT_EQ(refused.error_message(), "tasks[0] (\"x\"): the dependencies form a cycle");
}

TEST(GrpcDoor, AnArrayIsOneSubmitOfManyTasks) {
  Doors doors;
  v1::SubmitTaskRequest request;
  request.set_request_id("r");
  v1::TaskSpec& array = *request.mutable_task();
  array.set_task_id("sweep");
  array.set_task_type("llm");
  array.set_payload("{}");
  array.mutable_array()->set_indices("0-4:2");
  array.mutable_array()->set_at_once(1);
  v1::SubmitTaskResponse first;
  ASSERT_TRUE(doors.call(&Stub::SubmitTask, request, first).ok());
  EXPECT_EQ(first.task_id(), "sweep");
  EXPECT_EQ(first.tasks(), 3U);
  v1::SubmitTaskResponse again;
  ASSERT_TRUE(doors.call(&Stub::SubmitTask, request, again).ok());
  EXPECT_TRUE(again.duplicate());
  EXPECT_EQ(again.task_no(), first.task_no());
  for (const char* id : {"sweep[0]", "sweep[2]", "sweep[4]"})
    EXPECT_EQ(doors.end_of(id).state(), v1::COMPLETED) << id;
  array.mutable_array()->set_indices("0-");
  array.set_group("g");
  const grpc::Status wrong = doors.call(&Stub::SubmitTask, request, again);
  EXPECT_EQ(wrong.error_code(), grpc::INVALID_ARGUMENT);
  const auto bad = testing::detail_of<google::rpc::BadRequest>(wrong);
  ASSERT_TRUE(bad && bad->field_violations_size() == 2) << wrong.error_message();
  EXPECT_EQ(bad->field_violations(0).field(), "task.group");
  EXPECT_EQ(bad->field_violations(1).field(), "task.array.indices");
}

TEST(GrpcDoor, AWorkflowThatIsNotTakenNamesTheTask) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("taken", response).ok());
  v1::SubmitWorkflowRequest request;
  for (const char* id : {"one", ""}) {
    v1::TaskSpec& task = *request.add_tasks() = testing::plain_task();
    task.set_task_id(id);
  }
  v1::SubmitWorkflowResponse answer;
  const auto message = [&] {
    return doors.call(&Stub::SubmitWorkflow, request, answer).error_message();
  };
  request.mutable_tasks(1)->set_task_type("lmm");
  EXPECT_EQ(message(), "tasks[1]: there is no queue \"lmm\"; did you mean \"llm\"?");
  request.mutable_tasks(1)->set_task_type("llm");
  request.mutable_tasks(0)->add_depends_on("nobody");
  EXPECT_EQ(message(),
            "tasks[0] (\"one\"): depends_on names \"nobody\", and tenant \"default\" has no such "
            "task");
  request.mutable_tasks(0)->clear_depends_on();
  request.mutable_tasks(1)->set_task_id("taken");
  EXPECT_EQ(message(),
            "tasks[1] (\"taken\"): the task_id belongs to a task with other content: "
            "gpu_memory_mb differs");
}

TEST(GrpcDoor, AQueueSaysHowLongItsOldestTaskWaits) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  const auto oldest_wait_ms = [&] {
    v1::GetQueueStatusResponse queues;
    EXPECT_TRUE(doors.call(&Stub::GetQueueStatus, {}, queues).ok());
    return queues.queues(0).oldest_wait_ms();
  };
  EXPECT_EQ(oldest_wait_ms(), 0);
  ASSERT_TRUE(doors.submit("first", response).ok());
  while (oldest_wait_ms() < 20)
    std::this_thread::yield();
  ASSERT_TRUE(doors.submit("second", response).ok());
  EXPECT_GE(oldest_wait_ms(), 20);
  v1::ListTasksResponse tasks;
  ASSERT_TRUE(doors.call(&Stub::ListTasks, {}, tasks).ok());
  EXPECT_EQ(tasks.tasks(0).reason().code(), "queue_paused");
  doors.pause(false);
  doors.end_of("first");
  doors.end_of("second");
  EXPECT_EQ(oldest_wait_ms(), 0);
  EXPECT_NE(doors.http("GET", "/metrics").body.find("\nberth_dispatch_seconds_count 2\n"),
            std::string::npos);
}

TEST(GrpcDoor, TheClusterIsShown) {
  Doors doors;
  v1::GetGPUStatusResponse gpus;
  ASSERT_TRUE(doors.call(&Stub::GetGPUStatus, {}, gpus).ok());
  ASSERT_EQ(gpus.gpus_size(), 2);
  EXPECT_EQ(gpus.gpus(0).state(), "up");
  EXPECT_EQ(gpus.gpus(0).total_mb(), 40'000);
  EXPECT_EQ(gpus.gpus(0).usable_mb(), 36'000);
  EXPECT_EQ(gpus.gpus(0).temperature_c(), -1) << "not measured";
  v1::DrainGPURequest drain;
  drain.set_gpu("gpu-1");
  v1::DrainGPUResponse drained;
  ASSERT_TRUE(doors.call(&Stub::DrainGPU, drain, drained).ok());
  v1::GetGPUStatusRequest one;
  one.set_gpu("GPU-1");
  ASSERT_TRUE(doors.call(&Stub::GetGPUStatus, one, gpus).ok());
  ASSERT_EQ(gpus.gpus_size(), 1);
  EXPECT_EQ(gpus.gpus(0).state(), "draining");
  one.set_gpu("gpu-9");
  EXPECT_EQ(doors.call(&Stub::GetGPUStatus, one, gpus).error_code(), grpc::NOT_FOUND);
  v1::GetQueueStatusResponse queues;
  ASSERT_TRUE(doors.call(&Stub::GetQueueStatus, {}, queues).ok());
  ASSERT_EQ(queues.queues_size(), 1);
  EXPECT_EQ(queues.queues(0).config().max_batch_size(), 8U);
  v1::ServerInfo info;
  ASSERT_TRUE(doors.call(&Stub::GetServerInfo, {}, info).ok());
  EXPECT_EQ(info.version(), "test");
  EXPECT_GT(info.events(), 0U);
}

TEST(GrpcDoor, TenantsQueuesAndModelsArePut) {
  Doors doors;
  v1::PutModelRequest model;
  model.set_name("big");
  model.mutable_config()->set_weights_mb(8000);
  v1::PutModelResponse model_put;
  ASSERT_TRUE(doors.call(&Stub::PutModel, model, model_put).ok());
  EXPECT_TRUE(model_put.created());
  v1::PutQueueRequest queue;
  queue.set_name("chat");
  queue.mutable_config()->set_model("big");
  queue.mutable_config()->set_max_batch_size(4);
  queue.mutable_config()->set_work_class("decode");
  v1::PutQueueResponse queue_put;
  ASSERT_TRUE(doors.call(&Stub::PutQueue, queue, queue_put).ok());
  queue.mutable_config()->Clear();
  queue.mutable_config()->set_max_batch_wait_ms(20);
  ASSERT_TRUE(doors.call(&Stub::PutQueue, queue, queue_put).ok());
  EXPECT_FALSE(queue_put.created());
  v1::GetQueueStatusRequest ask;
  ask.set_task_type("chat");
  v1::GetQueueStatusResponse queues;
  ASSERT_TRUE(doors.call(&Stub::GetQueueStatus, ask, queues).ok());
  EXPECT_EQ(queues.queues(0).config().model(), "big") << "what is not said stays";
  EXPECT_EQ(queues.queues(0).config().max_batch_size(), 4U);
  EXPECT_EQ(queues.queues(0).config().max_batch_wait_ms(), 20);
  EXPECT_EQ(queues.queues(0).config().work_class(), "decode");
  queue.mutable_config()->set_work_class("");
  ASSERT_TRUE(doors.call(&Stub::PutQueue, queue, queue_put).ok());
  ASSERT_TRUE(doors.call(&Stub::GetQueueStatus, ask, queues).ok());
  EXPECT_EQ(queues.queues(0).config().work_class(), "") << "none again";
  queue.mutable_config()->set_model("bigg");
  EXPECT_EQ(doors.call(&Stub::PutQueue, queue, queue_put).error_code(), grpc::NOT_FOUND);
  v1::PutTenantRequest tenant;
  tenant.set_name("carol");
  tenant.mutable_config()->set_weight(2.5);
  tenant.mutable_config()->set_tier(1);
  v1::PutTenantResponse tenant_put;
  ASSERT_TRUE(doors.call(&Stub::PutTenant, tenant, tenant_put).ok());
  v1::GetTenantStatusRequest carol;
  carol.set_user_id("carol");
  v1::GetTenantStatusResponse tenants;
  ASSERT_TRUE(doors.call(&Stub::GetTenantStatus, carol, tenants).ok());
  EXPECT_DOUBLE_EQ(tenants.tenants(0).config().weight(), 2.5);
  EXPECT_EQ(tenants.tenants(0).config().tier(), 1U);
  tenant.mutable_config()->set_weight(-1);
  tenant.mutable_config()->set_tier(7);
  const grpc::Status status = doors.call(&Stub::PutTenant, tenant, tenant_put);
  EXPECT_EQ(testing::detail_of<google::rpc::BadRequest>(status)->field_violations_size(), 2);
}

TEST(GrpcDoor, TenantsMakeATree) {
  Doors doors;
  const auto put = [&](const std::string& name, const v1::TenantConfig& config) {
    v1::PutTenantRequest request;
    request.set_name(name);
    *request.mutable_config() = config;
    v1::PutTenantResponse response;
    return doors.call(&Stub::PutTenant, request, response);
  };
  const auto below = [](const std::string& parent) {
    v1::TenantConfig config;
    config.set_parent(parent);
    return config;
  };
  EXPECT_EQ(put("team", below("company")).error_code(), grpc::NOT_FOUND);
  ASSERT_TRUE(put("company", {}).ok());
  v1::TenantConfig team = below("company");
  team.set_guaranteed_gpus(2);
  team.set_borrow_gpus(1.5);
  ASSERT_TRUE(put("team", team).ok());
  ASSERT_TRUE(put("user", below("team")).ok());

  const grpc::Status cycle = put("company", below("user"));
  EXPECT_EQ(cycle.error_code(), grpc::INVALID_ARGUMENT);
  const auto detail = testing::detail_of<google::rpc::BadRequest>(cycle);
  ASSERT_EQ(detail->field_violations_size(), 1);
  EXPECT_EQ(detail->field_violations(0).field(), "config.parent");
  EXPECT_NE(detail->field_violations(0).description().find(
                "\"company\" -> \"user\" -> \"team\" -> \"company\""),
            std::string::npos);

  v1::TenantConfig wrong;
  wrong.set_max_gpus(1);  // it is guaranteed 2
  EXPECT_EQ(put("team", wrong).error_code(), grpc::INVALID_ARGUMENT);

  std::string above = "user";
  for (int i = 4; i <= 8; ++i) {
    const std::string name = "level" + std::to_string(i);
    ASSERT_TRUE(put(name, below(above)).ok());
    above = name;
  }
  EXPECT_EQ(put("level9", below(above)).error_code(), grpc::INVALID_ARGUMENT);
  ASSERT_TRUE(put("other", {}).ok());
  EXPECT_EQ(put("company", below("other")).error_code(), grpc::INVALID_ARGUMENT)
      << "what stands below it would be too deep";

  v1::GetTenantStatusRequest ask;
  ask.set_user_id("team");
  v1::GetTenantStatusResponse tenants;
  ASSERT_TRUE(doors.call(&Stub::GetTenantStatus, ask, tenants).ok());
  EXPECT_EQ(tenants.tenants(0).config().parent(), "company");
  EXPECT_DOUBLE_EQ(tenants.tenants(0).config().borrow_gpus(), 1.5);
  ASSERT_TRUE(put("team", below("")).ok());
  ASSERT_TRUE(doors.call(&Stub::GetTenantStatus, ask, tenants).ok());
  EXPECT_EQ(tenants.tenants(0).config().parent(), "") << "it stands at the top now";
}

TEST(GrpcDoor, MainsFunctionsAreCalled) {
  ApiOptions options;
  options.config = [] {
    v1::GetConfigResponse response;
    response.set_toml("a = 1");
    return response;
  };
  options.reload = [](bool dry_run) -> Result<v1::ReloadConfigResponse> {
    if (!dry_run) return Error{"berth.toml:3: no such key"};
    v1::ReloadConfigResponse response;
    response.add_changes("queue llm: max_batch_size 8 -> 9");
    response.add_refused("queue big: there is no model \"m\"");
    return response;
  };
  Doors doors(std::move(options));
  v1::GetConfigResponse config;
  ASSERT_TRUE(doors.call(&Stub::GetConfig, {}, config).ok());
  EXPECT_EQ(config.toml(), "a = 1");
  v1::ReloadConfigRequest reload;
  v1::ReloadConfigResponse changes;
  EXPECT_EQ(doors.call(&Stub::ReloadConfig, reload, changes).error_code(),
            grpc::FAILED_PRECONDITION);
  reload.set_dry_run(true);
  ASSERT_TRUE(doors.call(&Stub::ReloadConfig, reload, changes).ok());
  EXPECT_EQ(changes.changes_size(), 1);
  EXPECT_EQ(changes.refused_size(), 1);
  v1::BackupResponse backup;
  EXPECT_EQ(doors.call(&Stub::Backup, {}, backup).error_code(), grpc::UNIMPLEMENTED);
}

}  // namespace
}  // namespace berth::api::grpc_door_test
