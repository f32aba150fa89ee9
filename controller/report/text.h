// Makes text for a terminal. Names may contain anything, and are cut to a width. Pure.
#pragma once

#include <string>
#include <string_view>

#include "controller/base/printable.h"
#include "controller/report/causal/model.h"

namespace causalctl::report {

using causalctl::printable;

// These are Select Graphic Rendition sequences (ECMA-48).
inline constexpr std::string_view kBold = "\033[1m";
inline constexpr std::string_view kGreen = "\033[32m";
inline constexpr std::string_view kRed = "\033[31m";
inline constexpr std::string_view kDim = "\033[2m";
inline constexpr std::string_view kReset = "\033[0m";

// Returns the columns that `text` takes, one for each code point. REQUIRES: it is printable.
std::size_t columns(std::string_view text);

// Cuts `name` to `width` columns. A C++ name loses its template arguments and parameters first,
// then its outer scopes, because the last words say most.
std::string shortened(std::string_view name, std::size_t width);

std::string padded(std::string_view text, std::size_t width);  // left-aligned
std::string right_aligned(std::string_view text, std::size_t width);

std::string number(double value, int digits);
std::string percent(double fraction);                  // "3.1"
std::string percent_interval(const Interval& effect);  // "3.1 % [2.6, 3.6]"
std::string duration(Nanoseconds time_ns);             // "2 min 3 s", "1.5 s", "12.5 ms"

// Returns "1,034,221" for 1034221.
std::string grouped(unsigned long long number);

}  // namespace causalctl::report
