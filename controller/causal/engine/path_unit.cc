#include "controller/causal/engine/path_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "unwind/names/function_name.h"

namespace causalctl::causal {
namespace {

constexpr std::size_t kMostCallers = 64;  // that are counted
constexpr std::size_t kMostTold = 4;

}  // namespace

bool PathUnit::begin(const PathFrames& place) {
  match_ = PathMatch(path_);
  caller_.clear();
  const std::size_t callee = place.callee();
  if (callee == place.steps.size()) return false;
  for (std::size_t i = callee; i < place.steps.size(); ++i) match_.take(place.steps[i]);
  is_caller_known_ = callee + 1 < place.functions.size();
  if (is_caller_known_) caller_ = place.functions[callee + 1];
  return true;
}

void PathUnit::add(const PathFrames& caller) {
  if (!std::exchange(is_caller_known_, true)) caller_ = caller.functions.front();
  for (const StepSet frame : caller.steps) match_.take(frame);
}

bool PathUnit::is_open() const { return decide(false) == OnPath::unknown; }

OnPath PathUnit::decide(bool complete) const { return match_.answer(complete); }

void PathUnit::count(OnPath answer) {
  ++counts_.in_callee;
  if (answer == OnPath::yes) ++counts_.on_path;
  if (answer == OnPath::unknown) ++counts_.unknown_callers;
  if (by_caller_.size() < kMostCallers || by_caller_.contains(caller_)) ++by_caller_[caller_];
}

std::string PathUnit::callers_text() const {
  std::vector<std::pair<std::uint64_t, std::string>> callers;
  for (const auto& [name, count] : by_caller_) callers.emplace_back(count, name);
  std::sort(callers.rbegin(), callers.rend());
  callers.resize(std::min(callers.size(), kMostTold));
  std::vector<std::string> texts;
  for (const auto& [count, name] : callers) {
    texts.push_back(fmt::format(
        "{} ({:.0f} %)", name.empty() ? "unknown code" : unwind::without_arguments(name),
        100 * static_cast<double>(count) / static_cast<double>(counts_.in_callee)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace causalctl::causal
