// Reads from /proc which processes there are, in one pass. Source: proc(5).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::session {

struct ProcessRow {
  Pid pid = 0;
  Pid parent = 0;
  std::string name;               // as in /proc/PID/comm
  std::uint64_t start_ticks = 0;  // since boot; together with the PID it is one process only
  bool has_ended = false;         // it is a zombie without other threads
  bool is_kernel_thread = false;

  bool runs_program() const { return !has_ended && !is_kernel_thread; }
  bool operator==(const ProcessRow&) const = default;
};

// `stat` is the text of /proc/PID/stat. Returns nullopt if it is not one. Pure.
std::optional<ProcessRow> parse_row(std::string_view stat);
// Returns whether the text of /proc/PID/statm is that of a process with memory. Kernel threads and
// zombies have none. Pure.
bool parse_has_memory(std::string_view statm);

// An entry of the folder /proc. The kernel gives each process's folder an inode number of its own,
// so that an entry which is there again, unchanged, is the same process.
struct ProcEntry {
  Pid pid = 0;
  std::uint64_t inode = 0;

  auto operator<=>(const ProcEntry&) const = default;
};

// Reads short files below /proc, which it keeps open. Not for several threads at a time.
class ProcFolder {
 public:
  ProcFolder();  // throws Error

  std::optional<ProcessRow> row(Pid pid);  // nullopt if it is gone
  std::vector<ProcessRow> rows();          // of all processes, in ascending order
  bool runs_program(Pid pid);              // as its row says, at half the cost
  // Returns the whole text until the next call; empty if it is gone. Throws Error if it is longer
  // than 1 MiB.
  std::string_view text_of(Pid pid, const char* file);

 private:
  Fd folder_;
  std::string text_;
};

std::vector<ProcEntry> proc_entries();  // of processes, in ascending order

}  // namespace causalctl::session
