// Wire: bytes in memory, written and read as fixed-width little-endian integers.
//
// Writer is a growing buffer; Reader walks a span that someone else owns. Neither knows what the
// bytes mean, where they come from or where they go.
//
// Invariants: 1 a Reader never touches a byte outside its span; 2 its first failure stays: every
// later read gives zero and moves nothing; 3 equal values give equal bytes on every machine.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/assert.h"

namespace berth::journal {

using ByteView = std::span<const std::byte>;

template <std::integral T>
inline void store_le(std::byte* to, T value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, &value, sizeof value);
  } else {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof value; ++i) {
      to[i] = static_cast<std::byte>((bits >> (8 * i)) & 0xff);
    }
  }
}

template <std::integral T>
inline T load_le(const std::byte* from) {
  T value{};
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, from, sizeof value);
  } else {
    std::make_unsigned_t<T> bits = 0;
    for (std::size_t i = sizeof value; i-- > 0;) {
      bits = static_cast<std::make_unsigned_t<T>>(bits << 8) |
             std::to_integer<std::make_unsigned_t<T>>(from[i]);
    }
    value = static_cast<T>(bits);
  }
  return value;
}

// A growing buffer. clear() keeps the memory, so a reused Writer does not allocate.
class Writer {
 public:
  Writer() = default;
  Writer(Writer&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Writer& operator=(Writer&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  void u8(std::uint8_t v) { put(v); }
  void u16(std::uint16_t v) { put(v); }
  void u32(std::uint32_t v) { put(v); }
  void u64(std::uint64_t v) { put(v); }
  void i16(std::int16_t v) { put(v); }
  void i64(std::int64_t v) { put(v); }

  template <std::integral T>
  void put(T value) {
    store_le(claim(sizeof value), value);
  }

  void bytes(ByteView from) {
    if (!from.empty()) std::memcpy(claim(from.size()), from.data(), from.size());
  }

  // Lengthens by `count` bytes and returns them; the caller fills every one.
  std::byte* claim(std::size_t count) {
    if (count > capacity_ - size_) [[unlikely]]
      grow(count);
    return memory_.get() + std::exchange(size_, size_ + count);
  }

  // Replaces bytes already written.
  template <std::integral T>
  void put_at(std::size_t offset, T value) {
    ASSERT(offset <= size_ && sizeof value <= size_ - offset);
    store_le(memory_.get() + offset, value);
  }

  ByteView view() const { return {memory_.get(), size_}; }
  ByteView view_from(std::size_t offset) const { return view().subspan(offset); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }

 private:
  [[gnu::noinline]] void grow(std::size_t count) {
    constexpr std::size_t kFirst = 256;
    std::size_t capacity = capacity_ < kFirst ? kFirst : capacity_ * 2;
    if (capacity < size_ + count) capacity = size_ + count;
    auto memory = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ != 0) std::memcpy(memory.get(), memory_.get(), size_);
    memory_ = std::move(memory);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Where decoding stopped and what it would have accepted there.
struct DecodeError {
  std::size_t offset = 0;
  const char* expected = "";
};

// The format of bytes that this build writes.
inline constexpr std::uint32_t kNewestFormat = UINT32_MAX;

class Reader {
 public:
  // `format`: of the bytes, where an older one had fewer fields; see encoding.h.
  explicit Reader(ByteView bytes, std::uint32_t format = kNewestFormat)
      : bytes_(bytes), format_(format) {}

  std::uint8_t u8() { return get<std::uint8_t>("an 8-bit number"); }
  std::uint16_t u16() { return get<std::uint16_t>("a 16-bit number"); }
  std::uint32_t u32() { return get<std::uint32_t>("a 32-bit number"); }
  std::uint64_t u64() { return get<std::uint64_t>("a 64-bit number"); }
  std::int16_t i16() { return get<std::int16_t>("a 16-bit number"); }
  std::int64_t i64() { return get<std::int64_t>("a 64-bit number"); }

  template <std::integral T>
  T get(const char* expected) {
    if (!ok() || remaining() < sizeof(T)) [[unlikely]] {
      fail(expected);
      return T{};
    }
    const T value = load_le<T>(bytes_.data() + offset_);
    offset_ += sizeof(T);
    return value;
  }

  // Empty after a failure.
  ByteView bytes(std::size_t count) {
    if (!ok() || remaining() < count) [[unlikely]] {
      fail("more bytes");
      return {};
    }
    const ByteView view = bytes_.subspan(offset_, count);
    offset_ += count;
    return view;
  }

  // The first failure counts. `expected` must live as long as the Reader (a literal does).
  void fail(const char* expected) { fail_at(offset_, expected); }
  void fail_at(std::size_t offset, const char* expected) {
    if (!ok()) return;
    error_ = {offset, expected};
    failed_ = true;
  }

  std::uint32_t format() const { return format_; }
  bool ok() const { return !failed_; }
  const DecodeError& error() const { return error_; }  // meaningful when not ok()
  std::size_t offset() const { return offset_; }
  std::size_t remaining() const { return bytes_.size() - offset_; }
  bool at_end() const { return remaining() == 0; }
  ByteView since(std::size_t start) const { return bytes_.subspan(start, offset_ - start); }

 private:
  ByteView bytes_;
  std::size_t offset_ = 0;
  std::uint32_t format_ = kNewestFormat;
  bool failed_ = false;
  DecodeError error_;
};

}  // namespace berth::journal
