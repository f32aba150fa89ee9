#include "controller/report/causal/finding_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "controller/report/text.h"

namespace causalctl::report {
namespace {

constexpr std::size_t kReasons = 3;  // most reasons in a sentence; the JSON report has all

std::string ends_of(const Reason& reason) {
  const Interval range = reason.range.value_or(Interval{});
  return fmt::format("[{}, {}]", percent(range.low), percent(range.high));
}

std::string range_of(const Reason& reason) {
  return fmt::format("{} % {}", percent(reason.range.value_or(Interval{}).value), ends_of(reason));
}

std::string unit_of(const Reason& reason) {
  return fmt::format("{} ({:.0f} % of the samples)", reason.subject, 100 * reason.share);
}

// Rounded up, as "50 s", "4 min" or "3 h".
std::string roughly(Nanoseconds time_ns) {
  const double seconds = static_cast<double>(time_ns) / kSecond;
  if (seconds < 90) return fmt::format("{:.0f} s", 10 * std::ceil(seconds / 10));
  if (seconds < 5400) return fmt::format("{:.0f} min", std::ceil(seconds / 60));
  return fmt::format("{:.0f} h", std::ceil(seconds / 3600));
}

// "hash.c:217 (hashtable_search): 20 % faster here makes the program 4.1 % faster [3.2, 5.0]"
std::string effect_words(const Finding& finding) {
  Interval effect = finding.effect;
  const bool slower = effect.value < 0;
  if (slower) effect = {-effect.value, -effect.high, -effect.low};
  const std::string what =
      finding.latency
          ? fmt::format("{} take {} % {} time", finding.point, percent(effect.value),
                        slower ? "more" : "less")
          : fmt::format("the program {} % {}", percent(effect.value), slower ? "slower" : "faster");
  const std::string function =
      finding.function.empty() ? "" : fmt::format(" ({})", finding.function);
  return fmt::format("{}: {:.0f} % faster here makes {} [{}, {}]", finding.unit + function,
                     100 * finding.speedup, what, percent(effect.low), percent(effect.high));
}

std::string join(const std::vector<std::string>& words, const char* last) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{}{}{}", fmt::join(words.begin(), std::prev(words.end()), ", "), last,
                     words.back());
}

std::string helped_by(const Finding& finding) {
  if (finding.helps.empty()) return ".";
  return fmt::format(". What would help: {}.", words_of(finding.helps));
}

std::string undecided_words(const Finding& finding) {
  std::vector<std::string> words;
  for (const Reason& reason : finding.reasons) {
    if (words.size() < kReasons) words.push_back(words_of(reason));
  }
  std::string text = "Undecided";
  const bool of_one =
      !finding.reasons.empty() && finding.reasons.front().kind == Reason::Kind::below_bound;
  if (finding.most && !of_one) {
    text +=
        fmt::format(": effects of up to {:.1f} % are possible", rounded_up_percent(*finding.most));
  }
  if (!words.empty()) text += fmt::format(": {}", fmt::join(words, "; "));
  return text + helped_by(finding);
}

