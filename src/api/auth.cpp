// See auth.h.
#include "api/auth.h"

#include <cstring>

#include <openssl/crypto.h>
#include <sys/stat.h>

namespace berth::api {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr std::size_t kSecretMax = 256;

std::uint32_t shelf_of(const Sha256& hash) {
  std::uint32_t first = 0;
  std::memcpy(&first, hash.data(), sizeof first);
  return first;
}

// The time of the last change of any kind, of owner and mode too: nobody can set it back.
FileState state_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size,
          status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec};
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Changed so recently that a further change could bear the same time.
bool is_fresh(const FileState& state) {
  return state.inode != 0 && unix_seconds() - state.changed_ns / 1'000'000'000 <= 2;
}

Problem unauthenticated(std::string reason, std::string message) {
  return {
      .code = Code::unauthenticated, .reason = std::move(reason), .message = std::move(message)};
}

// The secret of "Bearer SECRET"; "": it is of another form.
std::string_view bearer(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != kScheme[i]) return {};
  }
  const std::string_view secret = authorization.substr(kScheme.size());
  return secret.size() <= kSecretMax ? secret : std::string_view{};
}

// Null: there is none of that hash.
std::optional<Problem> flaw_of(const Token* token) {
  if (token == nullptr) return unauthenticated("bad_token", "the token is not known");
  if (token->revoked_s != 0) {
    return unauthenticated("token_revoked", "token " + token->id + " was revoked");
  }
  if (token->expires_s != 0 && unix_seconds() >= token->expires_s) {
    return unauthenticated("token_expired", "token " + token->id + " has expired");
  }
  return std::nullopt;
}

bool suffices(Role has, const Need& need) {
  if (need.role == Role::anyone || has == need.role) return true;
  if (need.role == Role::agent) return false;
  return has == Role::admin || (has == Role::reader && need.reads);
}

}  // namespace

Authenticator::Authenticator(bool required, std::filesystem::path tokens,
                             std::function<void(const std::string&)> log)
    : required_(required), path_(std::move(tokens)), log_(std::move(log)) {}

std::variant<Caller, Problem> Authenticator::admit(std::string_view authorization,
                                                   const Need& need) {
  if (!required_) return Caller{};
  if (need.role == Role::anyone && authorization.empty()) return Caller{.role = Role::anyone};
  const std::string_view secret = bearer(authorization);
  if (secret.empty()) {
    return unauthenticated("no_token", "a token is required: send \"Authorization: Bearer bth_…\"");
  }
  const Sha256 hash = sha256(secret);
  const std::lock_guard lock(mutex_);
  refresh();
  const Token* token = find(hash);
  if (auto flaw = flaw_of(token)) return std::move(*flaw);
  if (!suffices(token->role, need)) {
    return Problem{.code = Code::permission_denied,
                   .reason = "role_denied",
                   .message = "this needs a token of role " + std::string(name_of(need.role)) +
                              "; token " + token->id + " has role " +
                              std::string(name_of(token->role)),
                   .metadata = {{"need", std::string(name_of(need.role))},
                                {"have", std::string(name_of(token->role))}}};
  }
  return Caller{.tenant = token->tenant, .role = token->role, .authenticated = true, .token = hash};
}

std::optional<Problem> Authenticator::objection(const Caller& caller) {
  if (!caller.authenticated) return std::nullopt;
  const std::lock_guard lock(mutex_);
  refresh();
  return flaw_of(find(caller.token));
}

void Authenticator::refresh() {
  const auto now = std::chrono::steady_clock::now();
  if (looked_ != std::chrono::steady_clock::time_point{} && now - looked_ < kLookEvery) return;
  looked_ = now;
  const FileState state = state_of(path_);
  if (state == seen_ && !is_fresh(state)) return;
  seen_ = state;
  Result<std::vector<Token>> read = read_tokens(path_);
  if (!read.ok()) {
    if (log_) log_(read.error().message + "; the tokens read before stay in force");
    return;
  }
  tokens_.clear();
  for (Token& token : *read) {
    const std::uint32_t shelf = shelf_of(token.hash);
    tokens_.emplace(shelf, std::move(token));
  }
}

const Token* Authenticator::find(const Sha256& hash) const {
  const auto [begin, end] = tokens_.equal_range(shelf_of(hash));
  const Token* found = nullptr;
  for (auto at = begin; at != end; ++at) {
    if (CRYPTO_memcmp(at->second.hash.data(), hash.data(), hash.size()) == 0) found = &at->second;
  }
  return found;
}

}  // namespace berth::api
