// Makes text for a terminal. Names may contain anything, and are cut to a width. Pure.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "controller/base/duration.h"
#include "controller/base/printable.h"
#include "controller/report/causal/model.h"

namespace causalctl::report {

using causalctl::duration;
using causalctl::printable;

// These are Select Graphic Rendition sequences (ECMA-48).
inline constexpr std::string_view kBold = "\033[1m";
inline constexpr std::string_view kGreen = "\033[32m";
inline constexpr std::string_view kRed = "\033[31m";
inline constexpr std::string_view kDim = "\033[2m";
inline constexpr std::string_view kReset = "\033[0m";

// Returns the columns that `text` takes, one for each code point. REQUIRES: it is printable.
std::size_t columns(std::string_view text);

std::string padded(std::string_view text, std::size_t width);  // left-aligned
std::string right_aligned(std::string_view text, std::size_t width);

std::string number(double value, int digits);
std::string percent(double fraction);                  // "3.1"
std::string percent_interval(const Interval& effect);  // "3.1 % [2.6, 3.6]"

// Returns "1,034,221" for 1034221.
std::string grouped(unsigned long long number);

// "0.031", "12.5", "1,024": three digits, or all of a larger number.
std::string three_digits(double value);

// The lines of a report. They are at least kNarrowest columns wide.
class Text {
 public:
  Text(bool color, int width)
      : color_(color),
        width_(std::max<std::size_t>(kNarrowest, static_cast<std::size_t>(std::max(width, 0)))) {}

  template <typename... T>
  void line(fmt::format_string<T...> format, T&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(arguments)...);
    while (!text_.empty() && text_.back() == ' ') text_.pop_back();
    text_ += '\n';
  }
  // Writes a text in as many lines as it takes, in a colour if there is one.
  void paragraph(std::string_view text, std::string_view code = {});
  void blank() { text_ += '\n'; }
  std::string colored(std::string_view text, std::string_view code) const {
    return color_ ? fmt::format("{}{}{}", code, text, kReset) : std::string(text);
  }
  std::size_t width() const { return width_; }
  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kNarrowest = 60;

  bool color_;
  std::size_t width_;
  std::string text_;
};

}  // namespace causalctl::report
