// Why instructions wait: guilty until proven innocent (DCPI §6.3). Pure.
//
// Time is charged to the oldest instruction that has not ended (function_profile.h). All before it
// have, so its operands are there: either it takes its time itself, or it came late. So what the
// paper looks for among the producers of operands is looked for at the instruction, and what is
// left of a stall is one of:
//
//   the instruction is of a kind that takes long (division, lock, fence, rep, system call);
//   it reads memory that is not in the cache, or whose page's translation is not there, or that a
//   narrower store in front of it has just changed;
//   it writes memory, and the stores before it have filled the store buffer;
//   it is the first one behind a branch that was mispredicted;
//   it is the first one of a line of code, or of a page, that was not in the cache.
//
// Each is ruled out where the code shows that it cannot be, or hardly. How much of an instruction's
// time is a stall is only known where executions are counted and the clock is known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/continuous/analysis/function_profile.h"

namespace causalctl::continuous {

// In the order in which they are likely, where an instruction has several.
enum class Culprit : std::uint8_t {
  forwarding,
  divider,
  synchronization,
  microcode,
  system_call,
  misprediction,
  store_buffer,
  data_cache,
  data_tlb,
  code_cache,
  code_tlb,
};
inline constexpr std::size_t kCulprits = 11;

struct CulpritName {
  char letter;  // DCPI's, where it has one
  std::string_view name;
};
inline constexpr std::array<CulpritName, kCulprits> kCulpritNames = {{
    {'f', "store forwarding"},
    {'v', "divider"},
    {'y', "synchronization"},
    {'u', "microcode"},
    {'k', "system call"},
    {'p', "branch misprediction"},
    {'w', "store buffer"},
    {'d', "data cache"},
    {'D', "data TLB"},
    {'I', "code cache"},
    {'i', "code TLB"},
}};

std::string letters_of(std::span<const Culprit> culprits);

// How an instruction spends its time. The parts add up to what is charged to it.
struct Stall {
  std::vector<Culprit> culprits = {};  // the likeliest first; empty if all are innocent
  double execution_ns = 0;             // that the processor takes for it if nothing waits
  double latency_ns = 0;               // its own latency besides, in a chain of instructions
  double dynamic_ns = 0;               // the rest
};

// `cycles_per_ns`: of the clock, and `runs`: how many times the counted run was recorded; 0 if one
// is not known: then all time is dynamic_ns. Returns one for each instruction of the profile.
std::vector<Stall> stalls_of(const FunctionProfile& profile, double cycles_per_ns, double runs);

// A function's time by cause (DCPI §3.3, Figure 4).
struct StallSummary {
  struct Range {
    double least_ns = 0;  // where it is the only culprit
    double most_ns = 0;   // where it is one of several
  };
  std::array<Range, kCulprits> culprits = {};
  double execution_ns = 0, latency_ns = 0, dynamic_ns = 0;
  double unexplained_ns = 0;  // part of dynamic_ns
};
StallSummary summary_of(const std::vector<Stall>& stalls);

}  // namespace causalctl::continuous
