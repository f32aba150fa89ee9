#include "controller/causal/analysis/estimate_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "controller/base/counting_in_latency.h"
#include "controller/base/statistics.h"
#include "controller/base/unpaired_share.h"
#include "controller/causal/analysis/bearing.h"
#include "controller/causal/analysis/elsewhere.h"
#include "controller/causal/analysis/estimate_compare.h"
#include "controller/causal/analysis/estimate_small_effects.h"
#include "controller/causal/analysis/estimate_totals.h"
#include "controller/causal/analysis/helps.h"
#include "controller/causal/analysis/pacing.h"
#include "controller/causal/analysis/pause_cost.h"
#include "controller/causal/analysis/unpaired.h"
#include "controller/report/causal/finding_words.h"

namespace causalctl::causal {
namespace {

using report::ProgressResult;
using report::Report;
using report::UnitResult;
using report::Verdict;

// With a period this long, samples are not what fills the kernel's rings.
constexpr Nanoseconds kFewSamples = 5 * kMillisecond;

using Text = std::string;
using Count = std::uint64_t;

constexpr WarningKind<Text, double, double, double, double, double> kImpossible{
    "{}: {:.0f} % faster was found to gain {:.1f} % [{:.1f}, {:.1f}], more than the {:.1f} % that "
    "the unit's own time allows for. That counts for nothing here; the error is ours, or visits "
    "come "
    "in bunches"};
constexpr WarningKind<Text, Text> kOwnPace{
    "{} comes at its own pace: {}. Its source does not wait for the program, so faster code does "
    "not make it come more often. Measure a latency instead (--latency)"};
constexpr WarningKind<Text, Text> kPaceUnknown{
    "whether {} waits for the program or comes at its own pace could not be told ({}). The "
    "intervals "
    "cover both cases, so also that nothing is gained"};
constexpr WarningKind<Text, Count, Count> kPacesDiffer{
    "{}: {} runs found that it comes at its own pace, {} that it waits for the program. Their "
    "loads differ, so report the runs one by one"};
constexpr WarningKind<Text, Count, Count> kPaceNotTested{
    "{}: {} runs found that it comes at its own pace, {} did not look. Effects in the latter may "
    "be too large, so report the runs one by one"};
constexpr WarningKind<Text> kNeverVisited{
    "{} was never visited during an experiment; choose a point that the work passes through "
    "(causalctl points PID)"};
constexpr WarningKind<Count, Count, Count, Text> kRecordsLost{
    "{} event records were lost in {} of {} experiments, which therefore do not count; {}"};
constexpr WarningKind<Count, Count> kThrottled{
    "after {} of {} samples the kernel took none for a while. The next sample stands for that "
    "time, "
    "too, as if the period were longer. Raise kernel.perf_event_max_sample_rate"};
constexpr WarningKind<Count, Count> kDiscarded{
    "{} of {} experiments were discarded; the machine may be too busy"};
constexpr WarningKind<double, double, double> kMismatch{
    "{:.1f} ms of delay were asked for, but {:.1f} ms were paid. Effects of up to {:.1f} % may "
    "come "
    "from that, and are not stated"};
constexpr WarningKind<double, double, Text, double> kPauseCost{
    "what a pause costs its thread is known to ±{:.0f} µs only (standard error). This alone makes "
    "effects uncertain by up to ±{:.0f} points (here: {}, {:.0f} % faster), which the intervals "
    "contain"};
constexpr WarningKind<Text, Text, Text, Text> kBelowBound{
    "{}: {}; {} that would have a verdict otherwise {} no effect that is certainly larger, and so "
    "no verdict"};
constexpr WarningKind<double, Text> kForeignWaits{
    "the target's threads waited for cores {:.0f} % of the time because of other processes (or a "
    "limit of CPU time){}. Effects hold under that load; profile again without it if that is not "
    "what you want"};
constexpr WarningKind<double> kOwnWaits{
    "the target's threads waited for cores {:.0f} % of the time because more of them wanted to run "
    "than there are cores. Effects hold only for this number of cores"};
constexpr WarningKind<Text> kLogCutOff{
    "run {}: the log is cut off, perhaps because causalctl was killed; what was written counts"};
constexpr WarningKind<Text, Text> kChanged{"run {}: the target is not as it was before ({})"};
constexpr WarningKind<> kNoExperiment{"no experiment was finished"};

double percent(double fraction) { return 100 * fraction; }

// Warns of an effect that is certainly larger than the unit's time allows for. The error is ours,
// or that of a progress point whose visits come in bunches.
void warn_of_impossible(const ProgressResult& point, Report& report) {
  for (const UnitResult& unit : point.units) {
    if (!unit.ceiling || !unit.best || unit.p_value > 0.05) continue;
    const double most = *unit.ceiling * unit.best->speedup;
    if (unit.best->effect.low <= most) continue;
    const Interval& effect = unit.best->effect;
    report.warnings.emplace_back(kImpossible, unit.unit, percent(unit.best->speedup),
                                 percent(effect.value), percent(effect.low), percent(effect.high),
                                 percent(most));
  }
}

std::string seen_of_pace(const report::Pacing& pacing) {
  const auto& rate = pacing.rate;
  auto seen = fmt::format(
      "while all threads stood still for {:.0f} % of the time it came {:.0f} % as often "
      "[{:.0f}, {:.0f}]",
      percent(pacing.paused_share), percent(rate.value), percent(rate.low), percent(rate.high));
  if (const auto& absorbed = pacing.absorbed) {
    seen += fmt::format(
        ", and {:.0f} % of that [{:.0f}, {:.0f}] was absorbed by its threads' waits for other "
        "things "
        "than cores",
        percent(absorbed->value), percent(absorbed->low), percent(absorbed->high));
  }
  return seen;
}

void warn_of_pace(const ProgressResult& point, Report& report) {
  if (!point.pacing || point.pacing->pace == report::Pace::of_program) return;
  if (point.pacing->paused_share == 0) return;  // the run says why it was not tested
  const auto& kind = point.pacing->pace == report::Pace::own ? kOwnPace : kPaceUnknown;
  report.warnings.emplace_back(kind, point.name, seen_of_pace(*point.pacing));
}

// Warns if runs differ in what they found of a point's pace, since the report shows only one of
// them.
void warn_of_paces(const std::vector<Run>& runs, const ProgressResult& point, Report& report) {
  std::size_t own = 0, of_program = 0, not_looked_for = 0;
  for (const Run& run : runs) {
    const bool counted =
        std::any_of(run.experiments.begin(), run.experiments.end(), [&](const Experiment& one) {
          return was_counted(one, {point.name, point.latency});
        });
    if (!counted || point.latency) continue;
    const Pacing* pacing = find_pacing(run, point.name);
    const auto pace = pacing == nullptr ? std::nullopt : std::optional(pace_of(*pacing));
    own += pace == Pace::own ? 1 : 0;
    of_program += pace == Pace::of_program ? 1 : 0;
    not_looked_for += pace ? 0 : 1;
  }
  if (own > 0 && of_program > 0) {
    report.warnings.emplace_back(kPacesDiffer, point.name, own, of_program);
  }
  if (own > 0 && not_looked_for > 0) {
    report.warnings.emplace_back(kPaceNotTested, point.name, own, not_looked_for);
  }
}

constexpr const char* kUnknownLatency =
    "So neither its mean latency nor what speeds it up is known";

constexpr const char* kUnknownByBreakpoints =
    "So neither its mean latency nor what speeds it up is known. Breakpoints miss what a new "
    "thread "
    "passes first: if threads begin often, --count-by uprobe";

bool is_counted_by_breakpoints(const Run& run, const std::string& point) {
  return std::any_of(run.counting.begin(), run.counting.end(), [&](const auto& counting) {
    return counting.point == point && counting.by.starts_with("hardware breakpoint");
  });
}

void warn_of_unpaired(const std::vector<Run>& runs, const ProgressResult& point, Report& report) {
  for (const Run& run : runs) {
    if (const auto share = unpaired(run, {point.name, point.latency})) {
      report.warnings.emplace_back(text_of_unpaired(
          point.name, *share, kUnknownLatency,
          is_counted_by_breakpoints(run, point.name) ? kUnknownByBreakpoints : kUnknownLatency));
      return;
    }
  }
}

void warn_of_counting(const ProgressResult& point, Report& report) {
  if (!point.latency) return;
  const std::string text = words_of_counting(point.visit_cost_ns, point.mean_latency_s.value_or(0));
  if (!text.empty()) report.warnings.emplace_back(point.name + ": " + text);
}

// Returns whether a warning already gives the reason of the point's silence (silence.h).
bool told_of_silence(const std::vector<Run>& runs, const std::string& point) {
  return std::any_of(runs.begin(), runs.end(), [&](const Run& run) {
    return std::any_of(run.warnings.begin(), run.warnings.end(), [&](const std::string& warning) {
      return warning.starts_with(point + ": no visit in ");
    });
  });
}

bool has_an_effect(const ProgressResult& point) {
  return std::any_of(point.units.begin(), point.units.end(), [](const UnitResult& unit) {
    return unit.verdict == Verdict::optimise || unit.verdict == Verdict::contention;
  });
}

void warn_of_points(const std::vector<Run>& runs, Report& report) {
  for (const ProgressResult& point : report.progress) {
    if (point.visits == 0) {
      if (!told_of_silence(runs, point.name)) {
        report.warnings.emplace_back(kNeverVisited, point.name);
      }
    } else {
      warn_of_unpaired(runs, point, report);
      warn_of_counting(point, report);
      warn_of_pace(point, report);
      warn_of_paces(runs, point, report);
      if (!has_an_effect(point)) {
        report.warnings.push_back(told_of(small_effects_of(point), point.name));
      }
      warn_of_impossible(point, report);
    }
  }
}

// Records that are lost outside the experiments falsify none of them, because the next switch shows
// again which thread runs.
void warn_of_losses(const std::vector<Run>& runs, Report& report) {
  std::uint64_t lost = 0;
  std::uint64_t experiments = 0;
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) {
      lost += experiment.lost_records;
      if (experiment.lost_records > 0) ++experiments;
    }
  }
  if (experiments > 0) {
    report.warnings.emplace_back(kRecordsLost, lost, experiments, report.experiments,
                                 report.overhead.period_ns < kFewSamples
                                     ? "use a longer --period"
                                     : "the controller was too late to read them: leave it a core, "
                                       "or profile at a quieter time");
  }
  // With fewer throttles than that, most samples come on time.
  if (static_cast<double>(report.losses.throttles) >
      kManyThrottles * static_cast<double>(report.losses.samples_total)) {
    report.warnings.emplace_back(kThrottled, report.losses.throttles, report.losses.samples_total);
  }
  if (static_cast<double>(report.experiments_discarded) >
      kManyDiscarded * static_cast<double>(report.experiments)) {
    report.warnings.emplace_back(kDiscarded, report.experiments_discarded, report.experiments);
  }
  const double asked = static_cast<double>(report.selfcheck.delay_asked_ns);
  const double paid = static_cast<double>(report.selfcheck.delay_paid_ns);
  const double difference = std::abs(paid - asked);
  // The difference must also matter to the run's length: hardly any pauses cannot falsify anything.
  if (difference > kDelayMismatch * asked &&
      difference > kDelayOfRun * static_cast<double>(report.wall_ns)) {
    report.warnings.emplace_back(kMismatch, asked / kMillisecond, paid / kMillisecond,
                                 percent(difference / static_cast<double>(report.wall_ns)));
  }
}

