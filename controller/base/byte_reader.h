// Takes values off the front of bytes that may be damaged. Once a value was missing, or a number
// was too long, failed() is true, and all further values are 0 or empty. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace causalctl {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

  template <typename Number>
  Number number() {
    Number number{};
    const auto bytes = take(sizeof number);
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  std::uint64_t word() { return number<std::uint64_t>(); }

  // LEB128 numbers of at most 64 bits (DWARF 5, section 7.6).
  std::uint64_t uleb() { return leb().value; }
  std::int64_t sleb() {
    const Leb read = leb();
    const bool negative = read.bits < 64 && (read.last & 0x40U) != 0;
    return static_cast<std::int64_t>(negative ? read.value | ~std::uint64_t{0} << read.bits
                                              : read.value);
  }

  // Returns the text up to its terminator, which is not taken off.
  std::string_view text() {
    const auto end = std::find(rest_.begin(), rest_.end(), std::byte{0});
    if (end == rest_.end()) fail();
    return {reinterpret_cast<const char*>(rest_.data()),
            failed_ ? 0 : static_cast<std::size_t>(end - rest_.begin())};
  }

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest_.size()) {
      fail();
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

 private:
  struct Leb {
    std::uint64_t value = 0;
    unsigned bits = 0;
    std::uint8_t last = 0;
  };

  Leb leb() {
    constexpr unsigned kMostBits = 70;  // ten bytes
    Leb read;
    do {
      read.last = byte();
      if (read.bits < 64) read.value |= std::uint64_t{read.last & 0x7fU} << read.bits;
      read.bits += 7;
    } while ((read.last & 0x80U) != 0 && read.bits < kMostBits);
    if ((read.last & 0x80U) != 0) fail();
    return failed_ ? Leb() : read;
  }

  void fail() {
    failed_ = true;
    rest_ = {};
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace causalctl
