// Decides which processes are members of a set, from names and trees that were read. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"
#include "controller/session/process_table.h"

namespace causalctl::session {

// Returns whether a name is `glob`, in which * stands for any text and ? for any character.
bool is_named(std::string_view name, const std::string& glob);

// What is read of a process to compare its names. Each is read only when it is needed.
struct ReadNames {
  std::function<std::string()> executable;          // the path of its file
  std::function<std::vector<std::string>()> words;  // of its command line
};

// Returns whether the kernel's name of a process or the base name of its executable is `glob`. The
// kernel has the first 15 bytes of a name only; a word of the command line tells the rest.
bool is_process_named(std::string_view name, const ReadNames& read, const std::string& glob);

// A process with all its descendants. A member whose parent has ended stays one.
class Family {
 public:
  explicit Family(const std::vector<ProcessRow>& roots);

  // Returns the members among `rows`, in ascending order. REQUIRES: `rows` are of all processes.
  // Processes of `ours` and what is below them are no members, unless a root is below one of them.
  std::vector<Pid> update(const std::vector<ProcessRow>& rows, const std::vector<Pid>& ours);
  void add(const ProcessRow& row);  // a member that a record has told of

 private:
  std::map<Pid, std::uint64_t> start_ticks_;  // of the members
};

// Returns at most `most` of `found`: those that are in `before`, and then the lowest numbers. All
// three are in ascending order.
std::vector<Pid> at_most(const std::vector<Pid>& found, const std::vector<Pid>& before,
                         std::size_t most);

}  // namespace causalctl::session
