// The visits that BPF programs report of all threads of one process, at uprobes and at system
// calls. A hit waits here until its thread is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/uprobe_place.h"
#include "controller/perf/uprobes.h"

namespace causalctl::perf {

// Returns nullopt, with the `reason`, where no program can count hits here.
std::optional<Uprobes> make_uprobes(Pid target, std::string& reason);

class UprobeVisits {
 public:
  explicit UprobeVisits(Pid target) : target_(target) {}

  // Arms the places. Returns false, with the `reason`, where no program can count them here. Throws
  // as Uprobes::add() does.
  bool add(const std::vector<UprobePlace>& places, std::string& reason);
  // Counts a system call, by the id of its tracepoint. Returns false where that is not possible.
  bool add_call(std::uint64_t tracepoint, std::uint32_t tag);
  void start();  // visits count from now on
  std::uint64_t count(std::uint32_t tag) const;

  // Reads the hits since the last time. Returns how many were lost.
  std::uint64_t read() {
    return (uprobes_ ? uprobes_->read(hits_) : 0) + (calls_ ? calls_->read(hits_) : 0);
  }
  // Calls take(hit) for each hit, which returns whether its thread is known. The others stay for
  // the next time, unless they are older than this.
  template <typename Take>
  void give(Nanoseconds older_than_ns, Take&& take) {
    std::erase_if(hits_,
                  [&](const UprobeHit& hit) { return take(hit) || hit.time_ns < older_than_ns; });
  }

 private:
  bool make(std::string& reason);

  Pid target_;
  bool started_ = false;
  std::optional<Uprobes> uprobes_, calls_;
  std::vector<UprobeHit> hits_;
};

}  // namespace causalctl::perf
