// See keys.h.
#include "service/keys.h"

#include <algorithm>
#include <utility>

#include "journal/running_hash.h"

namespace berth::service {

static_assert(sizeof(Keys::Known) == 24);

Keys::Hash128 Keys::key_of(TenantId tenant, Kind kind, std::string_view text) {
  thread_local journal::Writer bytes;
  const auto half = [&](std::uint8_t salt) {
    bytes.clear();
    bytes.u8(salt);
    bytes.u32(tenant.value);
    bytes.u8(static_cast<std::uint8_t>(kind));
    bytes.bytes(std::as_bytes(std::span(text)));
    return journal::hash_bytes(bytes.view());
  };
  return {half(0x9e), half(0x37)};
}

const Keys::Known* Keys::find(TenantId tenant, Kind kind, std::string_view text, Time now) const {
  if (size_ == 0) return nullptr;
  const std::uint32_t row = cells_[cell_of(key_of(tenant, kind, text))].row;
  if (row == kNoRow || rows_[row].known.forget_at <= now) return nullptr;
  return &rows_[row].known;
}

// ---- The index
// -----------------------------------------------------------------------------------

std::size_t Keys::cell_of(const Hash128& key) const {
  const std::uint32_t tag = tag_of(key);
  std::size_t at = home(tag);
  while (cells_[at].row != kNoRow && (cells_[at].tag != tag || rows_[cells_[at].row].key != key))
    at = next(at);
  return at;
}

void Keys::grow() {
  const std::vector<Cell> old =
      std::exchange(cells_, std::vector<Cell>(std::max<std::size_t>(16, cells_.size() * 2)));
  for (const Cell& cell : old) {
    if (cell.row == kNoRow) continue;
    std::size_t at = home(cell.tag);
    while (cells_[at].row != kNoRow)
      at = next(at);
    cells_[at] = cell;
  }
}

// Those behind the hole move up, so that nothing is left to be skipped.
void Keys::clear_cell(std::size_t hole) {
  for (std::size_t at = next(hole); cells_[at].row != kNoRow; at = next(at)) {
    const std::size_t mask = cells_.size() - 1;
    const std::size_t distance = (at - home(cells_[at].tag)) & mask;
    if (distance < ((at - hole) & mask)) continue;
    cells_[hole] = cells_[at];
    hole = at;
  }
  cells_[hole] = {};
  --size_;
}

// A key taken anew gets a row of its own; the one before waits for its turn to be forgotten.
std::uint32_t Keys::put(const Hash128& key, const Known& known) {
  if ((size_ + 1) * 4 > cells_.size() * 3) grow();
  auto row = static_cast<std::uint32_t>(rows_.size());
  if (free_rows_.empty()) {
    rows_.push_back({key, known});
  } else {
    row = free_rows_.back();
    free_rows_.pop_back();
    rows_[row] = {key, known};
  }
  Cell& cell = cells_[cell_of(key)];
  if (cell.row == kNoRow) ++size_;
  cell = {row, tag_of(key)};
  return row;
}

void Keys::drop(std::uint32_t row) {
  const std::size_t cell = cell_of(rows_[row].key);
  if (cells_[cell].row == row) clear_cell(cell);
  free_rows_.push_back(row);
}

// ---- The life of a key
// ---------------------------------------------------------------------------

void Keys::list_live(std::uint32_t row) {
  const std::uint64_t twice = rows_[row].known.task.value * 2;
  for (const std::uint64_t place : {twice, twice + 1}) {
    if (live_.find(place) != FlatMap64::kAbsent) continue;
    return live_.insert(place, row);
  }
}

void Keys::take(const TaskCard& card) {
  const auto take_one = [&](Kind kind, const std::string& text) {
    if (text.empty()) return;
    list_live(put(key_of(card.tenant, kind, text), {card.task, card.digest, Time::never()}));
  };
  take_one(Kind::task_id, card.id);
  take_one(Kind::request_id, card.request_id);
}

void Keys::end(TaskNo task, Time forget_at) {
  for (const std::uint64_t place : {task.value * 2, task.value * 2 + 1}) {
    const std::uint32_t row = live_.find(place);
    if (row == FlatMap64::kAbsent) continue;
    rows_[row].known.forget_at = forget_at;
    ended_.push_back(row);
    live_.erase(place);
  }
}

void Keys::forget(Time now) {
  constexpr int kMost = 64;
  for (int i = 0; i < kMost && !ended_.empty(); ++i) {
    const std::uint32_t row = ended_.front();
    if (rows_[row].known.forget_at > now) return;
    drop(row);
    ended_.pop_front();
  }
}

std::size_t Keys::bytes() const {
  return rows_.size() * sizeof(Row) + cells_.size() * sizeof(Cell) +
         (free_rows_.capacity() + ended_.size()) * sizeof(std::uint32_t) + live_.bytes();
}

// ---- In a snapshot
// -------------------------------------------------------------------------------

void Keys::encode(journal::Writer& out) const {
  std::vector<std::uint32_t> all;
  all.reserve(size_);
  for (const Cell& cell : cells_)
    if (cell.row != kNoRow) all.push_back(cell.row);
  std::sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(rows_[a].known.forget_at, rows_[a].key) <
           std::pair(rows_[b].known.forget_at, rows_[b].key);
  });
  out.u64(all.size());
  for (const std::uint32_t row : all) {
    const auto& [key, known] = rows_[row];
    out.u64(key.high);
    out.u64(key.low);
    out.u64(known.task.value);
    out.u64(known.digest);
    out.i64(known.forget_at.ns);
  }
}

Keys Keys::decode(journal::Reader& in) {
  Keys keys;
  const std::uint64_t count = in.u64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    Hash128 key;
    key.high = in.u64();
    key.low = in.u64();
    Known known;
    known.task.value = in.u64();
    known.digest = in.u64();
    known.forget_at.ns = in.i64();
    if (known.task.value > UINT64_MAX / 4) in.fail("a task's number");
    if (!in.ok()) break;
    const std::uint32_t row = keys.put(key, known);
    if (known.forget_at == Time::never()) {
      keys.list_live(row);
    } else {
      keys.ended_.push_back(row);
    }
  }
  return keys;
}

}  // namespace berth::service
