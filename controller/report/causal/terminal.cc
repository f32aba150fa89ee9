// Renders a report as text (docs/report-format.md, "text"). It has the finding in one sentence, a
// table per progress point with two lines per unit (names and verdict; numbers and curve), and what
// is needed to judge them: self-checks, overhead, losses, warnings.
//
// Words repeat everything that colour says.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "controller/base/counting_in_latency.h"
#include "controller/base/interpreter.h"
#include "controller/report/causal/finding_words.h"
#include "controller/report/causal/render.h"
#include "controller/report/few_cores.h"
#include "controller/report/short_names.h"
#include "controller/report/text.h"

namespace causalctl::report {
namespace {

constexpr std::size_t kRows = 25;         // most units in a table; the JSON report has all
constexpr std::size_t kBins = 8;          // bins of the small curve, from 0 to 100 % speedup
constexpr std::size_t kBesideNames = 46;  // columns of rank, samples, verdict and the gaps
constexpr std::size_t kNarrowestUnit = 8;
constexpr std::size_t kNarrowestFunction = 6;
constexpr std::size_t kSlopeWidth = 20;
constexpr std::size_t kEffectWidth = 22;

std::string verdict_words(Verdict verdict) {
  switch (verdict) {
    case Verdict::optimise:
      return "worth optimising";
    case Verdict::no_effect:
      return "no effect";
    case Verdict::contention:
      return "contention: optimising hurts";
    case Verdict::not_enough_data:
      return "not enough data";
  }
  return "";
}

// Draws the mean effect per bin as a bar, '-' below zero, and ' ' if nothing was measured.
std::string small_curve(const std::vector<CurvePoint>& curve) {
  static constexpr std::array<const char*, 9> kBars = {"_", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::array<double, kBins> sum{};
  std::array<double, kBins> count{};
  for (const CurvePoint& point : curve) {
    const auto bin = std::min(kBins - 1, static_cast<std::size_t>(point.speedup * kBins));
    const auto weight = static_cast<double>(point.experiments);
    sum[bin] += point.effect.value * weight;
    count[bin] += weight;
  }
  double largest = 0.02;  // so that noise around zero does not look like a curve
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (count[bin] > 0) largest = std::max(largest, std::abs(sum[bin] / count[bin]));
  }
  std::string text;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (count[bin] == 0) {
      text += ' ';
      continue;
    }
    const double height = sum[bin] / count[bin] / largest * 8;
    text += height < -1 ? "-" : kBars[static_cast<std::size_t>(std::max(0L, std::lround(height)))];
  }
  return text;
}

std::string pooled(const UnitResult& unit, double low, double high) {
  for (const CurvePoint& point : unit.summary) {
    if (point.speedup >= low && point.speedup < high) return percent_interval(point.effect);
  }
  return "·";
}

// The names in a table.
struct Names {
  explicit Names(const std::vector<UnitResult>& of)
      : units(printable_names(of, &UnitResult::unit), kNarrowestUnit),
        functions(printable_names(of, &UnitResult::function), kNarrowestFunction) {}
  static std::vector<std::string> printable_names(const std::vector<UnitResult>& of,
                                                  std::string UnitResult::*member) {
    std::vector<std::string> names;
    for (const UnitResult& unit : of) names.push_back(printable(unit.*member));
    return names;
  }

