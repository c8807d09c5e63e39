// See http_routes.h.
#include "api/http_routes.h"

namespace berth::api {
namespace {

std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);  // the slash
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

// The fields in the braces of a pattern, if the path is of that form.
std::optional<Parameters> match_path(std::string_view pattern, std::string_view path) {
  Parameters fields;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = next_segment(pattern);
    const std::string_view given = next_segment(path);
    if (wanted.starts_with('{')) {
      if (given.empty()) return std::nullopt;
      fields.emplace_back(std::string(wanted.substr(1, wanted.size() - 2)),
                          percent_decoded(given, false));
    } else if (wanted != given) {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return fields;
}

// The path that has taken the place of an old one; "": it is no old one.
std::string successor_of(std::string_view path) {
  const std::string_view below = path.substr(std::min(kOldApiRoot.size(), path.size()));
  if (!path.starts_with(kOldApiRoot) || !below.starts_with('/')) return "";
  return std::string(kApiRoot) + std::string(below);
}

}  // namespace

bool is_probe(std::string_view method, std::string_view target) {
  const auto route = match_route(method, target);
  const auto* matched = std::get_if<Matched>(&route);
  const auto* page = matched == nullptr ? nullptr : std::get_if<Page>(&matched->what);
  return page != nullptr &&
         (*page == Page::health || *page == Page::healthz || *page == Page::readyz);
}

std::variant<Matched, NoRoute> match_route(std::string_view method, std::string_view target) {
  const std::size_t mark = target.find('?');
  std::string_view path = target.substr(0, mark);
  NoRoute none;
  if (!path.starts_with('/')) return none;
  const std::string successor = successor_of(path);
  if (!successor.empty()) path = successor;
  const std::string_view verb = method == "HEAD" ? "GET" : method;
  const auto query = [&] {
    return mark == std::string_view::npos ? Parameters{}
                                          : query_parameters(target.substr(mark + 1));
  };
  for (std::size_t i = 0; i < kPages.size(); ++i) {
    if (kPages[i].path != path) continue;
    if (verb == "GET") return Matched{static_cast<Page>(i), {}, query()};
    none.allowed.push_back(Verb::get);
  }
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    for (const std::string_view pattern : {kMethods[i].path, kMethods[i].also}) {
      if (pattern.empty()) continue;
      auto fields = match_path(pattern, path);
      if (!fields) continue;
      if (verb == name_of(kMethods[i].verb)) {
        return Matched{static_cast<Method>(i), std::move(*fields), query(), successor};
      }
      none.allowed.push_back(kMethods[i].verb);
    }
  }
  return none;
}

}  // namespace berth::api
