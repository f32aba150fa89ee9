#include "controller/base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "controller/base/error.h"

namespace causalctl {
namespace {

constexpr const char* kAnotherOutput = "name another file with --output FILE";

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Applies the rule of fs.protected_regular (Documentation/admin-guide/sysctl/fs.rst) on every
// system and in every directory. Root that writes into a user's own directory may append to that
// user's file.
bool is_foreign(const struct stat& file, const std::string& path) {
  if (file.st_uid == ::geteuid()) return false;
  struct stat directory {};
  return ::stat(directory_of(path).c_str(), &directory) != 0 || file.st_uid != directory.st_uid;
}

}  // namespace

Fd open_output(const std::string& path, std::string_view hint) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
               0600));
  if (!fd) {
    const int error = errno;
    throw Error::from_errno(
        fmt::format("open({})", path), error,
        error == ELOOP
            ? fmt::format("it is a link, and nothing is written through links; {}", kAnotherOutput)
            : std::string(hint));
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    throw Error::from_errno(fmt::format("fstat({})", path), errno);
  if (!S_ISREG(status.st_mode)) return fd;
  if (status.st_nlink > 1) {
    throw Error(fmt::format("{}: it has {} names (hard links)", path, status.st_nlink),
                kAnotherOutput);
  }
  if (is_foreign(status, path)) {
    throw Error(
        fmt::format("{}: it belongs to uid {}, who is neither you nor the directory's owner", path,
                    status.st_uid),
        kAnotherOutput);
  }
  return fd;
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count == 0) {
      return EIO;
    } else if (errno == EAGAIN) {  // whoever has it too made it so that it does not block
      pollfd room{fd, POLLOUT, 0};
      if (::poll(&room, 1, -1) < 0 && errno != EINTR) return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Replacement::Replacement(const std::string& path, std::string_view hint)
    : path_(path),
      hint_(hint),
      temporary_(directory_of(path) + "/.causalctl-XXXXXX"),
      removal_([this] {
        if (!temporary_.empty()) ::unlink(temporary_.c_str());
      }) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    const Fd old = open_output(path, hint);
    if (::fstat(old.get(), &status) == 0) before_ = status;
  }
  fd_ = Fd(::mkostemp(temporary_.data(), O_CLOEXEC));
  if (fd_) return;
  const int error = errno;
  temporary_.clear();
  throw Error::from_errno(fmt::format("open({})", path), error, hint_);
}

Replacement::~Replacement() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

// Returns 0, or the errno of the failure.
int Replacement::write(std::string_view text) const {
  if (const int error = write_all(fd_.get(), text); error != 0) return error;
  if (before_ && ::fchown(fd_.get(), before_->st_uid, before_->st_gid) == 0) {
    ::fchmod(fd_.get(), before_->st_mode & 0777);
  }
  // Network file systems report a full disk only here.
  if (::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS) return errno;
  return ::rename(temporary_.c_str(), path_.c_str()) != 0 ? errno : 0;
}

void Replacement::complete(std::string_view text) {
  const PatienceWithFiles patience(kSlowDisk);
  if (const int error = write(text); error != 0) {
    throw Error::from_errno(fmt::format("write({})", path_), error, hint_);
  }
  temporary_.clear();
}

}  // namespace causalctl
