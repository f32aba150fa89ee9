// Texts of /proc: parsers are pure, readers are thin. A process or thread that is gone is nullopt.
// Sources: proc(5), Documentation/filesystems/proc.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::procfs {

// The fields of /proc/PID/status that decide how a thread may be treated.
struct Status {
  std::string name;
  char state = '?';  // R, S, D, T, t, Z, X
  Pid tgid = 0;
  Pid tracer_pid = 0;  // 0: nobody traces it
  uid_t uid = 0;       // effective
  int seccomp = 0;     // 0 none, 1 strict, 2 filter
  int threads = 0;
  std::uint64_t signals_pending = 0;         // SigPnd: bit n-1 is signal n, of this thread
  std::uint64_t signals_pending_shared = 0;  // ShdPnd
  std::uint64_t signals_blocked = 0;         // SigBlk
  std::uint64_t signals_ignored = 0;         // SigIgn
  std::uint64_t signals_caught = 0;          // SigCgt
  std::uint64_t capabilities = 0;            // CapEff: bit n is capability n
};

struct Map {  // one line of /proc/PID/maps
  Address start = 0;
  Address end = 0;
  bool readable = false, writable = false, executable = false, shared = false;
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;
  std::string path;  // empty: anonymous; "[vdso]", "[stack]", … as the kernel writes them
};

Status parse_status(std::string_view text);
std::vector<Map> parse_maps(std::string_view text);

inline bool has_signal(std::uint64_t set, int signal) { return (set >> (signal - 1)) & 1U; }

// nullopt: gone or unreadable, which errno tells. What passes (no descriptor, an interruption) is
// tried twice, so that nobody takes it for the end of a process.
std::optional<std::string> read_text(const std::string& path);
// The number that the file begins with, as those below /proc/sys and /sys do; nullopt also where it
// begins with none.
std::optional<long> read_number(const std::string& path);
bool exists(Pid pid);  // a zombie does, too
// For those whose process may be there though `file` of it cannot be read. Throws TargetGone, or
// Error where the process exists.
[[noreturn]] void throw_unreadable(Pid pid, std::string_view file);
std::optional<Status> status(Pid pid);
bool has_ended(Pid pid);  // gone, or a zombie without other threads
std::optional<Status> thread_status(Pid pid, Tid tid);
// From schedstat: of a thread that runs just now late by up to a tick; 0 where the kernel counts
// none (no CONFIG_SCHEDSTATS). nullopt: it is gone.
std::optional<Nanoseconds> cpu_time(Pid pid, Tid tid);
std::optional<std::vector<Map>> maps(Pid pid);
std::vector<Tid> threads(Pid pid);  // empty: gone
// Of namespaces(7): "pid", "time", … False where either cannot be read.
bool in_other_namespace(Pid pid, const char* name);
// Of the caller, effective (capabilities(7)).
bool has_capability(int capability);
// Whether this thread has forked processes that are there still, zombies included. A kernel without
// CONFIG_PROC_CHILDREN says no.
bool has_children(Pid pid, Tid tid);
// All processes below `ancestor`, children and theirs, in no order. A process that ends meanwhile
// may be missing, and what it left behind is then found under whoever took it over.
std::vector<Pid> descendants(Pid ancestor);
// Of /proc/locks: who holds a flock(2) lock on the file MAJOR:MINOR:INODE, written as there; 0:
// none. Pure.
Pid parse_flock_holder(std::string_view locks, std::string_view file);
// The parent in a text of /proc/PID/stat; 0: not one. Pure.
Pid parse_parent(std::string_view stat);
// CPU time of children that have ended and been waited for, user and kernel, in a text of
// /proc/PID/stat, in ticks; 0: not one. Pure.
std::uint64_t parse_children_ticks(std::string_view stat);
// CPU time of the process or thread in its own code, in ticks, in a text of its stat; 0: not one.
// Pure.
std::uint64_t parse_user_ticks(std::string_view stat);
// When the process started, in ticks since the boot, in a text of /proc/PID/stat; 0: not one. Pure.
std::uint64_t parse_start_ticks(std::string_view stat);
// Where the first thread's stack began, and how the process ended, as wait(2) gives it: in a text
// of /proc/PID/stat of a caller that may ptrace it; 0: not one, or not said. Pure.
Address parse_stack_begin(std::string_view stat);
int parse_exit_code(std::string_view stat);
// Whether a thread is one that the kernel runs for the process, in which no code of the program
// ever is: an io_uring's or a vhost's worker. By two texts of /proc/PID/task/TID/stat, of the
// thread and of the first one, which is none: older kernels use one of the bits otherwise. Pure.
bool parse_is_kernel_worker(std::string_view stat, std::string_view stat_of_first);
std::uint64_t parse_flags(std::string_view stat);  // PF_… of the kernel's <linux/sched.h>. Pure.
bool parse_is_kernel_thread(std::string_view stat);               // Pure.
bool is_kernel_worker(Pid pid, Tid tid);                          // false: gone
bool is_kernel_worker(Pid pid, std::string_view stat_of_thread);  // as thread_stat() gives it
char parse_state(std::string_view stat);  // as in Status; '?': there is none
inline bool is_blocked(char state) { return state == 'S' || state == 'D'; }
std::optional<std::string> thread_stat(Pid pid, Tid tid);
// An entry of the auxiliary vector, AT_… of getauxval(3), in the bytes of /proc/PID/auxv; 0: it is
// not there. Pure.
std::uint64_t parse_auxiliary(std::string_view auxv, std::uint64_t type);
std::uint64_t auxiliary(Pid pid, std::uint64_t type);  // 0 also where it is gone or unreadable
// Where the program's own code begins, once the loader is done; 0: not known.
Address entry_point(Pid pid);
// The one process of this name (comm, or file name of its executable). Throws UsageError when none
// or several match, listing them.
Pid find_process(const std::string& name);
std::string executable(Pid pid);  // target of /proc/PID/exe, "" when unreadable

}  // namespace causalctl::procfs
