// Decodes a function of the target into where its instructions lead.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

inline constexpr std::size_t kMostDecodedFunctions = 32;  // for one remark on a point

struct CodeStep {  // an instruction
  Address address = 0;
  Address next = 0;  // the instruction behind it
  Address to = 0;    // of a direct call or jump; 0 if it is none
  Address slot = 0;  // of a call or jump through a constant place of a pointer: that place
  bool is_call = false;
  bool writes = false;  // memory other than the stack frame
  std::string mnemonic;
  bool reads_or_writes = false;  // an operand is in memory
  bool continues = true;  // false if the instruction behind it does not follow, as of a return
};

// Returns the instructions of the function that contains the address, in the order of their
// addresses, as far as they can be decoded; none of a function that is very long.
std::vector<CodeStep> steps_of(Address address, Pid target, unwind::Symbolizer& symbolizer);

// Returns whether the address is in the function whose instructions these are.
bool is_within(const std::vector<CodeStep>& steps, Address address);
// Returns the instruction that begins at the address, or the end.
std::vector<CodeStep>::const_iterator step_at(const std::vector<CodeStep>& steps, Address address);
// Returns whether the instruction only moves data, or does nothing.
bool is_move(const CodeStep& step);

}  // namespace causalctl::progress
