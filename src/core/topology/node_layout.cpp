// See node_layout.h.
#include "core/topology/node_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <map>
#include <tuple>

#include "base/assert.h"

namespace berth::core {
namespace {

// Choices weighed for one table, if forgetting switches and sockets can help it: some 60 ms. 8 GPUs
// never need more than 3^8; islands alone need more only for 8 pairs: 6^8.
constexpr std::uint64_t kChoicesMax = 300'000;

std::uint32_t size_of(GpuMask mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

// Parts of the node (islands, switches or sockets) and how many GPUs of each cell they hold.
using Grouping = std::uint16_t Slot::*;

struct Parts {
  std::vector<std::uint8_t> part_of_cell;  // kAlone: its GPUs are joined to none
  std::vector<std::uint8_t> sizes;         // of each part
  static constexpr std::uint8_t kAlone = 0xFF;
};

// A part that holds one GPU joins nothing.
void forget_parts_of_one(std::vector<Slot>& slots, Grouping grouping) {
  std::map<std::uint16_t, int> sizes;
  for (const Slot& slot : slots)
    ++sizes[slot.*grouping];
  for (Slot& slot : slots) {
    if (sizes[slot.*grouping] == 1) slot.*grouping = kUnknownPart;
  }
}

void forget(std::vector<Slot>& slots, Grouping grouping) {
  for (Slot& slot : slots)
    slot.*grouping = kUnknownPart;
}

using CellKey = std::tuple<std::uint16_t, std::uint16_t, std::uint16_t>;

CellKey cell_of(const Slot& slot) { return {slot.island, slot.socket, slot.pcie_switch}; }

std::map<CellKey, std::vector<Slot>> cells_of(const std::vector<Slot>& slots) {
  std::map<CellKey, std::vector<Slot>> cells;
  for (const Slot& slot : slots)
    cells[cell_of(slot)].push_back(slot);
  return cells;
}

// A cell of s GPUs has f free, t of them taken: (s + 1)(s + 2) / 2 cases.
std::uint64_t choices(const std::map<CellKey, std::vector<Slot>>& cells) {
  std::uint64_t product = 1;
  for (const auto& [key, slots] : cells)
    product *= (slots.size() + 1) * (slots.size() + 2) / 2;
  return product;
}

Parts parts_by(const std::map<CellKey, std::vector<Slot>>& cells, Grouping grouping) {
  Parts parts;
  std::map<std::uint16_t, std::uint8_t> numbers;
  for (const auto& [key, slots] : cells) {
    const std::uint16_t part = slots.front().*grouping;
    if (part == kUnknownPart) {
      parts.part_of_cell.push_back(Parts::kAlone);
      continue;
    }
    const auto number =
        numbers.emplace(part, static_cast<std::uint8_t>(parts.sizes.size())).first->second;
    if (number == parts.sizes.size()) parts.sizes.push_back(0);
    parts.sizes[number] = static_cast<std::uint8_t>(parts.sizes[number] + slots.size());
    parts.part_of_cell.push_back(number);
  }
  return parts;
}

using Counts = std::array<std::uint8_t, kSlots>;  // by cell, or by part

// What taking some GPUs does to the parts of one grouping.
struct Effect {
  std::uint32_t touched = 0;
  std::uint32_t broken = 0;  // wholly free before, partly after
  std::uint32_t left = 0;    // free GPUs left in the parts touched
};

// GPUs of each part; those of none are summed up at the end.
Counts by_part(const Parts& parts, const Counts& cells, std::uint32_t& alone) {
  Counts counts{};
  for (std::size_t cell = 0; cell < parts.part_of_cell.size(); ++cell) {
    const std::uint8_t part = parts.part_of_cell[cell];
    if (part == Parts::kAlone) {
      alone += cells[cell];
    } else {
      counts[part] = static_cast<std::uint8_t>(counts[part] + cells[cell]);
    }
  }
  return counts;
}

Effect effect_of(const Parts& parts, const Counts& free_by_part, const Counts& taken_by_cell) {
  Effect effect;
  const Counts taken = by_part(parts, taken_by_cell, effect.touched);
  for (std::size_t part = 0; part < parts.sizes.size(); ++part) {
    if (taken[part] == 0) continue;
    ++effect.touched;
    effect.left += free_by_part[part] - taken[part];
    if (free_by_part[part] == parts.sizes[part] && taken[part] < free_by_part[part]) {
      ++effect.broken;
    }
  }
  return effect;
}

struct Cost {
  std::uint32_t islands = 0, islands_broken = 0, left_in_islands = 0;
  std::uint32_t switches = 0, sockets = 0, left_at_switches = 0;
  auto operator<=>(const Cost&) const = default;
};

// Every way to take some of the free GPUs in turn, the first cells filled first; false after the
// last, which takes none.
bool next_choice(const Counts& free, std::size_t cells, Counts& taken) {
  for (std::size_t i = cells; i-- > 0; taken[i] = free[i]) {
    if (taken[i] == 0) continue;
    --taken[i];
    return true;
  }
  return false;
}

}  // namespace

NodeLayout::NodeLayout(const std::vector<Slot>& slots) {
  std::map<std::uint16_t, GpuMask> joined;
  for (const Slot& slot : slots) {
    ASSERT(slot.index < kSlots);
    const auto bit = static_cast<GpuMask>(1U << slot.index);
    if (slot.island == kUnknownPart) {
      islands_.push_back(bit);
    } else {
      joined[slot.island] |= bit;
    }
  }
  for (const auto& [number, mask] : joined)
    islands_.push_back(mask);
  std::sort(islands_.begin(), islands_.end(),
            [](GpuMask a, GpuMask b) { return std::countr_zero(a) < std::countr_zero(b); });
  fill_table(slots);
}

void NodeLayout::fill_table(const std::vector<Slot>& given) {
  std::vector<Slot> slots = given;
  for (const Grouping grouping : {&Slot::island, &Slot::pcie_switch, &Slot::socket})
    forget_parts_of_one(slots, grouping);
  for (const Grouping grouping : {&Slot::pcie_switch, &Slot::socket}) {
    if (choices(cells_of(slots)) > kChoicesMax) forget(slots, grouping);
  }
  const auto by_key = cells_of(slots);
  std::uint32_t states = 1;
  for (const auto& [key, members] : by_key) {
    Cell cell{.gpus = 0, .radix = states};
    for (const Slot& slot : members)
      cell.gpus = static_cast<GpuMask>(cell.gpus | 1U << slot.index);
    cells_.push_back(cell);
    states *= static_cast<std::uint32_t>(members.size()) + 1;
  }
  const Parts islands = parts_by(by_key, &Slot::island);
  const Parts switches = parts_by(by_key, &Slot::pcie_switch);
  const Parts sockets = parts_by(by_key, &Slot::socket);
  table_.assign(states * (kSlots + 1), 0);
  for (std::uint32_t state = 0; state < states; ++state) {
    Counts free{};
    for (std::size_t i = 0; i < cells_.size(); ++i)
      free[i] = static_cast<std::uint8_t>(state / cells_[i].radix % (size_of(cells_[i].gpus) + 1));
    std::uint32_t alone = 0;
    const Counts in_islands = by_part(islands, free, alone);
    const Counts at_switches = by_part(switches, free, alone);
    const Counts at_sockets = by_part(sockets, free, alone);
    std::array<Cost, kSlots + 1> best;
    best.fill({.islands = kSlots + 1});
    Counts taken = free;
    do {
      std::uint32_t count = 0;
      std::uint32_t number = 0;
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        count += taken[i];
        number += taken[i] * cells_[i].radix;
      }
      const Effect on_islands = effect_of(islands, in_islands, taken);
      const Effect on_switches = effect_of(switches, at_switches, taken);
      const Effect on_sockets = effect_of(sockets, at_sockets, taken);
      const Cost cost{on_islands.touched,  on_islands.broken,  on_islands.left,
                      on_switches.touched, on_sockets.touched, on_switches.left};
      if (cost < best[count]) {
        best[count] = cost;
        table_[state * (kSlots + 1) + count] = static_cast<std::uint16_t>(number);
      }
    } while (next_choice(free, cells_.size(), taken));
  }
}

GpuMask NodeLayout::choose(GpuMask free, std::uint32_t count) const {
  std::uint32_t state = 0;
  for (const Cell& cell : cells_)
    state += size_of(free & cell.gpus) * cell.radix;
  std::uint32_t number = table_[state * (kSlots + 1) + count];
  std::uint32_t chosen = 0;
  // Cells from the last: the number is taken apart from its highest digit.
  for (std::size_t i = cells_.size(); i-- > 0;) {
    std::uint32_t rest = free & cells_[i].gpus;
    for (; number >= cells_[i].radix; number -= cells_[i].radix) {
      chosen |= rest & -rest;
      rest &= rest - 1;
    }
  }
  ASSERT(size_of(static_cast<GpuMask>(chosen)) == count);
  return static_cast<GpuMask>(chosen);
}

std::uint32_t NodeLayout::part_sizes(GpuMask free) const {
  std::uint32_t sizes = 0;
  for (const GpuMask island : islands_)
    sizes |= 1U << size_of(free & island);
  return sizes & ~1U;
}

}  // namespace berth::core
