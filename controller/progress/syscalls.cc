#include "controller/progress/syscalls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/procfs.h"

namespace causalctl::progress {
namespace {

constexpr const char* kHint =
    "system-call points need tracefs: run causalctl as root (or with CAP_PERFMON and "
    "CAP_DAC_READ_SEARCH, where it is mounted)";
constexpr std::string_view kPrefix = "sys_enter_";

}  // namespace

Tracefs tracefs_of_calls() {
  std::string problem;
  const auto tracefs = find_tracefs(problem);
  if (!tracefs) throw Error(problem, kHint);
  const auto directory = tracefs->path + "/events/syscalls";
  if (faccessat(AT_FDCWD, directory.c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
    throw Error::from_errno(fmt::format("access({})", directory), errno,
                            "system-call points need a kernel with CONFIG_FTRACE_SYSCALLS");
  }
  return *tracefs;
}

std::optional<std::uint64_t> syscall_tracepoint(const std::string& tracefs,
                                                const std::string& name) {
  for (const auto& each : {name, "new" + name, name + "64"}) {
    const auto directory = fmt::format("{}/events/syscalls/{}{}", tracefs, kPrefix, each);
    if (faccessat(AT_FDCWD, directory.c_str(), F_OK, AT_EACCESS) != 0) continue;
    const auto id = procfs::read_number(directory + "/id");
    if (!id) throw Error(fmt::format("{}/id cannot be read", directory), kHint);
    return static_cast<std::uint64_t>(*id);
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
