// Finds separators in texts that hold names of functions. The names have such characters of their
// own, but only inside brackets. Pure.
#pragma once

#include <cctype>
#include <cstddef>
#include <string_view>

namespace causalctl {

inline bool is_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Returns the length of the C++ operator name at `at` ("operator<<"), whose brackets do not count
// as brackets; 0 if there is none. "operator" alone counts where a blank and a name follow
// ("operator new").
std::size_t operator_length(std::string_view text, std::size_t at);

// Calls visit(position) for each position from `from` on that is outside of (), <>, [] and {}, an
// opening bracket included. Returns the first for which visit returns true, or npos. The characters
// of an operator's name are skipped, apart from its first one.
template <typename Visit>
std::size_t find_outside_brackets(std::string_view text, std::size_t from, Visit visit) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (depth == 0 && visit(i)) return i;
    if (const std::size_t length = operator_length(text, i); length > 0) {
      i += length - 1;
      continue;
    }
    const char c = text[i];
    const bool arrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (c == '(' || c == '[' || c == '<' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '>' || c == '}') && depth > 0 && !arrow) --depth;
  }
  return std::string_view::npos;
}

// Returns the position of the ':' between a file or binary and a function: the first outside of
// brackets that is not part of a '::'; npos if there is none. In "bin:::f" the function is ::f.
std::size_t single_colon(std::string_view text);

}  // namespace causalctl
