// Streams over gRPC: events, submits, output; stopping.
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "api/event_source.h"
#include "api/grpc_reactors.h"
#include "api/log_source.h"
#include "api/submit_stream.h"
#include "api/testing/doors.h"
#include "service/sequence_number.h"

namespace berth::api::grpc_streams_test {
namespace {

using testing::Doors;
using Stub = v1::Scheduler::Stub;

std::vector<v1::TaskEvent> read_events(Doors& doors, const v1::TaskEventsRequest& request,
                                       grpc::Status* status = nullptr) {
  grpc::ClientContext context;
  auto reader = doors.stub->TaskEvents(&context, request);
  std::vector<v1::TaskEvent> events;
  for (v1::TaskEvent event; reader->Read(&event);)
    events.push_back(event);
  const grpc::Status finished = reader->Finish();
  if (status != nullptr) *status = finished;
  return events;
}

// News comes while it is still being told whom to wake, as a task's first start can.
class EagerSource : public Source<v1::LogChunk> {
 public:
  void wake_with(std::function<void()> wake) override {
    is_told_ = false;
    wake();
    pulled_.try_acquire_for(std::chrono::milliseconds(200));
    is_told_ = true;
  }
  Piece<v1::LogChunk> pull() override {
    if (!is_told_) came_early = true;
    pulled_.release();
    return {.ended = true};
  }
  void wait_for_pull() { pulled_.acquire(); }

  std::atomic<bool> came_early = false;

 private:
  std::atomic<bool> is_told_ = false;
  std::counting_semaphore<> pulled_{0};
};

TEST(Streams, AreNotPulledBeforeTheSourceKnowsWhomToWake) {
  Doors doors;
  ApiContext context(doors.running.service(), {}, {});
  const auto source = std::make_shared<EagerSource>();
  auto* const call = SourceWriter<v1::LogChunk>::start(context, {}, source);
  if (!source->came_early) source->wait_for_pull();
  EXPECT_FALSE(source->came_early);
  context.slow.stop();
  call->OnDone();
}

TEST(Events, AreFollowedAsTheyHappen) {
  Doors doors;
  grpc::ClientContext context;
  v1::TaskEventsRequest request;
  request.mutable_filter()->set_user_id("alice");
  request.set_follow(true);
  request.set_after_sequence(doors.running.service().feed().last());
  auto reader = doors.stub->TaskEvents(&context, request);
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("other", response, "bob").ok());
  ASSERT_TRUE(doors.submit("mine", response, "alice").ok());
  std::vector<v1::TaskState> states;
  std::uint64_t last = 0;
  v1::TaskEvent event;
  while (states.empty() || states.back() != v1::COMPLETED) {
    ASSERT_TRUE(reader->Read(&event));
    EXPECT_EQ(event.task_id(), "mine");
    EXPECT_EQ(event.user_id(), "alice");
    EXPECT_GT(event.sequence(), last);
    last = event.sequence();
    states.push_back(event.state());
  }
  EXPECT_EQ(states,
            (std::vector<v1::TaskState>{v1::PENDING, v1::STARTING, v1::RUNNING, v1::COMPLETED}));
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::CANCELLED);
}

TEST(Events, ResumeBehindASequenceNumber) {
  Doors doors;
  v1::SubmitTaskResponse response;
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(doors.submit(id, response).ok());
    doors.end_of(id);
  }
  v1::TaskEventsRequest request;
  request.set_from_start(true);
  const auto all = read_events(doors, request);
  ASSERT_EQ(all.size(), 12U);
  request.set_from_start(false);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    request.set_after_sequence(all[i].sequence());
    const auto rest = read_events(doors, request);
    ASSERT_EQ(rest.size(), all.size() - i - 1);
    EXPECT_EQ(rest.front().SerializeAsString(), all[i + 1].SerializeAsString());
  }
}

