// SubmitStream: many submits over one stream, with at most so many of them unacknowledged.
//
// Tasks are numbered 1, 2, … in the order of submit(). `durable` is what the server has on disk: if
// the stream breaks, what comes behind that number is to be submitted again (the request ids make
// that safe). A thread reads the answers; submit() and finish() belong to one other thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include "berth/v1/scheduler.grpc.pb.h"
#include "client/failure.h"

namespace berth::client {

class SubmitStream {
 public:
  struct Options {
    std::uint64_t window = 4096;  // tasks that may be unacknowledged
    int batch = 64;               // tasks in one message
    std::chrono::milliseconds finish_deadline{60'000};
  };

  SubmitStream(v1::Scheduler::Stub& stub, std::unique_ptr<grpc::ClientContext> context,
               Options options);
  ~SubmitStream();  // gives up what is unacknowledged
  SubmitStream(const SubmitStream&) = delete;
  SubmitStream& operator=(const SubmitStream&) = delete;

  // Waits while the window is full. The task's number; 0: the stream has ended, ask finish().
  std::uint64_t submit(v1::SubmitTaskRequest task);

  // Sends what has been gathered for a message; false: the stream has ended.
  bool flush();

  // Says that no more come and waits until all are acknowledged. The highest durable number, or why
  // the stream broke; then durable() says how far it came.
  Answer<std::uint64_t> finish();

  std::uint64_t durable() const;
  // Refused so far and not taken yet.
  std::vector<v1::SubmitRefusal> take_refusals();

 private:
  void read_answers();

  const Options options_;
  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::SubmitTasksRequest, v1::SubmitTasksResponse>>
      stream_;
  v1::SubmitTasksRequest gathered_;
  std::uint64_t last_ = 0;  // number given

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t durable_ = 0;
  bool ended_ = false;
  std::vector<v1::SubmitRefusal> refusals_;
  std::thread reader_;
};

}  // namespace berth::client
