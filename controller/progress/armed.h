// How a progress point is counted. Passive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "controller/base/types.h"

namespace causalctl::progress {

enum class CountedBy : std::uint8_t { samples, tracepoint, breakpoint, uprobe };

// All places of a point are counted in the same way.
struct Armed {
  CountedBy by = CountedBy::samples;
  std::size_t places = 0;
  // What one visit costs its thread, as measured on this machine; 0: next to nothing, or unknown.
  Nanoseconds visit_cost_ns = 0;
  bool can_be_uprobe = false;  // whether uprobes count, or could count, all of its places
};

// Returns whether visits are missing that matter where points are counted by breakpoints or
// tracepoints: these are opened on a thread some time after its birth, so what it passes first is
// missing, or all that it passes.
bool misses_visits(std::uint64_t births, std::uint64_t visits);

// "hardware breakpoint", "uprobe at 6 places", "tracepoint", "samples".
std::string text_of(const Armed& armed);

}  // namespace causalctl::progress
