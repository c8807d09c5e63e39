// Routes: which method of the table a verb and a path mean, and the few paths beside the table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/json_messages.h"
#include "api/methods.h"

namespace berth::api {

// Paths that are no methods: for probes, for Prometheus, and for those who look around.
// clang-format off
#define BERTH_PAGES(PAGE)                                                                    \
  PAGE(health,        "/health",       anyone, "Alive, and what it is, as JSON")             \
  PAGE(healthz,       "/healthz",      anyone, "Alive")                                      \
  PAGE(readyz,        "/readyz",       anyone, "Takes work; 503 while it starts or stops")   \
  PAGE(openapi,       "/openapi.json", anyone, "This API as OpenAPI 3.1")                    \
  PAGE(metrics,       "/metrics",      reader, "Prometheus text, GPU metrics included")      \
  PAGE(gpu_metrics,   "/gpu/metrics",  tenant, "The GPU metrics alone")                      \
  PAGE(queue_status,  "/queue/status", tenant, "As /api/v1/queues")
// clang-format on

enum class Page : std::uint8_t {
#define PAGE(name, path, role, summary) name,
  BERTH_PAGES(PAGE)
#undef PAGE
};
struct PageInfo {
  std::string_view path;
  Role role;
  std::string_view summary;
};
inline constexpr std::array kPages = {
#define PAGE(name, path, role, summary) PageInfo{path, Role::role, summary},
    BERTH_PAGES(PAGE)
#undef PAGE
};

constexpr Need need_of(const PageInfo& page) { return {.role = page.role, .reads = true}; }

struct Matched {
  std::variant<Method, Page> what;
  Parameters path;             // fields from the path
  Parameters query;            // and from the query
  std::string successor = {};  // asked for by an old path: the one to use; "": it is that
};

struct NoRoute {
  std::vector<Verb> allowed;  // empty: there is no such path
};

// Whether it asks no more than whether the server lives.
bool is_probe(std::string_view method, std::string_view target);

// `method` is the verb as it came; a HEAD is a GET.
std::variant<Matched, NoRoute> match_route(std::string_view method, std::string_view target);

}  // namespace berth::api
