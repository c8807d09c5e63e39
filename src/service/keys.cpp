// See keys.h.
#include "service/keys.h"

#include <algorithm>
#include <vector>

#include "journal/running_hash.h"

namespace berth::service {

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
  const auto at = known_.find(key_of(tenant, kind, text));
  return at == known_.end() || at->second.forget_at <= now ? nullptr : &at->second;
}

void Keys::take(const Hash128& key, const TaskCard& card) {
  known_[key] = {card.task, card.digest, Time::never()};
  live_.emplace(card.task.value, key);
}

void Keys::take(const TaskCard& card) {
  if (!card.id.empty()) take(key_of(card.tenant, Kind::task_id, card.id), card);
  if (!card.request_id.empty()) take(key_of(card.tenant, Kind::request_id, card.request_id), card);
}

void Keys::end(TaskNo task, Time forget_at) {
  const auto [first, last] = live_.equal_range(task.value);
  for (auto at = first; at != last; ++at) {
    const auto known = known_.find(at->second);
    if (known == known_.end() || known->second.task != task) continue;
    known->second.forget_at = forget_at;
    ended_.push_back({forget_at, at->second});
  }
  live_.erase(first, last);
}

void Keys::forget(Time now) {
  constexpr int kMost = 64;
  for (int i = 0; i < kMost && !ended_.empty() && ended_.front().forget_at <= now; ++i) {
    const auto known = known_.find(ended_.front().key);
    // A key taken anew since then belongs to the newer task.
    if (known != known_.end() && known->second.forget_at <= now) known_.erase(known);
    ended_.pop_front();
  }
}

void Keys::encode(journal::Writer& out) const {
  std::vector<std::pair<Hash128, Known>> all(known_.begin(), known_.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.forget_at, a.first) < std::pair(b.second.forget_at, b.first);
  });
  out.u64(all.size());
  for (const auto& [key, known] : all) {
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
    if (!in.ok()) break;
    keys.known_[key] = known;
    if (known.forget_at == Time::never()) {
      keys.live_.emplace(known.task.value, key);
    } else {
      keys.ended_.push_back({known.forget_at, key});
    }
  }
  return keys;
}

}  // namespace berth::service
