// Renders a comparison as text: the finding in one sentence, how it was measured, a table of
// metrics, and what is needed to judge it: drift, prediction, warnings. "No difference" always
// comes with the smallest difference that would have been seen.
#include "controller/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "controller/report/compare/model.h"
#include "controller/report/short_names.h"

namespace causalctl::report {
namespace {

constexpr std::size_t kCourseColumns = 40;
constexpr std::size_t kNameWidth = 20;
constexpr const char* kSwitches = "context switches";

std::string si(double value) {
  static constexpr std::pair<double, const char*> kPrefixes[] = {
      {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
  for (const auto& [factor, prefix] : kPrefixes) {
    if (std::abs(value) >= factor) return fmt::format("{:.4g} {}", value / factor, prefix);
  }
  return fmt::format("{:.3g} ", value);
}

std::string value_text(const std::optional<double>& value, MetricKind kind) {
  if (!value) return "·";
  switch (kind) {
    case MetricKind::throughput:
      return si(*value) + "/s";
    case MetricKind::latency:
    case MetricKind::wall:
    case MetricKind::cpu:
      if (*value >= 1) return fmt::format("{:.4g} s", *value);
      if (*value >= 1e-3) return fmt::format("{:.4g} ms", *value * 1e3);
      return fmt::format("{:.4g} µs", *value * 1e6);
    case MetricKind::memory:
      return fmt::format("{:.4g} MiB", *value / (1024 * 1024));
    case MetricKind::switches:
      return fmt::format("{:.4g}", *value);
  }
  return "";
}

// Whether B needs twice as much or more: how many times as much is then easier to read.
bool is_multiple(const Interval& effect) { return effect.value <= -1; }

// "81 times [79, 84]"
std::string times(const Interval& effect) {
  const auto factor = [](double less) { return three_digits(std::max(0.0, 1 - less)); };
  return fmt::format("{} times [{}, {}]", factor(effect.value), factor(effect.high),
                     factor(effect.low));
}

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "·";
  return is_multiple(*interval) ? times(*interval) : percent_interval(*interval);
}

// Returns how much of a thing B needs, if the interval does not contain zero: "3.1 % [2.6, 3.6]
// less time than A", "81 times [79, 84] the time of A".
std::string needs(const Interval& effect, const std::string& thing) {
  if (is_multiple(effect)) return fmt::format("{} the {} of A", times(effect), thing);
  const char* less = thing == kSwitches ? "fewer" : "less";
  if (effect.low > 0) return fmt::format("{} {} {} than A", percent_interval(effect), less, thing);
  const Interval more{-effect.value, -effect.high, -effect.low};
  return fmt::format("{} more {} than A", percent_interval(more), thing);
}

std::string thing_of(const ComparedMetric& metric) {
  switch (metric.kind) {
    case MetricKind::throughput:
    case MetricKind::latency:
    case MetricKind::wall:
      break;
    case MetricKind::cpu:
      return "CPU time";
    case MetricKind::memory:
      return "memory";
    case MetricKind::switches:
      return kSwitches;
  }
  return fmt::format("time ({})", printable(metric.name));
}

// Returns which metrics besides the first one differ by as much as anybody cares for. As there are
// several, each must be as improbable as one of all of them may be (Bonferroni).
std::vector<std::string> others_that_differ(const Comparison& comparison) {
  constexpr double kSignificant = 0.05;
  constexpr double kLeast = 0.01;
  std::vector<std::string> texts;
  for (std::size_t i = 1; i < comparison.metrics.size(); ++i) {
    const ComparedMetric& metric = comparison.metrics[i];
    if (!metric.effect || (metric.effect->low <= 0 && metric.effect->high >= 0)) continue;
    if (std::abs(metric.effect->value) < kLeast) continue;
    const auto others = static_cast<double>(comparison.metrics.size() - 1);
    // Without a p-value, after interim analyses, the interval of one alone says too little.
    if (!metric.p_value || *metric.p_value * others >= kSignificant) continue;
    texts.push_back(needs(*metric.effect, thing_of(metric)));
  }
  return texts;
}

// Returns what is found of the first metric, which decides.
std::string first_finding(const Comparison& comparison) {
  if (comparison.metrics.empty()) return "Nothing was measured";
  const ComparedMetric& metric = comparison.metrics.front();
  const std::string name = printable(metric.name);
  if (!metric.a && !metric.b) return fmt::format("{} is not known: the warnings say why", name);
  if (!metric.effect && comparison.pairs >= comparison.fewest_pairs) {
    return fmt::format("{}: the {} pairs differ too much, or too few have a value, for an interval",
                       name, comparison.pairs);
  }
  if (!metric.effect) {
    return fmt::format("{}: not enough pairs for an interval ({}; at least {} are needed)", name,
                       comparison.pairs, comparison.fewest_pairs);
  }
  if (metric.effect->low > 0 || metric.effect->high < 0) {
    return fmt::format("B needs {} ({})", needs(*metric.effect, "time"), name);
  }
  std::string text =
      fmt::format("No difference was seen: {} ({})", interval_text(metric.effect), name);
  if (metric.detectable) {
    text += fmt::format("; {} % or more would have been found in 80 of 100 such comparisons",
                        number(100 * *metric.detectable, 2));
  }
  return text;
}

std::string finding(const Comparison& comparison) {
  const std::vector<std::string> others = others_that_differ(comparison);
  std::string first = first_finding(comparison);
  if (others.empty()) return first;
  const std::string also = fmt::format("B needs {}", fmt::join(others, ", "));
  const std::optional<Interval>& effect = comparison.metrics.front().effect;
  const bool first_differs = effect && (effect->low > 0 || effect->high < 0);
  return first_differs ? first + ". " + also : also + ". " + first;
}

std::string how(const Comparison& comparison) {
  std::string text = fmt::format("{} pairs in random order (ABBA or BAAB)", comparison.pairs);
  if (comparison.null_pairs > 0) {
    text += fmt::format(", after {} of A against A", comparison.null_pairs);
  }
  return text + fmt::format(", in {}; ended by {}; seed {}; intervals {}",
                            duration(comparison.wall_ns), comparison.reason, comparison.seed,
                            comparison.sequential ? "hold at every analysis" : "by bootstrap");
}

void add_table(const Comparison& comparison, std::string& text) {
  std::vector<std::string> all;
  for (const ComparedMetric& metric : comparison.metrics) all.push_back(printable(metric.name));
  const ShortNames names(std::move(all));
  const auto row = [&](const std::array<std::string, 7>& cells) {
    static constexpr std::array<std::size_t, 7> kWidths = {kNameWidth, 11, 11, 24, 8, 9, 22};
    std::string line = "  " + padded(names.fit(cells[0], kNameWidth), kNameWidth);
    for (std::size_t i = 1; i < cells.size(); ++i) {
      line += "  " + right_aligned(cells[i], kWidths[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  };
  row({"metric", "A", "B", "less in B [95 %]", "p", "seen from", "A against A"});
  for (const ComparedMetric& metric : comparison.metrics) {
    row({printable(metric.name), value_text(metric.a, metric.kind),
         value_text(metric.b, metric.kind), interval_text(metric.effect),
         metric.p_value ? fmt::format("{:.2g}", *metric.p_value) : "·",
         metric.detectable ? fmt::format("{} %", number(100 * *metric.detectable, 2)) : "·",
         interval_text(metric.null)});
  }
}

// Draws the runs in time order, several in one column if there are many.
std::string course(const std::vector<double>& values) {
  static constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t columns = std::min(kCourseColumns, values.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t first = i * values.size() / columns;
    const std::size_t last = (i + 1) * values.size() / columns;
    double sum = 0;
    for (std::size_t at = first; at < last; ++at) sum += values[at];
    means.push_back(sum / static_cast<double>(last - first));
  }
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  const double span = std::max(*high - *low, 0.01);  // so that noise does not look like mountains
  std::string text;
  for (const double mean : means) {
    text += kBars[static_cast<std::size_t>(std::lround((mean - *low) / span * 7))];
  }
  return text + fmt::format("  ({} to {} %)", percent(*low - 1), percent(*high - 1));
}

void add_drift(const Comparison& comparison, std::string& text) {
  const ComparedMetric& metric = comparison.metrics.front();
  if (metric.course.empty()) return;
  text += "drift        ";
  if (metric.drift) {
    text += fmt::format("{} % more time from the first run to the last; ", percent(*metric.drift));
  }
  text += fmt::format("runs against their side's median: {}\n", course(metric.course));
}

void add_prediction(const Prediction& prediction, std::string& text) {
  text += fmt::format("predicted    {} by {} {} % faster ({})\n",
                      percent_interval(prediction.predicted), printable(prediction.unit),
                      number(100 * prediction.speedup, 0), printable(prediction.point));
  text += fmt::format("achieved     {}\n", percent_interval(prediction.achieved));
  text += fmt::format("             {}: achieved less predicted is {}\n",
                      prediction.agrees ? "they agree" : "they do not agree",
                      percent_interval(prediction.difference));
}

std::string failures_text(const AbFailures& failures) {
  constexpr double kSignificant = 0.05;
  std::string text = fmt::format("{} of {} runs of A, {} of {} of B", failures.a, failures.a_runs,
                                 failures.b, failures.b_runs);
  if (failures.a_runs == 0 || failures.b_runs == 0) return text;
  const bool differ = failures.p_value < kSignificant;
  const double share_a = static_cast<double>(failures.a) / static_cast<double>(failures.a_runs);
  const double share_b = static_cast<double>(failures.b) / static_cast<double>(failures.b_runs);
  return text + fmt::format("; {} (Fisher's exact test: p {:.2g})",
                            !differ             ? "no difference is seen"
                            : share_a < share_b ? "B FAILS MORE OFTEN"
                                                : "A FAILS MORE OFTEN",
                            failures.p_value);
}

std::string gate_text(const Comparison& comparison) {
  const Gate& gate = *comparison.gate;
  const std::string limit = number(100 * gate.limit, 2);
  switch (gate.verdict) {
    case Gate::Verdict::failed:
      return fmt::format("FAILED: B is slower than A by {} % or more", limit);
    case Gate::Verdict::passed:
      return fmt::format("passed: B is not slower than A by {} % or more", limit);
    case Gate::Verdict::undecided:
      break;
  }
  return fmt::format("undecided: whether B is slower than A by {} % cannot be told; more pairs",
                     limit);
}

}  // namespace

std::string render_comparison_text(const Comparison& comparison, bool color) {
  std::string text;
  const auto colored = [color](const std::string& words, std::string_view code) {
    return color ? fmt::format("{}{}{}", code, words, kReset) : words;
  };
  text += colored(finding(comparison), kBold) + "\n";
  if (!comparison.lead.empty()) text += printable(comparison.lead) + "\n";
  text += "\n";
  text += fmt::format("A  {}\nB  {}\n{}\n\n", printable(comparison.a), printable(comparison.b),
                      how(comparison));
  if (!comparison.metrics.empty()) {
    add_table(comparison, text);
    text += "\n";
    add_drift(comparison, text);
  }
  if (comparison.prediction) add_prediction(*comparison.prediction, text);
  if (comparison.gate) {
    const auto verdict = comparison.gate->verdict;
    const std::string_view color = verdict == Gate::Verdict::failed   ? kRed
                                   : verdict == Gate::Verdict::passed ? kGreen
                                                                      : kDim;
    text += colored(gate_text(comparison), color) + "\n";
  }
  if (comparison.failures) {
    text += fmt::format("failed       {}; times are of the others\n",
                        failures_text(*comparison.failures));
  }
  for (const std::string& warning : comparison.warnings) {
    if (warning == comparison.lead) continue;
    text += "warning      " + printable(warning) + "\n";
  }
  return text;
}

}  // namespace causalctl::report
