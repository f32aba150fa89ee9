#include "controller/commands/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/output_file.h"

namespace causalctl::commands {
namespace {

constexpr int kWidthOfFiles = 100;

// Returns 0, or the errno of the failure.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count == 0) {
      return EIO;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool is_regular(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Refuses to overwrite an experiment log, which may hold hours of measurements.
void refuse_log(int fd, const std::string& path) {
  constexpr std::string_view start = "{\"type\":";
  if (!is_regular(fd)) return;
  const Fd reader(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(start.size(), '\0');
  if (!reader || ::pread(reader.get(), text.data(), text.size(), 0) < 0) return;
  if (text != start) return;
  throw UsageError(fmt::format("{} is an experiment log, which the report would overwrite", path),
                   "name another file with --output, or remove this one");
}

}  // namespace

void check_output(const std::string& path, const std::string& hint) {
  if (path.empty() || path == "-") return;
  // The reader of a pipe would see the end of it.
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
  refuse_log(open_output(path, hint).get(), path);
}

void write_output(const std::string& path, std::string_view text, const std::string& hint) {
  if (path.empty() || path == "-") {
    const int error = write_all(STDOUT_FILENO, text);
    if (error != 0 && error != EPIPE) throw Error::from_errno("write(standard output)", error);
    return;
  }
  const Fd file = open_output(path, hint);
  refuse_log(file.get(), path);
  // Truncated only now, because a file that is refused above must stay as it is.
  int error = is_regular(file.get()) && ::ftruncate(file.get(), 0) != 0 ? errno : 0;
  if (error == 0) error = write_all(file.get(), text);
  // Network file systems report a full disk only here.
  if (error == 0 && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (error == 0) return;
  if (is_regular(file.get()) && ::ftruncate(file.get(), 0) != 0) ::unlink(path.c_str());
  throw Error::from_errno(fmt::format("write({})", path), error, hint);
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
