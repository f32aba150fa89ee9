// Sums the CPU time that the processes of a recording have used since it began, as the kernel
// counts it. Pure but for what it is given to read with.
//
// A process that has ended can be read until its parent has waited for it. Of one that ends before
// it was read, the sum has what its switches tell; so the sum is never larger than what the kernel
// counts, but for lost records.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/events.h"

namespace causalctl::callpath {

struct ClockReader {
  std::function<std::optional<Nanoseconds>(Pid)> cpu_ns;  // since its start; nullopt if it is gone
  std::function<bool(Pid)> has_ended;
};

class ProcessClocks {
 public:
  // `members` are the processes that are there before the first event.
  ProcessClocks(ClockReader reader, std::vector<Pid> members)
      : reader_(std::move(reader)), members_(std::move(members)) {}

  // What was before does not count. Call it once.
  void start(Nanoseconds now_ns);
  void take(const perf::Event& event);  // in time order
  // Reads the clocks of all processes, and forgets those that are over.
  void read();

  Nanoseconds cpu_ns() const;  // as of the last read()
  std::vector<Pid> processes() const;
  bool has(Pid process) const { return processes_.contains(process); }
  std::size_t size() const { return processes_.size(); }

 private:
  struct Process {
    Nanoseconds base_ns = 0;     // its CPU time when it was a member for the first time
    Nanoseconds last_ns = 0;     // as it was read last
    Nanoseconds on_core_ns = 0;  // as its switches tell
    std::size_t threads = 0;
    bool is_read_to_end = false;

    Nanoseconds used_ns() const;
  };
  struct Thread {
    Pid process = 0;
    Nanoseconds came_ns = 0;  // to the core on which it is; 0 if it is on none
  };

  void begin(const perf::ThreadStartEvent& start);
  void end(const perf::ThreadExitEvent& exit);
  void leave(Thread& thread, Nanoseconds time_ns);

  ClockReader reader_;
  std::vector<Pid> members_;
  Nanoseconds start_ns_ = 0;
  std::map<Pid, Process> processes_;
  std::map<ThreadId, Thread> threads_;
  std::vector<Pid> over_;         // processes without threads, until the next read()
  Nanoseconds forgotten_ns_ = 0;  // what they have used
};

}  // namespace causalctl::callpath
