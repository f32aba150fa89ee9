#include "controller/causal/analysis/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/helps.h"
#include "controller/causal/analysis/precision.h"
#include "controller/report/causal/finding_words.h"

namespace causalctl::causal {
namespace {

std::string told_of_helps(const std::vector<report::Help>& helps) {
  return helps.empty() ? "" : "; what would help: " + report::words_of(helps);
}

}  // namespace

std::optional<std::string> outlook_of(Run so_far, std::optional<Nanoseconds> length_ns) {
  so_far.ended = true;
  const Nanoseconds passed_ns = so_far.wall_ns;
  const report::Report report = estimate({std::move(so_far)});
  const std::vector<report::Reason> cores = cores_taken(report);
  if (cores.empty() || passed_ns <= 0) return std::nullopt;
  const std::string seen = report::words_of(cores.front());
  const auto visited = std::find_if(report.progress.begin(), report.progress.end(),
                                    [](const auto& point) { return point.visits > 0; });
  const auto known = visited == report.progress.end() ? std::nullopt : precision_of(*visited);
  if (!known) {
    return fmt::format("{}: so far no effect can be told at all{}", seen,
                       told_of_helps({{report::Help::Kind::quieter}}));
  }
  const double times =
      length_ns ? static_cast<double>(*length_ns) / static_cast<double>(passed_ns) : 1;
  const double at_the_end = known->after(std::max(times, 1.0));
  if (at_the_end <= kWellKnown) return std::nullopt;
  const report::Reason noise{report::Reason::Kind::noise, known->unit, at_the_end};
  return fmt::format("{}: {} {}{}", seen, length_ns ? "when this run ends" : "by now",
                     report::words_of(noise),
                     told_of_helps(helps_of(report, *visited, small_effects_of(*visited), {})));
}

}  // namespace causalctl::causal
