// Writes messages to the person at the terminal, on standard error. Results never go here.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace causalctl::log {

enum class Level { quiet, normal, verbose };

void set_level(Level level);
Level level();
void write(Level at_least, std::string_view text);  // one line, prefixed "causalctl: "
void to_stderr(std::string_view text);              // as it is; never throws
// Says whether the terminal's cursor stands behind a status line that the next message must
// replace.
void set_line_open(bool open);

template <typename... T>
void note(fmt::format_string<T...> format, T&&... arguments) {
  if (level() >= Level::normal)
    write(Level::normal, fmt::format(format, std::forward<T>(arguments)...));
}

template <typename... T>
void verbose(fmt::format_string<T...> format, T&&... arguments) {
  if (level() >= Level::verbose) {
    write(Level::verbose, fmt::format(format, std::forward<T>(arguments)...));
  }
}

}  // namespace causalctl::log
