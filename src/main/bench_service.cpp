// See bench_service.h.
#include "main/bench_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>

#include "berth/v1/scheduler.grpc.pb.h"
#include "client/server_child.h"

namespace berth::main {
namespace {

using Clock = std::chrono::steady_clock;
using Stub = v1::Scheduler::Stub;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Percentiles percentiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[std::min(values.size() - 1,
                           static_cast<std::size_t>(part * static_cast<double>(values.size())))];
  };
  return {at(0.5), at(0.99)};
}

void fill(v1::SubmitTaskRequest& request, const char* queue) {
  v1::TaskSpec& task = *request.mutable_task();
  task.set_task_type(queue);
  task.set_gpu_memory_mb(16);  // so that batches are full on the smallest GPU
  task.set_payload("{\"prompt\": \"no work at all\"}");
}

std::unique_ptr<Stub> connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::Scheduler::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

// Unary submits with a fixed number under way: each answer starts the next call.
class UnaryLoad {
 public:
  UnaryLoad(Stub& stub, std::uint64_t tasks) : stub_(stub), left_(tasks) { fill(request_, "idle"); }

  Status run(int outstanding, ServiceBenchResult& result) {
    const auto begin = Clock::now();
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < outstanding && left_ > 0; ++i)
        start_call();
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return under_way_ == 0; });
    if (!error_.empty()) return Error{error_};
    result.submit_unary_per_s = static_cast<double>(times_ms_.size()) / seconds_since(begin);
    result.submit_ms = percentiles(std::move(times_ms_));
    return Done{};
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::SubmitTaskResponse response;
    Clock::time_point begin = Clock::now();
  };

  void start_call() {
    --left_;
    ++under_way_;
    auto call = std::make_shared<Call>();
    stub_.async()->SubmitTask(
        &call->context, &request_, &call->response,
        [this, call](const grpc::Status& status) { end_call(*call, status); });
  }

  void end_call(const Call& call, const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    times_ms_.push_back(seconds_since(call.begin) * 1e3);
    if (!status.ok()) {
      error_ = status.error_message();
      left_ = 0;
    }
    if (left_ > 0) start_call();
    if (--under_way_ == 0) done_.notify_one();
  }

  Stub& stub_;
  v1::SubmitTaskRequest request_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::uint64_t left_;
  int under_way_ = 0;
  std::vector<double> times_ms_;
  std::string error_;
};

// One stream that submits `tasks` and waits until all are acknowledged.
Status stream_submits(Stub& stub, const char* queue, std::uint64_t tasks, int per_message) {
  grpc::ClientContext context;
  const auto stream = stub.SubmitTasks(&context);
  std::atomic<std::uint64_t> durable{0};
  std::atomic<bool> refused{false};
  std::thread reader([&] {
    v1::SubmitTasksResponse response;
    while (stream->Read(&response)) {
      durable = response.durable();
      if (response.refusals_size() > 0) refused = true;
    }
  });
  v1::SubmitTasksRequest message;
  for (int i = 0; i < per_message; ++i)
    fill(*message.add_tasks(), queue);
  std::uint64_t sent = 0;
  while (sent < tasks) {
    while (message.tasks_size() > static_cast<int>(tasks - sent))
      message.mutable_tasks()->RemoveLast();
    message.set_sequence(sent + 1);
    if (!stream->Write(message)) break;
    sent += static_cast<std::uint64_t>(message.tasks_size());
  }
  stream->WritesDone();
  reader.join();
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return Error{"the stream broke: " + status.error_message()};
  if (refused) return Error{"a task was refused"};
  if (durable < tasks) return Error{"not every task was acknowledged"};
  return Done{};
}

