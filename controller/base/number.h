// Numbers in text that somebody else wrote, and shares of counts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace causalctl {

// Nothing, unless the whole text is a number of that type. `format`: a base, or as of
// std::from_chars, which takes "inf" and "nan" for floating-point types.
template <typename Number, typename... Format>
std::optional<Number> parse_number(std::string_view text, Format... format) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, format...);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

// 0 of nothing.
inline double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace causalctl
