#include "controller/compare/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config/text.h"
#include "controller/base/clock.h"
#include "controller/compare/too_rare.h"
#include "controller/perf/visit_trial.h"
#include "controller/session/target_state.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::compare {
namespace {

using report::MetricKind;

constexpr std::uint64_t kFewestVisits = 5;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

progress::CountedPoints resolve(const config::Progress& progress, Pid pid) {
  unwind::Symbolizer symbolizer(pid);
  return progress::resolve_all(progress, pid, symbolizer);
}

progress::Unloads unloads_of(const progress::CountedPoints& points,
                             const std::vector<progress::Armed>& armed, Pid pid) {
  std::vector<Address> breakpoints;
  for (std::size_t tag = 0; tag < armed.size(); ++tag) {
    if (armed[tag].by != progress::CountedBy::breakpoint) continue;
    for (const unwind::Place& place : points.resolved[tag].places) {
      breakpoints.push_back(place.address);
    }
  }
  return progress::is_in_loaded_later(breakpoints, pid) ? progress::Unloads(pid, breakpoints)
                                                        : progress::Unloads();
}

}  // namespace

Window::Window(const config::Progress& progress, Pid pid, std::uint64_t seed)
    : pid_(pid),
      children_(pid),
      points_(resolve(progress, pid)),
      count_by_(progress.count_by),
      watch_(pid),
      session_(watch_.open({.sampling = false, .wake_edges = false, .seed = seed})),
      counters_(points_.counted) {
  armed_ = progress::arm(points_.resolved, pid, progress.count_by, session_);
  for (std::size_t tag = 0; tag < armed_.size(); ++tag) {
    const progress::CountedPoint& point = points_.counted[tag];
    if (point.kind == progress::CountedPoint::Kind::throughput) continue;
    counting_in_[point.name] += armed_[tag].visit_cost_ns / 2;
  }
  unloads_ = unloads_of(points_, armed_, pid);
  session_.start();
}

bool Window::is_in_place() { return !executed_ && unloads_.gone().empty(); }

bool Window::knows_in_flight() const {
  const std::vector<progress::LatencyCount> so_far = counters_.latency(monotonic_now() - begin_ns_);
  return std::all_of(so_far.begin(), so_far.end(), [this](const auto& count) {
    return count.p50_ns > 0 || counters_.in_flight(count.name).was_empty();
  });
}

void Window::begin() {
  collect();
  if (records_lost() > 0) counters_ = progress::Counters(points_.counted);  // it lacks some
  const Nanoseconds now_ns = monotonic_now();
  counters_.start(now_ns - begin_ns_);
  visits_lost_ = 0;
  births_ = 0;
  unpaired_.clear();
  missed_before_ = session_.losses().threads_missed;
  lost_before_ = session_.losses().records_lost;
  // The order matters, and end() reverses it: every counted visit then has a record, unless it was
  // lost.
  begin_ns_ = now_ns;
  counts_before_ = exact_counts();
}

void Window::collect() { collect_until(monotonic_now()); }

void Window::collect_until(Nanoseconds watermark_ns) {
  for (const perf::Event& event : session_.drain(watermark_ns)) {
    if (const auto* visit = std::get_if<perf::VisitEvent>(&event)) {
      if (visit->time_ns < begin_ns_) {
        counters_.late_visit(visit->tag, visit->thread.tid, begin_ns_ - visit->time_ns);
      } else {
        counters_.visit(visit->tag, visit->thread.tid, visit->time_ns - begin_ns_);
      }
    } else if (const auto* born = std::get_if<perf::ThreadStartEvent>(&event)) {
      if (born->parent.serial == 0) continue;  // it lived before
      counters_.thread_began(born->thread.tid);
      births_ += born->time_ns >= begin_ns_ ? 1 : 0;
    } else if (const auto* ended = std::get_if<perf::ThreadExitEvent>(&event)) {
      counters_.thread_ended(ended->thread.tid);
    } else {
      executed_ |= std::holds_alternative<perf::ExecEvent>(event);
    }
  }
}

std::vector<Measured> Window::end() {
  const std::vector<std::uint64_t> counts_after = exact_counts();
  length_ns_ = monotonic_now() - begin_ns_;
  // The session holds back the latest events because earlier ones may follow; their order does not
  // matter here.
  collect_until(monotonic_now() + kMillisecond);
  note_births(counts_after);
  std::vector<Measured> values;
  std::uint64_t all = 0;
  // Throughput points have the first tags, in this order.
  std::size_t tag = 0;
  for (const auto& count : counters_.throughput()) {
    const std::uint64_t exact = counts_after[tag] - counts_before_[tag];
    // The kernel reports a loss with the next record that has room, which may be after the window.
    // On each thread one visit may be counted while its record is still on the way.
    if (exact > count.visits + session_.threads().size()) {
      visits_lost_ = std::max(visits_lost_, exact - count.visits);
    }
    const std::uint64_t visits = records_lost() > 0 ? exact : count.visits;
    ++tag;
    all += visits;
    if (values.empty()) units_ = visits;
    values.push_back(throughput(count, exact));
  }
  for (const auto& count : counters_.latency(length_ns_)) {
    all += count.begins + count.ends;
    if (count.ends < kFewestVisits && births_per_s_ == 0) throw_too_rare(count);
    if (values.empty()) units_ = count.ends;
    const auto add = [&](const char* statistic, double time_s) {
      values.push_back({{count.name + " " + statistic, MetricKind::latency}, time_s});
    };
    const Nanoseconds mean_ns = mean_of(count);
    add("mean", mean_ns > 0 ? static_cast<double>(mean_ns) / kSecond : kUnknown);
    if (count.p50_ns <= 0) continue;  // ends could not be paired
    add("p50", static_cast<double>(count.p50_ns) / kSecond);
    add("p99", static_cast<double>(count.p99_ns) / kSecond);
  }
  visits_per_s_ = static_cast<double>(all) * kSecond / static_cast<double>(length_ns_);
  counting_share_ = 0;
  for (std::size_t i = 0; i < armed_.size(); ++i) {
    counting_share_ += static_cast<double>(counts_after[i] - counts_before_[i]) *
                       static_cast<double>(armed_[i].visit_cost_ns) /
                       static_cast<double>(length_ns_);
  }
  return values;
}

