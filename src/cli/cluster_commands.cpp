// berth queues, gpus, models, tenants, usage, info: how the cluster is.
#include <array>

#include "cli/cluster_listings.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/values.h"

namespace berth::cli {
namespace {

constexpr std::array kQueueArgument = {Positional{"QUEUE", "only this one", false}};
constexpr std::array kGpuArgument = {Positional{"GPU", "only this one", false}};
constexpr std::array kModel = {Positional{"MODEL", "only this one", false}};
constexpr std::array kTenantArgument = {Positional{"TENANT", "only this one", false}};
constexpr std::array kUsageFlags = {
    Flag{"--tenant", "TENANT", "only this tenant's"},
    Flag{"--days", "N", "how many days back (default 7)"},
};
constexpr std::array<std::string_view, 2> kQueuesExamples = {"berth queues",
                                                             "berth queues llm -o json"};
constexpr std::array<std::string_view, 1> kGpusExamples = {"berth gpus -o wide"};
constexpr std::array<std::string_view, 1> kModelsExamples = {"berth models"};
constexpr std::array<std::string_view, 1> kTenantsExamples = {"berth tenants"};
constexpr std::array<std::string_view, 1> kUsageExamples = {
    "berth usage --tenant research --days 30"};
constexpr std::array<std::string_view, 1> kInfoExamples = {"berth info"};

// The name asked for, or "".
std::string name_given(const Call& call) {
  return call.args.positional().empty() ? "" : call.args.positional().front();
}

// Asks and shows the answer as a table; `what` finishes "cannot …".
// `if_none`: what to say where there is nothing to list.
int ask_and_show(const Call& call, const std::string& what, const auto& ask,
                 const std::string& if_none = {}) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  auto answer = ask(session->client());
  if (!answer) return session->fail(what, answer.failure());
  Listing listing = list_of(*answer, session->now_unix_ms());
  code = session->show(*answer, listing);
  if (code == kOk && session->as_table() && listing.empty() && !if_none.empty())
    session->say(if_none);
  return code;
}

int run_queues(const Call& call) {
  return ask_and_show(call, "show the queues", [&](client::Client& client) {
    v1::GetQueueStatusRequest request;
    request.set_task_type(name_given(call));
    return client.queues(request);
  });
}

int run_gpus(const Call& call) {
  return ask_and_show(call, "show the GPUs", [&](client::Client& client) {
    v1::GetGPUStatusRequest request;
    request.set_gpu(name_given(call));
    return client.gpus(request);
  });
}

int run_models(const Call& call) {
  return ask_and_show(
      call, "show the models",
      [&](client::Client& client) {
        v1::GetModelStatusRequest request;
        request.set_model(name_given(call));
        return client.models(request);
      },
      "there are no models; make one with 'berth put model' or in the configuration");
}

int run_tenants(const Call& call) {
  return ask_and_show(
      call, "show the tenants",
      [&](client::Client& client) {
        v1::GetTenantStatusRequest request;
        request.set_user_id(name_given(call));
        return client.tenants(request);
      },
      "there are no tenants yet; a tenant's first submit makes it");
}

int run_usage(const Call& call) {
  Values values(call);
  v1::GetUsageRequest request;
  request.set_user_id(values.text("--tenant"));
  request.set_days(static_cast<std::int32_t>(values.integer("--days", 1, 36'500).value_or(0)));
  if (!values.ok()) return values.refuse();
  return ask_and_show(
      call, "show the usage", [&](client::Client& client) { return client.usage(request); },
      "no task has ended in these days");
}

Facts facts_of(const v1::ServerInfo& info, std::int64_t now) {
  Facts facts;
  facts.add("version", info.version());
  facts.add("behaviour", std::to_string(info.behaviour()));
  facts.add("started", instant_text(info.started_unix_ms()) + " (" +
                           age_text(now - info.started_unix_ms()) + " ago)");
  facts.add("epoch", std::to_string(info.epoch()));
  facts.add("live tasks", count_text(info.live_tasks()));
  facts.add("events", count_text(info.events()));
  facts.add("sequence", std::to_string(info.sequence()));
  facts.add("hash", std::to_string(info.hash()));
  facts.add("history lag", count_text(info.history_lag()));
  facts.add("data folder", info.data_dir());
  facts.add("authentication", info.authentication() ? "on" : "off");
  facts.add("gpus", info.simulated_gpus() ? "simulated" : "real");
  return facts;
}

int run_info(const Call& call) {
  int code = kOk;
  auto session = Session::open(call, code);
  if (!session) return code;
  const auto info = session->client().info();
  if (!info) return session->fail("ask the server about itself", info.failure());
  if (session->as_document()) {
    session->print_document(*info);
  } else if (session->format() == Format::name) {
    call.console.out << harmless(info->version()) << "\n";
  } else {
    facts_of(*info, session->now_unix_ms()).print(call.console.out, session->look());
  }
  return kOk;
}

constexpr Command listing_command(std::string_view name, std::string_view summary,
                                  std::string_view usage, int (*run)(const Call&),
                                  std::span<const Positional> positional,
                                  std::span<const std::string_view> examples,
                                  Shows shows = Shows::list) {
  return {.name = name,
          .group = Group::cluster,
          .summary = summary,
          .usage = usage,
          .run = run,
          .reach = Reach::server,
          .positional = positional,
          .examples = examples,
          .shows = shows};
}

constexpr std::array kClusterCommands = {
    listing_command("queues", "show the queues: how many tasks are ready, wait and run",
                    "[QUEUE] [OPTIONS]", run_queues, kQueueArgument, kQueuesExamples),
    listing_command("gpus", "show the GPUs: VRAM, utilisation, temperature, what runs",
                    "[GPU] [OPTIONS]", run_gpus, kGpuArgument, kGpusExamples),
    listing_command("models",
                    "show the models: their size, where they are, how often they were loaded",
                    "[MODEL] [OPTIONS]", run_models, kModel, kModelsExamples),
    listing_command("tenants", "show the tenants: their work and their GPU time",
                    "[TENANT] [OPTIONS]", run_tenants, kTenantArgument, kTenantsExamples),
    Command{.name = "usage",
            .group = Group::cluster,
            .summary = "show the GPU time of each tenant, day by day",
            .usage = "[OPTIONS]",
            .run = run_usage,
            .reach = Reach::server,
            .flags = kUsageFlags,
            .examples = kUsageExamples,
            .shows = Shows::list},
    listing_command("info", "show the server: its version, age, size and folder", "[OPTIONS]",
                    run_info, {}, kInfoExamples, Shows::one),
};

}  // namespace

std::span<const Command> cluster_commands() { return kClusterCommands; }

}  // namespace berth::cli
