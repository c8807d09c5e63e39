// Encoding: the canonical bytes of any value whose fields are listed. Knows no particular struct.
//
//   integer           fixed width, little endian
//   bool              one byte, 0 or 1
//   enum              its number; only known ones are accepted
//   enum by name      u32, FNV-1a of the name: reordering its table changes no bytes
//   optional          presence byte 0 or 1, then the value if present
//   vector            u32 count, then the items
//   array             its items
//   struct            its fields in declared order, nothing between
//
// A struct takes part by BERTH_FIELDS(Type, field, ...) in namespace berth::journal, an enum by an
// overload `is_known(EnumCheck, Enum)`, or `wire_numbers(EnumCheck, Enum)` to go by name. Size,
// encode and decode walk that one list, so they cannot drift; a structured binding makes a list
// with too few or too many names an error of the compiler.
//
// A struct that grew says so by BERTH_GROWN(Type, format, (old field, ...), new field, ...): bytes
// of an earlier format end before the new fields, which then keep their defaults.
//
// Canonical: there is one encoding of each value in each format, and decode accepts no other.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "journal/wire.h"

#define BERTH_FIELDS(Type, ...)                                  \
  template <class Visitor>                                       \
  constexpr void visit_fields(Visitor& visitor, Type& x) {       \
    auto& [__VA_ARGS__] = x;                                     \
    visitor.fields(__VA_ARGS__);                                 \
  }                                                              \
  template <class Visitor>                                       \
  constexpr void visit_fields(Visitor& visitor, const Type& x) { \
    const auto& [__VA_ARGS__] = x;                               \
    visitor.fields(__VA_ARGS__);                                 \
  }                                                              \
  static_assert(std::is_aggregate_v<Type>)

#define BERTH_NAMES(...) __VA_ARGS__

// `old`: the names that all formats have, in parentheses. The others came with `format`.
#define BERTH_GROWN(Type, format, old, ...)                      \
  template <class Visitor>                                       \
  constexpr void visit_fields(Visitor& visitor, Type& x) {       \
    auto& [BERTH_NAMES old, __VA_ARGS__] = x;                    \
    visitor.fields old;                                          \
    visitor.since(format, __VA_ARGS__);                          \
  }                                                              \
  template <class Visitor>                                       \
  constexpr void visit_fields(Visitor& visitor, const Type& x) { \
    const auto& [BERTH_NAMES old, __VA_ARGS__] = x;              \
    visitor.fields old;                                          \
    visitor.since(format, __VA_ARGS__);                          \
  }                                                              \
  static_assert(std::is_aggregate_v<Type>)

// A struct that carries nothing but its name.
#define BERTH_NO_FIELDS(Type)                           \
  template <class Visitor>                              \
  constexpr void visit_fields(Visitor&, const Type&) {} \
  static_assert(std::is_empty_v<Type>)