void Window::note_births(const std::vector<std::uint64_t>& counts_after) {
  using By = progress::CountedBy;
  const auto is_late = [](const progress::Armed& armed) {
    return armed.by == By::breakpoint || armed.by == By::tracepoint;
  };
  births_per_s_ = 0;
  if (std::none_of(armed_.begin(), armed_.end(), is_late)) return;
  const std::uint64_t births = births_ + session_.losses().threads_missed - missed_before_;
  std::uint64_t visits = 0;
  for (std::size_t tag = 0; tag < counts_after.size(); ++tag) {
    visits += counts_after[tag] - counts_before_[tag];
  }
  if (!progress::misses_visits(births, visits)) return;
  const bool by_uprobe =
      perf::uprobe_trial().means && std::all_of(armed_.begin(), armed_.end(), [](const auto& each) {
        return each.by == By::uprobe || each.can_be_uprobe;
      });
  if (count_by_ == config::CountBy::automatic && by_uprobe) throw NeedsUprobes();
  births_per_s_ = static_cast<double>(births) * kSecond / static_cast<double>(length_ns_);
}

// Returns 0 if it is not known.
Nanoseconds Window::mean_of(const progress::LatencyCount& count) {
  if (count.p50_ns > 0) return count.mean_ns;  // by pairs
  if (births_per_s_ > 0) return 0;             // begins are missing, or ends
  unpaired_[count.name] = {count.begins, count.ends};
  return counters_.in_flight(count.name).mean_of_ended(length_ns_);
}

// Measures from the first visit to the last, so that the ends of the window cut no unit in two. If
// records were lost, it uses what the kernel counted in the whole window.
Measured Window::throughput(const progress::ThroughputCount& count, std::uint64_t exact) const {
  if (records_lost() > 0) {
    if (exact < kFewestVisits) throw_too_rare(count.name, exact);
    return {{count.name, MetricKind::throughput},
            static_cast<double>(length_ns_) / static_cast<double>(exact) / kSecond};
  }
  if (count.visits < kFewestVisits || count.last_ns <= count.first_ns) {
    throw_too_rare(count.name, count.visits);
  }
  return {{count.name, MetricKind::throughput},
          static_cast<double>(count.last_ns - count.first_ns) /
              static_cast<double>(count.visits - 1) / kSecond};
}

std::optional<std::string> Window::unseen() const {
  return births_per_s_ > 0 ? text_of_births(births_per_s_) : text_of_children(children_, pid_);
}

void Window::throw_too_rare(const std::string& name, std::uint64_t visits) const {
  throw too_rare({name, visits, length_ns_}, session::state_of(pid_), unseen());
}

void Window::throw_too_rare(const progress::LatencyCount& count) const {
  Passed passed = {count.name, count.ends, length_ns_, count.begins};
  for (std::size_t tag = 0; tag < points_.counted.size(); ++tag) {
    const progress::CountedPoint& point = points_.counted[tag];
    using Kind = progress::CountedPoint::Kind;
    if (point.name != count.name || point.kind == Kind::throughput) continue;
    (point.kind == Kind::begin ? passed.begin : passed.end) = points_.resolved[tag].name;
  }
  throw too_rare(passed, session::state_of(pid_), unseen());
}

std::vector<std::uint64_t> Window::exact_counts() const {
  std::vector<std::uint64_t> counts;
  for (std::uint32_t tag = 0; tag < points_.counted.size(); ++tag) {
    counts.push_back(session_.count(tag));
  }
  return counts;
}

std::vector<std::string> Window::remarks() const {
  std::vector<std::string> all;
  for (const progress::Point& point : points_.resolved) {
    all.insert(all.end(), point.remarks.begin(), point.remarks.end());
  }
  for (const auto& [name, counts] : unpaired_) {
    if (counters_.in_flight(name).was_empty()) continue;
    all.push_back(fmt::format(
        "{}: ends are not paired with begins, and no moment without a request in flight "
        "was seen: its latency may be longer than shown",
        name));
  }
  return all;
}

std::uint64_t Window::records_lost() const {
  return std::max(visits_lost_, session_.losses().records_lost - lost_before_);
}

}  // namespace causalctl::compare
