#include "controller/base/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "controller/base/clock.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/output_file.h"
#include "controller/base/types.h"

namespace causalctl {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{64} << 20;  // bytes
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

// What the writing thread shares with the object.
struct LineFile::File {
  void write(const std::string& line);

  std::string path;
  Fd fd;
  std::atomic<int> error = 0;  // errno of the first failure that was not yet told
};

void LineFile::File::write(const std::string& line) {
  off_t end_before = 0;
  const bool regular = is_regular(fd.get(), &end_before);
  std::size_t written = 0;
  int failure = 0;
  while (written < line.size() && failure == 0) {
    const ssize_t count = ::write(fd.get(), line.data() + written, line.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (count == 0) {
      failure = EIO;
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  if (failure == 0) return;
  error = failure;

  // Another run may append to the same file, so only bytes that are certainly ours are cut off.
  off_t end_now = 0;
  if (written > 0 && regular && is_regular(fd.get(), &end_now) &&
      end_now == end_before + static_cast<off_t>(written)) {
    // If this fails too, the reader ignores the cut-off line.
    [[maybe_unused]] const int result = ::ftruncate(fd.get(), end_before);
  }
}

LineFile::LineFile(const std::string& path, const LogKind& kind) : file_(std::make_shared<File>()) {
  check(path, kind);
  file_->path = path;
  file_->fd = open_output(path, kAnother);
  if (ends_inside_line(file_->fd.get())) append("\n");
}

LineFile::~LineFile() { wait(kSlowDisk); }

void LineFile::append(const std::string& line) {
  const bool waits = writer_.jobs() > 0;
  writer_.give([file = file_, line] { file->write(line); }, line.size());
  if (!waits && patience_left_ns_ > 0) {
    const Nanoseconds before_ns = monotonic_now();
    writer_.wait(patience_left_ns_);
    patience_left_ns_ -= monotonic_now() - before_ns;
  }
  throw_failure();
}

void LineFile::finish(Nanoseconds patience_ns) {
  stuck_ = !wait(patience_ns);
  throw_failure();
}

bool LineFile::wait(Nanoseconds patience_ns) const {
  const PatienceWithFiles patience(patience_ns);
  for (std::size_t left = writer_.bytes(); !stuck_ && !writer_.wait(patience_ns);) {
    if (writer_.bytes() >= left) return false;
    left = writer_.bytes();
  }
  return !stuck_;
}

void LineFile::throw_failure() {
  const int error = file_->error.exchange(0);
  stuck_ = stuck_ || writer_.bytes() > kMostWaiting;
  if ((error == 0 && !stuck_) || failed_) return;
  failed_ = true;
  const std::string what = fmt::format("write({})", file_->path);
  const std::string hint =
      "what was written before can still be read: causalctl report " + file_->path;
  if (error != 0) throw Error::from_errno(what, error, hint);
  throw Error(what + ": the file system does not answer", hint);
}

}  // namespace causalctl
