// The method table: every method of berth.v1.Scheduler, once. gRPC overrides, HTTP routes, rights,
// the OpenAPI description and the guide all follow from it; a test compares it with the service's
// descriptor.
//
// A row: rpc name, its function in Handlers, request, response, HTTP verb, path below kApiRoot, a
// second path ("": none), role, summary. {name} in a path is a field of the request; query
// parameters of a GET or DELETE are its other fields, the body of a POST or PUT is the request as
// JSON.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace berth::api {

// clang-format off
#define BERTH_METHODS(UNARY, SERVER_STREAM, BIDI)                                                  \
  UNARY(SubmitTask, submit_task, SubmitTaskRequest, SubmitTaskResponse,                            \
        post, "/tasks", "", tenant, "Submit one task")                                             \
  BIDI(SubmitTasks, submit_tasks, SubmitTasksRequest, SubmitTasksResponse,                         \
       post, "/tasks:batch", "", tenant, "Submit many tasks; over HTTP one message")               \
  UNARY(SubmitWorkflow, submit_workflow, SubmitWorkflowRequest, SubmitWorkflowResponse,            \
        post, "/workflows", "", tenant, "Submit dependent tasks, all or nothing")                  \
  UNARY(GetTaskStatus, get_task_status, GetTaskStatusRequest, TaskStatus,                          \
        get, "/tasks/{task_id}", "", tenant, "State, reason, position and result of a task")       \
  UNARY(ListTasks, list_tasks, ListTasksRequest, ListTasksResponse,                                \
        get, "/tasks", "", tenant, "Tasks that match a filter, in pages")                          \
  UNARY(ExplainTask, explain_task, ExplainTaskRequest, ExplainTaskResponse,                        \
        get, "/tasks/{task_id}/explain", "", tenant, "What keeps a task from starting")            \
  UNARY(CancelTask, cancel_task, CancelTaskRequest, CancelTaskResponse,                            \
        post, "/tasks/{task_id}/cancel", "/tasks:cancel", tenant,                                  \
        "End a task, a group, or all that match a filter; dry_run only counts")                    \
  UNARY(UpdateTask, update_task, UpdateTaskRequest, UpdateTaskResponse,                            \
        post, "/tasks/{task_id}/update", "", tenant, "Change a task that has not started")         \
  UNARY(HoldTask, hold_task, HoldTaskRequest, HoldTaskResponse,                                    \
        post, "/tasks/{task_id}/hold", "", tenant, "Keep a task from starting until released")     \
  UNARY(ReleaseTask, release_task, ReleaseTaskRequest, ReleaseTaskResponse,                        \
        post, "/tasks/{task_id}/release", "", tenant, "Let a held task start")                     \
  UNARY(ResolveDependency, resolve_dependency, ResolveDependencyRequest,                           \
        ResolveDependencyResponse,                                                                 \
        post, "/signals/{signal}/resolve", "", tenant, "Tell the tasks that wait for a signal")    \
  UNARY(ListSignals, list_signals, ListSignalsRequest, ListSignalsResponse,                        \
        get, "/signals", "", tenant, "Signals that are awaited or given, in pages")                \
  UNARY(ResetSignal, reset_signal, ResetSignalRequest, ResetSignalResponse,                        \
        post, "/signals/{signal}/reset", "", tenant, "Take back a signal that was given")          \
  SERVER_STREAM(GetTaskLogs, get_task_logs, GetTaskLogsRequest, LogChunk,                          \
        get, "/tasks/{task_id}/logs", "", tenant, "Output of a task")                              \
  SERVER_STREAM(TaskEvents, task_events, TaskEventsRequest, TaskEvent,                             \
        get, "/events", "", tenant, "Steps of tasks as they happen; over HTTP as SSE")             \
  UNARY(GetGPUStatus, get_gpu_status, GetGPUStatusRequest, GetGPUStatusResponse,                   \
        get, "/gpus", "/gpus/{gpu}", tenant, "VRAM, utilisation, temperature, what runs")          \
  UNARY(GetQueueStatus, get_queue_status, GetQueueStatusRequest, GetQueueStatusResponse,           \
        get, "/queues", "/queues/{task_type}", tenant, "What is ready, waits and runs")            \
  UNARY(GetModelStatus, get_model_status, GetModelStatusRequest, GetModelStatusResponse,           \
        get, "/models", "/models/{model}", tenant, "Where models are resident; their loads")       \
  UNARY(GetTenantStatus, get_tenant_status, GetTenantStatusRequest, GetTenantStatusResponse,       \
        get, "/tenants", "/tenants/{user_id}", tenant, "Limits and use of tenants")                \
  UNARY(GetUsage, get_usage, GetUsageRequest, GetUsageResponse,                                    \
        get, "/usage", "", tenant, "GPU time by day, tenant and queue")                            \
  UNARY(GetServerInfo, get_server_info, GetServerInfoRequest, ServerInfo,                          \
        get, "/server", "", tenant, "Version, epoch, last event, counters")                        \
  UNARY(DrainGPU, drain_gpu, DrainGPURequest, DrainGPUResponse,                                    \
        post, "/gpus/{gpu}/drain", "", admin, "Let a GPU's batches end and start no new ones")     \
  UNARY(ResumeGPU, resume_gpu, ResumeGPURequest, ResumeGPUResponse,                                \
        post, "/gpus/{gpu}/resume", "", admin, "Let a drained GPU take work again")                \
  UNARY(Pause, pause, PauseRequest, PauseResponse,                                                 \
        post, "/pause", "", admin, "Start nothing more of a queue or a tenant")                    \
  UNARY(Resume, resume, ResumeRequest, ResumeResponse,                                             \
        post, "/resume", "", admin, "End a pause or a drain of a queue or a tenant")               \
  UNARY(PutTenant, put_tenant, PutTenantRequest, PutTenantResponse,                                \
        put, "/tenants/{name}", "", admin, "Make a tenant, or change its limits")                  \
  UNARY(PutQueue, put_queue, PutQueueRequest, PutQueueResponse,                                    \
        put, "/queues/{name}", "", admin, "Make a queue, or change it")                            \
  UNARY(PutModel, put_model, PutModelRequest, PutModelResponse,                                    \
        put, "/models/{name}", "", admin, "Make a model, or change it")                            \
  UNARY(DeleteTenant, delete_tenant, DeleteTenantRequest, DeleteTenantResponse,                    \
        erase, "/tenants/{name}", "", admin, "Delete a tenant that has no work")                   \
  UNARY(DeleteQueue, delete_queue, DeleteQueueRequest, DeleteQueueResponse,                        \
        erase, "/queues/{name}", "", admin, "Delete a queue that is empty")                        \
  UNARY(DeleteModel, delete_model, DeleteModelRequest, DeleteModelResponse,                        \
        erase, "/models/{name}", "", admin, "Delete a model that nothing uses")                    \
  UNARY(GetConfig, get_config, GetConfigRequest, GetConfigResponse,                                \
        get, "/config", "", reader, "Every key with its value and origin")                         \
  UNARY(ReloadConfig, reload_config, ReloadConfigRequest, ReloadConfigResponse,                    \
        post, "/config/reload", "", admin, "Read the configuration file again")                    \
  UNARY(RevertConfig, revert_config, RevertConfigRequest, RevertConfigResponse,                    \
        post, "/config/revert", "", admin,                                                         \
        "Undo what was put, of one tenant, queue or model or of all")                              \
  UNARY(Backup, backup, BackupRequest, BackupResponse,                                             \
        post, "/backup", "", admin, "Copy the data to a new folder on the server")
