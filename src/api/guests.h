// Guests: the connections of an HTTP server, and who must go when there are too many.
//
// One that has not been asked anything yet, or is between two requests, is quiet and can be sent
// away; one that is being answered stays. When all places are taken, the address with the most
// quiet connections gives up the one that has been quiet longest; so a crowd from a few addresses,
// half open or idle, keeps nobody else out; of an address that has all it may, its own makes room.
// One that carries a stream stays for long, so streams never get the last eighth of the places, of
// all and of an address: short requests, a probe's above all, find one. Handshakes of TLS have
// places of their own, fewer and for less time. May be called from any thread; knows no socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/limits.h"
#include "api/problem.h"

namespace berth::api {

struct GuestLimits {
  std::size_t all = kConfigurable.http_max_connections;
  std::size_t per_address = 512;
  std::size_t greetings = 512;  // handshakes under way
  std::size_t greetings_per_address = 128;
};

class Guests {
 public:
  enum class Stage : std::uint8_t {
    greeting,  // in its handshake
    quiet,     // before, between or inside requests that are not complete
    served,    // being answered
    streamed,  // with an answer that goes on
  };

  void set_limits(const GuestLimits& limits) { limits_ = limits; }

  // 0: there is no place. `send_away` is called at most once, and never after `leave`; it must be
  // cheap and must not call back.
  std::uint64_t enter(const std::string& address, Stage stage, std::function<void()> send_away);
  void move(std::uint64_t guest, Stage stage);
  void leave(std::uint64_t guest);
  // From now on it carries a stream; or why it may not.
  std::optional<Problem> begin_stream(std::uint64_t guest);

  std::size_t size() const;

 private:
  static constexpr std::size_t kStages = 4;
  using Line = std::map<std::uint64_t, std::uint64_t>;  // since when, in order -> the guest
  struct Address {
    std::size_t guests = 0;
    std::array<Line, kStages> stages;
    Line& at(Stage stage) { return stages[static_cast<std::size_t>(stage)]; }
    const Line& at(Stage stage) const { return stages[static_cast<std::size_t>(stage)]; }
    // Who can be sent away for a new guest.
    std::size_t movable() const { return at(Stage::greeting).size() + at(Stage::quiet).size(); }
  };
  struct Guest {
    std::string address;
    Stage stage = Stage::quiet;
    std::uint64_t since = 0;
    std::function<void()> send_away;
  };

  void put(std::uint64_t guest, Stage stage);
  void take_out(std::uint64_t guest);
  void send_away(std::uint64_t guest);
  void make_room_for_greeting(const std::string& address);
  bool make_room();
  bool make_room_in(Address& address);

  GuestLimits limits_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::uint64_t clock_ = 0;
  std::size_t greetings_ = 0;
  std::size_t streams_ = 0;
  std::map<std::uint64_t, Guest> guests_;
  std::map<std::string, Address> addresses_;
};

}  // namespace berth::api
