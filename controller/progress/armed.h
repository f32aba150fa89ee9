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

// "hardware breakpoint", "uprobe at 6 places", "tracepoint", "samples".
std::string text_of(const Armed& armed);

}  // namespace causalctl::progress
