// Random values of any encodable type, for tests. Walks the same lists of fields as the codec.
//
// The same seed gives the same values everywhere. Integers are often at the ends of their range,
// because that is where an encoding breaks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "journal/codec.h"
#include "journal/encoding.h"
#include "journal/fields.h"
#include "journal/wire.h"

namespace berth::journal::testing {

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

struct Randomiser {
  Random& random;

  template <class... Fields>
  void fields(Fields&... field) {
    (fill(field), ...);
  }
  template <class... Fields>
  void since(std::uint32_t, Fields&... field) {
    fields(field...);
  }

  template <class T>
  void fill(T& x) {
    if constexpr (std::same_as<T, bool>) {
      x = random.below(2) == 1;
    } else if constexpr (std::integral<T>) {
      x = any_integer<T>();
    } else if constexpr (EnumByName<T>) {
      x = static_cast<T>(random.below(wire_numbers(EnumCheck{}, x).size()));
    } else if constexpr (std::is_enum_v<T>) {
      do {
        x = static_cast<T>(random.below(256));
      } while (!is_known(EnumCheck{}, x));
    } else if constexpr (kIsOptional<T>) {
      x.reset();
      if (random.below(2) == 1) fill(x.emplace());
    } else if constexpr (kIsVector<T>) {
      x.resize(random.below(5));
      for (auto& item : x) {
        fill(item);
      }
    } else {
      visit_fields(*this, x);
    }
  }

 private:
  template <class T>
  T any_integer() {
    switch (random.below(4)) {
      case 0:
        return std::numeric_limits<T>::max();
      case 1:
        return std::numeric_limits<T>::min();
      case 2:
        return static_cast<T>(random.below(100));
      default:
        return static_cast<T>(random.next());
    }
  }
};

template <class Variant, std::size_t... kPlace>
Variant random_alternative(Random& random, std::size_t index, std::index_sequence<kPlace...>) {
  Variant body;
  Randomiser fill{random};
  ((index == kPlace && (fill.fill(body.template emplace<kPlace>()), true)) || ...);
  return body;
}

template <class Variant>
Variant random_alternative(Random& random, std::size_t index) {
  constexpr std::size_t kSize = std::variant_size_v<Variant>;
  return random_alternative<Variant>(random, index, std::make_index_sequence<kSize>{});
}

inline constexpr std::size_t kEventTypes = std::variant_size_v<core::EventBody>;
inline constexpr std::size_t kActionTypes = std::variant_size_v<core::Action>;

inline core::Event random_event(Random& random, std::size_t type) {
  core::Event event;
  Randomiser{random}.fill(event.now);
  event.body = random_alternative<core::EventBody>(random, type);
  return event;
}
inline core::Event random_event(Random& random) {
  return random_event(random, random.below(kEventTypes));
}
inline core::Action random_action(Random& random, std::size_t type) {
  return random_alternative<core::Action>(random, type);
}
inline core::Action random_action(Random& random) {
  return random_action(random, random.below(kActionTypes));
}

// ---- Bytes --------------------------------------------------------------------------------------

inline std::vector<std::byte> copy_of(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

inline std::vector<std::byte> encoded(const core::Event& event) {
  Writer out;
  encode_event(out, event);
  return copy_of(out.view());
}
inline std::vector<std::byte> encoded(const core::Action& action) {
  Writer out;
  encode_action(out, action);
  return copy_of(out.view());
}

inline std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

inline std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(random.next());
  }
  return bytes;
}

inline std::string to_hex(ByteView bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

// Hex as a reader likes it, without the blanks between fields.
inline std::string packed(std::string text) {
  std::erase(text, ' ');
  return text;
}

// Calls `check(bytes, bit)` with each single bit of `bytes` flipped in turn.
template <class Check>
void for_each_flip(std::vector<std::byte> bytes, Check check) {
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    check(ByteView(bytes), bit);
    bytes[bit / 8] ^= mask;
  }
}

// A copy whose memory ends where the bytes do, so that the address sanitizer sees any step too far.
inline std::vector<std::byte> prefix_of(ByteView bytes, std::size_t size) {
  return copy_of(bytes.first(size));
}

}  // namespace berth::journal::testing
