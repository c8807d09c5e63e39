// See guests.h.
#include "api/guests.h"

#include <algorithm>
#include <utility>

namespace berth::api {
namespace {

// Of `places`, those that streams may take: all but an eighth, and but one at least.
std::size_t open_to_streams(std::size_t places) {
  if (places <= 1) return places;
  return places - std::max<std::size_t>(places / 8, 1);
}

Problem no_place(const std::string& whose, std::size_t have, std::size_t most, std::size_t places) {
  return {.code = Code::resource_exhausted,
          .reason = "too_many_streams",
          .message = std::to_string(have) + " HTTP connections of " + whose +
                     " carry streams, and of its " + std::to_string(places) + " only " +
                     std::to_string(most) +
                     " may (limits.http_max_connections); close one, try again when one has "
                     "ended, or use gRPC",
          .metadata = {{"need", std::to_string(have + 1)}, {"have", std::to_string(most)}},
          .retry_after = seconds(1)};
}

}  // namespace

std::uint64_t Guests::enter(const std::string& address, Stage stage,
                            std::function<void()> send_away) {
  const std::lock_guard lock(mutex_);
  if (stage == Stage::greeting) make_room_for_greeting(address);
  const auto known = addresses_.find(address);
  if (known != addresses_.end() && known->second.guests >= limits_.per_address) {
    if (!make_room_in(known->second)) return 0;
  } else if (guests_.size() >= limits_.all && !make_room()) {
    return 0;
  }
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

std::optional<Problem> Guests::begin_stream(std::uint64_t guest) {
  const std::lock_guard lock(mutex_);
  const auto at = guests_.find(guest);
  if (at == guests_.end()) return std::nullopt;  // it was sent away, and hears nothing anyway
  const std::size_t own = addresses_.at(at->second.address).at(Stage::streamed).size();
  if (streams_ >= open_to_streams(limits_.all)) {
    return no_place("this server", streams_, open_to_streams(limits_.all), limits_.all);
  }
  if (own >= open_to_streams(limits_.per_address)) {
    return no_place("address " + at->second.address, own, open_to_streams(limits_.per_address),
                    limits_.per_address);
  }
  take_out(guest);
  put(guest, Stage::streamed);
  return std::nullopt;
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
  if (stage == Stage::streamed) ++streams_;
}

void Guests::take_out(std::uint64_t number) {
  const Guest& guest = guests_.at(number);
  addresses_.at(guest.address).at(guest.stage).erase(guest.since);
  if (guest.stage == Stage::greeting) --greetings_;
  if (guest.stage == Stage::streamed) --streams_;
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
  const auto greetings = [](const auto& entry) { return entry.second.at(Stage::greeting).size(); };
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
  return most != addresses_.end() && make_room_in(most->second);
}

bool Guests::make_room_in(Address& address) {
  if (address.movable() == 0) return false;
  const Line& greeting = address.at(Stage::greeting);
  const Line& quiet = address.at(Stage::quiet);
  const bool take_greeting =
      quiet.empty() || (!greeting.empty() && greeting.begin()->first < quiet.begin()->first);
  send_away((take_greeting ? greeting : quiet).begin()->second);
  return true;
}

}  // namespace berth::api
