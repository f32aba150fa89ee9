// What a slot says of the stub's last run. It is in the target's memory, so anybody there may have
// written anything into it: only what the stub can have written is believed. Pure.
#pragma once

#include <optional>

#include "controller/base/types.h"
#include "controller/tracee/inject/slot.h"

namespace causalctl::pause {

struct StubRun {
  Nanoseconds start_ns = 0;
  Nanoseconds end_ns = 0;         // == start_ns: a void shot
  Nanoseconds paid_total_ns = 0;  // with this run
};

// True for a sum of pauses that more can be added to.
bool is_plausible_total(Nanoseconds paid_total_ns);

// `paid_before_ns`: the slot's paid_total before this run; `now_ns`: of a clock at which the slot
// was read, or shortly before. nullopt: the stub has not written that. REQUIRES: paid_before_ns is
// plausible, and so is then the new total.
std::optional<StubRun> last_run(const tracee::Slot& slot, Nanoseconds paid_before_ns,
                                Nanoseconds now_ns);

}  // namespace causalctl::pause