Status stream_all(const std::string& address, const char* queue, std::uint64_t tasks,
                  const ServiceBenchOptions& options) {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(static_cast<std::size_t>(options.streams));
  std::uint64_t left = tasks;
  for (int i = 0; i < options.streams; ++i) {
    const std::uint64_t part = left / static_cast<std::uint64_t>(options.streams - i);
    left -= part;
    threads.emplace_back([&, i, part] {
      const std::unique_ptr<Stub> stub = connect(address);
      const Status done = stream_submits(*stub, queue, part, options.per_message);
      if (!done) errors[static_cast<std::size_t>(i)] = done.error().message;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::string& error : errors)
    if (!error.empty()) return Error{error};
  return Done{};
}

Status wait_until_completed(Stub& stub, const char* queue, std::uint64_t tasks) {
  v1::GetQueueStatusRequest request;
  request.set_task_type(queue);
  while (true) {
    grpc::ClientContext context;
    v1::GetQueueStatusResponse response;
    const grpc::Status status = stub.GetQueueStatus(&context, request, &response);
    if (!status.ok()) return Error{status.error_message()};
    const v1::QueueStatus& now = response.queues(0);
    if (now.failed() + now.expired() > 0) return Error{"a task failed"};
    if (now.completed() >= tasks) return Done{};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Submits at a pace, one task a message, and listens when each starts.
Status pace(const std::string& address, const ServiceBenchOptions& options,
            ServiceBenchResult& result) {
  const std::unique_ptr<Stub> listener = connect(address);
  grpc::ClientContext listen_context;
  v1::TaskEventsRequest request;
  request.set_follow(true);
  request.mutable_filter()->set_task_type("paced");
  request.mutable_filter()->add_states(v1::STARTING);
  const auto events = listener->TaskEvents(&listen_context, request);
  events->WaitForInitialMetadata();

  const std::uint64_t tasks =
      options.paced_rate * static_cast<std::uint64_t>(options.paced_seconds);
  std::vector<Clock::time_point> sent(tasks);
  std::vector<double> times_ms;
  times_ms.reserve(tasks);
  std::thread reader([&] {
    v1::TaskEvent event;
    while (times_ms.size() < tasks && events->Read(&event)) {
      const std::uint64_t number = std::strtoull(event.task_id().c_str(), nullptr, 10);
      if (number < tasks) times_ms.push_back(seconds_since(sent[number]) * 1e3);
    }
  });
  const std::unique_ptr<Stub> stub = connect(address);
  grpc::ClientContext context;
  const auto stream = stub->SubmitTasks(&context);
  std::thread answers([&] {
    v1::SubmitTasksResponse response;
    while (stream->Read(&response)) {
    }
  });
  const auto begin = Clock::now();
  const auto gap = std::chrono::nanoseconds(1'000'000'000 / options.paced_rate);
  for (std::uint64_t i = 0; i < tasks; ++i) {
    const auto due = begin + gap * static_cast<std::int64_t>(i);
    // Sleeps in steps of a millisecond; what fell due meanwhile goes out at once.
    if (due > Clock::now() + std::chrono::milliseconds(1)) std::this_thread::sleep_until(due);
    v1::SubmitTasksRequest message;
    message.set_sequence(i + 1);
    fill(*message.add_tasks(), "paced");
    message.mutable_tasks(0)->mutable_task()->set_task_id(std::to_string(i));
    sent[i] = Clock::now();
    if (!stream->Write(message)) break;
  }
  result.paced_per_s = static_cast<double>(tasks) / seconds_since(begin);
  stream->WritesDone();
  answers.join();
  const grpc::Status status = stream->Finish();
  if (!status.ok()) {
    listen_context.TryCancel();
    reader.join();
    return Error{"the paced stream broke: " + status.error_message()};
  }
  reader.join();
  listen_context.TryCancel();
  if (times_ms.size() < tasks) return Error{"not every start was heard of"};
  result.dispatch_ms = percentiles(std::move(times_ms));
  return Done{};
}

Status put_queue(Stub& stub, const char* name, bool paused) {
  grpc::ClientContext context;
  v1::PutQueueRequest request;
  request.set_name(name);
  request.mutable_config()->set_max_batch_size(1024);
  v1::PutQueueResponse response;
  grpc::Status status = stub.PutQueue(&context, request, &response);
  if (status.ok() && paused) {
    grpc::ClientContext pause_context;
    v1::PauseRequest pause;
    pause.set_task_type(name);
    v1::PauseResponse paused_response;
    status = stub.Pause(&pause_context, pause, &paused_response);
  }
  return status.ok() ? Status(Done{}) : Status(Error{status.error_message()});
}

Status measure_submits(const std::string& address, const ServiceBenchOptions& options,
                       ServiceBenchResult& result) {
  const std::unique_ptr<Stub> stub = connect(address);
  for (const auto& [name, paused] : {std::pair{"idle", true}, {"busy", false}, {"paced", false}})
    if (Status put = put_queue(*stub, name, paused); !put) return put;

  options.progress("unary submits");
  if (Status done = UnaryLoad(*stub, options.unary_tasks).run(options.outstanding, result); !done) {
    return done;
  }
  options.progress("streamed submits");
  const auto begin = Clock::now();
  if (Status done = stream_all(address, "idle", options.stream_tasks, options); !done) return done;
  result.submit_stream_per_s = static_cast<double>(options.stream_tasks) / seconds_since(begin);
  return Done{};
}

// The pace first: what end to end leaves for the history to write would be measured with it.
Status measure_work(const std::string& address, const ServiceBenchOptions& options,
                    ServiceBenchResult& result) {
  options.progress("dispatch at a pace");
  if (Status done = pace(address, options, result); !done) return done;

  options.progress("end to end");
  const std::unique_ptr<Stub> stub = connect(address);
  const auto begin = Clock::now();
  if (Status done = stream_all(address, "busy", options.end_to_end_tasks, options); !done) {
    return done;
  }
  if (Status done = wait_until_completed(*stub, "busy", options.end_to_end_tasks); !done) {
    return done;
  }
  result.end_to_end_per_s = static_cast<double>(options.end_to_end_tasks) / seconds_since(begin);
  return Done{};
}

// This binary as a server.
Result<std::unique_ptr<client::ServerChild>> serve(const std::vector<std::string>& arguments) {
  auto server = client::ServerChild::start(
      {.program = "/proc/self/exe", .arguments = arguments, .environment = {"BERTH_TIME_SCALE=0"}});
  if (server && !(*server)->serves()) return Error{"the server ended before it served"};
  return server;
}

// A server, a restart in the middle, and all that is measured.
Status measure(const std::vector<std::string>& arguments, const ServiceBenchOptions& options,
               ServiceBenchResult& result) {
  auto server = serve(arguments);
  if (!server) return server.error();
  if (Status done = measure_submits((*server)->grpc_address(), options, result); !done) return done;

  options.progress("restart");
  server->reset();
  const auto begin = Clock::now();
  server = serve(arguments);
  if (!server) return server.error();
  result.restart_s = seconds_since(begin);
  result.restart_live_tasks = options.unary_tasks + options.stream_tasks;
  return measure_work((*server)->grpc_address(), options, result);
}

}  // namespace

Result<ServiceBenchResult> bench_service(const ServiceBenchOptions& options) {
  std::vector<std::string> arguments = {
      "--data", options.folder.string(),
      "--grpc", "127.0.0.1:0",
      "--http", "127.0.0.1:0",
      "--set",  "tasks.folder=" + options.folder.string() + "-tasks"};
  for (const char* setting :
       {"tenant_defaults.max_queue_size=1000000000", "tenant_defaults.token_bucket_size=1000000000",
        "tenant_defaults.token_refill_rate=1000000000",
        "tenant_defaults.daily_token_limit=1000000000000", "policy.max_live_tasks=10000000",
        "gpus.source=simulated"}) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  ServiceBenchResult result;
  const Status measured = measure(arguments, options, result);
  std::error_code ignored;
  std::filesystem::remove_all(options.folder, ignored);
  if (!measured) return measured.error();
  return result;
}

}  // namespace berth::main
