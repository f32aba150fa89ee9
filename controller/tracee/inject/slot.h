// What controller and stub share in the target's memory: a slot for each thread. Each field has one
// writer. stub.S knows the offsets; stub.cc checks them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace causalctl::tracee {

struct alignas(64) Slot {
  // written by the controller
  std::int64_t owed_total_ns = 0;   // cumulative: the stub stays until paid_total_ns reaches it
  std::int64_t armed_at_ns = 0;     // a shot that fires later than armed_at + stale_after is void
  std::int64_t stale_after_ns = 0;  // its lowest bit is kSpins
  // written by the stub
  std::int64_t paid_total_ns = 0;  // cumulative, measured, overshoot included
  std::uint64_t entered = 0;       // number of runs of the handler that have begun
  std::uint64_t left = 0;          // number that have ended; equal: the thread is not in the stub
  std::int64_t entered_at_ns = 0;  // begin of the last run
  std::int64_t left_at_ns = 0;     // its end (equal: the shot was void, nothing was paid)
};
static_assert(sizeof(Slot) == 64);

// In stale_after_ns: the stub uses CPU time instead of sleeping, so that the thread keeps its share
// of the cores (rule 13 of docs/virtual-time.md).
inline constexpr std::int64_t kSpins = 1;

}  // namespace causalctl::tracee