namespace berth::journal {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t kSize>
inline constexpr bool kIsArray<std::array<T, kSize>> = true;

// First argument of is_known and wire_numbers, so that overloads are found wherever they stand in
// the namespace.
struct EnumCheck {};

template <class T>
concept EnumByName = std::is_enum_v<T> && requires(T x) {
  wire_numbers(EnumCheck{}, x);
};

// The numbers of an enum whose enumerators are the places in `table`, which gives each a name.
template <class Info, std::size_t kSize>
constexpr std::array<std::uint32_t, kSize> wire_numbers_of(const std::array<Info, kSize>& table) {
  std::array<std::uint32_t, kSize> numbers{};
  for (std::size_t i = 0; i < kSize; ++i) {
    std::uint32_t hash = 0x811c9dc5;
    for (const char c : table[i].name) {
      hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x01000193;
    }
    numbers[i] = hash;
  }
  return numbers;
}

template <std::size_t kSize>
constexpr bool all_different(std::array<std::uint32_t, kSize> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

// Adds up how many bytes a value takes.
struct Sizer {
  std::uint32_t format = kNewestFormat;
  std::size_t total = 0;

  template <class... Fields>
  constexpr void fields(const Fields&... field) {
    (add(field), ...);
  }
  template <class... Fields>
  constexpr void since(std::uint32_t first, const Fields&... field) {
    if (format >= first) fields(field...);
  }

  template <class T>
  constexpr void add(const T& x) {
    if constexpr (EnumByName<T>) {
      total += sizeof(std::uint32_t);
    } else if constexpr (std::integral<T> || std::is_enum_v<T>) {
      total += sizeof(T);
    } else if constexpr (kIsOptional<T>) {
      total += 1;
      if (x) add(*x);
    } else if constexpr (kIsVector<T>) {
      total += sizeof(std::uint32_t);
      for (const auto& item : x) {
        add(item);
      }
    } else if constexpr (kIsArray<T>) {
      for (const auto& item : x)
        add(item);
    } else {
      visit_fields(*this, x);
    }
  }
};

template <class T>
constexpr std::size_t encoded_size(const T& x, std::uint32_t format = kNewestFormat) {
  Sizer sizer{format};
  sizer.add(x);
  return sizer.total;
}

// Fills memory of exactly the size that Sizer found; therefore without checks.
struct Encoder {
  std::byte* at;

  template <class... Fields>
  void fields(const Fields&... field) {
    (put(field), ...);
  }
  template <class... Fields>
  void since(std::uint32_t, const Fields&... field) {
    fields(field...);
  }

  template <class T>
  void put(const T& x) {
    if constexpr (std::same_as<T, bool>) {
      put(static_cast<std::uint8_t>(x ? 1 : 0));
    } else if constexpr (std::integral<T>) {
      store_le(at, x);
      at += sizeof x;
    } else if constexpr (EnumByName<T>) {
      const auto& numbers = wire_numbers(EnumCheck{}, x);
      ASSERT(static_cast<std::size_t>(x) < numbers.size());
      put(numbers[static_cast<std::size_t>(x)]);
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(x));
    } else if constexpr (kIsOptional<T>) {
      put(x.has_value());
      if (x) put(*x);
    } else if constexpr (kIsVector<T>) {
      put(static_cast<std::uint32_t>(x.size()));
      for (const auto& item : x) {
        put(item);
      }
    } else if constexpr (kIsArray<T>) {
      for (const auto& item : x)
        put(item);
    } else {
      visit_fields(*this, x);
    }
  }
};

// Appends the encoding of x. REQUIRES that no vector in it has 2^32 items.
template <class T>
void encode(Writer& out, const T& x) {
  const std::size_t size = encoded_size(x);
  ASSERT(size <= std::numeric_limits<std::uint32_t>::max());
  Encoder encoder{out.claim(size)};
  encoder.put(x);
}

// Reads fields; checks every bool, enum and count. After a failure values are unspecified. What the
// format of the bytes does not have stays as it was.
struct Decoder {
  Reader& in;

  template <class... Fields>
  void fields(Fields&... field) {
    (get(field), ...);
  }
  template <class... Fields>
  void since(std::uint32_t first, Fields&... field) {
    if (in.format() >= first) fields(field...);
  }

  template <class T>
  void get(T& x) {
    const std::size_t start = in.offset();
    if constexpr (std::same_as<T, bool>) {
      const std::uint8_t value = in.u8();
      if (value > 1) in.fail_at(start, "a bool: 0 or 1");
      x = value == 1;
    } else if constexpr (std::integral<T>) {
      x = in.get<T>(sizeof(T) == 8 ? "8 bytes" : sizeof(T) == 4 ? "4 bytes" : "a short number");
    } else if constexpr (EnumByName<T>) {
      const auto& numbers = wire_numbers(EnumCheck{}, x);
      const auto found = std::find(numbers.begin(), numbers.end(), in.u32());
      if (found == numbers.end()) return in.fail_at(start, "a known name");
      x = static_cast<T>(found - numbers.begin());
    } else if constexpr (std::is_enum_v<T>) {
      x = static_cast<T>(in.get<std::underlying_type_t<T>>("an enum"));
      if (!is_known(EnumCheck{}, x)) in.fail_at(start, "a known value of an enum");
    } else if constexpr (kIsOptional<T>) {
      bool present = false;
      get(present);
      if (present) {
        get(x.emplace());
      } else {
        x.reset();
      }
    } else if constexpr (kIsVector<T>) {
      get_vector(x);
    } else if constexpr (kIsArray<T>) {
      for (auto& item : x)
        get(item);
    } else {
      visit_fields(*this, x);
    }
  }

 private:
  // The count is checked before memory is taken: an item needs at least the bytes of an empty one.
  template <class T>
  void get_vector(std::vector<T>& x) {
    const std::size_t start = in.offset();
    const std::size_t count = in.u32();
    const std::size_t least = encoded_size(T{}, in.format());
    if (count > in.remaining() / least) in.fail_at(start, "a count that the bytes can hold");
    x.clear();
    if (!in.ok()) return;
    x.resize(count);
    for (T& item : x) {
      get(item);
      if (!in.ok()) return;
    }
  }
};

// Reads one value where `in` stands. False: in.error() says why, and x is unspecified.
template <class T>
[[nodiscard]] bool decode(Reader& in, T& x) {
  Decoder decoder{in};
  decoder.get(x);
  return in.ok();
}

}  // namespace berth::journal
