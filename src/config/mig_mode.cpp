// See mig_mode.h.
#include "config/mig_mode.h"

#include <array>
#include <cctype>
#include <string>

#include "config/document.h"
#include "core/mig/profiles.h"

namespace berth::config {
namespace {

using core::mig::Geometry;

std::string known_geometries() {
  std::string names;
  for (std::size_t g = 1; g < core::mig::kGeometries; ++g) {
    names += std::string(g == 1 ? "" : ", ") + "\"";
    names += std::string(core::mig::name_of(static_cast<Geometry>(g))) + "\"";
  }
  return names;
}

}  // namespace

Geometry geometry_of_kind(std::string_view kind, Mib vram) {
  std::string name;
  for (const char c : kind)
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  constexpr Mib kBetween40And80{60 * 1024};
  if (has("a100")) return vram < kBetween40And80 ? Geometry::a100_40 : Geometry::a100_80;
  if (has("h100")) return Geometry::h100_80;
  if (has("h200")) return Geometry::h200_141;
  if (has("b200")) return Geometry::b200_180;
  return Geometry::none;
}

std::string flaw_in_mig(std::string_view kind, Mib vram, Geometry geometry) {
  if (geometry == Geometry::none) return {};
  const std::string name = quoted(core::mig::name_of(geometry));
  // All of it as one instance. A GPU has little more: more than a quarter is another GPU.
  const std::int64_t whole = core::mig::slot_classes(geometry).back().memory.value;
  const std::int64_t most = whole * 5 / 4;
  if (vram.value < whole || vram.value > most) {
    return name + " is how GPUs with " + std::to_string(whole) + " to " + std::to_string(most) +
           " MiB are cut; this one has " + std::to_string(vram.value);
  }
  const Geometry known = geometry_of_kind(kind, vram);
  if (known == Geometry::none || known == geometry) return {};
  return "a GPU of kind " + quoted(kind) + " is cut as " + quoted(core::mig::name_of(known)) +
         ", never as " + name;
}

void read_mig_mode(TableReader& table, std::string_view kind, Mib vram, Geometry& out) {
  const Node* node = table.take("mig");
  if (node == nullptr || (node->is(Node::Kind::boolean) && !node->boolean)) {
    return table.note("mig", node, "false");
  }
  const bool is_named = node->is(Node::Kind::text);
  if (is_named) out = core::mig::geometry_named(node->text);
  if (node->is(Node::Kind::boolean)) out = geometry_of_kind(kind, vram);
  if (out != Geometry::none) {
    const bool is_judged = vram.value > 0;  // else it is missing, and told
    const std::string flaw = is_judged ? flaw_in_mig(kind, vram, out) : "";
    if (!flaw.empty()) return table.error("mig", table.path_of("mig") + ": " + flaw);
    return table.note("mig", node, toml_string(core::mig::name_of(out)));
  }
  std::string expected = ": expected true, false, or one of " + known_geometries();
  if (node->is(Node::Kind::boolean)) {
    expected = ": the kind " + quoted(kind) + " is not known to have MIG; expected one of " +
               known_geometries();
  }
  table.error("mig", table.path_of("mig") + expected);
}

}  // namespace berth::config
