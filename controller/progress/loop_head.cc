// Moves do not show that the line runs in the loop, because the compiler loads constants and
// spilled registers of other lines anew there.
#include "controller/progress/loop_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/progress/code_loops.h"
#include "controller/progress/code_steps.h"

namespace causalctl::progress {
namespace {

using unwind::Place;

constexpr std::size_t kMostLoopSteps = 8192;  // of loops of one function that are looked at

class LoopFunction {
 public:
  LoopFunction(std::vector<CodeStep> steps, const Place& place, unwind::Symbolizer& symbolizer)
      : steps_(std::move(steps)),
        loops_(loops_of(steps_)),
        place_(place),
        symbolizer_(symbolizer) {}

  bool holds(Address address) const { return is_within(steps_, address); }

  // Returns the lines of the smallest loop that has code of the line, is entered from one of the
  // places and has none in it; nullopt if there is no such loop.
  std::optional<std::set<int>> lines_of_loop(const std::vector<Place>& places) {
    if (loops_.empty()) return std::nullopt;
    std::vector<std::size_t> counted;
    for (const Place& each : places) {
      const auto step = step_at(steps_, each.address);
      if (step != steps_.end()) counted.push_back(static_cast<std::size_t>(step - steps_.begin()));
    }
    const std::vector<bool> reached = reached_from(steps_, counted);
    const CodeLoop* smallest = nullptr;
    std::size_t looked_at = 0;
    for (const CodeLoop& loop : loops_) {
      if (smallest != nullptr && loop.steps.size() >= smallest->steps.size()) continue;
      const bool has_place = std::any_of(counted.begin(), counted.end(), [&](std::size_t each) {
        return std::binary_search(loop.steps.begin(), loop.steps.end(), each);
      });
      if (has_place) continue;
      looked_at += loop.steps.size();
      if (looked_at > kMostLoopSteps) break;
      const bool is_entered = std::any_of(loop.entered_from.begin(), loop.entered_from.end(),
                                          [&](std::size_t each) { return reached[each]; });
      if (is_entered && has_line(loop)) smallest = &loop;
    }
    if (smallest == nullptr) return std::nullopt;
    std::set<int> lines = lines_of(*smallest);
    lines.erase(place_.line);
    return lines;
  }

 private:
  bool has_line(const CodeLoop& loop) {
    return std::any_of(loop.steps.begin(), loop.steps.end(), [&](std::size_t index) {
      const CodeStep& step = steps_[index];
      if (is_move(step)) return false;
      const auto frames = symbolizer_.frames(step.address);
      return !frames.empty() && frames.front().line == place_.line &&
             frames.front().file == place_.file;
    });
  }

  std::set<int> lines_of(const CodeLoop& loop) {
    std::set<int> lines;
    for (const std::size_t index : loop.steps) {
      if (is_move(steps_[index])) continue;
      for (const unwind::Frame& frame : symbolizer_.frames(steps_[index].address)) {
        if (frame.line <= 0 || frame.file != place_.file || frame.function != place_.function) {
          continue;
        }
        lines.insert(frame.line);
        break;
      }
    }
    return lines;
  }

  std::vector<CodeStep> steps_;
  std::vector<CodeLoop> loops_;
  Place place_;
  unwind::Symbolizer& symbolizer_;
};

}  // namespace

std::optional<std::string> counted_before_loop(const std::string& name,
                                               const std::vector<Place>& places, Pid target,
                                               unwind::Symbolizer& symbolizer) {
  std::vector<LoopFunction> functions;
  for (const Place& place : places) {
    if (functions.size() == kMostDecodedFunctions) break;
    const bool known =
        std::any_of(functions.begin(), functions.end(),
                    [&](const LoopFunction& each) { return each.holds(place.address); });
    if (known) continue;
    functions.emplace_back(steps_of(place.address, target, symbolizer), place, symbolizer);
    const auto lines = functions.back().lines_of_loop(places);
    if (!lines) continue;
    const std::string text = fmt::format(
        "{} is counted where its loop begins, once for each time that the loop is entered", name);
    if (lines->empty()) return text;
    // The body of most loops is below the head.
    const auto below = lines->upper_bound(place.line);
    const int line = below != lines->end() ? *below : *lines->rbegin();
    return fmt::format("{}: for each pass take a line in it, as {}:{}", text, base_name(place.file),
                       line);
  }
  return std::nullopt;
}

}  // namespace causalctl::progress