// Warns of the error of the pause cost, because more experiments do not make it smaller.
void warn_of_pause_cost(const std::vector<Run>& runs, Report& report) {
  struct Sums {
    Nanoseconds error_ns = 0;
    double pauses = 0;  // those of one thread
    Nanoseconds effective_ns = 0;
  };
  std::map<std::pair<std::string, double>, Sums> sums;  // the key is unit and speedup
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) {
      if (!experiment.discarded.empty() || experiment.speedup == 0) continue;
      Sums& sum = sums[{experiment.unit.name, experiment.speedup}];
      sum.error_ns += experiment.cost_error_ns;
      sum.pauses += pauses_of_one_thread(experiment, run.overhead);
      sum.effective_ns += experiment.effective_ns;
    }
  }
  double largest = 0;
  double of_one_ns = 0;  // error of the cost of one pause there
  std::pair<std::string, double> of;
  for (const auto& [what, sum] : sums) {
    if (sum.effective_ns <= 0) continue;
    const double error = static_cast<double>(sum.error_ns) / static_cast<double>(sum.effective_ns);
    if (error <= largest) continue;
    largest = error;
    of_one_ns = static_cast<double>(sum.error_ns) / sum.pauses;
    of = what;
  }
  if (largest <= kPauseErrorTold) return;
  report.warnings.emplace_back(kPauseCost, of_one_ns / kMicrosecond,
                               100 * statistics::kNormal95 * largest, of.first, percent(of.second));
}

