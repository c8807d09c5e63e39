// Administration: tenants, queues, models, the configuration, backups.
#include "api/config_messages.h"
#include "api/handlers.h"
#include "api/outcomes.h"
#include "base/names.h"
#include "config/diagnostics.h"
#include "config/model_room.h"
#include "service/blocks.h"

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

// A model that no GPU could ever hold, of those that are known; none: it fits, or no GPU is known.
std::optional<Problem> refuse_too_large(const std::string& name, const core::ModelSpec& spec,
                                        const service::View& view) {
  config::LargestGpu largest;
  const bool has_gpus = view.read([&](const service::Board& board) {
    for (const service::GpuEntry& gpu : board.names().gpus()) {
      if (gpu.spec.mig != core::mig::Geometry::none) continue;
      largest.consider(gpu.name, gpu.spec.vram, board.names().policy().vram_usable);
    }
    return !board.names().gpus().empty();
  });
  const std::string flaw = config::flaw_in_size(name, spec, largest);
  if (flaw.empty() || !has_gpus) return std::nullopt;
  return Problem{.code = Code::failed_precondition,
                 .reason = "model_over_any_gpu",
                 .message = flaw + "; if a larger one will join, put it with force",
                 .metadata = {{"need", std::to_string(config::room_of(spec).value)},
                              {"have", std::to_string(largest.usable.value)},
                              {"unit", "MiB"},
                              {"subject", largest.name}}};
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

// The fields are judged here, one by one, over what is known now; the sequencer lays them over what
// the configuration says then.
void Handlers::put_tenant(const Caller&, const v1::PutTenantRequest& request,
                          Reply<v1::PutTenantResponse> reply) {
  const service::ServiceOptions& options = context_.service.options();
  config::TenantBlock block{
      request.name(),
      {options.tenant_defaults, options.tenant_default_tier, options.tenant_default_commands, ""},
      ""};
  context_.service.view().read([&](const service::Board& board) {
    const TenantId known = board.names().tenant(request.name());
    if (known && !is_forgotten(board, known)) block = service::tenant_block(board.names(), known);
  });
  std::vector<FieldFlaw> flaws = flaws_in_name(request.name());
  merge(request.config(), block, flaws);
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  put(service::Section::tenants, request, std::move(reply));
}

void Handlers::put_queue(const Caller&, const v1::PutQueueRequest& request,
                         Reply<v1::PutQueueResponse> reply) {
  config::QueueBlock block{.name = request.name()};
  context_.service.view().read([&](const service::Board& board) {
    const QueueId known = board.names().queue(request.name());
    if (known && !is_forgotten(board, known)) block = service::queue_block(board.names(), known);
  });
  std::vector<FieldFlaw> flaws = flaws_in_name(request.name());
  merge(request.config(), block, flaws);
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  put(service::Section::queues, request, std::move(reply));
}

void Handlers::put_model(const Caller&, const v1::PutModelRequest& request,
                         Reply<v1::PutModelResponse> reply) {
  core::ModelSpec spec;
  context_.service.view().read([&](const service::Board& board) {
    const ModelId known = board.names().model(request.name());
    if (known && !is_forgotten(board, known)) spec = board.names().models()[known.value].spec;
  });
  std::vector<FieldFlaw> flaws = flaws_in_name(request.name());
  merge(request.config(), spec, flaws);
  if (!flaws.empty()) return reply(bad_request(std::move(flaws)));
  const bool says_size =
      request.config().has_weights_mb() || request.config().has_vram_per_task_mb();
  if (says_size && !request.force()) {
    auto too_large = refuse_too_large(request.name(), spec, context_.service.view());
    if (too_large) return reply(std::move(*too_large));
  }
  put(service::Section::models, request, std::move(reply));
}

template <class Request, class Response>
void Handlers::put(service::Section section, const Request& request, Reply<Response> reply) {
  control(service::PutSettings{section, request.name(), key_values(request.config()),
                               context_.service.options().wall_clock()},
          failing(reply), creating(reply));
}

template <class Response>
void Handlers::erase(service::Section section, const std::string& name, Reply<Response> reply) {
  if (auto flaws = flaws_in_name(name); !flaws.empty()) {
    return reply(bad_request(std::move(flaws)));
  }
  control(service::DeleteBlock{section, name}, failing(reply),
          [reply](const service::ControlOutcome&) { reply(Response{}); });
}

void Handlers::delete_tenant(const Caller&, const v1::DeleteTenantRequest& request,
                             Reply<v1::DeleteTenantResponse> reply) {
  erase(service::Section::tenants, request.name(), std::move(reply));
}

void Handlers::delete_queue(const Caller&, const v1::DeleteQueueRequest& request,
                            Reply<v1::DeleteQueueResponse> reply) {
  erase(service::Section::queues, request.name(), std::move(reply));
}

void Handlers::delete_model(const Caller&, const v1::DeleteModelRequest& request,
                            Reply<v1::DeleteModelResponse> reply) {
  erase(service::Section::models, request.name(), std::move(reply));
}

void Handlers::revert_config(const Caller&, const v1::RevertConfigRequest& request,
                             Reply<v1::RevertConfigResponse> reply) {
  service::RevertSettings wanted{std::nullopt, request.name()};
  for (const auto section :
       {service::Section::tenants, service::Section::queues, service::Section::models}) {
    if (request.kind() == noun_of(section)) wanted.section = section;
  }
  if (!request.kind().empty() && !wanted.section) {
    return reply(bad_field(
        "kind", "expected tenant, queue or model, found " + config::quoted(request.kind())));
  }
  if (request.kind().empty() != request.name().empty()) {
    return reply(bad_field(request.name().empty() ? "name" : "kind",
                           "give both kind and name, or neither for all that was put"));
  }
  control(std::move(wanted), failing(reply), [reply](const service::ControlOutcome& outcome) {
    v1::RevertConfigResponse response;
    for (const std::string& sentence : outcome.told)
      response.add_changes(sentence);
    for (const std::string& sentence : outcome.refused)
      response.add_refused(sentence);
    reply(std::move(response));
  });
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
    auto answer = context_.hooks.reload(dry_run);
    if (!answer.ok()) return reply(failed(answer.error()));
    reply(std::move(*answer));
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
