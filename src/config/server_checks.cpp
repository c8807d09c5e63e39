// See server_checks.h.
#include "config/server_checks.h"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <arpa/inet.h>

namespace berth::config {
namespace {

constexpr std::string_view kZones = "/usr/share/zoneinfo";

struct Address {
  std::string host;  // without brackets
  bool is_v6 = false;
};

// An empty host: not an address.
Address split(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return {};
  const std::string_view port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) return {};
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    in6_addr v6{};
    const bool good = inet_pton(AF_INET6, std::string(host).c_str(), &v6) == 1;
    return good ? Address{std::string(host), true} : Address{};
  }
  const bool strange = host.find_first_of(" \t:[]/") != host.npos;
  return strange ? Address{} : Address{std::string(host), false};
}

// The names of the system's zones, for the nearest one; some folders hold other spellings of them.
std::vector<std::string> zone_names() {
  std::vector<std::string> names = {"UTC"};
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(kZones, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().string().substr(kZones.size() + 1);
    if (name.starts_with("posix") || name.starts_with("right")) continue;
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) names.push_back(name);
  }
  return names;
}

void check_address(TableReader& table, std::string_view key, const std::string& address,
                   const ServerSection& server) {
  if (!is_address(address)) {
    return table.error(key, table.path_of(key) + ": expected host:port such as " +
                                "\"127.0.0.1:8080\" or \"[::1]:8080\", found " +
                                config::quoted(address));
  }
  if (is_loopback(address)) return;
  std::string missing;
  if (!server.uses_tls()) missing = "server.tls_certificate and server.tls_key";
  if (!server.authentication) {
    missing += (missing.empty() ? "" : ", and ") + std::string("server.authentication = true");
  }
  if (missing.empty()) return;
  table.error(key, table.path_of(key) + ": " + config::quoted(address) +
                       " can be reached from other machines, which needs TLS and authentication; "
                       "set " +
                       missing + ", or use a loopback address such as \"127.0.0.1:8080\"");
}

void check_tls(TableReader& table, const ServerSection& server) {
  const auto needs = [&](std::string_view key, std::string_view other) {
    table.error(key, table.path_of(key) + ": needs " + table.path_of(other) + " as well");
  };
  if (server.uses_tls() && server.tls_key.empty()) needs("tls_certificate", "tls_key");
  if (!server.tls_key.empty() && !server.uses_tls()) needs("tls_key", "tls_certificate");
  if (!server.tls_client_ca.empty() && !server.uses_tls())
    needs("tls_client_ca", "tls_certificate");
}

}  // namespace

bool is_address(std::string_view text) { return !split(text).host.empty(); }

bool is_loopback(std::string_view address) {
  const auto [host, is_v6] = split(address);
  if (is_v6) {
    in6_addr v6{};
    inet_pton(AF_INET6, host.c_str(), &v6);
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24U == 127;
  return host == "localhost";
}

bool is_timezone(std::string_view name) {
  if (name == "UTC") return true;
  if (name.empty() || name.front() == '/' || name.find("..") != name.npos) return false;
  std::ifstream file(std::filesystem::path(kZones) / name, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, sizeof magic) && std::string_view(magic, sizeof magic) == "TZif";
}

void check_server(TableReader& table, const ServerSection& server) {
  check_address(table, "grpc_address", server.grpc_address, server);
  check_address(table, "http_address", server.http_address, server);
  check_tls(table, server);
  if (server.data.empty()) table.error("data", "server.data: expected the path of a folder");
  if (is_timezone(server.timezone)) return;
  table.error("timezone", "server.timezone: no time zone is named " +
                              config::quoted(server.timezone) + " in " + std::string(kZones) +
                              suggestion(server.timezone, zone_names()));
}

}  // namespace berth::config
