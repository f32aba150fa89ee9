// Writes results to standard output or a file, and tells what a terminal there can show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace causalctl::commands {

enum class Color { automatic, always, never };

// The paths "" and "-" mean standard output, where a reader that went away (EPIPE) is no error. A
// file (0600) replaces another by rename, when complete. If it fails, the text goes to standard
// output, and Error is thrown. No pipe, link or log is written to. Throws Error, too, if standard
// output was closed when causalctl was started. `hint`: what the user can do.
void write_output(const std::string& path, std::string_view text, const std::string& hint = {});
// Writes a part of a result to standard output. Returns false if its reader went away. Throws Error
// if it fails for another reason.
bool write_part(std::string_view text);
// Throws UsageError if the format is none of these.
void check_format(const std::string& format, const std::vector<std::string>& formats);
// Throws what write_output() would throw because of the file's name, or because standard output is
// closed. Call it before long work.
void check_output(const std::string& path, const std::string& hint);

// Color::automatic means a terminal whose TERM is not "dumb", unless NO_COLOR is set.
bool use_color(Color color, int fd);
int terminal_width(int fd);  // 100 if `fd` is no terminal

}  // namespace causalctl::commands
