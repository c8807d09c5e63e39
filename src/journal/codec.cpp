// The two message types on top of encoding.h: tag, size once, then fields without further checks.
#include "journal/codec.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "journal/encoding.h"
#include "journal/fields.h"

namespace berth::journal {
namespace {

constexpr std::size_t kNoPlace = 256;

// For each tag the place in the variant of the type that has it, or kNoPlace.
template <class Variant>
struct TagTable;

template <class... Types>
struct TagTable<std::variant<Types...>> {
  static constexpr std::array<std::size_t, 256> make() {
    std::array<std::size_t, 256> places{};
    places.fill(kNoPlace);
    std::size_t place = 0;
    ((places[kTag<Types>] = place++), ...);
    return places;
  }
  static constexpr std::array<std::size_t, 256> kPlaces = make();

  static constexpr bool all_within(std::uint8_t first, std::uint8_t last) {
    return ((kTag<Types> >= first && kTag<Types> <= last) && ...);
  }
  static constexpr bool all_different() {
    std::size_t used = 0;
    for (const std::size_t place : kPlaces) {
      used += place != kNoPlace ? 1 : 0;
    }
    return used == sizeof...(Types);
  }
};

using EventTags = TagTable<core::EventBody>;
using ActionTags = TagTable<core::Action>;
static_assert(EventTags::all_within(1, 127), "every event needs a BERTH_MESSAGE in fields.h");
static_assert(ActionTags::all_within(128, 255), "every action needs a BERTH_MESSAGE in fields.h");
static_assert(EventTags::all_different() && ActionTags::all_different());

// `head` is what comes between the tag and the fields: nothing, or the event's now.
template <class Variant, class... Head>
void encode_tagged(Writer& out, const Variant& body, const Head&... head) {
  std::visit(
      [&]<class T>(const T& x) {
        const std::size_t size = (sizeof kTag<T> + ... + encoded_size(head)) + encoded_size(x);
        ASSERT(size <= std::numeric_limits<std::uint32_t>::max());
        Encoder encoder{out.claim(size)};
        encoder.put(kTag<T>);
        (encoder.put(head), ...);
        encoder.put(x);
      },
      body);
}

// Makes the alternative at `place` and reads its fields.
template <class Variant, std::size_t... kPlace>
bool decode_alternative(Reader& in, std::size_t place, Variant& body,
                        std::index_sequence<kPlace...>) {
  bool ok = false;
  ((place == kPlace && (ok = decode(in, body.template emplace<kPlace>()), true)) || ...);
  return ok;
}

template <class Variant, class... Head>
bool decode_tagged(Reader& in, const char* expected, Variant& body, Head&... head) {
  const std::size_t start = in.offset();
  const std::size_t place = TagTable<Variant>::kPlaces[in.get<std::uint8_t>(expected)];
  if (place == kNoPlace) in.fail_at(start, expected);
  if (!in.ok() || !(decode(in, head) && ...)) return false;
  return decode_alternative(in, place, body,
                            std::make_index_sequence<std::variant_size_v<Variant>>{});
}

template <class Message, class Decode>
std::optional<Message> decode_whole(ByteView bytes, DecodeError* error, Decode decode_one) {
  Reader in(bytes);
  std::optional<Message> message(std::in_place);
  if (decode_one(in, *message) && !in.at_end()) in.fail("the end of the message");
  if (in.ok()) return message;
  if (error != nullptr) *error = in.error();
  return std::nullopt;
}

}  // namespace

void encode_event(Writer& out, const core::Event& event) {
  const auto& [now, body] = event;
  encode_tagged(out, body, now);
}

void encode_action(Writer& out, const core::Action& action) { encode_tagged(out, action); }

bool decode_event(Reader& in, core::Event& event) {
  auto& [now, body] = event;
  return decode_tagged(in, "the tag of an event", body, now);
}

bool decode_action(Reader& in, core::Action& action) {
  return decode_tagged(in, "the tag of an action", action);
}

std::optional<core::Event> decode_event(ByteView bytes, DecodeError* error) {
  return decode_whole<core::Event>(
      bytes, error, [](Reader& in, core::Event& event) { return decode_event(in, event); });
}

std::optional<core::Action> decode_action(ByteView bytes, DecodeError* error) {
  return decode_whole<core::Action>(
      bytes, error, [](Reader& in, core::Action& action) { return decode_action(in, action); });
}

}  // namespace berth::journal
