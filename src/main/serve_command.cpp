// berth serve, and the hidden berth launcher that forks the shims of commands.
#include <csignal>
#include <cstdlib>
#include <string>

#include "agent/launcher.h"
#include "main/commands.h"
#include "main/config_sources.h"
#include "main/log.h"
#include "main/planted_faults.h"
#include "main/server.h"

namespace berth::main {
namespace {

constexpr cli::Flag kServeFlags[] = {
    kConfigFlag,
    kDataFlag,
    {"--grpc", "HOST:PORT", "where gRPC listens; port 0: a free one"},
    {"--http", "HOST:PORT", "where HTTP listens; port 0: a free one"},
    kSetFlag};

constexpr std::string_view kServeExamples[] = {
    "berth serve",
    "berth serve --config berth.toml --data /var/lib/berth",
    "berth serve --set policy.order=fifo --set queues.llm.max_batch_size=16",
};

// BERTH_TIME_SCALE shortens simulated work.
ServerTrials trials_from(const cli::Console& console) {
  ServerTrials trials;
  if (const std::string scale = console.environment("BERTH_TIME_SCALE"); !scale.empty()) {
    trials.time_scale = std::strtod(scale.c_str(), nullptr);
  }
  return trials;
}

void reload_and_tell(Server& server) {
  const Result<v1::ReloadConfigResponse> answer = server.reload(false);
  if (!answer) return log_warning("the configuration was not reloaded: " + answer.error().message);
  for (const std::string& change : answer->changes())
    log_info("reloaded: " + change);
  for (const std::string& refusal : answer->refused())
    log_warning("refused: " + refusal);
  if (answer->changes().empty() && answer->refused().empty()) {
    log_info("reloaded; nothing has changed");
  }
}

int serve(const cli::Call& call) {
  const config::ConfigSources sources = config_sources(call);
  std::optional<config::LoadedConfig> config = load_for(call, sources);
  if (!config) return cli::kBadInput;
  ServerTrials trials = trials_from(call.console);
  set_up_log(config->config.server.log_level, config->config.server.log_format);
  if (const std::string fault = call.console.environment("BERTH_FAULT"); !fault.empty()) {
    const Result<std::string> planted = plant_faults(fault, trials);
    if (!planted) return cli::complain(call.console, planted.error().message, cli::kBadInput);
    log_warning(*planted);
  }

  // Every thread inherits the mask, so the signals wait for sigwait below.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  Result<std::unique_ptr<Server>> server = Server::start(std::move(*config), sources, trials);
  if (!server) return cli::complain(call.console, server.error().message);
  call.console.out << (*server)->greeting() << std::flush;

  int signal = 0;
  while (sigwait(&signals, &signal) == 0 && signal == SIGHUP)
    reload_and_tell(**server);
  log_info(signal == SIGINT ? "interrupted: stopping; running tasks go on"
                            : "terminated: stopping; running tasks go on");
  // A second signal does not wait.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  (*server)->stop();
  return cli::kOk;
}

int launcher(const cli::Call& /*call*/) { return agent::run_launcher(); }

constexpr cli::Command kServeCommands[] = {
    {"serve",
     cli::Group::local,
     "run the server",
     "[OPTIONS]",
     serve,
     cli::Reach::local,
     kServeFlags,
     {},
     "Recovers what stands in the data folder, starts the embedded agent, then serves gRPC and\n"
     "HTTP. SIGTERM and Ctrl-C stop it in order: running tasks go on and are found again at the\n"
     "next start. SIGHUP reloads the configuration.",
     kServeExamples},
    {"launcher", cli::Group::hidden, "fork the shims of commands; started by the agent", "",
     launcher, cli::Reach::local},
};

}  // namespace

std::span<const cli::Command> serve_commands() { return kServeCommands; }

}  // namespace berth::main
