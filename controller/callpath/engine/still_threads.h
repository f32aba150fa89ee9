// Tells the recorder where threads stand that are off their core, where no sample does: those that
// have been blocked since the beginning or since before their events were open, and those of a
// process that is stopped or frozen. Shell.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/callpath/engine/recorder.h"
#include "controller/callpath/record/recording.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::callpath {

// The stacks of a process; null if it is not known.
struct Stacks {
  Pid process = 0;
  unwind::Unwinder* unwinder = nullptr;
};

class StillThreads {
 public:
  // `drain` tells the recorder all events up to now.
  StillThreads(std::function<Stacks(ThreadId)> stacks_of, Recorder& recorder,
               std::function<void()> drain);

  // For two seconds at most, and until `is_over`. How many were read is in the recording.
  void place_blocked(const std::vector<ThreadId>& threads, const std::function<bool()>& is_over,
                     Recording& recording);
  // Some of those that have no path yet, and the next time others. It takes a small share of a
  // core.
  void place_some(Recording& recording);

 private:
  struct Placed {
    std::size_t found = 0;
    std::size_t complete = 0;
  };
  using MapsOf = std::map<Pid, std::vector<procfs::Map>>;  // those that were read so far
  Placed place(std::span<const ThreadId> threads, MapsOf& maps);

  std::function<Stacks(ThreadId)> stacks_of_;
  Recorder& recorder_;
  std::function<void()> drain_;
  std::set<ThreadId> not_read_;  // of those at the beginning
  Nanoseconds next_ns_ = 0;
};

}  // namespace causalctl::callpath
