// A call chain as the unwinder finds it: the frames, how each was found, and where it ended.
// Passive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

// How a frame was found from the one that it called.
enum class FrameHow : std::uint8_t {
  instruction,    // not found: the sample was taken here
  table,          // by the unwind table of the file (.eh_frame, or Go's table)
  libunwind,      // by the same table, which libunwind evaluated
  signal,         // by the registers that the kernel saved when it delivered a signal
  frame_pointer,  // by a frame pointer
  guess,          // by a search of the stack (caller_search.h)
};
constexpr auto names_of(FrameHow) {
  return std::array<std::string_view, 6>{"instruction", "table",         "libunwind",
                                         "signal",      "frame_pointer", "guess"};
}

struct UnwoundFrame {
  Address ip = 0;
  // The canonical frame address, which tells activations of one function apart: the stack pointer
  // after the frame has returned. 0 if it is not known.
  Address cfa = 0;
  FrameHow how = FrameHow::instruction;
  bool operator==(const UnwoundFrame&) const = default;
};

// Returns whether the address of the frame is one to return to. Otherwise it is the instruction
// itself, at which the thread was sampled or interrupted by a signal.
constexpr bool is_return_address(const UnwoundFrame& frame) {
  return frame.how != FrameHow::instruction && frame.how != FrameHow::signal;
}

// The address to look up for a frame. A return address may be the first of the next line, or of
// another function; the byte before it is part of the call.
constexpr Address code_at(const UnwoundFrame& frame) {
  return is_return_address(frame) ? frame.ip - 1 : frame.ip;
}

enum class ChainEnd : std::uint8_t {
  outermost,   // nothing called the last frame: the chain is complete
  depth,       // as many frames as were asked for
  no_table,    // no table describes the code of the last frame, and no caller was guessed
  copy_short,  // the stack goes on above the copy, and could not be read or has changed since
  no_call,     // what should be a return address follows no call
  unreadable,  // other memory could not be read, or is another stack, which may have changed
};
constexpr auto names_of(ChainEnd) {
  return std::array<std::string_view, 6>{"outermost",  "depth",   "no_table",
                                         "copy_short", "no_call", "unreadable"};
}

struct Chain {
  std::vector<UnwoundFrame> frames;  // innermost first
  ChainEnd end = ChainEnd::no_table;
  // False if part of the stack was read from the target, which ran on since the sample: frames
  // above the copy may be those of a later time.
  bool from_copy = true;
  // Some of it is on a stack that the program moves to other addresses when it grows (Go).
  bool moves = false;

  bool complete() const { return end == ChainEnd::outermost; }
};

// Returns whether a caller in the chain was searched for, so that it may be another one.
inline bool has_guess(const Chain& chain) {
  return std::any_of(chain.frames.begin(), chain.frames.end(),
                     [](const UnwoundFrame& frame) { return frame.how == FrameHow::guess; });
}

}  // namespace causalctl::unwind
