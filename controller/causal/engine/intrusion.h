// Warns if watching changes the target. Pure.
//
// Two things can change a target so much that the profile is that of another program:
//   - A breakpoint is hit very often. Each hit is a trap, of about 1 us (10 us on virtual
//   machines).
//   - A hot loop is in the same 64 bytes as an armed execution breakpoint. An AMD EPYC runs it four
//     times slower, because it does not keep such a line decoded. The loop need not contain the
//     breakpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::causal {

inline constexpr Address kCacheLine = 64;
inline constexpr double kSpinning = 0.02;  // with this share of samples the target is spinning

// Returns whether so many of the samples lie in a breakpoint's cache line that its code is hot.
bool is_hot_line(std::uint64_t samples_near, std::uint64_t samples);

struct Intrusion {
  std::string point;  // the point whose counting takes most of the time
  std::uint64_t visits = 0;
  Nanoseconds visit_cost_ns = 0;  // cost of one visit, as measured on this machine
  Nanoseconds target_cpu_ns = 0;  // CPU time that the target used meanwhile
  std::uint64_t samples = 0;
  std::uint64_t samples_near_breakpoint = 0;
  double spinning_share = 0;  // share of the samples in spinning loops
  // Whether a hardware breakpoint counts `point`, and a uprobe could.
  bool uprobe_instead = false;
};

// Returns no warning if watching does not change the target.
std::vector<std::string> warnings_of(const Intrusion& intrusion);

}  // namespace causalctl::causal
