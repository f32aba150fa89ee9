#include "controller/progress/syscalls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/procfs.h"

namespace causalctl::progress {
namespace {

constexpr const char* kHint =
    "system-call points need tracefs: run causalctl as root (or with CAP_PERFMON and "
    "CAP_DAC_READ_SEARCH, where it is mounted)";
constexpr std::string_view kPrefix = "sys_enter_";
constexpr std::string_view kResult = "long ret;\toffset:";  // in the format of sys_exit_NAME

std::string directory_of(const std::string& tracefs, std::string_view prefix,
                         const std::string& name) {
  for (const auto& each : {name, "new" + name, name + "64"}) {
    auto directory = fmt::format("{}/events/syscalls/{}{}", tracefs, prefix, each);
    if (faccessat(AT_FDCWD, directory.c_str(), F_OK, AT_EACCESS) == 0) return directory;
  }
  return "";
}

std::uint64_t id_in(const std::string& directory) {
  const auto id = procfs::read_number(directory + "/id");
  if (!id) throw Error(fmt::format("{}/id cannot be read", directory), kHint);
  return static_cast<std::uint64_t>(*id);
}

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
  const std::string directory = directory_of(tracefs, kPrefix, name);
  return directory.empty() ? std::nullopt : std::optional(id_in(directory));
}

std::optional<CallResult> syscall_result(const std::string& tracefs, const std::string& name) {
  const std::string directory = directory_of(tracefs, "sys_exit_", name);
  if (directory.empty()) return std::nullopt;
  const std::string format = procfs::read_text(directory + "/format").value_or("");
  const auto at = format.find(kResult);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(format).substr(at + kResult.size());
  const auto offset = parse_number<std::size_t>(rest.substr(0, rest.find(';')), 10);
  if (!offset) return std::nullopt;
  return CallResult{id_in(directory), *offset};
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
