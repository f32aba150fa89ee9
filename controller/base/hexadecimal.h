// Writes bytes as text, such as those of a build-id. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace causalctl {

// Returns two digits for each byte.
inline std::string hexadecimal(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

}  // namespace causalctl
