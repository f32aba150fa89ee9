#include "controller/commands/lost_rights.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <optional>

#include "controller/base/execute.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"

namespace causalctl::commands {
namespace {

// Returns the path of the program that execute() will find; empty if there is none.
std::string path_of_program(const config::Target& target) {
  return file_of_program(target.command.front(), search_path(target.environment), target.directory);
}

std::optional<ProgramFile> look_at(const std::string& path) {
  struct stat status {};
  struct statvfs file_system {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  ProgramFile file{status.st_mode, status.st_uid, status.st_gid, false, false};
  file.has_capabilities = ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  file.gives_none =
      ::statvfs(path.c_str(), &file_system) == 0 && (file_system.f_flag & ST_NOSUID) != 0;
  return file;
}

}  // namespace

std::string gained_right(const ProgramFile& file, uid_t user, gid_t group) {
  if (file.gives_none) return {};
  if ((file.mode & S_ISUID) != 0 && file.owner != user) return "set-uid";
  // Without the right to execute, the bit means a lock.
  constexpr mode_t set_gid = S_ISGID | S_IXGRP;
  if ((file.mode & set_gid) == set_gid && file.group != group) return "set-gid";
  return file.has_capabilities && user != 0 ? "file capabilities" : "";
}

void note_lost_rights(const config::Target& target) {
  if (target.command.empty() || procfs::has_capability(CAP_SYS_PTRACE)) return;
  const std::string path = path_of_program(target);
  const auto file = path.empty() ? std::nullopt : look_at(path);
  const std::string right = file ? gained_right(*file, ::geteuid(), ::getegid()) : "";
  if (right.empty()) return;
  log::note(
      "warning: {} runs without its rights ({}): the kernel gives them to a traced program only if "
      "its tracer has CAP_SYS_PTRACE\n"
      "  hint: start it by itself, then attach as root; or run causalctl as root",
      path, right);
}

}  // namespace causalctl::commands
