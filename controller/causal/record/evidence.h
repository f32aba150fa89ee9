// What tells why a progress point was not visited (analysis/silence.h). Passive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/session/target_state.h"

namespace causalctl::causal {

using session::TargetState;

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

}  // namespace causalctl::causal
