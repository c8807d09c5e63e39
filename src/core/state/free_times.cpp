// See free_times.h.
#include "core/state/free_times.h"

namespace berth::core {

FreeTimes::FreeTimes(const std::vector<PoolId>& domains, std::int64_t amount)
    : amount_(amount), changed_(domains.begin(), domains.end()) {}

void FreeTimes::note(PoolId domain) { changed_.insert(domain); }

void FreeTimes::update(const Pools& pools) {
  for (const PoolId domain : changed_) {
    const auto known = at_.find(domain);
    if (known != at_.end()) order_.erase({known->second, domain});
    const Time at = pools.profile(domain).free_from(amount_);
    at_[domain] = at;
    if (at != Time::never()) order_.insert({at, domain});
  }
  changed_.clear();
}

std::vector<PoolId> FreeTimes::first(const Pools& pools, std::size_t count) {
  update(pools);
  std::vector<PoolId> domains;
  for (auto it = order_.begin(); it != order_.end() && domains.size() < count; ++it)
    domains.push_back(it->second);
  return domains;
}

}  // namespace berth::core
