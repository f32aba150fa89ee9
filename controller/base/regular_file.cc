#include "controller/base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <iterator>
#include <string_view>
#include <vector>

#include "controller/base/error.h"

namespace causalctl {
namespace {

// A lease of another process on the file would hold up an open(2) that may wait.
constexpr int kReadOnly = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Fd look_at(const char* path, int more = 0) {
  return Fd(::openat(AT_FDCWD, path, O_PATH | O_CLOEXEC | more));
}

// Allocates nothing: a library may open a file anywhere.
std::array<char, 32> link_to(int place) {
  std::array<char, 32> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/self/fd/{}", place);
  return path;
}

// Opens what was looked at.
int open_place(int place, int flags) { return ::openat(AT_FDCWD, link_to(place).data(), flags); }

int refusal(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return ENOTSUP;
  if (status.st_size <= 0) return ENODATA;
  return static_cast<std::uint64_t>(status.st_size) > kLargestRegularFile ? EFBIG : 0;
}

// Returns whether it is a device that ends no wait and has no effect: libraries read random
// numbers.
bool is_harmless_device(const struct stat& status) {
  constexpr unsigned kMemoryDevices = 1;  // of the kernel's Documentation/admin-guide/devices.txt
  constexpr unsigned kNull = 3, kRandom = 8, kUrandom = 9;
  const unsigned which = minor(status.st_rdev);
  return S_ISCHR(status.st_mode) && major(status.st_rdev) == kMemoryDevices &&
         (which == kNull || which == kRandom || which == kUrandom);
}

// Returns whether it is a file of a process in /proc: libraries read mappings. Others there, as in
// tracefs, may lose what is read of them.
bool is_file_of_process(int place) {
  std::array<char, 8> path{};
  const ssize_t length = ::readlink(link_to(place).data(), path.data(), path.size());
  if (length < std::ssize(path)) return false;
  const char digit = path[6];
  return std::string_view(path.data(), 6) == "/proc/" && '0' <= digit && digit <= '9';
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISFIFO(mode) ? "a pipe" : "a device";
}

int open_for_reading(const char* path, int flags) {
  const Fd place = look_at(path, flags & O_NOFOLLOW);
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0) return -1;
  int refused = S_ISDIR(status.st_mode) || is_harmless_device(status) ? 0 : refusal(status);
  if (refused == ENODATA && is_file_of_process(place.get())) refused = 0;
  if (refused == 0) return open_place(place.get(), flags & ~O_NOFOLLOW);
  errno = refused;
  return -1;
}

void put_zeros(int, siginfo_t* info, void*) {
  const int error = errno;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr) / page * page;
  const bool put = info->si_code == BUS_ADRERR &&
                   ::mmap(reinterpret_cast<void*>(address), page, PROT_READ | PROT_WRITE,  // NOLINT
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  errno = error;
  if (!put) ::signal(SIGBUS, SIG_DFL);  // the same access ends the process
}

}  // namespace

Fd open_regular(const Fd& place) {
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0) return Fd();
  errno = refusal(status);
  return errno == 0 ? Fd(open_place(place.get(), kReadOnly)) : Fd();
}

Fd open_regular(const std::string& path) { return open_regular(look_at(path.c_str())); }

std::string read_input(const std::string& path, std::uint64_t most, const std::string& hint) {
  const std::string what = fmt::format("open({})", path);
  const Fd place = look_at(path.c_str());
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0) {
    throw Error::from_errno(what, errno, hint);
  }
  const bool pipe = S_ISFIFO(status.st_mode);
  if (!pipe && !S_ISREG(status.st_mode)) {
    throw Error(fmt::format("{} is {}, which is not read", path, kind_of(status.st_mode)), hint);
  }
  const Fd file(open_place(place.get(), kReadOnly));
  if (!file) throw Error::from_errno(what, errno, hint);
  // A pipe may be filled later.
  if (pipe) ::fcntl(file.get(), F_SETFL, O_RDONLY);
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count == 0 && pipe && text.empty()) {
      throw Error(fmt::format("{} is a pipe to which nobody writes", path), hint);
    }
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) {
      throw Error::from_errno(fmt::format("read({})", path), errno, hint);
    }
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > most) {
      throw Error(fmt::format("{} is too large: {} bytes are the most", path, most), hint);
    }
  }
}

void survive_cut_files() {
  struct sigaction action {};
  action.sa_sigaction = put_zeros;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace causalctl

// The declaration of <fcntl.h> stands for open64(), which our own code calls.
extern "C" __attribute__((visibility("default"))) int open_for_library(const char* path, int flags,
                                                                       ...) __asm__("open");

int open_for_library(const char* path, int flags, ...) {
  constexpr int kNoReading = O_PATH | O_DIRECTORY | O_CREAT;
  if ((flags & O_ACCMODE) == O_RDONLY && (flags & kNoReading) == 0) {
    return causalctl::open_for_reading(path, flags | causalctl::kReadOnly);
  }
  // O_TMPFILE has the bit of O_DIRECTORY, too.
  const bool is_created = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = is_created ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return ::openat(AT_FDCWD, path, flags, mode);
}
