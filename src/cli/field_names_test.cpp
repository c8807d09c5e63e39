// What the server says of the API's fields, in the words of the shell.
#include "cli/field_names.h"

#include <gtest/gtest.h>

#include "berth/v1/task.pb.h"
#include "cli/testing/shell.h"

namespace berth::cli::field_names_test {
namespace {

using client::testing::detailed;
using testing::Ran;
using testing::ServedShell;

Command command_named(std::string_view name) {
  for (const Command& command : own_commands()) {
    if (command.name == name) return command;
  }
  ADD_FAILURE() << name;
  return {};
}

// A field without a row would be told by the API's name.
TEST(FieldNamesTable, KnowsEveryFieldOfATask) {
  const Command submit = command_named("submit");
  const FieldNames names(submit);
  const google::protobuf::Descriptor& spec = *v1::TaskSpec::descriptor();
  for (int i = 0; i < spec.field_count(); ++i) {
    const std::string field = spec.field(i)->name();
    EXPECT_NE(names.of("task." + field), "task." + field) << field;
    EXPECT_EQ(FieldNames(command_named("workflow")).of("tasks[3]." + field).find("_ms"),
              std::string::npos);
  }
}

TEST(FieldNamesTable, PathsLeadToTheirFlag) {
  const Command submit = command_named("submit");
  const FieldNames names(submit);
  EXPECT_EQ(names.of("task.deadline_unix_ms"), "--deadline");
  EXPECT_EQ(names.of("task.retry.backoff_ms"), "--backoff");
  EXPECT_EQ(names.of("task.command.argv"), "COMMAND");
  EXPECT_EQ(names.of("task.depends_on[2]"), "--depends-on (number 3)");
  EXPECT_EQ(names.of("task.env.HOME"), "--env HOME");
  EXPECT_EQ(names.of("task.#99"), "task.#99");
  const Command workflow = command_named("workflow");
  EXPECT_EQ(FieldNames(workflow).of("tasks[1].gpu_memory_mb"), "tasks[1].vram");
  EXPECT_EQ(FieldNames(workflow).of("tasks[1].depends_on[0]"), "tasks[1].depends_on[0]");
  const Command put = command_named("put queue");
  EXPECT_EQ(FieldNames(put).of("config.max_batch_wait_ms"), "--max-batch-wait");
}

TEST(FieldNamesTable, SentencesKeepWhatStandsInQuotes) {
  const Command submit = command_named("submit");
  const FieldNames names(submit);
  EXPECT_EQ(names.in_sentence("is not after not_before_unix_ms: it could never start"),
            "is not after --not-before: it could never start");
  EXPECT_EQ(names.in_sentence("there is no queue \"task_id\" for user_id \"x\"."),
            "there is no queue \"task_id\" for --tenant \"x\".");
  EXPECT_EQ(names.in_sentence("raise limits.max_signals"), "raise limits.max_signals");
}

TEST(FieldNamesTable, TheErrorsOfTheServerNameTheFlags) {
  ServedShell shell;
  shell.server.fail("SubmitTask", detailed(grpc::StatusCode::INVALID_ARGUMENT,
                                           "task.deadline_unix_ms: has passed", "bad_request",
                                           {{"task.deadline_unix_ms", "has passed"}}));
  Ran ran = shell.run({"submit", "--queue", "q", "--deadline", "+1s", "--", "c"});
  EXPECT_EQ(ran.err, "berth: error: cannot submit the task: --deadline: has passed\n");
  shell.server.fail("SubmitTask", detailed(grpc::StatusCode::INVALID_ARGUMENT,
                                           "task.gpus: at most 8 (and 1 more)", "bad_request",
                                           {{"task.gpus", "at most 8"},
                                            {"task.share_milli", "must be 1000 for a gang"}}));
  ran = shell.run({"submit", "--queue", "q", "--", "c"});
  EXPECT_EQ(ran.err,
            "berth: error: cannot submit the task: 2 things are wrong\n"
            "  --gpus: at most 8\n"
            "  --share: must be 1000 for a gang\n");
}

TEST(FieldNamesTable, WhoseTaskItIsIsSaidAsAFlag) {
  ServedShell shell;
  google::rpc::ErrorInfo info;
  info.set_reason("unknown_task");
  (*info.mutable_metadata())["tenant"] = "user 123";
  google::rpc::Status status;
  status.add_details()->PackFrom(info);
  shell.server.fail(
      "GetTaskStatus",
      grpc::Status(grpc::StatusCode::NOT_FOUND,
                   "there is no task \"task-1\" of tenant \"default\"; tenant \"user 123\" has one",
                   status.SerializeAsString()));
  const Ran ran = shell.run({"status", "task-1"});
  EXPECT_EQ(ran.code, kNotFound);
  EXPECT_EQ(ran.err,
            "berth: error: cannot show task task-1: there is no task \"task-1\" of tenant "
            "\"default\"; tenant \"user 123\" has one\nAdd --tenant 'user 123'.\n");
}

}  // namespace
}  // namespace berth::cli::field_names_test
