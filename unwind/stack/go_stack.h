// Follows a chain of Go's over a change of stacks: from the system stack of a thread to the
// goroutine that called systemstack, asmcgocall, or, for more stack, morestack.
//
// These functions have no frame of their own (until Go 1.20), so that RBP still points into the
// goroutine's stack, to where the caller's function saved RBP. The return address to that function
// is below: the word behind a direct call to the switching function, from which Go's table of the
// stack in use leads to the very place to which RBP points.
#pragma once

#include <functional>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::unwind {

struct GoCode {
  std::function<std::optional<Address>(Address)> word;  // of the stack
  // Returns where the call leads that is before the address.
  std::function<std::optional<Address>(Address)> call_target;
  // Returns the start of the function that a call of this address enters in the end.
  std::function<bool(Address target, Address function)> enters;
  // Returns how much stack is in use at a return address.
  std::function<std::optional<Address>(Address)> stack_at;
};

struct GoCaller {
  Address return_address = 0;
  Address sp = 0;  // after the return
  Address bp = 0;
};

// `function` is the start of the function that switched.
std::optional<GoCaller> go_caller_on_other_stack(Address function, Address bp, const GoCode& code);

}  // namespace causalctl::unwind
