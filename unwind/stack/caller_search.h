// Finds who called code that no unwind table describes: hand-written assembly without CFI, code
// made at run time, stubs, and files that were built or stripped without .eh_frame.
//
// The return address is at the stack pointer while a function has pushed nothing, above the frame
// pointer if it keeps one, and otherwise above what it has pushed. A word is taken for a return
// address only if it points into executable code, behind a call. A direct call must lead to a place
// before the code, maybe over jumps (the procedure linkage table), with no other function between;
// of several the one counts that leads nearest. What is found is a guess: old return
// addresses stay on the stack, so the caller of this checks where the chain leads from each.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

// What the search needs of a process.
struct CodeAndStack {
  std::function<bool(Address address, std::span<std::byte> bytes)> read;
  std::function<bool(Address address)> is_code;
  // Returns the last place at or before the address at which a function is known to begin, or 0.
  std::function<Address(Address address)> last_entry;
  // Where the main thread's stack began, or 0: the word below is the return address of the first
  // call that the program made, and its caller is the outermost frame.
  Address stack_begin = 0;
};

struct UnknownFrame {
  Address ip = 0;  // of a caller: within its call
  Address sp = 0;
  Address bp = 0;
  bool innermost = true;  // false of a caller, which has pushed at least its return address
};

struct PossibleCaller {
  Address return_address = 0;
  Address sp = 0;  // after the return
  Address bp = 0;
  // False if nothing but its place speaks for it: it counts only if the chain from it is complete.
  bool likely = false;
};

// Returns the callers that are possible, likeliest first, at most one for each word of the stack.
std::vector<PossibleCaller> possible_callers(const UnknownFrame& frame, const CodeAndStack& target);

// Returns whether a frame without possible callers is the outermost: the frame pointer is 0 there
// (System V ABI for x86-64, 3.4.1), or was 0 before it, and the stack was searched to its end. Code
// without a table may use RBP for anything, and have much on the stack.
bool is_outermost(const UnknownFrame& frame, const CodeAndStack& target);

}  // namespace causalctl::unwind
