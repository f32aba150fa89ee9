// Tells which group of threads a thread belongs to: all are one, those with one name are, each is
// its own, or those are one that began with one function (csprof §2.5.5 keeps threads apart by
// where they were created). A thread that is renamed changes its group from then on.
//
// The number of groups is bounded, as a program may give a name to each of its requests. The first
// kMostNames names have groups of their own; further ones are merged by pattern ("req-17":
// "req-*"), and with too many patterns into one group.
//
// In a recording of a set, each thread belongs to a process, and threads of different processes are
// never in one group. The limits of above are those of each process. Once all processes have
// kMostGroups groups together, each has at most two more: one for the first of its threads, if it
// has none, and one for all further names.
//
// The function with which a thread began is in each complete chain of it: outermost is the code of
// the C library that starts threads or programs, and then comes the first code that is of no
// run-time library. Until a thread has had a complete chain, it belongs to a group of such threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/callpath/engine/process_list.h"
#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

using config::Grouping;

// Returns the name with each number in it, and what of the same word follows it, as "*": of
// "req-17a b" it is "req-* b".
std::string pattern_of(std::string_view name);

class ThreadGroups {
 public:
  // It adds to the recording's groups, and to nothing else.
  ThreadGroups(Grouping grouping, Recording& recording);

  // The thread belongs to this process from now on. If that is another one than before, it has
  // executed a program, and its start is not known. Threads of which this is not told belong to no
  // process, as in a recording of one process. A process gets its entry with its first group.
  void belongs(ThreadId thread, std::shared_ptr<ProcessRun> process);
  // Whether its process has an entry, or it belongs to none.
  bool has_entry(ThreadId thread) const;
  void named(ThreadId thread, const std::string& name);
  std::string name_of(ThreadId thread) const;  // "" if it was not told
  std::uint32_t group_of(ThreadId thread);

  // Whether it matters how a thread began, and that is not known.
  bool wants_start(ThreadId thread) const {
    return grouping_ == Grouping::by_start && !starts_.contains(thread);
  }
  void began(ThreadId thread, LocationId start);
  void ended(ThreadId thread);
  void executed();  // all threads run another program

 private:
  using OfProcess = std::optional<std::uint32_t>;  // none in a recording of one process

  std::uint32_t group(ThreadId thread, const std::string& name,
                      std::optional<LocationId> start = {});
  // Returns the name of the group that has the threads of this name.
  std::string merged_name(OfProcess process, const std::string& name);

  Grouping grouping_;
  Recording& recording_;
  std::map<ThreadId, std::string> names_;
  std::map<ThreadId, LocationId> starts_;
  std::map<ThreadId, std::shared_ptr<ProcessRun>> processes_;
  std::map<ThreadId, std::uint32_t> of_thread_;
  std::map<OfProcess, std::map<std::string, std::uint32_t>> by_name_;
};

// Returns where a thread was in the function with which it began. REQUIRES: the path is complete,
// outermost first, and not empty.
LocationId start_of(const std::vector<LocationId>& path, const Recording& recording);

}  // namespace causalctl::callpath
