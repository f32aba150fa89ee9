// Keeps the list of the processes of a set (Recording::processes), and how many ran each program
// (Recording::programs). Pure.
//
// A process is counted when it begins, and gets an entry in the list with the first thing that is
// recorded of it: most children of a build run the program of their parent for less than a
// millisecond. Such a child counts for the program that it executes, and not for that of its
// parent.
//
// The number of entries is bounded, as a build may start 10,000 processes. The first kMostProcesses
// are of one process each. Further processes share an entry with those of their program, and with
// too many programs one of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "controller/base/types.h"
#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

class ProcessList;

// A process while it runs one program.
class ProcessRun {
 public:
  const std::string& program() const { return program_; }
  // Returns its number in Recording::processes, where the first call gives it an entry. REQUIRES:
  // the list is still there.
  std::uint32_t number();
  bool has_number() const { return number_.has_value(); }

 private:
  friend class ProcessList;
  ProcessRun(ProcessList& list, Pid pid, std::string program)
      : list_(&list), pid_(pid), program_(std::move(program)) {}

  ProcessList* list_;
  Pid pid_;
  std::string program_;
  bool is_inherited_ = false;        // it has executed nothing since its birth
  bool shares_ = false;              // an entry with others, with this program or an earlier one
  std::set<std::uint32_t> counted_;  // indices in Recording::programs
  std::optional<std::uint32_t> number_;
};

class ProcessList {
 public:
  // `recording` is borrowed. Its processes, its programs and the numbers of processes in its
  // account are written, and nothing else.
  explicit ProcessList(Recording& recording) : recording_(recording) {}
  ProcessList(const ProcessList&) = delete;
  ProcessList& operator=(const ProcessList&) = delete;

  // A process is recorded from now on, and runs `program`. `is_born`: it has begun just now, with
  // the program of its parent.
  std::shared_ptr<ProcessRun> began(Pid pid, const std::string& program, bool is_born);
  // A process that has begun runs `program` from now on. Returns `before` if it ran the same.
  std::shared_ptr<ProcessRun> executed(const std::shared_ptr<ProcessRun>& before,
                                       const std::string& program);

 private:
  friend class ProcessRun;
  void count(ProcessRun& run);
  std::uint32_t number_of(ProcessRun& run);
  std::uint32_t shared_number_of(std::string program);

  Recording& recording_;
  std::map<std::string, std::uint32_t> programs_;  // index in Recording::programs
  std::map<std::string, std::uint32_t> shared_;    // number of the entry, by program
};

}  // namespace causalctl::callpath
