// Tells whether a sample is on the call path of a unit (record/call_path.h). Pure.
//
// A chain of calls is taken apart into frames: functions that were inlined come before the function
// that has their code. A sample is on the path if the function that it is charged to, or what that
// was inlined into up to the function that has the code, is the first step; and if the frame that
// called it is the second step, and so on. Of a recursive function the innermost call counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/causal/record/call_path.h"
#include "controller/symbols/location.h"

namespace causalctl::causal {

using StepSet = std::uint32_t;  // bit i: the i-th step of the path
static_assert(kMostSteps <= 8 * sizeof(StepSet));

// What a place in the code is to a path.
struct PathFrames {
  // Which steps each frame may be, innermost first. Code of which nothing is known has one frame,
  // which is no step.
  std::vector<StepSet> steps;
  std::vector<std::string> functions;  // by frame
  std::size_t first = 0;               // the frame that a sample here is charged to

  // Returns the innermost frame from `first` on that is the path's callee; steps.size() if none is.
  std::size_t callee() const;
};

// `first` is the frame that a sample there is charged to.
PathFrames path_frames(const symbols::Location& location, std::size_t first, const CallPath& path);

enum class OnPath : std::uint8_t { yes, no, unknown };

// Follows the frames of one sample, from the callee on. Each costs the same, however many there
// are.
class PathMatch {
 public:
  explicit PathMatch(const CallPath& path);

  void take(StepSet frame);
  // `complete`: nothing called the last frame. Otherwise what is missing may decide, and the answer
  // is unknown.
  OnPath answer(bool complete) const;

 private:
  StepSet last_ = 0;     // the last step
  StepSet through_ = 0;  // the steps that need not come right after the one before
  StepSet next_ = 1;     // steps that the next frame may be
  StepSet waiting_ = 0;  // steps that any later frame may be
  bool found_ = false;
};

// `frames` begin with the one that is the callee; `complete` as above.
OnPath on_path(std::span<const StepSet> frames, const CallPath& path, bool complete);

}  // namespace causalctl::causal