// Warns of withheld verdicts: an effect that is no larger than what the run's own checks deny.
void warn_of_withheld(const ProgressResult& point, Report& report) {
  const auto withheld = std::count_if(point.units.begin(), point.units.end(),
                                      [](const UnitResult& unit) { return unit.within_null; });
  if (withheld == 0 || point.bearing.bounds.empty()) return;
  const report::Reason most = by_weight(bearing_told(point).bounds, report::kToldSpeedup).front();
  report.warnings.emplace_back(kBelowBound, point.name, report::words_of(most),
                               withheld == 1 ? "a unit" : fmt::format("{} units", withheld),
                               withheld == 1 ? "has" : "have");
}

void warn_of_selfcheck(Report& report) {
  for (const report::Reason& failed : report.finding.failed) {
    report.warnings.emplace_back(report::words_of(failed));
  }
  if (!report.beside.empty()) {
    report.warnings.insert(report.warnings.end(), report.beside.begin(), report.beside.end());
  } else if (report.foreign_share > kBesideOthers) {
    report.warnings.emplace_back(
        kForeignWaits, percent(report.foreign_share),
        report.peers.empty()
            ? ""
            : fmt::format(", among them {}, which it talks to", fmt::join(report.peers, ", ")));
  }
  const double own_share = report.oversubscribed_share - report.foreign_share;
  if (report.oversubscribed_share > kOversubscribed && own_share > kBesideOthers) {
    report.warnings.emplace_back(kOwnWaits, percent(own_share));
  }
}

