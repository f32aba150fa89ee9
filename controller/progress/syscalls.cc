#include "controller/progress/syscalls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "controller/base/error.h"
#include "controller/base/procfs.h"

namespace causalctl::progress {
namespace {

constexpr const char* kHint =
    "system-call points need tracefs, readable for you: as root, "
    "mount -t tracefs nodev /sys/kernel/tracing, and run causalctl as root (or with CAP_PERFMON "
    "and CAP_DAC_READ_SEARCH)";
constexpr std::string_view kPrefix = "sys_enter_";

// Spaces and the like in mount points are written as \ooo (proc_pid_mounts(5)).
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

std::string find_tracefs() {
  auto mount = tracefs_in_mounts(procfs::read_text("/proc/self/mounts").value_or(""));
  if (mount.empty()) throw Error("tracefs is not mounted", kHint);
  const auto directory = mount + "/events/syscalls";
  // By what we may do now, capabilities included: access(2) asks for the real user.
  if (faccessat(AT_FDCWD, directory.c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
    throw Error::from_errno(fmt::format("access({})", directory), errno, kHint);
  }
  return mount;
}

std::optional<std::uint64_t> syscall_tracepoint(const std::string& tracefs,
                                                const std::string& name) {
  for (const auto& each : {name, "new" + name, name + "64"}) {
    const auto directory = fmt::format("{}/events/syscalls/{}{}", tracefs, kPrefix, each);
    if (faccessat(AT_FDCWD, directory.c_str(), F_OK, AT_EACCESS) != 0) continue;
    const auto text = procfs::read_text(directory + "/id").value_or("");
    std::uint64_t id = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), id).ec != std::errc{}) {
      throw Error(fmt::format("{}/id cannot be read", directory), kHint);
    }
    return id;
  }
  return std::nullopt;
}

std::vector<std::string> syscall_names(const std::string& tracefs) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(tracefs + "/events/syscalls", error), end;
       !error && entry != end; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (name.starts_with(kPrefix)) names.push_back(name.substr(kPrefix.size()));
  }
  return names;
}

}  // namespace causalctl::progress
