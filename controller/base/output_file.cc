#include "controller/base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace causalctl
