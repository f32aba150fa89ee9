// Reads texts of /proc: parsers are pure, readers are thin. They return nullopt for a process or
// thread that is gone. Sources: proc(5), Documentation/filesystems/proc.rst.
#pragma once

#include <array>
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
  Pid tracer_pid = 0;  // 0 if nobody traces it
  uid_t uid = 0;       // effective
  int seccomp = 0;     // 0 none, 1 strict, 2 filter
  int threads = 0;
  std::uint64_t signals_pending = 0;         // SigPnd, of this thread: bit n-1 is signal n
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
  std::uint64_t device = 0;  // its major number in the upper 32 bits
  std::uint64_t inode = 0;
  std::string path;  // empty if anonymous; "[vdso]", "[stack]" and so on as the kernel writes them
};

// What /proc/PID/task/TID/syscall says of a thread that is on no core, where it goes on in its own
// code. The kernel waits until the thread is off its core, so that it was so at some moment of the
// read.
struct OffCore {
  long number = -1;  // of the system call; -1: in none, but in a page fault or a stop
  std::array<std::uint64_t, 6> arguments{};  // 0 where it is in none
  Address stack_pointer = 0;
  Address instruction = 0;
  bool operator==(const OffCore&) const = default;
};

Status parse_status(std::string_view text);
// Returns nullopt if the thread is running, or if the text is not one. Pure.
std::optional<OffCore> parse_off_core(std::string_view syscall);
// Returns how often the thread has left a core, given its status; 0 if the text does not say. Pure.
std::uint64_t parse_switches_out(std::string_view status);
// Returns how often it has come to one, given its schedstat; 0 also if the kernel does not count
// (no CONFIG_SCHED_INFO). Pure.
std::uint64_t parse_switches_in(std::string_view schedstat);
// Returns the functions of the kernel in a text of /proc/PID/task/TID/stack, innermost first. Pure.
std::vector<std::string> parse_kernel_stack(std::string_view stack);
std::vector<Map> parse_maps(std::string_view text);

inline bool has_signal(std::uint64_t set, int signal) { return (set >> (signal - 1)) & 1U; }

// Returns nullopt if the file is gone or unreadable; errno tells which. Passing errors (no free
// descriptor, an interruption) are retried once, so that they are not taken for the end of a
// process.
std::optional<std::string> read_text(const std::string& path);
// Returns the number that the file begins with, as files below /proc/sys and /sys do, or nullopt if
// it begins with none.
std::optional<long> read_number(const std::string& path);
bool exists(Pid pid);  // true of a zombie, too
// Reports that `file` of a process could not be read although the process may exist. Throws
// TargetGone if it does not exist, and Error if it does.
[[noreturn]] void throw_unreadable(Pid pid, std::string_view file);
std::optional<Status> status(Pid pid);
bool has_ended(Pid pid);  // true if it is gone, or a zombie without other threads
std::optional<Status> thread_status(Pid pid, Tid tid);
// Reads schedstat. For a thread that runs at the moment the value is late by up to a tick. Returns
// 0 if the kernel does not count (no CONFIG_SCHEDSTATS), and nullopt if the thread is gone.
std::optional<Nanoseconds> cpu_time(Pid pid, Tid tid);
std::optional<std::vector<Map>> maps(Pid pid);
std::vector<Pid> processes();       // of the PID namespace of /proc, in ascending order
std::vector<Tid> threads(Pid pid);  // empty if the process is gone
// `name` is "pid", "time" or another of namespaces(7). Returns false if either cannot be read.
bool in_other_namespace(Pid pid, const char* name);
// Returns whether the caller has the capability in its effective set (capabilities(7)).
bool has_capability(int capability);
// Returns whether this thread has child processes that still exist, zombies included. A kernel
// without CONFIG_PROC_CHILDREN says no.
bool has_children(Pid pid, Tid tid);
// Returns all processes below `ancestor`, its children and theirs, in no particular order. One that
// ends meanwhile may be missing, and its own children are then below the process that adopted them.
std::vector<Pid> descendants(Pid ancestor);
// Returns the process that holds a flock(2) lock on `file`, written MAJOR:MINOR:INODE as in
// /proc/locks, or 0 if there is none. Pure.
Pid parse_flock_holder(std::string_view locks, std::string_view file);
// Returns the parent in a text of /proc/PID/stat; 0 if the text is not one. Pure.
Pid parse_parent(std::string_view stat);
// Returns the CPU time of children that have ended and been waited for, user and kernel, in ticks,
// given a text of /proc/PID/stat; 0 if the text is not one. Pure.
std::uint64_t parse_children_ticks(std::string_view stat);
// Returns the CPU time of a process or thread in its own code, in ticks, given its stat; 0 if the
// text is not one. Pure.
std::uint64_t parse_user_ticks(std::string_view stat);
// Returns when the process started, in ticks since boot, given its stat; 0 if it is not one. Pure.
std::uint64_t parse_start_ticks(std::string_view stat);
// Return where the main thread's stack began, and how the process ended, as wait(2) gives it. The
// text of /proc/PID/stat must have been read by a caller that may ptrace it. They return 0 if the
// text is not one, or does not say.
Address parse_stack_begin(std::string_view stat);
int parse_exit_code(std::string_view stat);
// Returns whether a thread is one that the kernel runs for the process, such as an io_uring worker
// or a vhost worker; code of the program never runs in it. Both texts are of
// /proc/PID/task/TID/stat: that of the thread and that of the main thread, which is never a worker.
// Older kernels use the same bit for something else, which the main thread then has, too. Pure.
bool parse_is_kernel_worker(std::string_view stat, std::string_view stat_of_first);
std::uint64_t parse_flags(std::string_view stat);  // PF_… of the kernel's <linux/sched.h>. Pure.
bool parse_is_kernel_thread(std::string_view stat);               // Pure.
bool is_kernel_worker(Pid pid, Tid tid);                          // false if it is gone
bool is_kernel_worker(Pid pid, std::string_view stat_of_thread);  // as thread_stat() gives it
char parse_state(std::string_view stat);  // as in Status; '?' if there is none
inline bool is_blocked(char state) { return state == 'S' || state == 'D'; }
std::optional<std::string> thread_stat(Pid pid, Tid tid);
// Returns an entry of the auxiliary vector (AT_… of getauxval(3)) in the bytes of /proc/PID/auxv,
// or 0 if it is not there. Pure.
std::uint64_t parse_auxiliary(std::string_view auxv, std::uint64_t type);
std::uint64_t auxiliary(Pid pid, std::uint64_t type);  // 0 also if it is gone or unreadable
// Returns where the program's own code begins once the loader is done; 0 if unknown.
Address entry_point(Pid pid);
// Finds the one process with this name (its comm, or the file name of its executable). Throws
// UsageError if there is none, or if there are several, which the message lists. `way_to_all` ends
// the hint for several: it tells how all of them are named.
Pid find_process(const std::string& name, std::string_view way_to_all = {});
// Returns the words by which it was executed: of a script the interpreter, then the script.
std::vector<std::string> words_of(Pid pid);
// Returns the target of /proc/PID/exe, without the " (deleted)" of one that was removed or
// replaced; "" if it is unreadable.
std::string executable(Pid pid);

}  // namespace causalctl::procfs
