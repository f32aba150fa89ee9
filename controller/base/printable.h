// Makes text from files and processes that cannot be trusted fit for a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace causalctl {

// Replaces control characters (which a terminal obeys) and broken UTF-8 by '?'.
std::string printable(std::string_view text);

// Does the same but keeps line feeds, for messages of several lines.
std::string printable_lines(std::string_view text);

// Returns whether the byte continues a character of UTF-8.
inline bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Cuts `text` to at most `size` bytes, never within a character of UTF-8.
std::string cut_to(std::string text, std::size_t size);

}  // namespace causalctl
