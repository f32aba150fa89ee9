#include "controller/report/text.h"

#include <fmt/format.h>

#include <cmath>

namespace causalctl::report {

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += is_continuation(c) ? 0 : 1;
  return count;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  const std::size_t used = columns(text);
  if (used < width) result.append(width - used, ' ');
  return result;
}

std::string right_aligned(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return (used < width ? std::string(width - used, ' ') : "") + std::string(text);
}

std::string grouped(unsigned long long number) {
  std::string digits = fmt::format("{}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

// Writes "-0.0" as "0.0", because the sign would only raise questions.
std::string number(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find_first_not_of("-0.") == std::string::npos && text[0] == '-') text.erase(0, 1);
  return text;
}

std::string percent(double fraction) { return number(100 * fraction, 1); }

std::string percent_interval(const Interval& effect) {
  return fmt::format("{} % [{}, {}]", percent(effect.value), percent(effect.low),
                     percent(effect.high));
}

std::string three_digits(double value) {
  constexpr double kWithoutFraction = 100;
  if (value < kWithoutFraction) return fmt::format("{:.3g}", value);
  return grouped(static_cast<unsigned long long>(std::llround(value)));
}

void Text::paragraph(std::string_view text, std::string_view code) {
  const auto write = [&](const std::string& filled) {
    line("{}", code.empty() ? filled : colored(filled, code));
  };
  std::string filled;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    // A number and its sign stay together.
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!filled.empty() && columns(filled) + 1 + columns(word) > width()) {
      write(filled);
      filled = "  ";
    } else if (!filled.empty()) {
      filled += ' ';
    }
    filled += word;
    begin = end + 1;
  }
  write(filled);
}

}  // namespace causalctl::report
