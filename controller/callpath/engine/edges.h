// Tells which calls of a sample are certain to be others than those of all samples before it, from
// which follow bounds of the number of different calls that the samples have seen on each path
// (csprof §2.4, from outside: without the paper's trampoline, which would tell it exactly). Pure.
//
// A *call* here is one execution of a call instruction, from there to its return, or one delivery
// of a signal. A frame of a chain is a call that is under way. Functions that tail calls pass it on
// to are the same call. While it lasts, two things of it stay as they are: its canonical frame
// address (CFA), and the return address, which is in the slot below the CFA. No two calls that are
// under way have one CFA. So:
//
// - A frame whose CFA and return address are those of a frame that was seen before, and which may
//   still be under way, may be the same call, or a later one from the same place.
// - Any other frame is certain to be a new call.
// - A frame that was seen before is certain to be a new call, too, if the frame that called it then
//   is over. (That its caller is seen for the first time does not suffice: it may have been missing
//   in a chain that is incomplete.)
//
// What was seen before is kept until it is certain to be over. A sample shows all calls that are
// under way on its stack from the stack pointer up to the outermost frame that is known. Whatever
// else was there is over, and so is all that lay below on the same stack. In particular, a caller
// that is seen at another call site has left the call that it was seen in, and may itself be the
// same as before.
//
// Of each path, `new_min` is the number of frames that were certain to be new, and `new_max` the
// number of all frames. A call is counted in `new_min` at most once, so the number of different
// calls that were seen on a path is never outside of the two.
//
// Stacks, not threads, are what calls belong to: a coroutine may go on in another thread. A stack
// is known by its addresses. Where a chain goes from one stack to another (an alternate stack for
// signals, or functions with huge frames, which look the same), each is judged by itself.
//
// What is not reliable is neither certain nor remembered: frames beyond the copy of the stack, as
// the thread ran on; frames that were guessed; the last frame of a chain that is incomplete; and
// chains with stacks that move, as Go's do.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "controller/base/types.h"
#include "unwind/stack/chain.h"

namespace causalctl::callpath {

class Edges {
 public:
  // Takes the next chain of the process in time. `sp` is the stack pointer of its sample, and
  // `copied` how many bytes above it came with the sample. Returns for each frame of the chain
  // whether its call is certain to be new. Valid until the next call.
  const std::vector<bool>& take(const unwind::Chain& chain, Address sp, std::size_t copied);
  // Nothing that was seen is under way any more: another program was executed.
  void clear() { stacks_.clear(); }

 private:
  struct Call {
    Address cfa = 0;
    Address return_address = 0;  // 0 of one that nothing called
    // Of the call before it in the list, if that made it when both were seen the last time; 0: not
    // known.
    Address caller_cfa = 0;
  };
  // What may be under way on one stack, in a range of addresses.
  struct Stack {
    Address low = 0;
    bool has_root = false;    // the outermost frame was seen, whose CFA nothing tells
    std::vector<Call> calls;  // outermost first, with falling CFA
  };
  // Frames of a chain that are on one stack, one next to the other.
  struct Run {
    std::size_t inner = 0;  // index of its innermost frame
    std::size_t outer = 0;  // of its outermost
    Address low = 0;
    bool has_root = false;  // the frame after `outer` is the outermost of all
  };

  std::vector<Run> runs_of(const unwind::Chain& chain, Address sp, std::size_t copied) const;
  void judge(const unwind::Chain& chain, const Run& run);
  Stack take_out(Address low, Address high);

  std::map<Address, Stack> stacks_;  // by the highest address; their ranges do not overlap
  std::vector<bool> is_new_;
};

}  // namespace causalctl::callpath
