// See server.h.
#include "main/server.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include "agent/file_limit.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "main/clock.h"
#include "main/config_message.h"
#include "main/log.h"
#include "main/settings.h"
#include "main/trust.h"
#include "main/wanted.h"
#include "store/backup.h"
#include "store/layout.h"

namespace berth::main {
namespace {

using config::ServerConfig;

// A disk that takes nothing is not waited for longer.
constexpr std::chrono::seconds kReloadPatience{20};
// Lines of the greeting about settings.
constexpr std::size_t kSettingsGreeted = 10;

service::ServiceOptions service_options(const ServerConfig& config) {
  service::ServiceOptions options;
  options.data = config.server.data;
  options.segment_bytes = static_cast<std::uint64_t>(config.store.segment_size);
  options.reserve_bytes = static_cast<std::uint64_t>(config.store.reserve);
  options.snapshot_every_events = static_cast<std::uint64_t>(config.store.snapshot_every_events);
  options.snapshot_every_bytes = static_cast<std::uint64_t>(config.store.snapshot_every_size);
  options.keep_snapshots = config.store.keep_snapshots;
  options.journal_retention = config.store.retention;
  options.submit_ring = config.limits.submit_ring;
  options.remember_ids = config.ids.remember;
  options.result_ttl = config.store.result_ttl;
  options.history_retention = config.store.history_retention;
  options.table_every = config.table_every;
  options.max_tenants = config.tenant_defaults.max_tenants;
  options.max_signals = config.limits.max_signals;
  options.tenant_defaults = config.tenant_defaults.tenant.spec;
  options.tenant_default_tier = config.tenant_defaults.tenant.tier;
  options.tenant_default_commands = config.tenant_defaults.tenant.commands;
  options.make_unknown_tenants = config.tenant_defaults.make_unknown;
  options.version = std::string(cli::version());
  options.clock = boot_time;
  options.boot = boot_id();
  options.max_downtime = config.server.max_downtime;
  options.next_day = day_ends_in(config.server.timezone);
  options.wall_clock = wall_unix_ns;
  options.log = log_warning;
  options.inform = log_info;
  return options;
}

void tell_of_gpus(const v1::Report& report) {
  if (report.has_gpu_lost()) {
    log_warning("GPU " + report.gpu_lost().gpu() + " is lost: " + report.gpu_lost().message());
  }
  if (report.has_gpu_returned()) {
    log_info("GPU " + report.gpu_returned().gpu() + " has returned");
  }
}

// The address with the port that was really taken.
std::string with_port(const std::string& address, int port) {
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

std::chrono::milliseconds milliseconds_of(Duration time) {
  return std::chrono::milliseconds(time.ns / 1'000'000);
}

}  // namespace

Server::Server(config::LoadedConfig config, config::ConfigSources sources, ServerTrials trials)
    : config_(std::move(config)), sources_(std::move(sources)), trials_(trials) {}

Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::start(config::LoadedConfig config,
                                              config::ConfigSources sources, ServerTrials trials) {
  std::unique_ptr<Server> server(new Server(std::move(config), std::move(sources), trials));
  if (Status found = server->find_users(); !found) return found.error();
  if (Status opened = server->open_service(); !opened) return opened.error();
  if (Status started = server->start_agent(); !started) return started.error();
  auto configured = server->configured_.get_future();
  if (Status welcomed = server->wait_for_agent(); !welcomed) return welcomed.error();
  // Durable before the welcome, which is behind it in the journal; unless the disk is full.
  if (configured.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    server->tell_settings(configured.get());
  }
  if (Status started = server->start_api(); !started) return started.error();
  return server;
}

// As whom commands run, if what this rests on is the server's alone: a file that somebody else can
// change is worth as much as its user.
Result<TaskUsers> Server::users_for(const ServerConfig& config) const {
  Result<TaskUsers> users = TaskUsers::from(config);
  if (!users) return users.error();
  const std::string flaw = flaw_in_tasks_folder(config, users->has_others());
  if (!flaw.empty()) return Error{flaw};
  for (const TrustFlaw& found : flaws_in_trust(config, sources_.path, users->has_others())) {
    if (found.prevents_start) return Error{found.text};
    log_warning(found.text);
  }
  return users;
}

Status Server::find_users() {
  const ServerConfig& config = config_.config;
  Result<TaskUsers> users = users_for(config);
  if (!users) return users.error();
  if (shares_file_system(config)) {
    log_info(
        "tasks work on the disk of the data folder, and one that fills it stops both; set "
        "tasks.folder to a folder on another file system");
  }
  users_ = std::move(*users);
  return Done{};
}

Result<std::optional<agent::TaskUser>> Server::user_of(const std::string& tenant) const {
  const std::lock_guard lock(users_mutex_);
  return users_.user_of(tenant);
}

Status Server::open_service() {
  service::ServiceOptions options = service_options(config_.config);
  options.answer_before_sync = trials_.answer_before_sync;
  Result<std::unique_ptr<service::Service>> opened = service::Service::open(std::move(options));
  if (!opened) return opened.error();
  service_ = std::move(*opened);
  service_->configure(
      {wanted_by(config_.config, wall_unix_ns())},
      [this](const service::ControlOutcome& outcome) { configured_.set_value(outcome); });
  return Done{};
}

Status Server::start_agent() {
  const ServerConfig& config = config_.config;
  Result<Hardware> hardware = hardware_for(config);
  if (!hardware) return hardware.error();
  hardware_ = std::move(*hardware);
  for (const std::string& remark : hardware_.remarks)
    log_warning(remark);
  agent::AgentOptions options;
  options.folder = store::agent_folder(std::filesystem::absolute(config.server.data));
  options.work_folder = tasks_folder(config);
  options.work_reserve_bytes = static_cast<std::uint64_t>(config.store.reserve);
  options.user_of = [this](const std::string& tenant) { return user_of(tenant); };
  options.no_new_privs = config.tasks.no_new_privs;
  Result<TaskGroups> groups = task_groups(config, GroupUse::make);
  if (!groups) return groups.error();
  if (!groups->why_not.empty()) {
    log_info(
        "the CPUs and memory that tasks ask for are counted, not enforced, nor is a limit of "
        "processes: " +
        groups->why_not);
  }
  group_root_ = groups->root;
  options.group_root = groups->root;
  options.processes_max = config.tasks.max_processes;
  options.nodes = hardware_.nodes;
  options.gpus = hardware_.gpus;
  options.launcher_program = "/proc/self/exe";  // the same binary, whatever has become of its name
  options.command_files = agent::raise_file_limit();
  options.output_cap_bytes = static_cast<std::uint64_t>(config.tasks.output_cap);
  options.output_ttl = config.tasks.output_ttl;
  options.clock = service_->options().clock;
  options.default_run_limit = config.tasks.run_limit.value_or(Duration{0});
  options.default_stop_grace = config.tasks.stop_grace;
  options.time_scale = trials_.time_scale;

  session_ =
      service_->open_session([this](v1::ServerMessage&& message) { to_agent(std::move(message)); });
  service_->start();
  Result<std::unique_ptr<agent::Agent>> started =
      agent::Agent::start(std::move(options), [this](v1::AgentMessage&& message) {
        tell_of_gpus(message.report());
        service_->agent_said(session_, std::move(message));
      });
  if (!started) return started.error();
  const std::lock_guard lock(agent_mutex_);
  agent_ = std::move(*started);
  for (v1::ServerMessage& message : early_)
    agent_->receive(std::move(message));
  early_.clear();
  return Done{};
}

// The agent says hello while it is being started, and may be welcomed before that has returned.
void Server::to_agent(v1::ServerMessage&& message) {
  const std::lock_guard lock(agent_mutex_);
  if (message.has_welcome()) {
    refusal_ = message.welcome().refused();
    welcomed_.notify_all();
  }
  if (agent_) {
    agent_->receive(std::move(message));
  } else {
    early_.push_back(std::move(message));
  }
}

// Work that comes before its nodes and GPUs are known would be judged by those of the last start. A
// disk that is full keeps the welcome back; then it is not waited for.
Status Server::wait_for_agent() {
  std::unique_lock lock(agent_mutex_);
  welcomed_.wait_for(lock, std::chrono::seconds(5), [&] { return refusal_.has_value(); });
  if (refusal_.value_or("").empty()) return Done{};
  return Error{"the server's own agent was refused: " + *refusal_};
}

Status Server::start_api() {
  const ServerConfig& config = config_.config;
  api::ApiOptions options;
  options.grpc_address = config.server.grpc_address;
  options.http_address = config.server.http_address;
  options.authentication = config.server.authentication;
  options.tokens = store::tokens_path(config.server.data);
  options.tls = {.certificate = config.server.tls_certificate,
                 .key = config.server.tls_key,
                 .client_ca = config.server.tls_client_ca};
  options.http_limits.guests.all = config.limits.http_max_connections;
  options.message_bytes_max = static_cast<int>(config.limits.max_message);
  options.http_limits.body_bytes = static_cast<std::uint64_t>(config.limits.max_message);
  options.http_limits.header_time = milliseconds_of(config.limits.http_header_timeout);
  options.http_limits.body_time = milliseconds_of(config.limits.http_body_timeout);
  options.payload_bytes_max = static_cast<std::size_t>(config.limits.max_payload);
  options.stream_limits = {.streams = config.limits.max_streams,
                           .per_tenant = config.limits.max_streams_per_tenant,
                           .bytes = static_cast<std::size_t>(config.limits.max_stream_memory)};
  options.version = std::string(cli::version());
  options.simulated_gpus = hardware_.is_simulated();
  options.config = [this] { return config_response(); };
  options.reload = [this](bool dry_run) { return reload(dry_run); };
  options.backup = [this](const std::string& path) -> Result<v1::BackupResponse> {
    const auto done = store::backup(service_->options().data, path);
    if (!done) return done.error();
    v1::BackupResponse response;
    response.set_path(path);
    response.set_sequence(done->next_seq);
    response.set_bytes(done->bytes);
    return response;
  };
  options.log = log_info;
  options.commands_refused = [this](const std::string& tenant) {
    const Result<std::optional<agent::TaskUser>> user = user_of(tenant);
    return user ? "" : user.error().message;
  };
  Result<std::unique_ptr<api::ApiServer>> started = api::ApiServer::start(options, *service_);
  if (!started) return started.error();
  api_ = std::move(*started);
  return Done{};
}

Result<v1::ReloadConfigResponse> Server::reload(bool dry_run) {
  const std::lock_guard one(reload_mutex_);
  config::Diagnostics diagnostics;
  std::optional<config::LoadedConfig> next = config::load_config(sources_, diagnostics);
  if (!next) return Error{diagnostics.text()};
  config::LoadedConfig held = config::after_reload(config_, *next);
  const std::vector<std::string> waiting = config::changes(held, *next).sentences;
  Result<TaskUsers> users = users_for(held.config);
  if (!users) return users.error();
  const service::Names names = known_names();
  const config::LoadedConfig before = in_force(config_, names);
  v1::ReloadConfigResponse response;
  const std::vector<std::string> kept = kept_puts(config_, held, names);
  const auto tell = [&](const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences)
      response.add_changes(sentence);
  };
  if (dry_run) {
    tell(changes_between(before, with_puts(held, names), names).sentences);
    tell(waiting);
    tell(kept);
    return response;
  }
  const auto answer = std::make_shared<std::promise<service::ControlOutcome>>();
  std::future<service::ControlOutcome> outcome = answer->get_future();
  service::ControlCommand command{
      wanted_by(held.config, wall_unix_ns()),
      [answer](const service::ControlOutcome& made) { answer->set_value(made); }};
  if (!service_->offer(std::move(command))) {
    return Error{"the server has too much to do; try again"};
  }
  {
    const std::lock_guard lock(config_mutex_);
    config_ = std::move(held);
  }
  {
    const std::lock_guard users_lock(users_mutex_);
    users_ = std::move(*users);
  }
  const Error not_written{
      "the configuration was read, but the journal cannot be written; when it can, reload again "
      "to be sure that it holds; see the server's log"};
  if (outcome.wait_for(kReloadPatience) != std::future_status::ready) return not_written;
  const service::ControlOutcome made = outcome.get();
  using Kind = service::ControlOutcome::Kind;
  if (made.kind == Kind::in_doubt || made.kind == Kind::no_room) return not_written;
  const config::ConfigChanges changes =
      changes_between(before, in_force(config_, known_names()), names);
  tell(changes.sentences);
  tell(waiting);
  tell(kept);
  tell(made.told);
  for (const std::string& sentence : made.refused)
    response.add_refused(sentence);
  if (changes.table_every) service_->learn_every(*changes.table_every);
  return response;
}

service::Names Server::known_names() const {
  return service_->view().read([](const service::Board& board) { return board.names(); });
}

v1::GetConfigResponse Server::config_response() const {
  const std::lock_guard lock(config_mutex_);
  return service_->view().read([&](const service::Board& board) {
    return config_message(in_force(config_, board.names()));
  });
}

// What the start made of the configuration that people may not expect.
void Server::tell_settings(const service::ControlOutcome& outcome) {
  const std::vector<std::string> against = service_->view().read(
      [&](const service::Board& board) { return puts_against(config_, board.names()); });
  for (const std::string& sentence : outcome.refused)
    settings_told_.push_back("refused: " + sentence);
  for (const auto* list : {&against, &outcome.told})
    settings_told_.insert(settings_told_.end(), list->begin(), list->end());
  for (const std::string& sentence : settings_told_)
    log_warning(sentence);
}

std::string Server::greeting() const {
  std::string text = "Berth " + std::string(cli::version()) + " serves\n";
  const config::ServerSection& server = config_.config.server;
  text += "  gRPC  " + with_port(server.grpc_address, grpc_port()) + "\n";
  text += std::string("  HTTP  ") + (server.uses_tls() ? "https://" : "http://") +
          with_port(server.http_address, http_port()) + "\n";
  text += "  data  " + config_.config.server.data + "\n";
  text += "  tasks commands run " + users_.sentence() + "; each in a folder of its own in " +
          tasks_folder(config_.config).string() + "\n";
  text += listing(hardware_, config_.config);
  for (std::size_t i = 0; i < std::min(settings_told_.size(), kSettingsGreeted); ++i)
    text += "  " + cli::harmless(settings_told_[i]) + "\n";
  if (settings_told_.size() > kSettingsGreeted) {
    text += "  and " + std::to_string(settings_told_.size() - kSettingsGreeted) +
            " more such: berth config show --running --origin\n";
  }
  return text;
}

void Server::stop() {
  if (std::exchange(stopped_, true)) return;
  if (api_) {
    api_->not_serving();
    api_->stop(seconds(5));
  }
  // The service first: what it grants on its last groups still reaches the agent.
  if (service_) service_->stop();
  if (agent_) agent_->stop();
  if (!group_root_.empty()) ::rmdir(group_root_.c_str());  // if no task is in it
}

}  // namespace berth::main
