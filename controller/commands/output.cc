#include "controller/commands/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/output_file.h"
#include "controller/base/printable_list.h"

namespace causalctl::commands {
namespace {

constexpr int kWidthOfFiles = 100;

enum class Sink { standard_output, device, file };

void require_standard_output() {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return;  // as main() opens it if it is closed
  throw Error("standard output is closed, or not open for writing",
              "open it, as in >/dev/null, or name a file where there is --output");
}

// A pipe is refused: opening one waits for its reader.
Sink sink_of(const std::string& path, const std::string& hint) {
  if (path.empty() || path == "-") {
    require_standard_output();
    return Sink::standard_output;
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return Sink::file;  // whose folder tells what is wrong
  if (S_ISCHR(status.st_mode)) return Sink::device;
  if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) return Sink::file;
  throw Error(fmt::format("{} is {}, but the output must be a file", path,
                          S_ISDIR(status.st_mode) ? "a directory" : "a pipe, socket or disk"),
              hint.empty() ? "leave out --output to write to standard output" : hint);
}

// Refuses to overwrite a log, which may hold hours of measurements.
void refuse_log(const std::string& path) {
  constexpr std::string_view start = "{\"type\":";
  const Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  std::string text(start.size(), '\0');
  if (!reader || ::pread(reader.get(), text.data(), text.size(), 0) < 0) return;
  if (text != start) return;
  throw UsageError(fmt::format("{} is a log, which the report would overwrite", path),
                   "name another file with --output, or remove this one");
}

// Returns 0, or the errno of the failure. A reader that went away is none.
int to_standard_output(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  return error == EPIPE ? 0 : error;
}

bool can_show(std::string_view text) {
  return ::isatty(STDOUT_FILENO) != 1 ||
         (text.find('\0') == std::string_view::npos && !text.starts_with("<!"));
}

}  // namespace

void check_format(const std::string& format, const std::vector<std::string>& formats) {
  if (std::find(formats.begin(), formats.end(), format) != formats.end()) return;
  throw UsageError(fmt::format("--format {}: no such format", printable(format)),
                   "there are " + printable_list(formats));
}

void check_output(const std::string& path, const std::string& hint) {
  if (sink_of(path, hint) != Sink::file) return;
  const Replacement possible(path, hint);
  refuse_log(path);
}

void write_output(const std::string& path, std::string_view text, const std::string& hint) {
  const Sink sink = sink_of(path, hint);
  if (sink == Sink::file) {
    try {
      Replacement replacement(path, hint);
      refuse_log(path);
      return replacement.complete(text);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      if (!can_show(text) || to_standard_output(text) != 0) throw;
      throw Error(fmt::format("{}; it went to standard output instead", error.what()),
                  error.hint());
    }
  }
  const bool is_device = sink == Sink::device;
  const int error =
      is_device ? write_all(open_output(path, hint).get(), text) : to_standard_output(text);
  if (error == 0) return;
  throw Error::from_errno(fmt::format("write({})", is_device ? path : "standard output"), error,
                          hint);
}

bool write_part(std::string_view text) {
  require_standard_output();
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0 || error == EPIPE) return error == 0;
  throw Error::from_errno("write(standard output)", error);
}

bool use_color(Color color, int fd) {
  if (color != Color::automatic) return color == Color::always;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const std::string_view terminal = variable("TERM");
  return ::isatty(fd) == 1 && variable("NO_COLOR").empty() && !terminal.empty() &&
         terminal != "dumb";
}

int terminal_width(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWidthOfFiles;
  return size.ws_col;
}

}  // namespace causalctl::commands
