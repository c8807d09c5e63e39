// berth delete tenant, queue, model: one thing that nothing uses any more.
#include <array>
#include <string>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

constexpr std::array kDeletedTenant = {Positional{"TENANT", "its name"}};
constexpr std::array kDeletedQueue = {Positional{"QUEUE", "its name"}};
constexpr std::array kDeletedModel = {Positional{"MODEL", "its name"}};

constexpr std::array<std::string_view, 1> kDeleteTenantExamples = {"berth delete tenant guests"};
constexpr std::array<std::string_view, 1> kDeleteQueueExamples = {"berth delete queue trial"};
constexpr std::array<std::string_view, 1> kDeleteModelExamples = {"berth delete model trial-7b"};

// `then`: what is left of it, and how to see it.
template <class Request>
int delete_named(const Call& call, const std::string& kind, const std::string& then,
                 const auto& send) {
  Request request;
  request.set_name(call.args.positional().front());
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const auto answer = send(session->client(), request);
  if (!answer) return session->fail("delete " + kind + " " + request.name(), answer.failure());
  if (session->as_document()) session->print_document(*answer);
  session->say(kind + " " + request.name() + " deleted" +
               (then.empty() ? "" : then + shell_word(request.name())));
  return kOk;
}

int run_delete_tenant(const Call& call) {
  return delete_named<v1::DeleteTenantRequest>(
      call, "tenant", "; its history stays: berth tasks --all --tenant ",
      [](client::Client& client, const auto& request) { return client.delete_tenant(request); });
}

int run_delete_queue(const Call& call) {
  return delete_named<v1::DeleteQueueRequest>(
      call, "queue", "; its history stays: berth tasks --all --queue ",
      [](client::Client& client, const auto& request) { return client.delete_queue(request); });
}

int run_delete_model(const Call& call) {
  return delete_named<v1::DeleteModelRequest>(
      call, "model", "",
      [](client::Client& client, const auto& request) { return client.delete_model(request); });
}

constexpr Command deleting(std::string_view name, std::string_view summary, int (*run)(const Call&),
                           std::string_view usage, std::span<const Positional> positional,
                           std::string_view description,
                           std::span<const std::string_view> examples) {
  return {.name = name,
          .group = Group::administration,
          .summary = summary,
          .usage = usage,
          .run = run,
          .reach = Reach::server,
          .positional = positional,
          .description = description,
          .examples = examples};
}

constexpr std::array kDeleteCommands = {
    deleting(
        "delete tenant", "delete a tenant that has no work", run_delete_tenant, "TENANT [OPTIONS]",
        kDeletedTenant,
        "A tenant with unfinished tasks or with tenants below it stays, and the answer says how\n"
        "many there are. So does one that the configuration file has: take it out there first.\n"
        "Its history stays, and its tokens stay valid: end them with 'berth token revoke'. A\n"
        "later submit makes it anew with the defaults, unless the configuration says\n"
        "tenant_defaults.make_unknown = false.",
        kDeleteTenantExamples),
    deleting(
        "delete queue", "delete a queue that is empty", run_delete_queue, "QUEUE [OPTIONS]",
        kDeletedQueue,
        "A queue with unfinished tasks stays, and the answer says how many it has. So does one\n"
        "that the configuration file has: take it out there instead. Its history stays. If you\n"
        "put it again, it begins with the defaults.",
        kDeleteQueueExamples),
    deleting(
        "delete model", "delete a model that nothing uses", run_delete_model, "MODEL [OPTIONS]",
        kDeletedModel,
        "A model that a queue names or a GPU holds stays, and the answer says which. So does one\n"
        "that the configuration file has: take it out there instead.",
        kDeleteModelExamples),
};

}  // namespace

std::span<const Command> delete_commands() { return kDeleteCommands; }

}  // namespace berth::cli
