// Encodings: Intel SDM volume 2, JMP (E9, EB) and Jcc (0F 8x, 7x, and E3 for JRCXZ).
#include "controller/callpath/places/jumps.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace causalctl::callpath {
namespace {

constexpr std::uint8_t kBound = 0xf2;  // BND
constexpr std::uint8_t kTaken = 0x3e;
constexpr std::uint8_t kNotTaken = 0x2e;

// Returns the direct jump that the bytes of one instruction are. Its displacement is at the end.
std::optional<OutwardJump> direct_jump(std::span<const std::byte> bytes, Address at) {
  const Address next = at + bytes.size();
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint8_t>(bytes[i]); };
  while (bytes.size() > 2 && (byte(0) == kBound || byte(0) == kTaken || byte(0) == kNotTaken)) {
    bytes = bytes.subspan(1);
  }
  if (bytes.size() == 2 && (byte(0) == 0xeb || byte(0) == 0xe3 || (byte(0) & 0xf0U) == 0x70)) {
    const auto offset = static_cast<std::int8_t>(byte(1));
    return OutwardJump{at, next + static_cast<Address>(std::int64_t{offset}), byte(0) != 0xeb};
  }
  const bool always = bytes.size() == 5 && byte(0) == 0xe9;
  const bool conditional = bytes.size() == 6 && byte(0) == 0x0f && (byte(1) & 0xf0U) == 0x80;
  if (!always && !conditional) return std::nullopt;
  std::int32_t offset = 0;
  std::memcpy(&offset, bytes.last(sizeof offset).data(), sizeof offset);
  return OutwardJump{at, next + static_cast<Address>(std::int64_t{offset}), conditional};
}

}  // namespace

std::vector<OutwardJump> jumps_out(std::span<const std::byte> code, Address address,
                                   disasm::Decoder& decoder) {
  std::vector<OutwardJump> jumps;
  std::size_t at = 0;
  while (at < code.size()) {
    const unsigned size = decoder.length(code.subspan(at), address + at);
    if (size > 0) {
      const auto jump = direct_jump(code.subspan(at, size), address + at);
      const bool leaves = jump && jump->target - address >= code.size();
      if (leaves) jumps.push_back(*jump);
    }
    at += size > 0 ? size : 1;
  }
  return jumps;
}

}  // namespace causalctl::callpath
