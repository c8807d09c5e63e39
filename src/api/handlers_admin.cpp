// Administration: tenants, queues, models, the configuration, backups.
#include "api/config_messages.h"
#include "api/handlers.h"
#include "api/outcomes.h"

namespace berth::api {
namespace {

Problem not_possible(const std::string& what) {
  return {.code = Code::unimplemented,
          .reason = "not_supported",
          .message = "this server was started without " + what};
}

Problem failed(const Error& error) {
  return {.code = Code::failed_precondition, .reason = "failed", .message = error.message};
}

std::vector<FieldFlaw> flaws_in_name(const std::string& name) {
  std::string flaw = flaw_in_name(name);
  if (flaw.empty()) return {};
  return {{"name", std::move(flaw)}};
}

template <class Response>
auto failing(const Reply<Response>& reply) {
  return [reply](Problem&& problem) { reply(std::move(problem)); };
}
template <class Response>
auto creating(const Reply<Response>& reply) {
  return [reply](const service::ControlOutcome& outcome) {
    Response response;
    response.set_created(outcome.created);
    reply(std::move(response));
  };
}

}  // namespace

void Handlers::put_tenant(const Caller&, const v1::PutTenantRequest& request,
                          Reply<v1::PutTenantResponse> reply) {
  service::DefineTenant wanted{.name = request.name(),
                               .spec = context_.service.options().tenant_defaults,
                               .tier = context_.service.options().tenant_default_tier,
                               .commands = context_.service.options().tenant_default_commands};
  context_.service.view().read([&](const service::Board& board) {
    const TenantId known = board.names().tenant(request.name());
    if (!known) return;
    const service::TenantEntry& entry = board.names().tenants()[known.value];
    wanted.spec = entry.spec;
    wanted.tier = entry.tier;
    wanted.commands = entry.commands;
    const TenantId parent = entry.spec.parent;
    if (parent) wanted.parent = board.names().tenants()[parent.value].name;
  });
  std::vector<FieldFlaw> flaws = flaws_in_name(request.name());
  merge(request.config(), wanted, flaws);
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  control(std::move(wanted), failing(reply), creating(reply));
}

void Handlers::put_queue(const Caller&, const v1::PutQueueRequest& request,
                         Reply<v1::PutQueueResponse> reply) {
  service::DefineQueue wanted{.name = request.name()};
  context_.service.view().read([&](const service::Board& board) {
    const QueueId known = board.names().queue(request.name());
    if (!known) return;
    wanted.spec = board.names().queues()[known.value].spec;
    wanted.commands = board.names().queues()[known.value].commands;
    const ModelId model = wanted.spec.model;
    const WorkClassId work_class = wanted.spec.work_class;
    if (model) wanted.model = board.names().models()[model.value].name;
    if (work_class) wanted.work_class = board.names().work_classes()[work_class.value];
  });
  std::vector<FieldFlaw> flaws = flaws_in_name(request.name());
  merge(request.config(), wanted, flaws);
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  control(std::move(wanted), failing(reply), creating(reply));
}

void Handlers::put_model(const Caller&, const v1::PutModelRequest& request,
                         Reply<v1::PutModelResponse> reply) {
  service::DefineModel wanted{.name = request.name()};
  context_.service.view().read([&](const service::Board& board) {
    const ModelId known = board.names().model(request.name());
    if (known) wanted.spec = board.names().models()[known.value].spec;
  });
  std::vector<FieldFlaw> flaws = flaws_in_name(request.name());
  merge(request.config(), wanted.spec, flaws);
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  control(std::move(wanted), failing(reply), creating(reply));
}

void Handlers::get_config(const Caller&, const v1::GetConfigRequest&,
                          Reply<v1::GetConfigResponse> reply) {
  if (!context_.hooks.config) return reply(not_possible("a configuration to show"));
  reply(context_.hooks.config());
}

// Reloading and copying take long: a worker does them, so that no network thread waits.
void Handlers::reload_config(const Caller&, const v1::ReloadConfigRequest& request,
                             Reply<v1::ReloadConfigResponse> reply) {
  if (!context_.hooks.reload) return reply(not_possible("a configuration file"));
  context_.slow.post([this, dry_run = request.dry_run(), reply] {
    const auto changes = context_.hooks.reload(dry_run);
    if (!changes.ok()) return reply(failed(changes.error()));
    v1::ReloadConfigResponse response;
    for (const std::string& change : *changes)
      response.add_changes(change);
    reply(std::move(response));
  });
}

void Handlers::backup(const Caller&, const v1::BackupRequest& request,
                      Reply<v1::BackupResponse> reply) {
  if (!context_.hooks.backup) return reply(not_possible("backups"));
  if (request.path().empty()) {
    return reply(bad_field("path", "is required: a folder on the server that does not exist yet"));
  }
  context_.slow.post([this, path = request.path(), reply] {
    auto result = context_.hooks.backup(path);
    if (!result.ok()) return reply(failed(result.error()));
    reply(std::move(*result));
  });
}

}  // namespace berth::api
