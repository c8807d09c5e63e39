// berth token create, list, revoke: the tokens file of a data folder. A running server sees changes
// by itself. Whoever can write the folder can make tokens; that is how the first one is made.
#include <array>
#include <ctime>
#include <filesystem>

#include "api/token_file.h"
#include "cli/listing.h"
#include "cli/values.h"
#include "main/clock.h"
#include "main/commands.h"
#include "main/config_sources.h"
#include "main/document.h"
#include "store/file.h"
#include "store/layout.h"

namespace berth::main {
namespace {

constexpr std::int64_t kNsOfSecond = 1'000'000'000;

constexpr cli::Flag kCreateFlags[] = {
    kDataFlag,
    kConfigFlag,
    {"--tenant", "NAME", "whose token it is; only the role tenant needs one"},
    {"--role", "tenant|reader|agent|admin", "what it may (default tenant)"},
    {"--expires", "DURATION", "how long it is good, such as 30d (default: for ever)"}};
constexpr cli::Flag kTokenFlags[] = {kDataFlag, kConfigFlag};
constexpr cli::Flag kListFlags[] = {kDataFlag, kConfigFlag, kFormatFlag};
constexpr cli::Positional kTokenId[] = {{"ID", "as `berth token list` shows it"}};

std::optional<std::filesystem::path> tokens_file(const cli::Call& call) {
  const auto loaded = load_for(call, config_sources(call));
  if (!loaded) return std::nullopt;
  return store::tokens_path(loaded->config.server.data);
}

std::string day_text(std::int64_t unix_s) {
  if (unix_s == 0) return "-";
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm day{};
  ::gmtime_r(&seconds, &day);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &day);
  return text.data();
}

int create(const cli::Call& call) {
  const std::string role_name = call.args.value("--role").value_or("tenant");
  const std::optional<api::Role> role = api::token_role_named(role_name);
  if (!role) {
    std::vector<std::string> roles;
    for (const api::Role known : api::kTokenRoles)
      roles.emplace_back(api::name_of(known));
    return cli::bad_usage(call, "--role: no role is named " + config::quoted(role_name) +
                                    config::suggestion(role_name, roles));
  }
  const std::string tenant = call.args.value("--tenant").value_or("");
  if (tenant.empty() && *role == api::Role::tenant) {
    return cli::bad_usage(call, "a tenant's token needs --tenant NAME");
  }
  const std::int64_t now = wall_unix_ns() / kNsOfSecond;
  std::int64_t expires = 0;
  if (const auto text = call.args.value("--expires")) {
    const auto ms = cli::read_duration_ms(*text);
    if (!ms) return cli::bad_usage(call, "--expires: " + ms.error().message);
    expires = now + *ms / 1000;
  }
  const auto path = tokens_file(call);
  if (!path) return cli::kBadInput;
  if (Status there = store::make_folder(path->parent_path()); !there) {
    return cli::complain(call.console, there.error().message);
  }
  const auto made = api::create_token(*path, tenant, *role, expires, now);
  if (!made) return cli::complain(call.console, made.error().message);
  call.console.out << made->secret << "\n";
  call.console.err << "token " << made->token.id
                   << " made; its secret is shown only now. Use it as BERTH_TOKEN.\n";
  return cli::kOk;
}

void print_tokens(const cli::Call& call, const std::vector<api::Token>& tokens) {
  JsonWriter json;
  json.begin_object().key("tokens").begin_array();
  for (const api::Token& token : tokens) {
    json.begin_object().member("id", token.id).member("role", api::name_of(token.role));
    json.member("tenant", token.tenant).member("created_unix_s", token.created_s);
    json.member("expires_unix_s", token.expires_s).member("revoked_unix_s", token.revoked_s);
    json.end_object();
  }
  json.end_array().end_object();
  print_document(call, json);
}

int list(const cli::Call& call) {
  if (!has_good_format(call)) return cli::kBadInput;
  const auto path = tokens_file(call);
  if (!path) return cli::kBadInput;
  const auto tokens = api::read_tokens(*path);
  if (!tokens) return cli::complain(call.console, tokens.error().message);
  if (wants_document(call)) {
    print_tokens(call, *tokens);
    return cli::kOk;
  }
  cli::Listing listing({{"ID"}, {"ROLE"}, {"TENANT"}, {"CREATED"}, {"EXPIRES"}, {"REVOKED"}});
  for (const api::Token& token : *tokens) {
    listing.add({token.id, std::string(api::name_of(token.role)), token.tenant,
                 day_text(token.created_s), day_text(token.expires_s), day_text(token.revoked_s)});
  }
  listing.print(call.console.out, {});
  return cli::kOk;
}

int revoke(const cli::Call& call) {
  const auto path = tokens_file(call);
  if (!path) return cli::kBadInput;
  const auto done =
      api::revoke_token(*path, call.args.positional().front(), wall_unix_ns() / kNsOfSecond);
  if (!done) return cli::complain(call.console, done.error().message, cli::kNotFound);
  call.console.err << "token " << done->id << " is revoked\n";
  return cli::kOk;
}

constexpr cli::Command kTokenCommands[] = {
    {"token create", cli::Group::local, "make a token and print its secret once", "[OPTIONS]",
     create, cli::Reach::local, kCreateFlags},
    {"token list", cli::Group::local, "list tokens, without their secrets", "[OPTIONS]", list,
     cli::Reach::local, kListFlags},
    {"token revoke", cli::Group::local, "make a token useless at once", "ID [OPTIONS]", revoke,
     cli::Reach::local, kTokenFlags, kTokenId},
};

}  // namespace

std::span<const cli::Command> token_commands() { return kTokenCommands; }

}  // namespace berth::main
