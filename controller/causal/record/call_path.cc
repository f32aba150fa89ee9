#include "controller/causal/record/call_path.h"

#include <utility>

namespace causalctl::causal {
namespace {

constexpr std::string_view kCalledBy = " < ";
constexpr std::string_view kThrough = "...";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::vector<WrittenStep> written_steps(std::string_view text) {
  std::vector<WrittenStep> steps;
  if (text.find(kCalledBy) == std::string_view::npos) return steps;
  bool through = false;
  while (true) {
    const auto end = text.find(kCalledBy);
    const std::string_view word = trimmed(text.substr(0, end));
    const bool is_last = end == std::string_view::npos;
    if (word == kThrough && !steps.empty() && !is_last) {
      through = true;
    } else {
      steps.push_back(
          {word == kThrough ? std::string() : std::string(word), std::exchange(through, false)});
    }
    if (is_last) return steps;
    text.remove_prefix(end + kCalledBy.size());
  }
}

std::string text_of(const std::vector<WrittenStep>& steps) {
  std::string text;
  for (const WrittenStep& step : steps) {
    if (!text.empty()) text += kCalledBy;
    if (step.through) text += std::string(kThrough) + std::string(kCalledBy);
    text += step.name;
  }
  return text;
}

}  // namespace causalctl::causal
