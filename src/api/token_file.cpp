// See token_file.h.
#include "api/token_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/task_spec_reader.h"
#include "base/assert.h"
#include "store/folder_access.h"

namespace berth::api {
namespace {

constexpr std::string_view kHeader = "# berth tokens 1";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kIdBytes = 4;

Error system_error(std::string_view what, const std::filesystem::path& path) {
  return {"cannot " + std::string(what) + " " + path.string() + ": " + std::strerror(errno)};
}

std::string hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool unhex(std::string_view text, Sha256& bytes) {
  if (text.size() != bytes.size() * 2) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, bytes[i], 16);
    if (error != std::errc{} || end != begin + 2) return false;
  }
  return true;
}

bool number(std::string_view text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end;
}

std::optional<Token> token_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) break;
    line.remove_prefix(tab + 1);
  }
  if (fields.size() != 7) return std::nullopt;
  Token token{.id = std::string(fields[0]), .tenant = std::string(fields[2])};
  const auto role = token_role_named(fields[3]);
  if (!role || !unhex(fields[1], token.hash) || !number(fields[4], token.created_s) ||
      !number(fields[5], token.expires_s) || !number(fields[6], token.revoked_s)) {
    return std::nullopt;
  }
  token.role = *role;
  return token;
}

std::string line_of(const Token& token) {
  std::string line = token.id + "\t" + hex(token.hash) + "\t" + token.tenant + "\t";
  line += name_of(token.role);
  for (const std::int64_t instant : {token.created_s, token.expires_s, token.revoked_s}) {
    line += "\t" + std::to_string(instant);
  }
  return line + "\n";
}

Status write_all(int file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0) return system_error("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file) != 0) return system_error("sync", path);
  return Done{};
}

// Beside its place first, so that a crash leaves the old file or the new one.
Status write_tokens(const std::filesystem::path& path, const std::vector<Token>& tokens) {
  std::string text = std::string(kHeader) + "\n";
  for (const Token& token : tokens)
    text += line_of(token);
  const std::filesystem::path beside = path.string() + ".new";
  ::unlink(beside.c_str());
  const int file = ::open(beside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return system_error("create", beside);
  Status written = write_all(file, text, beside);
  ::close(file);
  if (!written.ok()) return written;
  if (::rename(beside.c_str(), path.c_str()) != 0) return system_error("rename", beside);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return system_error("open", folder);
  const bool synced = ::fsync(directory) == 0;
  ::close(directory);
  if (!synced) return system_error("sync", folder);
  return Done{};
}

// Held while one process reads, changes and writes the file.
class Turn {
 public:
  explicit Turn(const std::filesystem::path& path)
      : file_(::open((path.string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    if (file_ >= 0) ::flock(file_, LOCK_EX);
  }
  ~Turn() {
    if (file_ >= 0) ::close(file_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool ok() const { return file_ >= 0; }

 private:
  int file_;
};

std::string random_hex(std::size_t bytes) {
  std::vector<std::uint8_t> random(bytes);
  ASSERT(RAND_bytes(random.data(), static_cast<int>(bytes)) == 1);
  return hex(random);
}

}  // namespace

std::optional<Role> token_role_named(std::string_view name) {
  const auto at = std::ranges::find(kTokenRoles, name, [](Role role) { return name_of(role); });
  return at == kTokenRoles.end() ? std::nullopt : std::optional(*at);
}

Sha256 sha256(std::string_view text) {
  Sha256 hash{};
  unsigned int size = 0;
  ASSERT(EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha256(), nullptr) == 1);
  return hash;
}

Result<std::vector<Token>> read_tokens(const std::filesystem::path& path) {
  std::vector<Token> tokens;
  // Who can write a line here can come in as anybody.
  Result<std::optional<std::string>> text = store::read_own_file(path);
  if (!text) return text.error();
  if (!*text) return tokens;
  std::istringstream in(std::move(**text));
  std::string line;
  for (std::size_t at = 1; std::getline(in, line); ++at) {
    if (at == 1 && line != kHeader) {
      return Error{path.string() + " is not a tokens file: its first line is not \"" +
                   std::string(kHeader) + "\""};
    }
    if (at == 1 || line.empty()) continue;
    std::optional<Token> token = token_of(line);
    if (!token) {
      return Error{path.string() + ":" + std::to_string(at) +
                   ": not a token (id, hash, tenant, role, created, expires, revoked)"};
    }
    tokens.push_back(std::move(*token));
  }
  return tokens;
}

Result<NewToken> create_token(const std::filesystem::path& path, const std::string& tenant,
                              Role role, std::int64_t expires_s, std::int64_t now_s) {
  if (role == Role::anyone) return Error{"a token's role is tenant, reader, agent or admin"};
  const bool needs_tenant = role == Role::tenant || !tenant.empty();
  if (const std::string flaw = flaw_in_name(tenant); needs_tenant && !flaw.empty()) {
    return Error{"the tenant's name " + flaw};
  }
  const Turn turn(path);
  if (!turn.ok()) return system_error("lock", path);
  auto tokens = read_tokens(path);
  if (!tokens.ok()) return tokens.error();
  NewToken made;
  made.secret = std::string(kTokenPrefix) + random_hex(kSecretBytes);
  made.token = {.id = random_hex(kIdBytes),
                .hash = sha256(made.secret),
                .tenant = tenant,
                .role = role,
                .created_s = now_s,
                .expires_s = expires_s};
  tokens->push_back(made.token);
  const Status written = write_tokens(path, *tokens);
  if (!written.ok()) return written.error();
  return made;
}

Result<Token> revoke_token(const std::filesystem::path& path, std::string_view id,
                           std::int64_t now_s) {
  const Turn turn(path);
  if (!turn.ok()) return system_error("lock", path);
  auto tokens = read_tokens(path);
  if (!tokens.ok()) return tokens.error();
  for (Token& token : *tokens) {
    if (token.id != id) continue;
    if (token.revoked_s == 0) token.revoked_s = now_s;
    const Status written = write_tokens(path, *tokens);
    if (!written.ok()) return written.error();
    return token;
  }
  return Error{"there is no token \"" + std::string(id) + "\" in " + path.string()};
}

}  // namespace berth::api
