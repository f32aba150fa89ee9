// What a slot says of the stub's last run. The slot is in the target's memory, so the target may
// have written anything into it: only what the stub can have written is believed. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/types.h"
#include "controller/tracee/inject/slot.h"

namespace causalctl::pause {

struct StubRun {
  Nanoseconds start_ns = 0;
  Nanoseconds end_ns = 0;         // == start_ns: a void shot
  Nanoseconds paid_total_ns = 0;  // with this run
  std::uint64_t left = 0;         // of the slot
};

// Returns whether this can be a sum of pauses, and more can be added to it.
bool is_plausible_total(Nanoseconds paid_total_ns);

// Returns nullopt if the stub has not written that. `paid_before_ns` is the slot's paid_total
// before this run; `now_ns` is when the slot was read, or shortly before. REQUIRES: paid_before_ns
// is plausible; then so is the new total.
std::optional<StubRun> last_run(const tracee::Slot& slot, Nanoseconds paid_before_ns,
                                Nanoseconds now_ns);

}  // namespace causalctl::pause