void warn_of_runs(const std::vector<Run>& runs, Report& report) {
  for (const Run& run : runs) {
    if (!run.ended) report.warnings.emplace_back(kLogCutOff, run.id);
    if (run.digest == DigestResult::changed) {
      report.warnings.emplace_back(kChanged, run.id, std::string(name_of(run.digest)));
    }
    for (const Warning told : run.warnings) {
      const auto& all = report.warnings;
      if (std::find(all.begin(), all.end(), told) == all.end()) report.warnings.push_back(told);
    }
  }
}

// What the report says first is among the warnings, too, for the readers of its JSON.
void warn_of_scope(const std::vector<Run>& runs, Report& report) {
  if (!report.scope.lead.empty()) {
    report.warnings.emplace_back(report.scope.lead);
    return;
  }
  for (std::string& text : unclaimed_places(elsewhere_of(runs))) {
    report.warnings.emplace_back(std::move(text));
  }
}

}  // namespace

void add_warnings(const std::vector<Run>& runs, Report& report) {
  warn_of_points(runs, report);
  if (report.experiments == 0) report.warnings.emplace_back(kNoExperiment);
  warn_of_selfcheck(report);
  for (const ProgressResult& point : report.progress) warn_of_withheld(point, report);
  warn_of_pause_cost(runs, report);
  warn_of_losses(runs, report);
  warn_of_scope(runs, report);
  warn_of_runs(runs, report);
}

}  // namespace causalctl::causal