// clang-format on

enum class Verb : std::uint8_t { get, post, put, erase };  // erase: DELETE, a word of C++
enum class MethodKind : std::uint8_t { unary, server_stream, bidi };
// What a caller must be. An admin may do what a tenant or a reader may, and a reader whatever only
// reads, of all tenants; anyone needs no token.
enum class Role : std::uint8_t { anyone, tenant, reader, agent, admin };

enum class Method : std::uint8_t {
#define X(rpc, function, request, response, verb, path, also, role, summary) function,
  BERTH_METHODS(X, X, X)
#undef X
};

// Where the methods stand over HTTP, and where they stood before; the old root is deprecated and
// will belong to others.
#define BERTH_API_ROOT "/api/v1"
inline constexpr std::string_view kApiRoot = BERTH_API_ROOT;
inline constexpr std::string_view kOldApiRoot = "/v1";

struct MethodInfo {
  std::string_view name;
  MethodKind kind;
  std::string_view request;
  std::string_view response;
  Verb verb;
  std::string_view path;  // with the root
  std::string_view also;  // likewise; "": none
  Role role;
  std::string_view summary;
};

inline constexpr std::array kMethods = {
#define ROW(kind, rpc, request, response, verb, path, also, role, summary)        \
  MethodInfo {                                                                    \
#rpc, MethodKind::kind, #request, #response, Verb::verb, BERTH_API_ROOT path, \
        sizeof(also)> 1 ? BERTH_API_ROOT also : "", Role::role, summary           \
  }
#define UNARY(rpc, function, request, response, verb, path, also, role, summary) \
  ROW(unary, rpc, request, response, verb, path, also, role, summary),
#define SERVER_STREAM(rpc, function, request, response, verb, path, also, role, summary) \
  ROW(server_stream, rpc, request, response, verb, path, also, role, summary),
#define BIDI(rpc, function, request, response, verb, path, also, role, summary) \
  ROW(bidi, rpc, request, response, verb, path, also, role, summary),
    BERTH_METHODS(UNARY, SERVER_STREAM, BIDI)
#undef BIDI
#undef SERVER_STREAM
#undef UNARY
#undef ROW
};

static_assert(std::ranges::none_of(kMethods, [](const MethodInfo& method) {
  return method.path.substr(kApiRoot.size()).starts_with(kOldApiRoot);
}));  // a row's path stands below the root, without it

constexpr const MethodInfo& info_of(Method method) {
  return kMethods[static_cast<std::size_t>(method)];
}

// What a method or a page asks of its caller.
struct Need {
  Role role = Role::admin;
  bool reads = false;  // it changes nothing
};
constexpr Need need_of(const MethodInfo& method) {
  return {.role = method.role, .reads = method.verb == Verb::get};
}
// Its request is the body, as JSON; else path and query hold all of it.
constexpr bool takes_body(Verb verb) { return verb == Verb::post || verb == Verb::put; }
constexpr std::string_view name_of(Verb verb) {
  switch (verb) {
    case Verb::get:
      return "GET";
    case Verb::post:
      return "POST";
    case Verb::put:
      return "PUT";
    case Verb::erase:
      return "DELETE";
  }
  return "";
}
constexpr std::string_view name_of(Role role) {
  switch (role) {
    case Role::anyone:
      return "anyone";
    case Role::tenant:
      return "tenant";
    case Role::reader:
      return "reader";
    case Role::agent:
      return "agent";
    case Role::admin:
      return "admin";
  }
  return "";
}

}  // namespace berth::api
