// Quotes words for a shell. Pure.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace causalctl {

// Returns a text that a shell takes for this one word, whatever characters it has.
inline std::string in_single_quotes(std::string_view word) {
  std::string quoted = "'";
  for (const char each : word) {
    quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
  }
  return quoted + "'";
}

// Returns the word as it is, if a shell takes it so, otherwise in quotes.
inline std::string in_shell_quotes(const std::string& text) {
  constexpr std::string_view kPlain = "_:./+-@%,=";
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || kPlain.find(each) != kPlain.npos;
  });
  return plain ? text : in_single_quotes(text);
}

}  // namespace causalctl
