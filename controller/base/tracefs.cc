#include "controller/base/tracefs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"

namespace causalctl {
namespace {

// In mount points spaces and the like are written as \ooo (proc_pid_mounts(5)).
std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, value, 8).ptr ==
            text.data() + i + 4) {
      result.push_back(static_cast<char>(value));
      i += 3;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

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

std::string tracefs_in_mounts(std::string_view mounts) {
  std::string by_debugfs;
  while (!mounts.empty()) {
    const auto end = mounts.find('\n');
    auto line = mounts.substr(0, end);
    mounts.remove_prefix(end == std::string_view::npos ? mounts.size() : end + 1);
    std::string_view fields[3];
    for (auto& field : fields) {
      field = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(line.size(), field.size() + 1));
    }
    if (fields[2] == "tracefs") return unescape(fields[1]);
    if (fields[2] == "debugfs") by_debugfs = unescape(fields[1]) + "/tracing";
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