  ShortNames units;
  ShortNames functions;
};

// `runs` is the number of runs that could have tried the unit.
void write_unit(std::size_t rank, const UnitResult& unit, std::uint64_t runs, const Names& names,
                std::size_t unit_width, Text& out) {
  const std::string verdict = verdict_words(unit.verdict);
  const std::size_t function_width = out.width() - kBesideNames - unit_width;
  std::string shown = verdict;
  if (unit.verdict == Verdict::optimise) shown = out.colored(verdict, kGreen);
  if (unit.verdict == Verdict::contention) shown = out.colored(verdict, kRed);
  out.line("{:>3} {}  {}  {:>6.1f} %  {}", rank,
           padded(names.units.fit(printable(unit.unit), unit_width), unit_width),
           padded(names.functions.fit(printable(unit.function), function_width), function_width),
           100 * unit.sample_share, shown);
  if (unit.is_path && unit.in_callee > 0) {
    const auto share = [&](std::uint64_t samples) {
      return 100 * static_cast<double>(samples) / static_cast<double>(unit.in_callee);
    };
    out.line("  {:.1f} % of the {} samples in {}; of {:.1f} % the callers are unknown",
             share(unit.samples), grouped(unit.in_callee), printable(unit.function),
             share(unit.unknown_callers));
  }
  if (!unit.slope) return;
  const Interval& slope = *unit.slope;
  out.line("  {} {} {} {} {}",
           padded(fmt::format("{} [{}, {}]", number(slope.value, 2), number(slope.low, 2),
                              number(slope.high, 2)),
                  kSlopeWidth),
           padded(pooled(unit, 0, 0.375), kEffectWidth),
           padded(pooled(unit, 0.375, 0.725), kEffectWidth),
           padded(pooled(unit, 0.725, 1.001), kEffectWidth), small_curve(unit.curve));
  if (unit.runs < runs) out.line("  (from {} of {} runs)", unit.runs, runs);
}

// `runs` is the number of runs of the whole report.
void write_progress(const ProgressResult& progress, std::uint64_t runs, Text& out) {
  std::string head =
      fmt::format("{}: {} visits, {:.6g} a second without speedup", printable(progress.name),
                  grouped(progress.visits), progress.rate_per_s);
  const auto add_time = [&](const char* name, const std::optional<double>& seconds) {
    if (seconds) head += fmt::format(", {} {}", name, duration(std::llround(*seconds * kSecond)));
  };
  if (progress.latency) {
    add_time("mean", progress.mean_latency_s);
    add_time("p50", progress.p50_latency_s);
    add_time("p99", progress.p99_latency_s);
  }
  if (progress.pacing && progress.pacing->pace == Pace::own) head += ", at its own pace";
  if (progress.runs < runs) head += fmt::format(", in {} of {} runs", progress.runs, runs);
  out.line("{}", out.colored(head, kBold));
  if (!progress.counted_by.empty()) {
    const std::string cost = progress.visit_cost_ns > 0
                                 ? fmt::format(", {} a visit", duration(progress.visit_cost_ns))
                                 : "";
    out.line("  counted by {}{}", progress.counted_by, cost);
    if (progress.latency) {
      const auto part =
          words_of_counting(progress.visit_cost_ns, progress.mean_latency_s.value_or(0));
      if (!part.empty()) out.line("  {}", part);
    }
  }
  if (progress.units.empty()) {
    out.line("  no unit was measured");
    return;
  }
  std::size_t unit_width = 4;
  for (const UnitResult& unit : progress.units) {
    unit_width = std::max(unit_width, columns(printable(unit.unit)));
  }
  unit_width = std::min(unit_width, std::max(kNarrowestUnit, (out.width() - kBesideNames) * 3 / 5));
  const std::size_t function_width = out.width() - kBesideNames - unit_width;
  out.line("{}",
           out.colored(fmt::format("  # {}  {}  samples   verdict", padded("unit", unit_width),
                                   padded("function", function_width)),
                       kDim));
  out.line("{}", out.colored(fmt::format("  {} {} {} {} curve", padded("slope [95 %]", kSlopeWidth),
                                         padded("~25 % (5-35)", kEffectWidth),
                                         padded("~50 % (40-70)", kEffectWidth),
                                         padded("~100 % (75-100)", kEffectWidth)),
                             kDim));
  const Names names(progress.units);
  for (std::size_t i = 0; i < std::min(kRows, progress.units.size()); ++i) {
    write_unit(i + 1, progress.units[i], progress.runs, names, unit_width, out);
  }
  if (progress.units.size() > kRows) {
    out.line("    … {} more units; --format json has all", progress.units.size() - kRows);
  }
}

void write_warnings(const std::vector<Warning>& warnings, Text& out) {
  for (const Warning& warning : warnings) {
    out.line("{}      {}", out.colored("warning", kRed), printable(warning.text()));
  }
}

// If no thread was paused, the gain is computed from virtual time alone, and the text says so.
void write_tested(const Report& report, Text& out) {
  const Tested& tested = report.selfcheck.tested;
  const bool within = std::any_of(report.progress.begin(), report.progress.end(),
                                  [](const ProgressResult& point) { return point.within; });
  if (tested.experiments == 0) return;
  out.line(
      "             of {} experiments with a speedup the unit was sampled in {}, a thread paused "
      "in {}{}",
      grouped(tested.experiments), grouped(tested.sampled), grouped(tested.paused),
      tested.sampled > 0 && tested.paused == 0
          ? fmt::format(": what is gained is computed from who waits for whom{}",
                        within ? ", in each experiment by itself" : "")
          : "");
}

const char* what_digest_says(DigestResult digest) {
  if (digest == DigestResult::unknown) return "not compared";
  return digest == DigestResult::same ? "as it was before" : "CHANGED";
}

void write_checks(const Report& report, Text& out) {
  const SelfCheck& check = report.selfcheck;
  out.line("self-check   no speedup, no effect: {}",
           check.null_effect ? percent_interval(*check.null_effect) : "too few baselines to tell");
  const auto has_null = [](const ProgressResult& point) { return point.null_effect.has_value(); };
  auto point = std::find_if(report.progress.begin(), report.progress.end(), has_null);
  if (point != report.progress.end()) ++point;  // the line above is about that one
  for (; point != report.progress.end(); ++point) {
    if (!point->null_effect) continue;
    out.line("             … on {}: {}", printable(point->name),
             percent_interval(*point->null_effect));
  }
  write_tested(report, out);
  out.line("             delay asked for {}, paid {}", duration(check.delay_asked_ns),
           duration(check.delay_paid_ns));
  out.line(
      "             interrupted system calls: {} resumed, {} restarted, {} failed with EINTR{}",
      grouped(check.stopped_calls.continued), grouped(check.stopped_calls.repeated),
      grouped(check.stopped_calls.broken),
      check.stopped_calls.shortened > 0
          ? fmt::format(", {} wrote less than asked", grouped(check.stopped_calls.shortened))
          : "");
  out.line("             the target afterwards: {}", what_digest_says(report.digest));
  // The interval is shown because the number alone may be noise, as for work that comes in bunches.
  const Overhead& cost = report.overhead;
  std::string overhead;
  if (cost.slowdown && cost.slowdown_low && cost.slowdown_high) {
    overhead = fmt::format("sampling costs the target {} % [{}, {}], ", percent(*cost.slowdown),
                           percent(*cost.slowdown_low), percent(*cost.slowdown_high));
  }
  overhead += fmt::format("controller {} % of a core, stopped for {} at the attach",
                          percent(cost.controller_cpu_share), duration(cost.attach_stop_ns));
  if (cost.period_ns > 0) overhead += fmt::format(", a sample every {}", duration(cost.period_ns));
  out.line("overhead     {}", overhead);
  const Losses& losses = report.losses;
  out.line(
      "losses       {} records, {} of {} experiments discarded, {} stacks cut off ({} copied in "
      "part), {} of {} samples unknown, {} throttled",
      grouped(losses.records_lost), grouped(report.experiments_discarded),
      grouped(report.experiments), grouped(losses.stacks_truncated),
      grouped(losses.stacks_copied_in_part), grouped(losses.samples_unknown),
      grouped(losses.samples_total), grouped(losses.throttles));
  out.line(
      "cores        threads waited for a core {} % of the time they wanted to run, {} % because of "
      "other processes",
      percent(report.oversubscribed_share), percent(report.foreign_share));
  if (!report.peers.empty()) {
    out.line("followed     {}: what the target gains passes through them",
             printable(fmt::format("{}", fmt::join(report.peers, ", "))));
  }
  // A warning that stands at the head is not repeated.
  std::vector<Warning> warnings = report.warnings;
  for (const Warning& told : report.beside) std::erase(warnings, told);
  for (const Reason& told : report.finding.failed) std::erase(warnings, Warning(words_of(told)));
  std::erase(warnings, Warning(report.scope.lead));
  write_warnings(warnings, out);
}

// Experiments tell what faster code gains. A program that mostly waits has its time elsewhere. If
// others had the cores, or a quota was used up, its waits are theirs, of which warnings tell.
void write_waits(const Report& report, Text& out) {
  constexpr double kNotable = 0.1;
  if (!report.cores_used || *report.cores_used >= kFewCores) return;
  if (report.oversubscribed_share >= kNotable || report.quota_share >= kNotable) return;
  out.line("The program used {} of a core: causalctl callpath PID shows what it waits for",
           number(*report.cores_used, 2));
}

// Says whose functions the units are, if the program runs code of another language.
void write_interpreter(const Report& report, Text& out) {
  InterpreterRemark remark(report.executable);
  for (const ProgressResult& point : report.progress) {
    for (const UnitResult& unit : point.units) remark.see(unit.module, unit.function);
  }
  if (const std::string words = remark.words(); !words.empty()) out.line("{}", words);
}

std::string program_of(const Report& report) {
  if (report.executable.empty()) return "target";
  return printable(report.started_as.empty()
                       ? report.executable
                       : fmt::format("{} ({})", report.started_as, report.executable));
}

}  // namespace

