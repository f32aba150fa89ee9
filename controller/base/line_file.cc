#include "controller/base/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "controller/base/error.h"
#include "controller/base/output_file.h"

namespace causalctl {
namespace {

constexpr const char* kAnother = "name another file with --output FILE";

bool is_regular(int fd, off_t* size) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  *size = status.st_size;
  return true;
}

// Returns whether the last line has no end, as a killed run leaves it.
bool ends_inside_line(int fd) {
  off_t size = 0;
  if (!is_regular(fd, &size) || size == 0) return false;
  const Fd reader(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));
  char last = 0;
  if (!reader || ::pread(reader.get(), &last, 1, size - 1) != 1)
    return true;  // a blank line does no harm
  return last != '\n';
}

void check_content(const std::string& path, const LogKind& kind) {
  const Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!reader) throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
  std::string text(64, '\0');
  const ssize_t count = ::pread(reader.get(), text.data(), text.size(), 0);
  if (count < 0) throw Error::from_errno(fmt::format("read({})", path), errno, kAnother);
  text.resize(static_cast<std::size_t>(count));
  if (begins_as(kind, text)) return;
  throw UsageError(fmt::format("{} is not {}, so nothing is appended to it", path, kind.name),
                   kAnother);
}

// Checks the directory of a file that does not exist yet.
void check_directory(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
  }
}

}  // namespace

bool begins_as(const LogKind& kind, std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  return std::any_of(kind.types.begin(), kind.types.end(), [&](std::string_view type) {
    std::string begin = fmt::format("{{\"type\":\"{}\"", type);
    if (type == "run") begin += fmt::format(",{}", kind.run_begin);
    return text.substr(0, begin.size()) == std::string_view(begin).substr(0, text.size());
  });
}

void LineFile::check(const std::string& path, const LogKind& kind) {
  if (path == "-") {
    throw UsageError(
        fmt::format("{} cannot go to standard output, where the report goes", kind.name),
        "name a file with --output FILE");
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT || path.empty()) {
      throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
    }
    return check_directory(path);
  }
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode) && !S_ISCHR(status.st_mode)) {
    throw Error(
        fmt::format("{} is {}, but {} must be a file", path,
                    S_ISDIR(status.st_mode) ? "a directory" : "a pipe, socket or disk", kind.name),
        kAnother);
  }
  open_output(path, kAnother);  // the file exists, so none is created
  if (S_ISREG(status.st_mode) && status.st_size > 0) check_content(path, kind);
}

LineFile::LineFile(const std::string& path, const LogKind& kind) : path_(path) {
  check(path, kind);
  fd_ = open_output(path, kAnother);
  if (ends_inside_line(fd_.get())) append("\n");
}

void LineFile::append(const std::string& line) {
  off_t end_before = 0;
  const bool regular = is_regular(fd_.get(), &end_before);
  std::size_t written = 0;
  int error = 0;
  while (written < line.size() && error == 0) {
    const ssize_t count = ::write(fd_.get(), line.data() + written, line.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (count == 0) {
      error = EIO;
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0) return;

  // Another run may append to the same file, so only bytes that are certainly ours are cut off.
  off_t end_now = 0;
  if (written > 0 && regular && is_regular(fd_.get(), &end_now) &&
      end_now == end_before + static_cast<off_t>(written)) {
    // If this fails too, the reader ignores the cut-off line.
    [[maybe_unused]] const int result = ::ftruncate(fd_.get(), end_before);
  }
  if (failed()) return;
  failed_ = true;
  throw Error::from_errno(fmt::format("write({})", path_), error,
                          "what was written before can still be read: causalctl report " + path_);
}

}  // namespace causalctl
