// The key `mig` of a block of GPUs: whether they are in MIG mode, and how they are cut.
//
// `true` takes the geometry from the name of the kind and its VRAM; a name says it outright.
#pragma once

#include <string>
#include <string_view>

#include "base/units.h"
#include "config/fields.h"
#include "core/model/mig.h"

namespace berth::config {

// The geometry of a GPU with this name, such as "A100-SXM4-80GB"; none: it is not known to have
// one.
core::mig::Geometry geometry_of_kind(std::string_view kind, Mib vram);

// Why a GPU of this kind and size cannot be cut so, as a sentence about it; "": it can. A kind that
// nobody knows is judged by its VRAM alone.
std::string flaw_in_mig(std::string_view kind, Mib vram, core::mig::Geometry geometry);

// Asks for `mig`. What names no geometry is refused with the list of those there are, and so is one
// that the GPUs cannot have.
void read_mig_mode(TableReader& table, std::string_view kind, Mib vram, core::mig::Geometry& out);

}  // namespace berth::config
