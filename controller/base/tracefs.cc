#include "controller/base/tracefs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mntent.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"

namespace causalctl {
namespace {

// Checks with our present rights, capabilities included, which access(2) does not: it checks those
// of the real user. If it returns false, errno tells why.
bool is_readable(const std::string& tracefs) {
  return faccessat(AT_FDCWD, (tracefs + "/events").c_str(), R_OK | X_OK, AT_EACCESS) == 0;
}

Fd mount_detached() {
  const Fd context(fsopen("tracefs", FSOPEN_CLOEXEC));
  if (!context || fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return Fd(fsmount(context.get(), FSMOUNT_CLOEXEC,
                    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
}

// Returns "" if we have no right to mount.
std::string own_mount() {
  static const Fd mount = mount_detached();
  return mount ? fmt::format("/proc/self/fd/{}", mount.get()) : "";
}

}  // namespace

std::string tracefs_in_mounts(std::string mounts) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fmemopen(mounts.data(), mounts.size(), "r"),
                                                   endmntent);
  std::string by_debugfs;
  std::array<char, 4096> line{};
  mntent mount{};
  while (file && getmntent_r(file.get(), &mount, line.data(), std::ssize(line)) != nullptr) {
    if (mount.mnt_type == std::string_view("tracefs")) return mount.mnt_dir;
    if (mount.mnt_type == std::string_view("debugfs"))
      by_debugfs = mount.mnt_dir + std::string("/tracing");
  }
  return by_debugfs;
}

std::optional<Tracefs> find_tracefs(std::string& problem) {
  const auto mounted = tracefs_in_mounts(procfs::read_text("/proc/self/mounts").value_or(""));
  if (!mounted.empty() && is_readable(mounted)) return Tracefs{mounted, false};
  const int error_number = errno;
  const auto own = own_mount();
  if (!own.empty() && is_readable(own)) return Tracefs{own, true};
  if (mounted.empty()) {
    problem = "tracefs is not mounted: as root, mount -t tracefs nodev /sys/kernel/tracing";
  } else if (error_number == EACCES) {
    problem = "tracefs is readable by root only: run as root, or with CAP_DAC_READ_SEARCH";
  } else {
    problem = fmt::format("{} cannot be read: {}", mounted, std::strerror(error_number));
  }
  return std::nullopt;
}

}  // namespace causalctl
