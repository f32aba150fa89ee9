// What tells why a progress point was not visited (analysis/silence.h). Passive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::causal {

struct CodeRange {
  Address start = 0;
  Address end = 0;
  bool contains(Address address) const { return start <= address && address < end; }
};

// The code that a progress point stands in, as it was resolved.
struct PointCode {
  enum class Kind : std::uint8_t { function, instruction, system_call, samples };
  Kind kind = Kind::instruction;
  std::string function;              // that holds it; empty: not known
  std::vector<CodeRange> functions;  // where; empty: not known
};

struct TargetState {
  bool stopped = false;   // by a signal, all of its threads
  bool frozen = false;    // by its control group
  std::string waits_for;  // what its first thread waits for, "input on descriptor 0"; may be empty
};

}  // namespace causalctl::causal
