// See task_table.h.
#include "core/state/task_table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::core {

std::uint32_t TaskTable::take_slot() {
  if (!free_slots_.empty()) {
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  rows_.grow_to(rows_.size() + 1);
  return static_cast<std::uint32_t>(rows_.size() - 1);
}

std::uint32_t TaskTable::create(TaskNo no) {
  ASSERT(no.value == next_);
  next_ = no.value + 1;
  const std::uint32_t slot = create_restored(no);
  forget_old_pages();
  return slot;
}

std::uint32_t TaskTable::create_restored(TaskNo no) {
  grow_pages(no.value);
  const std::uint32_t slot = take_slot();
  TaskRow& fresh = rows_[slot];
  const std::uint32_t stamp = fresh.stamp;
  fresh = TaskRow{};
  fresh.stamp = stamp;
  fresh.no = no;
  *entry_of(no.value) = slot;
  ++pages_[no.value / kPageEntries - first_page_]->live;
  ++live_;
  return slot;
}

void TaskTable::skip(TaskNo no) {
  ASSERT(no.value == next_);
  next_ = no.value + 1;
  grow_pages(no.value);
  forget_old_pages();
}

void TaskTable::end(std::uint32_t slot, TaskState terminal) {
  TaskRow& ended = rows_[slot];
  ASSERT(ended.no && is_terminal(terminal));
  Page& page = *pages_[ended.no.value / kPageEntries - first_page_];
  page.entries[ended.no.value % kPageEntries] =
      kEndedBase + 1 + static_cast<std::uint32_t>(terminal);
  --page.live;
  if (ended.extra != kNoSlot) {
    extras_[ended.extra] = TaskExtra{};
    free_extras_.push_back(ended.extra);
    ended.extra = kNoSlot;
  }
  ASSERT(ended.dependants == kNoSlot);
  ++ended.stamp;
  ended.no = TaskNo::none();
  free_slots_.push_back(slot);
  --live_;
}

std::uint32_t* TaskTable::entry_of(std::uint64_t no) {
  return const_cast<std::uint32_t*>(std::as_const(*this).entry_of(no));
}

const std::uint32_t* TaskTable::entry_of(std::uint64_t no) const {
  const std::uint64_t page = no / kPageEntries;
  if (page < first_page_ || page - first_page_ >= pages_.size()) return nullptr;
  const auto& found = pages_[page - first_page_];
  return found ? &found->entries[no % kPageEntries] : nullptr;
}

void TaskTable::grow_pages(std::uint64_t no) {
  const std::uint64_t page = no / kPageEntries;
  if (pages_.empty()) first_page_ = page;
  if (page - first_page_ >= pages_.size()) pages_.resize(page - first_page_ + 1);
  auto& found = pages_[page - first_page_];
  if (found) return;
  found = std::make_unique<Page>();
  std::fill(std::begin(found->entries), std::end(found->entries), kUnknown);
}

void TaskTable::forget_old_pages() {
  if (pages_.size() <= kPagesRemembered) return;
  // At most one page has newly grown too old; a live task keeps it.
  auto& oldest_kept = pages_[pages_.size() - kPagesRemembered - 1];
  if (oldest_kept && oldest_kept->live == 0) oldest_kept.reset();
  while (pages_.size() > kPagesRemembered && (!pages_.front() || pages_.front()->live == 0)) {
    pages_.pop_front();
    ++first_page_;
  }
}

std::uint32_t TaskTable::slot_of(TaskNo no) const {
  const std::uint32_t* entry = entry_of(no.value);
  return entry != nullptr && *entry < kEndedBase ? *entry : kNoSlot;
}

std::optional<TaskState> TaskTable::ended(TaskNo no) const {
  const std::uint32_t* entry = entry_of(no.value);
  if (entry == nullptr || *entry <= kEndedBase) return std::nullopt;
  return static_cast<TaskState>(*entry - kEndedBase - 1);
}

TaskNo TaskTable::oldest_remembered() const { return TaskNo{first_page_ * kPageEntries}; }

void TaskTable::restore_numbering(TaskNo next, TaskNo oldest_remembered) {
  ASSERT(live_ == 0 && pages_.empty());
  next_ = next.value;
  if (next_ == oldest_remembered.value) return;
  grow_pages(oldest_remembered.value);
  grow_pages(next_ - 1);
}

void TaskTable::remember_ended(TaskNo no, TaskState terminal) {
  grow_pages(no.value);
  *entry_of(no.value) = kEndedBase + 1 + static_cast<std::uint32_t>(terminal);
}

TaskExtra& TaskTable::extra_of(std::uint32_t slot) {
  TaskRow& owner = rows_[slot];
  if (owner.extra == kNoSlot) {
    if (free_extras_.empty()) {
      extras_.grow_to(extras_.size() + 1);
      owner.extra = static_cast<std::uint32_t>(extras_.size() - 1);
    } else {
      owner.extra = free_extras_.back();
      free_extras_.pop_back();
    }
  }
  return extras_[owner.extra];
}

const TaskExtra* TaskTable::find_extra(std::uint32_t slot) const {
  const std::uint32_t extra = rows_[slot].extra;
  return extra == kNoSlot ? nullptr : &extras_[extra];
}

void TaskTable::add_dependant(std::uint32_t slot, TaskNo dependant) {
  std::uint32_t edge = 0;
  if (free_edges_.empty()) {
    edges_.grow_to(edges_.size() + 1);
    edge = static_cast<std::uint32_t>(edges_.size() - 1);
  } else {
    edge = free_edges_.back();
    free_edges_.pop_back();
  }
  edges_[edge] = {dependant, rows_[slot].dependants};
  rows_[slot].dependants = edge;
}

std::vector<TaskNo> TaskTable::take_dependants(std::uint32_t slot) {
  std::vector<TaskNo> dependants;
  for (std::uint32_t edge = rows_[slot].dependants; edge != kNoSlot; edge = edges_[edge].next) {
    dependants.push_back(edges_[edge].dependant);
    free_edges_.push_back(edge);
  }
  rows_[slot].dependants = kNoSlot;
  std::reverse(dependants.begin(), dependants.end());
  return dependants;
}

std::vector<TaskNo> TaskTable::dependants_of(std::uint32_t slot) const {
  std::vector<TaskNo> dependants;
  for (std::uint32_t edge = rows_[slot].dependants; edge != kNoSlot; edge = edges_[edge].next) {
    dependants.push_back(edges_[edge].dependant);
  }
  std::reverse(dependants.begin(), dependants.end());
  return dependants;
}

}  // namespace berth::core
