#include "controller/compare/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <random>
#include <set>
#include <string>

#include "config/text.h"
#include "controller/base/clock.h"
#include "controller/base/counting_in_latency.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/statistics.h"
#include "controller/compare/contained.h"
#include "controller/compare/effect.h"
#include "controller/compare/fisher.h"
#include "controller/compare/kept_windows.h"
#include "controller/compare/sequential.h"
#include "controller/compare/side.h"
#include "controller/compare/too_rare.h"
#include "controller/compare/window.h"
#include "controller/session/target_end.h"

namespace causalctl::compare {
namespace {

constexpr unsigned kPairs = 20;
constexpr unsigned kMostPairs = 200;
constexpr double kPercent = 100;
constexpr double kCostWorthTelling = 0.01;   // of a side's time
constexpr double kStartWorthTelling = 0.05;  // of a run
constexpr double kLongRun = 0.5;             // s; a start takes no share of it
// With fewer pairs there is no interval.
constexpr std::size_t kNullPairs = kFewestBlocks * kPairsOfBlock;

std::string label(const config::AbSide& side) {
  if (side.pid) return fmt::format("pid {}", *side.pid);
  if (!side.match.empty()) return side.match;
  std::string text;
  // Values are left out: reports are passed around, and values may be passwords.
  for (const auto& [name, value] : side.environment) text += name + "=… ";
  return text + config::joined_words(side.command);
}

// Returns the smaller of both sides' values, or nullopt if there is none.
std::optional<double> smaller_side(const report::ComparedMetric& metric) {
  if (metric.a && metric.b) return std::min(*metric.a, *metric.b);
  return metric.a ? metric.a : metric.b;
}

// Returns how long a program takes that does nothing, started as the sides are, or nullopt if there
// is none.
std::optional<double> start_time_s() {
  constexpr int kStarts = 11;
  std::vector<double> times_s;
  try {
    for (int i = 0; i < kStarts; ++i) {
      Contained nothing({{"true"}, {}, {}, {}, std::nullopt}, kSecond, "true");
      const auto ended = nothing.wait_until(monotonic_now() + kSecond);
      if (!ended) return std::nullopt;
      times_s.push_back(static_cast<double>(ended->wall_ns) / kSecond);
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return statistics::median(times_s);
}

class Comparing {
 public:
  Comparing(const config::Ab& ab, const config::Progress& progress, const RunsHooks& hooks)
      : ab_(ab),
        progress_(progress),
        hooks_(hooks),
        seed_(ab.seed.value_or(std::random_device()())),
        schedule_(seed_),
        start_ns_(monotonic_now()) {}

  Compared run() {
    const SubreaperScope scope;
    std::exception_ptr failure;
    try {
      const bool go_on = run_phase(Phase::null, blocks_for(null_pairs(ab_)));
      if (go_on) run_phase(Phase::pairs, blocks_for(planned_pairs(ab_)));
    } catch (const Error&) {
      failure = std::current_exception();
      reason_ = "failed";
    }
    return {result(), failure};
  }

 private:
  // Returns false if it was interrupted.
  bool run_phase(Phase phase, std::size_t blocks) {
    for (std::size_t block = 0; block < blocks; ++block) {
      for (const ScheduledRun& scheduled : schedule_.next(phase)) {
        show(phase, block, blocks);
        if (!run_one(scheduled)) {
          reason_ = "interrupted";
          return false;
        }
      }
      if (phase == Phase::pairs && ab_.until_certain && is_certain()) {
        reason_ = "certain";
        return true;
      }
    }
    return true;
  }

  bool run_one(const ScheduledRun& scheduled) {
    RunOptions options;
    options.side = scheduled.side();
    options.name =
        fmt::format("run {} (side {})", runs_.size() + 1, options.side == Side::a ? "a" : "b");
    options.seed = seed_ + runs_.size();
    options.kept = &kept_windows_;
    options.interrupted = [this] { return hooks_.interrupts() > 0; };
    RunResult result;
    result.scheduled = scheduled;
    result.start_ns = monotonic_now() - start_ns_;
    const auto& side = options.side == Side::a ? ab_.a : ab_.b;
    const auto& running = options.side == Side::a ? running_a_ : running_b_;
    options.running = running ? &*running : nullptr;
    std::optional<OneRun> run;
    while (true) {
      try {
        run = run_side(ab_, progress_, side, options);
        if (run) ++failures_of(options.side).runs;
        break;
      } catch (const RunFailed& failed) {
        count_failure(options.side, failed);
      }
    }
    if (!run) return false;
    result.values = std::move(run->values);
    records_lost_ += run->records_lost;
    visits_per_s_ = std::max(visits_per_s_, run->visits_per_s);
    counting_share_ = std::max(counting_share_, run->counting_share);
    births_per_s_ = std::max(births_per_s_, run->births_per_s);
    counting_in_latency_ = run->counting_in_latency;
    remarks_.insert(run->remarks.begin(), run->remarks.end());
    for (const auto& [name, counts] : run->unpaired) {
      unpaired_[{name, options.side}].push_back(counts);
    }
    runs_.push_back(std::move(result));
    return true;
  }

  // Returns nullopt for a command.
  static std::optional<Running> running(const config::AbSide& side) {
    if (!side.command.empty()) return std::nullopt;
    const Pid pid = side.pid ? *side.pid : procfs::find_process(side.match);
    session::require_program(pid);
    return Running(pid);
  }

  Failures& failures_of(Side side) { return side == Side::a ? failures_a_ : failures_b_; }

  // Returns if the run may be made again; otherwise throws what it failed by.
  void count_failure(Side side, const RunFailed& failed) {
    Failures& failures = failures_of(side);
    ++failures.failed;
    ++failures.runs;
    const std::size_t pairs = kPairsOfBlock * blocks_for(planned_pairs(ab_));
    const std::size_t null_runs = 2 * kPairsOfBlock * blocks_for(null_pairs(ab_));
    const std::size_t planned = pairs + (side == Side::a ? null_runs : 0);
    const double most = ab_.allow_failures_percent / kPercent * static_cast<double>(planned);
    if (static_cast<double>(failures.failed) > most) {
      const std::string allowed =
          most > 0 ? fmt::format("{} of the {} runs that are planned of this side have failed",
                                 failures.failed, planned)
                   : "--allow-failures 5% makes runs that fail again, and tells how many did";
      throw Error(failed.what(), failed.hint().empty() ? allowed : failed.hint() + "; " + allowed);
    }
    if (!first_failure_.empty()) return;
    const std::string text = failed.what();
    first_failure_ = text.substr(0, text.find("; its output ends"));
  }

  std::vector<double> deciding_ratios() const {
    if (runs_.empty() || runs_.front().values.empty()) return {};
    return log_ratios(runs_, runs_.front().values.front().metric, Phase::pairs);
  }

  bool is_certain() const {
    const auto ratios = deciding_ratios();
    if (ratios.empty()) return false;
    const double limit = ab_.fail_if_slower_percent.value_or(0) / kPercent;
    return certain(confidence_sequence(ratios, kAlpha), ab_.resolution_percent / kPercent,
                   std::log1p(limit));
  }

  void show(Phase phase, std::size_t block, std::size_t blocks) const {
    Progress progress;
    progress.null = phase == Phase::null;
    progress.pairs = block * kPairsOfBlock;
    progress.planned = blocks * kPairsOfBlock;
    progress.effect = [this]() -> std::optional<Interval> {
      const auto log = bootstrap(deciding_ratios(), kAlpha, seed_);
      return log ? std::optional(to_effect(*log)) : std::nullopt;
    };
    hooks_.show(progress);
  }

  report::Comparison result() const {
    ComparisonOptions options;
    options.seed = seed_;
    options.sequential = ab_.until_certain;
    if (const auto limit = ab_.fail_if_slower_percent) {
      options.fail_if_slower = *limit / kPercent;
    }
    report::Comparison comparison = compare_runs(runs_, options);
    comparison.a = label(ab_.a);
    comparison.b = label(ab_.b);
    comparison.reason = reason_;
    comparison.wall_ns = monotonic_now() - start_ns_;
    if (failures_a_.failed + failures_b_.failed > 0) {
      comparison.failures =
          report::AbFailures{failures_a_.failed, failures_a_.runs, failures_b_.failed,
                             failures_b_.runs, fisher_exact(failures_a_, failures_b_)};
    }
    warn_of_starts(comparison);
    warn(comparison.warnings);
    warn_of_counting(comparison);
    return comparison;
  }

  // The time of a whole run has the time that its start takes, which both sides have alike.
  void warn_of_starts(report::Comparison& comparison) const {
    if (runs_.empty() || reason_ == "interrupted") return;
    const report::ComparedMetric& metric = comparison.metrics.front();
    const bool whole_runs = !ab_.measure_ns && ab_.a.load.empty() && !ab_.a.command.empty();
    const double shortest_s = smaller_side(metric).value_or(kLongRun);
    if (!whole_runs || metric.kind != report::MetricKind::wall || shortest_s >= kLongRun) return;
    const auto start_s = start_time_s();
    if (!start_s || *start_s < kStartWorthTelling * shortest_s) return;
    comparison.warnings.push_back(fmt::format(
        "the runs are short: starting a program takes {:.2f} ms here (true, started the "
        "same way), up to {:.0f} % of a run. Both sides have that alike, so effects look "
        "smaller than those of the work; give the commands more work",
        1e3 * *start_s, std::min(kPercent, kPercent * *start_s / shortest_s)));
  }

  // The cost of counting a latency is in it, on both sides alike.
  void warn_of_counting(report::Comparison& comparison) const {
    for (const auto& [name, cost_ns] : counting_in_latency_) {
      const auto metric =
          std::find_if(comparison.metrics.begin(), comparison.metrics.end(),
                       [&, mean = name + " mean"](const auto& each) { return each.name == mean; });
      if (metric == comparison.metrics.end()) continue;
      const auto mean_s = smaller_side(*metric);
      if (!mean_s) continue;
      std::string text = words_of_counting(cost_ns, *mean_s);
      if (text.empty()) continue;
      text = fmt::format("{}: {}", name, text);
      const bool leads = metric == comparison.metrics.begin() && comparison.lead.empty();
      if (leads) comparison.lead = text;
      comparison.warnings.push_back(std::move(text));
    }
  }

  void warn(std::vector<std::string>& warnings) const {
    if (!first_failure_.empty()) warnings.push_back("the first run that failed: " + first_failure_);
    warnings.insert(warnings.end(), remarks_.begin(), remarks_.end());
    for (const auto& [latency, runs] : unpaired_) {
      if (const auto share = unpaired_share(runs)) {
        warnings.push_back(text_of_unpaired(
            fmt::format("{}, {}", latency.first, latency.second == Side::a ? "A" : "B"), *share,
            "Its latency is that of the others, as far as they are seen to end",
            "Its latency is longer than shown: such an end is taken for that of a request in "
            "flight, unless there is none"));
      }
    }
    if (births_per_s_ > 0) warnings.push_back(text_of_births(births_per_s_));
    if (records_lost_ > 0) {
      warnings.push_back(
          fmt::format("{} records of visits were lost: throughputs are by the kernel's own counts, "
                      "latencies may "
                      "be wrong; name a rarer progress point",
                      records_lost_));
    }
    if (counting_share_ > kCostWorthTelling) {
      warnings.push_back(
          fmt::format("counting costs each side up to {:.1f} % of a core ({:.0f} visits a second): "
                      "effects look "
                      "smaller by up to that share. Name a rarer progress point",
                      kPercent * counting_share_, visits_per_s_));
    }
  }

  const config::Ab& ab_;
  const config::Progress& progress_;
  const RunsHooks& hooks_;
  std::uint64_t seed_;
  Schedule schedule_;
  Nanoseconds start_ns_;
  std::vector<RunResult> runs_;
  std::string reason_ = "rounds";
  std::uint64_t records_lost_ = 0;
  double visits_per_s_ = 0;
  double counting_share_ = 0;
  double births_per_s_ = 0;  // most, of threads whose first visits may be missing
  std::map<std::string, Nanoseconds> counting_in_latency_;
  std::optional<Running> running_a_ = running(ab_.a), running_b_ = running(ab_.b);
  KeptWindows kept_windows_;  // of these
  Failures failures_a_, failures_b_;
  std::string first_failure_;
  std::set<std::string> remarks_;  // those of both sides
  std::map<std::pair<std::string, Side>, std::vector<BeginsAndEnds>> unpaired_;
};

}  // namespace

std::size_t planned_pairs(const config::Ab& ab) {
  return ab.rounds.value_or(ab.until_certain ? kMostPairs : kPairs);
}

// Returns as many as an interval needs, or a quarter of the other phase's. A sequential comparison
// plans very many pairs that it may not run, so those are not divided by four.
std::size_t null_pairs(const config::Ab& ab) {
  if (ab.null_rounds) return *ab.null_rounds;
  const std::size_t pairs = planned_pairs(ab);
  if (ab.until_certain) return std::min(kNullPairs, pairs);
  return std::min(std::max(kNullPairs, pairs / 4), pairs);
}

Compared run_comparison(const config::Ab& ab, const config::Progress& progress,
                        const RunsHooks& hooks) {
  try {
    return Comparing(ab, progress, hooks).run();
  } catch (const NeedsUprobes&) {  // by both sides, as from the start
    log::note(
        "threads begin so often that breakpoints miss visits; begins again, with uprobes, which "
        "count all");
    config::Progress by_uprobe = progress;
    by_uprobe.count_by = config::CountBy::uprobe;
    return Comparing(ab, by_uprobe, hooks).run();
  }
}

}  // namespace causalctl::compare
