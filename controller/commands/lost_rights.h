// Whether a program loses rights because causalctl traces it from its start.
#pragma once

#include <sys/types.h>

#include <string>

#include "config/config.h"

namespace causalctl::commands {

struct ProgramFile {
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  bool has_capabilities = false;  // the attribute security.capability
  bool gives_none = false;        // its file system is mounted nosuid
};

// Returns the right that an execution of the file gives to a user and a group which have it not:
// "set-uid", "set-gid" or "file capabilities"; empty if there is none. Pure.
std::string gained_right(const ProgramFile& file, uid_t user, gid_t group);

// Tells the user if the program that is to be started will run without such a right. The kernel
// gives it to a traced program only if the tracer has CAP_SYS_PTRACE.
void note_lost_rights(const config::Target& target);

}  // namespace causalctl::commands
