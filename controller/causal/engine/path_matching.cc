#include "controller/causal/engine/path_matching.h"

#include <algorithm>

#include "controller/base/base_name.h"
#include "unwind/names/function_name.h"

namespace causalctl::causal {
namespace {

constexpr StepSet bit(std::size_t step) { return StepSet{1} << step; }

bool is_step(const PathStep& wanted, const std::string& function, bool is_inlined) {
  if (!wanted.only_inlined) return function == wanted.function;
  return is_inlined && !function.empty() &&
         unwind::WrittenName(wanted.function).fit(function, function) != unwind::Fit::none;
}

}  // namespace

std::size_t PathFrames::callee() const {
  const auto from = steps.begin() + static_cast<std::ptrdiff_t>(std::min(first, steps.size()));
  const auto found =
      std::find_if(from, steps.end(), [](StepSet steps) { return (steps & bit(0)) != 0; });
  return static_cast<std::size_t>(found - steps.begin());
}

PathFrames path_frames(const symbols::Location& location, std::size_t first, const CallPath& path) {
  if (location.frames.empty()) return {{0}, {""}, 0};
  PathFrames result;
  result.first = first;
  const std::string_view module = base_name(location.module);
  for (std::size_t i = 0; i < location.frames.size(); ++i) {
    const unwind::Frame& frame = location.frames[i];
    const bool is_outermost = i + 1 == location.frames.size();
    // A function's file is where it begins; of an inlined one only a line of its code is known.
    const std::string& file = is_outermost && location.entry ? location.entry->file : frame.file;
    StepSet steps = 0;
    for (std::size_t step = 0; step < path.steps.size(); ++step) {
      const PathStep& wanted = path.steps[step];
      if (module != wanted.module || !is_step(wanted, frame.function, !is_outermost)) continue;
      if (wanted.file.empty() || wanted.file == file) steps |= bit(step);
    }
    result.steps.push_back(steps);
    result.functions.push_back(frame.function);
  }
  return result;
}

PathMatch::PathMatch(const CallPath& path) : last_(bit(path.steps.size() - 1)) {
  for (std::size_t step = 0; step < path.steps.size(); ++step) {
    if (path.steps[step].through) through_ |= bit(step);
  }
}

void PathMatch::take(StepSet frame) {
  const StepSet here = frame & (next_ | waiting_);
  found_ = found_ || (here & last_) != 0;
  const StepSet following = here << 1U;
  waiting_ |= following & through_;
  next_ = following & ~through_;
}

OnPath PathMatch::answer(bool complete) const {
  if (found_) return OnPath::yes;
  return !complete && (next_ | waiting_) != 0 ? OnPath::unknown : OnPath::no;
}

OnPath on_path(std::span<const StepSet> frames, const CallPath& path, bool complete) {
  PathMatch match(path);
  for (const StepSet frame : frames) match.take(frame);
  return frames.empty() ? OnPath::no : match.answer(complete);
}

}  // namespace causalctl::causal
