// Reads numbers from bytes that may be damaged: past the end, and after a number that is too long,
// every read gives 0 and `failed` is true. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace causalctl::unwind {

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

  // LEB128 numbers of at most 64 bits (DWARF 5, section 7.6).
  std::uint64_t uleb() { return leb().value; }
  std::int64_t sleb() {
    const Leb read = leb();
    const bool negative = read.bits < 64 && (read.last & 0x40U) != 0;
    return static_cast<std::int64_t>(negative ? read.value | ~std::uint64_t{0} << read.bits
                                              : read.value);
  }

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
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
    if ((read.last & 0x80U) != 0) failed_ = true;
    return failed_ ? Leb() : read;
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace causalctl::unwind