std::string finding_words(const Finding& finding) {
  switch (finding.kind) {
    case Finding::Kind::not_enough_data:
      return undecided_words(finding);
    case Finding::Kind::no_effect:
      return fmt::format(
          "Nothing that was measured gains more than {:.1f} %, however fast it is made ({} unit{}, "
          "{:.0f} % of the samples).",
          rounded_up_percent(finding.most.value_or(0)), finding.measured,
          finding.measured == 1 ? "" : "s", 100 * finding.measured_share);
    case Finding::Kind::only_callers:
      return "No finding: of the code in scope only what starts the program and calls all the rest "
             "matters" +
             helped_by(finding);
    case Finding::Kind::optimise:
    case Finding::Kind::contention:
      break;
  }
  return effect_words(finding);
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace

double rounded_up_percent(double fraction) { return std::ceil(1000 * fraction) / 10; }

std::string words_of(const Reason& reason) {
  const std::string& subject = reason.subject;
  switch (reason.kind) {
    case Reason::Kind::self_check:
      return fmt::format("without any speedup the experiments agree only to {} % ({})",
                         ends_of(reason), subject);
    case Reason::Kind::no_self_check:
      return fmt::format("too few baselines of {} to compare them with each other", subject);
    case Reason::Kind::sampling_cost:
      return fmt::format("sampling costs the target {}", range_of(reason));
    case Reason::Kind::counting_cost:
      return fmt::format("counting {} takes {:.0f} % of the target's CPU time", subject,
                         100 * reason.share);
    case Reason::Kind::unpaid_delay:
      return fmt::format("pauses were not as long as asked for, by {:.1f} % of the time",
                         100 * reason.effect);
    case Reason::Kind::self_check_failed:
      return fmt::format(
          "the self-check of {} failed: without any speedup the experiments differ by {}", subject,
          range_of(reason));
    case Reason::Kind::target_changed:
      return "the target is not as it was before";
    case Reason::Kind::sampling_slows:
      return fmt::format("sampling slows down the target by {}", range_of(reason));
    case Reason::Kind::counting_slows:
      return fmt::format("counting {} slows down the target: it takes {:.0f} % of its CPU time",
                         subject, 100 * reason.share);
    case Reason::Kind::many_discarded:
      return fmt::format("{} of {} experiments were discarded", reason.count, reason.of);
    case Reason::Kind::loads_differ:
      return fmt::format(
          "{} comes at its own pace in {} of the runs and not in {}, so that their loads differ",
          subject, reason.count, reason.of);
    case Reason::Kind::no_experiment:
      return "no experiment was finished";
    case Reason::Kind::not_visited:
      return fmt::format("{} was never visited during an experiment", subject);
    case Reason::Kind::few_experiments:
      return fmt::format("too few experiments for {}", subject);
    case Reason::Kind::own_pace:
      return fmt::format("{} comes at its own pace, so that no code makes it come more often",
                         subject);
    case Reason::Kind::pace_unknown:
      return fmt::format("whether {} waits for the program could not be told", subject);
    case Reason::Kind::not_sped_up:
      return fmt::format(
          "{} was sampled in {} of its {} experiments with a speedup, {} times in all",
          unit_of(reason), reason.count, reason.of, reason.samples);
    case Reason::Kind::open:
      return fmt::format("all of the {:.1f} % that the time of {} allows for is possible",
                         rounded_up_percent(reason.effect), unit_of(reason));
    case Reason::Kind::below_bound:
      return fmt::format(
          "the effect of {} is not certainly above the {:.1f} % that the checks of this run leave "
          "open",
          subject, rounded_up_percent(reason.effect));
    case Reason::Kind::noise:
      return fmt::format("the effect of {} made {:.0f} % faster is known to ±{:.0f} points only",
                         subject, 100 * kToldSpeedup, std::ceil(100 * reason.effect));
    case Reason::Kind::strangers:
      return fmt::format("others had the cores {:.0f} % of the time that the target wanted them",
                         100 * reason.share);
    case Reason::Kind::quota:
      return fmt::format("a quota of CPU time stopped the target {:.0f} % of the time",
                         100 * reason.share);
  }
  return "";
}

std::string words_of(const Help& help) {
  const auto period = [&] {
    return fmt::format("--period {}ms", std::max<Nanoseconds>(1, help.time_ns / kMillisecond));
  };
  switch (help.kind) {
    case Help::Kind::longer:
      if (help.time_ns == 0) return "a longer run (--duration)";
      if (help.effect == 0) return fmt::format("a run of about {}", roughly(help.time_ns));
      return fmt::format("a run of about {} (for ±{:.0f} points)", roughly(help.time_ns),
                         100 * help.effect);
    case Help::Kind::quieter:
      return "a quieter machine or cores of its own (taskset)";
    case Help::Kind::without_quota:
      return "no quota of CPU time";
    case Help::Kind::more_load:
      return "more load";
    case Help::Kind::by_function:
      return "functions instead of lines (--unit function)";
    case Help::Kind::shorter_period:
      return fmt::format("more samples ({})", period());
    case Help::Kind::longer_period:
      return fmt::format("fewer samples ({})", period());
    case Help::Kind::other_point:
      return "another progress point (causalctl points PID)";
    case Help::Kind::latency:
      return "a latency as the point (--latency)";
    case Help::Kind::scope:
      return "a wider scope (--scope-binary)";
  }
  return "";
}

std::string words_of(const std::vector<Help>& helps) {
  std::vector<std::string> words;
  std::transform(helps.begin(), helps.end(), std::back_inserter(words),
                 [](const Help& help) { return words_of(help); });
  return join(words, ", or ");
}

std::string statement_of(const Report& report) {
  std::string text;
  for (const Reason& failed : report.finding.failed) {
    text += capitalized(words_of(failed)) + ". ";
  }
  text += finding_words(report.finding);
  if (report.progress.size() < 2 || report.finding.point.empty()) return text;
  const std::string& point = report.finding.point;
  return text + (report.finding.unit.empty() ? fmt::format(" This is about {}.", point)
                                             : fmt::format(" ({})", point));
}

}  // namespace causalctl::report
