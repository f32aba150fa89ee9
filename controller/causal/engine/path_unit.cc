#include "controller/causal/engine/path_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "unwind/function_name.h"

namespace causalctl::causal {
namespace {

constexpr std::size_t kMostCallers = 64;  // that are counted
constexpr std::size_t kMostTold = 4;

}  // namespace

bool PathUnit::begin(const PathFrames& place) {
  frames_.clear();
  caller_.clear();
  const std::size_t callee = place.callee();
  if (callee == place.steps.size()) return false;
  frames_.assign(place.steps.begin() + static_cast<std::ptrdiff_t>(callee), place.steps.end());
  if (callee + 1 < place.functions.size()) caller_ = place.functions[callee + 1];
  return true;
}

void PathUnit::add(const PathFrames& caller) {
  if (frames_.size() == 1) caller_ = caller.functions.front();
  frames_.insert(frames_.end(), caller.steps.begin(), caller.steps.end());
}

bool PathUnit::is_open() const { return decide(false) == OnPath::unknown; }

OnPath PathUnit::decide(bool complete) const { return on_path(frames_, path_, complete); }

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
