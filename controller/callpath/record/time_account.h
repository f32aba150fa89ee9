// What the kernel says of the time of a process, or of a set of processes, while its call paths
// were recorded: how much CPU time it used, and what kept it from using more. A report sets beside
// it what the recording has. Passive.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "controller/base/fields.h"
#include "controller/base/types.h"

namespace causalctl::callpath {

struct TimeAccount {
  // Of all threads of all processes, ended ones included; 0: not known. Of a process that ended
  // before its clock was read, what its switches tell.
  Nanoseconds cpu_ns = 0;
  std::uint64_t threads_begun = 0;     // meanwhile, that were watched
  std::uint64_t threads_missed = 0;    // others, that ended before they could be
  Nanoseconds unseen_ns = 0;           // of those that were watched, from their birth until then
  std::uint64_t names_merged = 0;      // times at which a thread got a name beyond the limit
  std::uint64_t processes = 0;         // of a set: all that were recorded, each once; 0: no set
  std::uint64_t processes_merged = 0;  // of these: those that share an entry with others
  std::uint64_t paths_cut = 0;         // chains whose path had no room in the tree
  std::uint64_t kernel_parts_cut = 0;  // chains without their kernel's part, as there was no room
  std::uint64_t code_merged = 0;       // frames in code in no file whose place had no room
  std::uint64_t switches = 0;          // times at which a thread came to a core
  std::uint64_t threads_at_start = 0;
  std::uint64_t stacks_not_read = 0;  // of these: a stack that was blocked then is not known
  // A process has executed a program that causalctl may not read: the kernel ends its events then.
  bool unreadable_program = false;
  // The process, or all processes of the set, stood still: time of the clock, and what did it at
  // the end.
  Nanoseconds stopped_ns = 0;
  Nanoseconds frozen_ns = 0;
  std::string halted_at_end;  // "stopped", "frozen", or "": it went on before the end
  Pid tracer = 0;             // the process that stopped it, if that was no signal
  // The quota of a control group, of a set one that all its processes are in, that was used up:
  // cores that it grants (0: not known), and for how long it held threads back, on all cores
  // together.
  double quota_cores = 0;
  Nanoseconds held_back_ns = 0;

  // Each line of the log has the times so far, which a reader must not add up.
  static constexpr auto fields() {
    return std::tuple{Field("cpu_ns", &TimeAccount::cpu_ns, kMoment),
                      Field("threads_begun", &TimeAccount::threads_begun, kIfSet),
                      Field("threads_missed", &TimeAccount::threads_missed, kIfSet),
                      Field("unseen_ns", &TimeAccount::unseen_ns, kMoment | kIfSet),
                      Field("names_merged", &TimeAccount::names_merged, kIfSet),
                      Field("processes", &TimeAccount::processes, kIfSet),
                      Field("processes_merged", &TimeAccount::processes_merged, kIfSet),
                      Field("paths_cut", &TimeAccount::paths_cut, kIfSet),
                      Field("kernel_parts_cut", &TimeAccount::kernel_parts_cut, kIfSet),
                      Field("code_merged", &TimeAccount::code_merged, kIfSet),
                      Field("switches", &TimeAccount::switches, kIfSet),
                      Field("threads_at_start", &TimeAccount::threads_at_start, kIfSet),
                      Field("stacks_not_read", &TimeAccount::stacks_not_read, kIfSet),
                      Field("unreadable_program", &TimeAccount::unreadable_program, kIfSet),
                      Field("stopped_ns", &TimeAccount::stopped_ns, kMoment | kIfSet),
                      Field("frozen_ns", &TimeAccount::frozen_ns, kMoment | kIfSet),
                      Field("halted_at_end", &TimeAccount::halted_at_end, kIfSet),
                      Field("tracer", &TimeAccount::tracer, kIfSet),
                      Field("quota_cores", &TimeAccount::quota_cores, kIfSet),
                      Field("held_back_ns", &TimeAccount::held_back_ns, kMoment | kIfSet)};
  }
};

}  // namespace causalctl::callpath