// A batch of many is one decision; each of its steps has a number of its own, the same behind a
// filter, and whoever breaks off between them goes on there.
TEST(Events, ABatchIsResumedInItsMiddle) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(doors.submit("a" + std::to_string(i), response).ok());
  doors.pause(false);
  for (int i = 0; i < 8; ++i)
    doors.end_of("a" + std::to_string(i));
  v1::TaskEventsRequest request;
  request.set_from_start(true);
  request.mutable_filter()->add_states(v1::RUNNING);
  const auto all = read_events(doors, request);
  ASSERT_EQ(all.size(), 8U);
  request.set_from_start(false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    request.set_after_sequence(all[i].sequence());
    const auto rest = read_events(doors, request);
    ASSERT_EQ(rest.size(), all.size() - i - 1);
    for (std::size_t k = 0; k < rest.size(); ++k)
      EXPECT_EQ(rest[k].SerializeAsString(), all[i + 1 + k].SerializeAsString());
  }
  request.clear_filter();
  request.set_after_sequence(0);
  request.set_from_start(true);
  std::map<std::uint64_t, std::string> unfiltered;
  for (const v1::TaskEvent& event : read_events(doors, request))
    unfiltered[event.sequence()] = event.SerializeAsString();
  EXPECT_EQ(unfiltered.size(), 32U);
  for (const v1::TaskEvent& event : all)
    EXPECT_EQ(unfiltered[event.sequence()], event.SerializeAsString());
}

// A client that kept a number from before steps of one message had numbers of their own.
TEST(Events, ANumberOfAnOlderServerMeansItsPlace) {
  Doors doors;
  v1::SubmitTaskResponse response;
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(doors.submit(id, response).ok());
    doors.end_of(id);
  }
  v1::TaskEventsRequest request;
  request.set_from_start(true);
  const auto all = read_events(doors, request);
  ASSERT_EQ(all.size(), 12U);
  request.set_from_start(false);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    request.set_after_sequence(service::ordinal_of(all[i].sequence()));
    const auto rest = read_events(doors, request);
    ASSERT_EQ(rest.size(), all.size() - i - 1);
    EXPECT_EQ(rest.front().SerializeAsString(), all[i + 1].SerializeAsString());
  }
}

TEST(Events, APieceIsBoundedInBytes) {
  Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  constexpr std::size_t kTasks = 600;
  for (std::size_t i = 0; i < kTasks; ++i)
    ASSERT_TRUE(
        doors.submit("a" + std::to_string(i), response, "", "", std::string(100, 'g')).ok());
  ApiContext context(doors.running.service(), {}, {});
  v1::TaskEventsRequest request;
  request.set_from_start(true);
  EventSource source(context, request, "", true);
  std::size_t events = 0;
  for (Piece<v1::TaskEvent> piece; !piece.ended;) {
    piece = source.pull();
    std::size_t bytes = 0;
    for (const v1::TaskEvent& event : piece.messages)
      bytes += event.ByteSizeLong();
    EXPECT_LE(bytes, kStreamPieceBytes / 2 + 1000);
    events += piece.messages.size();
  }
  EXPECT_EQ(events, kTasks);
}

