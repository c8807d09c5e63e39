// berth completion: the script for a shell; berth __complete: names, asked by that script.
#include <algorithm>
#include <array>
#include <chrono>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/text.h"
#include "client/client.h"
#include "config/diagnostics.h"

namespace berth::cli {
namespace {

constexpr std::array kShell = {Positional{"bash|zsh|fish", "the shell"}};
constexpr std::array<std::string_view, 3> kCompletionExamples = {
    "source <(berth completion bash)",
    "berth completion zsh > ~/.zfunc/_berth",
    "berth completion fish > ~/.config/fish/completions/berth.fish",
};
constexpr std::chrono::milliseconds kPatience{700};  // a person waits for the key to answer
constexpr int kTasksOffered = 200;

int run_completion(const Call& call) {
  const std::string& shell = call.args.positional().front();
  if (shell == "bash") {
    call.console.out << bash_script(call.commands);
  } else if (shell == "zsh") {
    call.console.out << zsh_script(call.commands);
  } else if (shell == "fish") {
    call.console.out << fish_script(call.commands);
  } else {
    return bad_usage(
        call, "no completion for " + config::quoted(shell) +
                  config::suggestion(shell, std::vector<std::string>{"bash", "zsh", "fish"}));
  }
  return kOk;
}

// What the words give for a flag, or else the environment.
std::string setting(const Call& call, const std::string& flag, const std::string& variable) {
  const std::vector<std::string>& words = call.args.positional();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == flag && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(flag + "=")) return words[i].substr(flag.size() + 1);
  }
  return variable.empty() ? "" : call.console.environment(variable);
}

std::vector<std::string> names_of(client::Client& client, const std::string& kind,
                                  const std::string& tenant) {
  std::vector<std::string> names;
  const auto take = [&](const auto& answer, const auto& items, const auto& name) {
    if (!answer) return;
    for (const auto& item : items(*answer))
      names.push_back(name(item));
  };
  const auto by_name = [](const auto& item) { return item.name(); };
  if (kind == "queues")
    take(
        client.queues({}), [](const auto& a) { return a.queues(); }, by_name);
  else if (kind == "tenants")
    take(
        client.tenants({}), [](const auto& a) { return a.tenants(); }, by_name);
  else if (kind == "gpus")
    take(
        client.gpus({}), [](const auto& a) { return a.gpus(); }, by_name);
  else if (kind == "kinds")
    take(
        client.gpus({}), [](const auto& a) { return a.gpus(); },
        [](const auto& gpu) { return gpu.kind(); });
  else if (kind == "models")
    take(
        client.models({}), [](const auto& a) { return a.models(); }, by_name);
  else if (kind == "tasks") {
    v1::ListTasksRequest request;
    request.set_page_size(kTasksOffered);
    request.mutable_filter()->set_user_id(tenant);
    take(
        client.list_tasks(request), [](const auto& a) { return a.tasks(); },
        [](const auto& task) { return task.task_id(); });
  }
  if (kind == "kinds") {
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  return names;
}

// Says nothing where nothing is known: the shell then offers nothing.
int run_complete(const Call& call) {
  if (call.args.positional().empty()) return kOk;
  client::Endpoint endpoint;
  const std::string server = setting(call, "--server", "BERTH_SERVER");
  if (!server.empty()) endpoint.address = server;
  endpoint.token = setting(call, "--token", "BERTH_TOKEN");
  endpoint.ca_file = setting(call, "--ca", "BERTH_CA");
  endpoint.cert_file = setting(call, "--cert", "BERTH_CERT");
  endpoint.key_file = setting(call, "--key", "BERTH_KEY");
  client::Limits limits;
  limits.deadline = kPatience;
  limits.tries = 1;
  auto client = client::Client::connect(endpoint, limits);
  if (!client) return kOk;
  const std::string tenant = setting(call, "--tenant", "");
  for (const std::string& name : names_of(*client, call.args.positional().front(), tenant)) {
    const bool is_word = !name.empty() && harmless(name) == name && name.find(' ') == name.npos;
    if (is_word) call.console.out << name << "\n";
  }
  return kOk;
}

constexpr std::array kCompletionCommands = {
    Command{.name = "completion",
            .group = Group::local,
            .summary = "print the completion script for a shell",
            .usage = "bash|zsh|fish",
            .run = run_completion,
            .positional = kShell,
            .description =
                "The script asks the server for the names of queues, tenants, tasks, GPUs,\n"
                "kinds of GPU and models.",
            .examples = kCompletionExamples},
    Command{.name = "__complete",
            .group = Group::hidden,
            .summary = "print names for the completion of a shell",
            .usage = "KIND [WORD]...",
            .run = run_complete,
            .reach = Reach::unread},
};

}  // namespace

std::span<const Command> completion_commands() { return kCompletionCommands; }

}  // namespace berth::cli
