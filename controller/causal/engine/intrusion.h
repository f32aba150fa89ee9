// What our own watching does to the target, and when to say so. Pure.
//
// Two things were found to change a target so much that its profile is of another program:
//   - a breakpoint that is hit very often: each hit is a trap (about 1 us, on virtual machines 10);
//   - a hot loop in the same 64 bytes as an armed execution breakpoint: an AMD EPYC runs it four
//     times slower, as such a line is not kept decoded. The loop need not contain the breakpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::causal {

inline constexpr Address kCacheLine = 64;
inline constexpr double kSpinning = 0.02;  // of the samples: the target waits by spinning

struct Intrusion {
  std::string point;  // the point whose counting takes most of the time
  std::uint64_t visits = 0;
  Nanoseconds visit_cost_ns = 0;  // of one, as measured on this machine
  Nanoseconds target_cpu_ns = 0;  // that the target used meanwhile
  std::uint64_t samples = 0;
  std::uint64_t samples_near_breakpoint = 0;
  double spinning_share = 0;   // of the samples
  bool by_breakpoint = false;  // `point` is counted by a hardware breakpoint
};

// Empty where nothing is to be feared.
std::vector<std::string> warnings_of(const Intrusion& intrusion);

}  // namespace causalctl::causal
