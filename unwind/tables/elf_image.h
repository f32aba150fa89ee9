// Gives the bytes of a 64-bit ELF file by link-time virtual address, and finds its unwind table.
// Every access is checked, because the file may be damaged. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

inline constexpr Address kPageBytes = 4096;

// The search table of .eh_frame_hdr (LSB core, "Exception Frames"): pairs of 32-bit offsets from
// the header, to the start of a function and to its FDE.
struct UnwindTable {
  Address header = 0;  // a link-time address, like `table`
  Address entries = 0;
  std::uint64_t count = 0;
};

struct ImageBytes {
  Address address = 0;  // at link time
  std::span<const std::byte> bytes;
};

class ElfImage {
 public:
  ElfImage() = default;
  explicit ElfImage(std::span<const std::byte> file);  // borrowed

  bool valid() const { return !segments_.empty(); }
  // Link-time address of the page at file offset 0: runtime address = address - base() + first
  // mapping.
  Address base() const { return base_; }
  std::span<const std::byte> file() const { return file_; }
  std::optional<UnwindTable> unwind_table() const;
  std::optional<ImageBytes> section(std::string_view name) const;
  std::vector<ImageBytes> data_segments() const;  // those without code
  std::vector<ImageBytes> code_segments() const;

  // Returns the bytes from `address` to the end of its read-only segment, which are the same in
  // memory, or none if it is not in one.
  std::span<const std::byte> constant_bytes(Address address) const;

  template <typename Number>
  std::optional<Number> read(Address address) const {
    const auto bytes = constant_bytes(address);
    if (bytes.size() < sizeof(Number)) return std::nullopt;
    Number number;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

 private:
  std::vector<ImageBytes> segments(bool executable) const;

  struct Segment {
    Address address = 0;
    std::span<const std::byte> bytes;
    bool writable = false;
    bool executable = false;
  };

  std::span<const std::byte> file_;
  std::vector<Segment> segments_;
  Address base_ = 0;
  Address unwind_header_ = 0;
};

}  // namespace causalctl::unwind
