// Why threads are paused by ptrace although there is a stub in the target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/pause/shot_filter.h"

namespace causalctl::pause {

// Why a thread with this status must not be shot. Whether the handler is ours cannot be seen from
// outside.
ShotFilter::Obstacle obstacle_in(const procfs::Status& status);

struct PtraceReasons {
  ShotFilter::Obstacle all = ShotFilter::Obstacle::none;  // why all of them
  // Threads one by one: there were more than slots; no shot reaches them; they are on stacks that
  // are not theirs; their slots hold what the stub does not write.
  std::uint64_t without_slot = 0;
  std::uint64_t unreached = 0;
  std::uint64_t on_other_stacks = 0;
  std::uint64_t overwritten = 0;

  // For the report, one sentence each.
  std::vector<std::string> notices(unsigned slot_count) const;
};

}  // namespace causalctl::pause
