// What a slot says of the stub's last run. It is in the target's memory, where any code may have
// written anything. So only values that the stub can have written are believed. Pure.
#pragma once

#include <optional>

#include "controller/base/types.h"
#include "controller/tracee/inject/slot.h"

namespace causalctl::pause {

struct StubRun {
  Nanoseconds start_ns = 0;
  Nanoseconds end_ns = 0;         // == start_ns if the shot was void
  Nanoseconds paid_total_ns = 0;  // includes this run
};

// True if the sum of pauses is small enough that more can be added to it.
bool is_plausible_total(Nanoseconds paid_total_ns);

// `paid_before_ns` is the slot's paid_total before this run; `now_ns` was read from the clock when
// the slot was read, or shortly before. Returns nullopt if the stub cannot have written the slot.
// REQUIRES: paid_before_ns is plausible; the new total then is, too.
std::optional<StubRun> last_run(const tracee::Slot& slot, Nanoseconds paid_before_ns,
                                Nanoseconds now_ns);

}  // namespace causalctl::pause
