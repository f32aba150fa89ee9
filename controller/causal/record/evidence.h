// Evidence from which analysis/silence.h tells why a progress point was not visited. Passive.
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

// The code to which a progress point was resolved.
struct PointCode {
  enum class Kind : std::uint8_t { function, instruction, system_call, samples };
  Kind kind = Kind::instruction;
  std::string function;              // the function around the point; empty if not known
  std::vector<CodeRange> functions;  // where that function is; empty if not known
};

}  // namespace causalctl::causal
