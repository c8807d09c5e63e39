// berth put tenant, queue, model: one thing of the configuration, changed by the API.
//
// The flags are the fields of the messages, spelled with dashes and without their unit; a value is
// read as the field's kind and unit say. So the messages alone know the list of fields.
#include <algorithm>
#include <array>
#include <charconv>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/values.h"

namespace berth::cli {
namespace {

using google::protobuf::FieldDescriptor;

constexpr std::array kTenantFlags = {
    Flag{"--weight", "NUMBER", "its share, compared with other tenants"},
    Flag{"--parent", "TENANT", "the tenant above it; \"\": none"},
    Flag{"--max-queue-size", "N", "how many live tasks it may have"},
    Flag{"--token-bucket-size", "N", "how many tokens it may save up"},
    Flag{"--token-refill-rate", "N", "tokens it gets each second"},
    Flag{"--daily-token-limit", "N", "tokens it may spend each day"},
    Flag{"--guaranteed-gpus", "NUMBER", "GPUs it always gets"},
    Flag{"--borrow-gpus", "NUMBER", "GPUs it may use beyond the guaranteed ones"},
    Flag{"--max-gpus", "NUMBER", "GPUs it may use at once"},
    Flag{"--isolation", "none|batch|slice|gpu", "what it never shares with other tenants"},
    Flag{"--tier", "0|1|2|3", "the best tier its tasks may have, and their default"},
    Flag{"--commands", "true|false", "whether its tasks may be commands"},
};
constexpr std::array kQueueFlags = {
    Flag{"--model", "MODEL", "the model that its batches need"},
    Flag{"--max-batch-size", "N", "how many tasks a batch may have"},
    Flag{"--max-batch-wait", "DURATION", "how long a batch may wait to fill"},
    Flag{"--adaptive", "true|false", "whether that wait follows the arrivals"},
    Flag{"--refuse-late", "true|false", "whether work that would start too late is refused"},
    Flag{"--max-gpus", "NUMBER", "GPUs it may use at once"},
    Flag{"--min-gpus", "NUMBER", "GPUs that are kept for it"},
    Flag{"--batch-base", "DURATION", "time that a batch takes, however small"},
    Flag{"--batch-per-task", "DURATION", "time that each task adds"},
    Flag{"--work-class", "NAME",
         "class of work whose speed counts on each GPU; \"\": the general one"},
    Flag{"--commands", "true|false", "whether its tasks may be commands"},
    Flag{"--executor", "simulated|process", "what runs its tasks"},
    Flag{"--ranks", "gpu|node", "run a gang's command once for each of these"},
    Flag{"--batch-commands", "true|false", "whether its commands may share a batch"},
    Flag{"--max-queue-size", "N", "how many tasks may wait in it"},
    Flag{"--max-task-gpus", "N", "how many GPUs one task may ask for"},
    Flag{"--default-share", "NUMBER", "the part of a GPU for tasks that name none"},
    Flag{"--default-tolerated-wait", "DURATION", "the tolerated wait of tasks that name none"},
    Flag{"--default-run-limit", "DURATION", "the run limit of tasks that name none"},
    Flag{"--max-run-limit", "DURATION", "the longest run limit that a task may name"},
};
constexpr std::array kModelFlags = {
    Flag{"--weights", "SIZE", "VRAM of the weights"},
    Flag{"--vram-per-task", "SIZE", "VRAM that each task needs beside them"},
    Flag{"--load-time", "DURATION", "how long a load takes"},
    Flag{"--keep-alive", "DURATION", "how long an idle model stays while no work waits for it"},
};
constexpr std::array kName = {Positional{"NAME", "its name; it is made if it is not there"}};

constexpr std::array<std::string_view, 2> kTenantExamples = {
    "berth put tenant research --weight 2 --max-gpus 8",
    "berth put tenant vision --parent research --guaranteed-gpus 2 --borrow-gpus 2"};
constexpr std::array<std::string_view, 1> kQueueExamples = {
    "berth put queue llm --model llama --max-batch-size 16 --max-batch-wait 50ms"};
constexpr std::array<std::string_view, 1> kModelExamples = {
    "berth put model llama --weights 16GB --vram-per-task 512MB --load-time 20s"};

// "--max-batch-wait" -> max_batch_wait_ms of the message.
const FieldDescriptor* field_of(const google::protobuf::Descriptor& message,
                                std::string_view flag) {
  std::string name(flag.substr(2));
  std::ranges::replace(name, '-', '_');
  for (const char* unit : {"", "_ms", "_mb"}) {
    if (const FieldDescriptor* field = message.FindFieldByName(name + unit)) return field;
  }
  return nullptr;
}

void note_unless(bool fits, std::string_view flag, const char* wanted, Values& values) {
  if (!fits)
    values.note(std::string(flag) + ": expected " + wanted + ", found \"" + values.text(flag) +
                "\"");
}

void read_field(google::protobuf::Message& config, const FieldDescriptor& field,
                std::string_view flag, Values& values) {
  const google::protobuf::Reflection& reflection = *config.GetReflection();
  const std::string text = values.text(flag);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.SetString(&config, &field, text);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      note_unless(text == "true" || text == "false", flag, "true or false", values);
      reflection.SetBool(&config, &field, text == "true");
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      reflection.SetUInt32(
          &config, &field,
          static_cast<std::uint32_t>(values.integer(flag, 0, UINT32_MAX).value_or(0)));
      break;
    case FieldDescriptor::CPPTYPE_INT64: {
      const std::string& name = field.name();
      const auto number = name.ends_with("_ms")   ? values.duration_ms(flag, 0)
                          : name.ends_with("_mb") ? values.size_mb(flag)
                                                  : values.integer(flag, 0, INT64_MAX);
      reflection.SetInt64(&config, &field, number.value_or(0));
      break;
    }
    default: {
      ASSERT(field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE);
      double number = 0;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
      const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
      note_unless(whole && number >= 0 && number <= 1e9, flag, "a number from 0 up", values);
      reflection.SetDouble(&config, &field, number);
    }
  }
}

template <class Request>
int put(const Call& call, const std::string& kind, const auto& send) {
  Values values(call);
  Request request;
  request.set_name(call.args.positional().front());
  for (const Flag& flag : call.command.flags) {
    if (!values.has(flag.name)) continue;
    const FieldDescriptor* field = field_of(*request.config().GetDescriptor(), flag.name);
    ASSERT(field != nullptr);
    read_field(*request.mutable_config(), *field, flag.name, values);
  }
  if (!values.ok()) return values.refuse();
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const auto answer = send(session->client(), request);
  if (!answer) return session->fail("put " + kind + " " + request.name(), answer.failure());
  if (session->as_document()) session->print_document(*answer);
  session->say(kind + " " + request.name() + (answer->created() ? " made" : " changed") +
               "; next: berth " + kind + "s " + shell_word(request.name()));
  return kOk;
}

int run_put_tenant(const Call& call) {
  return put<v1::PutTenantRequest>(call, "tenant", [](client::Client& client, const auto& request) {
    return client.put_tenant(request);
  });
}

int run_put_queue(const Call& call) {
  return put<v1::PutQueueRequest>(call, "queue", [](client::Client& client, const auto& request) {
    return client.put_queue(request);
  });
}

int run_put_model(const Call& call) {
  return put<v1::PutModelRequest>(call, "model", [](client::Client& client, const auto& request) {
    return client.put_model(request);
  });
}

constexpr Command command(std::string_view name, std::string_view summary, int (*run)(const Call&),
                          std::span<const Flag> flags, std::span<const std::string_view> examples) {
  return {.name = name,
          .group = Group::administration,
          .summary = summary,
          .usage = "NAME [OPTIONS]",
          .run = run,
          .reach = Reach::server,
          .flags = flags,
          .positional = kName,
          .description =
              "What you do not give keeps its value; a new one has the default. What you put wins\n"
              "over the configuration file, also after a reload or a restart, until you undo it\n"
              "with 'berth config revert'.",
          .examples = examples};
}

constexpr std::array kPutCommands = {
    command("put tenant", "make a tenant, or change its limits", run_put_tenant, kTenantFlags,
            kTenantExamples),
    command("put queue", "make a queue, or change how it batches", run_put_queue, kQueueFlags,
            kQueueExamples),
    command("put model", "make a model, or change its size and times", run_put_model, kModelFlags,
            kModelExamples),
};

}  // namespace

std::span<const Command> put_commands() { return kPutCommands; }

}  // namespace berth::cli
