// See guests.h.
#include "api/guests.h"

#include <algorithm>
#include <utility>

namespace berth::api {

std::uint64_t Guests::enter(const std::string& address, Stage stage,
                            std::function<void()> send_away) {
  const std::lock_guard lock(mutex_);
  if (stage == Stage::greeting) make_room_for_greeting(address);
  const auto known = addresses_.find(address);
  if (known != addresses_.end() && known->second.guests >= limits_.per_address) return 0;
  if (guests_.size() >= limits_.all && !make_room()) return 0;
  const std::uint64_t guest = next_++;
  guests_.emplace(guest, Guest{address, stage, 0, std::move(send_away)});
  ++addresses_[address].guests;
  put(guest, stage);
  return guest;
}

void Guests::move(std::uint64_t guest, Stage stage) {
  const std::lock_guard lock(mutex_);
  if (!guests_.contains(guest)) return;  // it was sent away
  take_out(guest);
  put(guest, stage);
}

void Guests::leave(std::uint64_t guest) {
  const std::lock_guard lock(mutex_);
  const auto at = guests_.find(guest);
  if (at == guests_.end()) return;
  take_out(guest);
  const auto address = addresses_.find(at->second.address);
  if (--address->second.guests == 0) addresses_.erase(address);
  guests_.erase(at);
}

std::size_t Guests::size() const {
  const std::lock_guard lock(mutex_);
  return guests_.size();
}

void Guests::put(std::uint64_t number, Stage stage) {
  Guest& guest = guests_.at(number);
  guest.stage = stage;
  guest.since = ++clock_;
  addresses_.at(guest.address).at(stage).emplace(guest.since, number);
  if (stage == Stage::greeting) ++greetings_;
}

void Guests::take_out(std::uint64_t number) {
  const Guest& guest = guests_.at(number);
  addresses_.at(guest.address).at(guest.stage).erase(guest.since);
  if (guest.stage == Stage::greeting) --greetings_;
}

// Its place is free at once; its connection ends a moment later.
void Guests::send_away(std::uint64_t number) {
  take_out(number);
  const auto at = guests_.find(number);
  at->second.send_away();
  const auto address = addresses_.find(at->second.address);
  if (--address->second.guests == 0) addresses_.erase(address);
  guests_.erase(at);
}

// The oldest handshake of the address itself makes room, or of the one that has most.
void Guests::make_room_for_greeting(const std::string& address) {
  const auto greetings = [](const auto& entry) {
    return entry.second.stages[static_cast<std::size_t>(Stage::greeting)].size();
  };
  const auto own = addresses_.find(address);
  if (own != addresses_.end() && greetings(*own) >= limits_.greetings_per_address) {
    send_away(own->second.at(Stage::greeting).begin()->second);
  } else if (greetings_ >= limits_.greetings) {
    const auto most = std::ranges::max_element(addresses_, {}, greetings);
    send_away(most->second.at(Stage::greeting).begin()->second);
  }
}

bool Guests::make_room() {
  const auto most = std::ranges::max_element(
      addresses_, {}, [](const auto& entry) { return entry.second.movable(); });
  if (most == addresses_.end() || most->second.movable() == 0) return false;
  const Line& greeting = most->second.at(Stage::greeting);
  const Line& quiet = most->second.at(Stage::quiet);
  const bool take_greeting =
      quiet.empty() || (!greeting.empty() && greeting.begin()->first < quiet.begin()->first);
  send_away((take_greeting ? greeting : quiet).begin()->second);
  return true;
}

}  // namespace berth::api
