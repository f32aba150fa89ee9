#include "controller/base/own_proc.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/procfs.h"

namespace causalctl {
namespace {

constexpr const char* kMountIt = "mount -t proc proc /proc";

// Returns whether the line NSpid of a status has one PID only. It has one for each namespace from
// that of /proc down to the process's own. A kernel before 4.1 has no such line.
bool has_one_pid(std::string_view status) {
  constexpr std::string_view kKey = "\nNSpid:\t";
  const auto begin = status.find(kKey);
  if (begin == status.npos) return true;
  const auto line = status.substr(begin + kKey.size());
  return line.substr(0, line.find('\n')).find('\t') == line.npos;
}

std::string link_target(const char* path) {
  std::error_code error;  // where it cannot be read, the target is empty
  return std::filesystem::read_symlink(path, error).string();
}

std::string known_as(const std::string& name) { return name.empty() ? "" : " (" + name + ")"; }

}  // namespace

std::optional<ProcTrouble> judge_proc(const ProcSeen& seen, Pid own) {
  if (seen.self.empty() && !seen.is_mounted) {
    return ProcTrouble{"/proc is not mounted: nothing is known of processes without it", kMountIt};
  }
  if (parse_number<Pid>(seen.self) == own && has_one_pid(seen.status)) return std::nullopt;
  const bool differs = seen.of_first != seen.ours;
  return ProcTrouble{
      fmt::format(
          "/proc is that of another PID namespace{}: causalctl, process {} in its own{}, is "
          "{} there, so that a PID may mean two processes",
          differs ? known_as(seen.of_first) : "", own, known_as(seen.ours),
          seen.self.empty() ? "not seen" : seen.self),
      fmt::format("give this namespace its /proc: {} (unshare has --mount-proc), or enter the "
                  "target's namespaces: nsenter --pid --mount --target PID",
                  kMountIt)};
}

std::optional<ProcTrouble> trouble_of_proc() {
  struct statfs file_system {};
  ProcSeen seen;
  seen.is_mounted = ::statfs("/proc", &file_system) == 0 && file_system.f_type == PROC_SUPER_MAGIC;
  seen.self = link_target("/proc/self");
  seen.status = procfs::read_text("/proc/self/status").value_or("");
  seen.ours = link_target("/proc/self/ns/pid");
  seen.of_first = link_target("/proc/1/ns/pid");
  return judge_proc(seen, ::getpid());
}

void require_own_proc() {
  if (const auto trouble = trouble_of_proc()) throw Error(trouble->what, trouble->hint);
}

}  // namespace causalctl
