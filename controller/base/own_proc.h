// Whether /proc is that of our PID namespace. After `unshare --pid --fork`, or where a container
// has the /proc of its host, the PIDs of /proc and those of system calls mean different processes.
#pragma once

#include <optional>
#include <string>

#include "controller/base/types.h"

namespace causalctl {

struct ProcTrouble {
  std::string what;  // what is wrong with /proc
  std::string hint;
};

struct ProcSeen {
  bool is_mounted = true;  // something is mounted at /proc that is a procfs
  std::string self;        // where /proc/self leads; empty: nowhere
  std::string status;      // the text of /proc/self/status
  std::string ours;        // our PID namespace, as "pid:[4026531836]"; may be empty
  std::string of_first;    // the PID namespace of /proc/1; may be empty
};

// Returns nullopt if the PIDs of /proc are those of a process whose getpid() is `own`. Pure.
std::optional<ProcTrouble> judge_proc(const ProcSeen& seen, Pid own);
std::optional<ProcTrouble> trouble_of_proc();
void require_own_proc();  // throws Error

}  // namespace causalctl