std::string render_text(const Report& report, bool color, int width) {
  Text out(color, width);
  if (!report.scope.lead.empty()) {
    out.line("{}", out.colored(printable(report.scope.lead), kBold));
  }
  out.line("{}", out.colored(printable(statement_of(report)), kBold));
  for (const Warning& told : report.beside) out.line("{}", printable(told.text()));
  write_waits(report, out);
  write_interpreter(report, out);
  out.blank();
  out.line(
      "{}: {} run{}, {} experiments in {}{}", program_of(report), report.runs,
      report.runs == 1 ? "" : "s", grouped(report.experiments), duration(report.wall_ns),
      report.reason == EndReason::none ? "" : fmt::format(", ended by {}", name_of(report.reason)));
  for (const ProgressResult& progress : report.progress) {
    out.blank();
    write_progress(progress, report.runs, out);
  }
  out.blank();
  write_checks(report, out);
  return out.take();
}

std::string render_warnings(const std::vector<Warning>& warnings, bool color) {
  Text out(color, 0);
  write_warnings(warnings, out);
  return out.take();
}

std::string render_heading(std::size_t number, std::size_t count, const std::string& name,
                           bool color) {
  Text out(color, 0);
  out.blank();
  out.line(
      "{}",
      out.colored(fmt::format("== group {} of {}: {} ==", number, count, printable(name)), kBold));
  return out.take();
}

}  // namespace causalctl::report
