// Parses numbers in text that others wrote, and computes shares of counts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace causalctl {

// Returns nullopt unless the whole text is a number of that type. `format` is a base, or a format
// of std::from_chars, which accepts "inf" and "nan" for floating-point types.
template <typename Number, typename... Format>
std::optional<Number> parse_number(std::string_view text, Format... format) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, format...);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

// Returns 0 if `whole` is 0.
inline double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace causalctl
