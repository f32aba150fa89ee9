// Looks from outside, again and again, whether a target stands still as a whole: stopped by a
// signal or by its tracer, or frozen by its control group.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/base/types.h"
#include "controller/tracee/freezer.h"

namespace causalctl::session {

enum class Halt : std::uint8_t { none, stopped, frozen };

class HaltWatch {
 public:
  explicit HaltWatch(Pid target) : target_(target) {}

  // Costs some 20 µs. Where the target's control group is, is read again each second.
  Halt look(Nanoseconds now_ns);
  // Returns the process that traces the target, if that has stopped it; 0 otherwise. As of the last
  // look.
  Pid tracer() const { return tracer_; }

 private:
  bool is_stopped();

  Pid target_;
  Pid tracer_ = 0;
  std::vector<tracee::FreezerFile> freezers_;
  Nanoseconds next_reading_ns_ = 0;
};

}  // namespace causalctl::session
