// Authentication: from the text of an Authorization header to a Caller, and whether that caller may
// use a method. Every request of every door passes through `admit`, and every stream that goes on
// through `objection`.
//
// The tokens file is read again when it has changed, looked at no more than five times a second; a
// file that no longer reads, or that others could have changed, leaves the last good one in force.
// Secrets are never logged or kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <variant>

#include "api/caller.h"
#include "api/token_file.h"

namespace berth::api {

// What tells one state of a file from another, as far as its times are fine enough.
struct FileState {
  std::uint64_t inode = 0;  // 0: there is no file
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileState&) const = default;
};

class Authenticator {
 public:
  // Not `required`: everyone is let in, as an admin.
  Authenticator(bool required, std::filesystem::path tokens,
                std::function<void(const std::string&)> log);

  bool required() const { return required_; }

  std::variant<Caller, Problem> admit(std::string_view authorization, const Need& need);
  // Why one who was admitted would no longer be: the token was revoked, has expired, is gone.
  std::optional<Problem> objection(const Caller& caller);

 private:
  void refresh();
  const Token* find(const Sha256& hash) const;

  const bool required_;
  const std::filesystem::path path_;
  const std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point looked_{};
  FileState seen_;
  std::multimap<std::uint32_t, Token> tokens_;  // by the first bytes of the hash
};

}  // namespace berth::api
