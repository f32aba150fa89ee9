// Counts the visits of progress points while a continuous profile is recorded, so that epochs of
// different load can be compared by what a unit of work costs. They are counted in the kernel, by
// BPF programs on uprobes and on the tracepoints of system calls; nothing is put into a process but
// what the kernel puts there itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/process_bits.h"
#include "controller/perf/uprobes.h"

namespace causalctl::continuous {

class Visits {
 public:
  // `specs` as for --progress. `process`: the one that is recorded, and code is counted in it
  // alone; 0: a set, of which `set` has the processes, and system calls can be counted. Throws
  // UsageError if there is no such point, or if it cannot be counted there, and Error with a hint.
  Visits(const std::vector<std::string>& specs, Pid process,
         const std::shared_ptr<perf::ProcessBits>& set);

  void start();
  // Returns the visits since the last call, by point.
  std::map<std::string, std::uint64_t> take();
  // Returns a sentence for each point whose visits took more than 2 % of a core since the last
  // look, a second ago or more. end_dear_ones() ends their counting.
  std::vector<std::string> find_dear_ones(Nanoseconds now_ns);
  void end_dear_ones();

 private:
  struct Counted {
    std::string point;
    std::optional<perf::Uprobes> counter;  // none once its point was too dear
    Nanoseconds cost_ns = 0;               // of a visit; 0: next to nothing
    std::uint64_t taken = 0, looked = 0;   // visits as of take(), and of find_dear_ones()
    bool is_dear = false;
  };

  std::vector<Counted> counted_;
  Nanoseconds looked_ns_ = 0;
};

}  // namespace causalctl::continuous