TEST(Streams, BeyondTheirMemoryAreRefusedOnBothDoors) {
  ApiOptions options;
  options.stream_limits.bytes = 2 * kStreamBytes;
  Doors doors(std::move(options));
  v1::TaskEventsRequest request;
  request.set_follow(true);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::TaskEvent>>> readers;
  for (int i = 0; i < 2; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(doors.stub->TaskEvents(contexts.back().get(), request));
    readers.back()->WaitForInitialMetadata();
  }
  grpc::Status status;
  EXPECT_TRUE(read_events(doors, request, &status).empty());
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(testing::reason_of(status), "stream_memory");
  const testing::RawReply reply = doors.http("GET", "/api/v1/events");
  EXPECT_EQ(reply.status, 429);
  EXPECT_NE(reply.body.find("limits.max_stream_memory"), std::string::npos) << reply.body;
  for (int i = 0; i < 2; ++i) {
    contexts[static_cast<std::size_t>(i)]->TryCancel();
    readers[static_cast<std::size_t>(i)]->Finish();
  }
  request.set_follow(false);
  do {  // until the server has heard of it
    read_events(doors, request, &status);
  } while (status.error_code() == grpc::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// ---- Output -------------------------------------------------------------------------------------

// An agent with much output, which sends what there is room for.
class Talker {
 public:
  explicit Talker(Doors& doors, std::uint64_t bytes) : doors_(doors), left_(bytes) {
    doors.running.agent().on_log = [this](const v1::LogRequest& request) { answer(request); };
  }
  std::atomic<std::uint64_t> sent = 0;

 private:
  void answer(const v1::LogRequest& request) {
    if (request.cancel()) return;
    for (std::uint64_t room = request.window() + request.more(); room > 0 && left_ > 0;) {
      const std::uint64_t size = std::min({room, left_, std::uint64_t{10'000}});
      v1::AgentMessage message;
      message.mutable_log()->set_request(request.request());
      message.mutable_log()->set_stream(sent / 10'000 % 2 + 1);
      message.mutable_log()->set_data(std::string(size, 'x'));
      room -= size;
      left_ -= size;
      sent += size;
      message.mutable_log()->set_end(left_ == 0);
      doors_.running.agent().say(std::move(message));
    }
  }

  Doors& doors_;
  std::uint64_t left_;
};

TEST(Output, AReaderThatDoesNotReadHoldsAWindow) {
  Doors doors;
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response).ok());
  const v1::TaskStatus status = doors.end_of("a");
  constexpr std::uint64_t kBytes = 3'000'000;
  Talker agent(doors, kBytes);
  ApiContext context(doors.running.service(), {}, {});
  LogSource source(context, status, {});
  std::counting_semaphore<> news(0);
  source.wake_with([&] { news.release(); });
  // Nobody reads: no more than a window comes.
  while (agent.sent < kStreamPieceBytes)
    std::this_thread::yield();
  EXPECT_EQ(agent.sent, kStreamPieceBytes);
  std::uint64_t taken = 0;
  for (Piece<v1::LogChunk> piece; !piece.ended;) {
    piece = source.pull();
    std::uint64_t bytes = 0;
    for (const v1::LogChunk& chunk : piece.messages)
      bytes += chunk.data().size();
    EXPECT_LE(bytes, kStreamPieceBytes);
    taken += bytes;
    EXPECT_LE(agent.sent, taken + kStreamPieceBytes);
    if (piece.messages.empty() && !piece.ended) news.acquire();
  }
  EXPECT_EQ(taken, kBytes);
}

TEST(Output, WhatIsNotWantedMakesRoomToo) {
  Doors doors;
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response).ok());
  doors.end_of("a");
  Talker agent(doors, 1'000'000);
  grpc::ClientContext context;
  v1::GetTaskLogsRequest request;
  request.set_task_id("a");
  request.set_stderr_only(true);
  auto reader = doors.stub->GetTaskLogs(&context, request);
  std::uint64_t bytes = 0;
  for (v1::LogChunk chunk; reader->Read(&chunk);)
    bytes += chunk.data().size();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_GT(bytes, 0U);
  EXPECT_EQ(agent.sent, 1'000'000U);
}

TEST(Events, ComeFromTheJournalForAReaderThatFellBehind) {
  service::ServiceOptions options;
  options.feed_capacity = 4;
  Doors doors({}, options);
  v1::SubmitTaskResponse response;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(doors.submit("a" + std::to_string(i), response).ok());
    doors.end_of("a" + std::to_string(i));
  }
  v1::TaskEventsRequest request;
  request.set_from_start(true);
  const auto events = read_events(doors, request);
  ASSERT_EQ(events.size(), 80U);
  EXPECT_EQ(events.front().task_id(), "a0");
  EXPECT_EQ(events.back().task_id(), "a19");
  EXPECT_EQ(events.back().state(), v1::COMPLETED);
}

TEST(Events, ANumberThatDoesNotExistIsOutOfRange) {
  Doors doors;
  v1::TaskEventsRequest request;
  request.set_after_sequence(1'000'000);
  grpc::Status status;
  EXPECT_TRUE(read_events(doors, request, &status).empty());
  EXPECT_EQ(status.error_code(), grpc::OUT_OF_RANGE);
  EXPECT_TRUE(testing::detail_of<google::rpc::ErrorInfo>(status)->metadata().contains("oldest"));
}

TEST(Submits, AStreamIsAnsweredInOrderWithItsRefusals) {
  Doors doors;
  doors.pause();
  grpc::ClientContext context;
  auto stream = doors.stub->SubmitTasks(&context);
  constexpr std::uint64_t kMessages = 50;
  constexpr std::uint64_t kPerMessage = 40;
  std::thread writer([&] {
    for (std::uint64_t m = 0; m < kMessages; ++m) {
      v1::SubmitTasksRequest request;
      request.set_sequence(1 + m * kPerMessage);
      for (std::uint64_t i = 0; i < kPerMessage; ++i) {
        v1::TaskSpec& task = *request.add_tasks()->mutable_task();
        task.set_task_type(i == 7 ? "nothing" : "llm");
        task.set_payload("x");
        if (i == 9) task.set_tier(17);
      }
      ASSERT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  std::uint64_t durable = 0;
  std::vector<v1::SubmitRefusal> refusals;
  for (v1::SubmitTasksResponse response; stream->Read(&response);) {
    EXPECT_GE(response.durable(), durable);
    durable = response.durable();
    for (const auto& refusal : response.refusals()) {
      EXPECT_LE(refusal.sequence(), durable);
      refusals.push_back(refusal);
    }
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(durable, kMessages * kPerMessage);
  ASSERT_EQ(refusals.size(), 2 * kMessages);
  EXPECT_EQ(refusals[0].sequence(), 8U);
  EXPECT_EQ(refusals[0].code(), grpc::NOT_FOUND);
  EXPECT_EQ(refusals[1].sequence(), 10U);
  EXPECT_EQ(refusals[1].code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(doors.running.service().view().read(
                [](const service::Board& board) { return board.tasks().size(); }),
            kMessages * (kPerMessage - 2));
}

TEST(Submits, ASmallRingHoldsTheStreamBackAndLosesNothing) {
  service::ServiceOptions options;
  options.submit_ring = 16;
  Doors doors({}, options);
  doors.pause();
  grpc::ClientContext context;
  auto stream = doors.stub->SubmitTasks(&context);
  std::thread writer([&] {
    for (std::uint64_t m = 0; m < 300; ++m) {
      v1::SubmitTasksRequest request;
      request.set_sequence(1 + m * 10);
      for (int i = 0; i < 10; ++i)
        *request.add_tasks()->mutable_task() = testing::plain_task();
      ASSERT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  std::uint64_t durable = 0;
  for (v1::SubmitTasksResponse response; stream->Read(&response);) {
    durable = response.durable();
    EXPECT_EQ(response.refusals_size(), 0);
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(durable, 3000U);
}

TEST(Submits, TheIdsOfWhatWasAcceptedAreToldWhereTheyAreWanted) {
  Doors doors;
  doors.pause();
  grpc::ClientContext context;
  auto stream = doors.stub->SubmitTasks(&context);
  v1::SubmitTasksRequest request;
  for (const bool want_ids : {true, false}) {
    request.Clear();
    request.set_sequence(want_ids ? 1 : 5);
    request.set_want_ids(want_ids);
    for (const char* id : {"own", "", "wrong", "own"}) {
      v1::TaskSpec& task = *request.add_tasks()->mutable_task();
      task.set_task_id(id);
      task.set_task_type(std::string_view(id) == "wrong" ? "nothing" : "llm");
      task.set_payload("x");
    }
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  v1::SubmitTasksResponse all;
  for (v1::SubmitTasksResponse response; stream->Read(&response);)
    all.MergeFrom(response);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(all.durable(), 8U);
  EXPECT_EQ(all.refusals_size(), 2);
  ASSERT_EQ(all.accepted_size(), 3) << "of the first message only";
  EXPECT_EQ(all.accepted(0).sequence(), 1U);
  EXPECT_EQ(all.accepted(0).task_id(), "own");
  EXPECT_FALSE(all.accepted(0).duplicate());
  EXPECT_EQ(all.accepted(1).sequence(), 2U);
  EXPECT_EQ(all.accepted(1).task_id(), "t-" + std::to_string(all.accepted(1).task_no()));
  EXPECT_EQ(all.accepted(2).sequence(), 4U);
  EXPECT_EQ(all.accepted(2).task_no(), all.accepted(0).task_no());
  EXPECT_TRUE(all.accepted(2).duplicate());
  EXPECT_EQ(doors.status_of("own").task_no(), all.accepted(0).task_no());
}

// A client that submits and does not read holds itself up, and no lines without end.
TEST(Submits, AReaderThatSleepsHoldsItsOwnStreamBack) {
  Doors doors;
  doors.pause();
  const auto context =
      std::make_shared<ApiContext>(doors.running.service(), MainHooks{}, StreamLimits{});
  context->submit_outstanding_max = 20;
  std::counting_semaphore<> ready{0};
  std::counting_semaphore<> answered{0};
  const auto stream = std::make_shared<SubmitStream>(context, Caller{});
  stream->open({.ready = [&] { ready.release(); },
                .answer = [&](v1::SubmitTasksResponse&&) { answered.release(); },
                .finished = [](std::optional<Problem>&&) {}});
  v1::SubmitTasksRequest request;
  request.set_want_ids(true);
  for (int i = 0; i < 10; ++i)
    *request.add_tasks()->mutable_task() = testing::plain_task();
  request.set_sequence(1);
  stream->take(request);
  ready.acquire();
  answered.acquire();
  request.set_sequence(11);
  stream->take(request);
  answered.acquire();
  while (ready.try_acquire()) {  // asked for before the second answer was there
  }
  stream->written(0);
  EXPECT_FALSE(ready.try_acquire()) << "20 lines wait for their reader";
  stream->written(1);
  stream->abandon();
  context->replies.stop();
}

TEST(Submits, SequenceNumbersMustGrow) {
  Doors doors;
  grpc::ClientContext context;
  auto stream = doors.stub->SubmitTasks(&context);
  v1::SubmitTasksRequest request;
  request.set_sequence(5);
  *request.add_tasks()->mutable_task() = testing::plain_task();
  ASSERT_TRUE(stream->Write(request));
  stream->Write(request);
  v1::SubmitTasksResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::INVALID_ARGUMENT);
}

TEST(Stopping, EndsStreamsAndSaysWhy) {
  Doors doors;
  doors.pause();
  grpc::ClientContext events_context;
  v1::TaskEventsRequest request;
  request.set_follow(true);
  auto events = doors.stub->TaskEvents(&events_context, request);
  grpc::ClientContext submits_context;
  auto submits = doors.stub->SubmitTasks(&submits_context);
  v1::SubmitTasksRequest message;
  message.set_sequence(1);
  *message.add_tasks()->mutable_task() = testing::plain_task();
  ASSERT_TRUE(submits->Write(message));
  v1::SubmitTasksResponse response;
  ASSERT_TRUE(submits->Read(&response));
  v1::TaskEvent event;
  std::thread stopper([&] { doors.server->stop(seconds(20)); });
  while (events->Read(&event)) {
  }
  EXPECT_EQ(events->Finish().error_code(), grpc::UNAVAILABLE);
  while (submits->Read(&response)) {
  }
  EXPECT_EQ(submits->Finish().error_code(), grpc::UNAVAILABLE);
  stopper.join();
}

}  // namespace
}  // namespace berth::api::grpc_streams_test
