// Where results go: standard output or a file, and what a terminal there can show.
#pragma once

#include <string>
#include <string_view>

namespace causalctl::commands {

enum class Color { automatic, always, never };

// "" and "-" are standard output, where a reader that went away (EPIPE) is no error. A file is
// created with mode 0600 or replaced, never through a link. Throws Error; a report that did not fit
// leaves an empty file, never half of one. `hint`: what can be done.
void write_output(const std::string& path, std::string_view text, const std::string& hint = {});
// Throws what write_output() would throw of the file's name; for the time before long work.
void check_output(const std::string& path, const std::string& hint);

// Automatic: on a terminal that TERM says more of than "dumb", unless NO_COLOR is set.
bool use_color(Color color, int fd);
int terminal_width(int fd);  // 100 where `fd` is no terminal

}  // namespace causalctl::commands
