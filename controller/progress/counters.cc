#include "controller/progress/counters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "controller/base/error.h"

namespace causalctl::progress {
namespace {

// A distribution is shown only when nearly every end found its begin on its own thread.
constexpr double kMatchedShare = 0.9;

Nanoseconds quantile(const std::vector<Nanoseconds>& sorted, double q) {
  const auto index =
      static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)));
  return sorted[index];
}

}  // namespace

Counters::Counters(std::vector<CountedPoint> points)
    : points_(std::move(points)), totals_(points_.size()) {
  for (std::uint32_t tag = 0; tag < points_.size(); ++tag) {
    if (points_[tag].kind == CountedPoint::Kind::throughput) {
      throughput_[tag];
    } else {
      latency_[points_[tag].name];
    }
  }
}

void Counters::start() {
  for (auto& [tag, throughput] : throughput_) throughput = {};
  for (auto& [name, latency] : latency_) {
    latency.begins = latency.ends = 0;
    latency.in_progress_start = latency.in_progress;
    latency.changed_at_ns = 0;
    latency.area = 0;
    latency.measured_ns.clear();
    latency.begun_ns.clear();  // stamps of another experiment's virtual time
  }
}

void Counters::change(Latency& latency, std::int64_t by, Nanoseconds now_ns) {
  // Threads' virtual times differ a little, so a stamp can lie before the one before it.
  const Nanoseconds passed_ns = std::max<Nanoseconds>(now_ns - latency.changed_at_ns, 0);
  latency.area += static_cast<double>(latency.in_progress) * static_cast<double>(passed_ns);
  latency.changed_at_ns += passed_ns;
  // Work that began before the attach ends without a begin: nothing is less than nothing.
  latency.in_progress = std::max<std::int64_t>(latency.in_progress + by, 0);
}

void Counters::visit(std::uint32_t tag, Tid thread, Nanoseconds virtual_ns) {
  INVARIANT(tag < points_.size());
  ++totals_[tag];
  if (points_[tag].kind == CountedPoint::Kind::throughput) {
    Throughput& point = throughput_[tag];
    // By real time: the earliest and the latest stamp would lie farther apart the more the threads'
    // virtual times differ.
    if (point.visits == 0) point.first_ns = virtual_ns;
    point.last_ns = virtual_ns;
    ++point.visits;
    return;
  }
  Latency& latency = latency_[points_[tag].name];
  if (points_[tag].kind == CountedPoint::Kind::begin) {
    ++latency.begins;
    latency.begun_ns[thread] = virtual_ns;
    change(latency, 1, virtual_ns);
    return;
  }
  ++latency.ends;
  change(latency, -1, virtual_ns);
  if (const auto begun = latency.begun_ns.find(thread); begun != latency.begun_ns.end()) {
    latency.measured_ns.push_back(virtual_ns - begun->second);
    latency.begun_ns.erase(begun);
  }
}

void Counters::thread_ended(Tid thread) {
  for (auto& [name, latency] : latency_) latency.begun_ns.erase(thread);
}

std::vector<ThroughputCount> Counters::throughput() const {
  std::vector<ThroughputCount> counts;
  for (const auto& [tag, point] : throughput_) {
    counts.push_back({points_[tag].name, point.visits, point.first_ns, point.last_ns});
  }
  return counts;
}

std::vector<LatencyCount> Counters::latency(Nanoseconds length_ns) const {
  std::vector<LatencyCount> counts;
  for (const auto& [name, latency] : latency_) {
    LatencyCount count;
    count.name = name;
    count.begins = latency.begins;
    count.ends = latency.ends;
    count.in_progress_start = latency.in_progress_start;
    count.in_progress_end = latency.in_progress;
    std::vector<Nanoseconds> sorted = latency.measured_ns;
    std::sort(sorted.begin(), sorted.end());
    if (!sorted.empty() &&
        static_cast<double>(sorted.size()) >= kMatchedShare * static_cast<double>(latency.ends)) {
      count.mean_ns = std::accumulate(sorted.begin(), sorted.end(), Nanoseconds{0}) /
                      static_cast<Nanoseconds>(sorted.size());
      count.p50_ns = quantile(sorted, 0.5);
      count.p99_ns = quantile(sorted, 0.99);
    } else if (latency.ends > 0) {
      const auto rest_ns =
          static_cast<double>(std::max<Nanoseconds>(length_ns - latency.changed_at_ns, 0));
      const double area = latency.area + static_cast<double>(latency.in_progress) * rest_ns;
      count.mean_ns = static_cast<Nanoseconds>(area / static_cast<double>(latency.ends));
    }
    counts.push_back(std::move(count));
  }
  return counts;
}

std::uint64_t Counters::fewest_visits() const {
  auto fewest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [tag, point] : throughput_) {
    if (totals_[tag] > 0) fewest = std::min(fewest, point.visits);
  }
  for (std::uint32_t tag = 0; tag < points_.size(); ++tag) {
    if (points_[tag].kind != CountedPoint::Kind::end || totals_[tag] == 0) continue;
    fewest = std::min(fewest, latency_.at(points_[tag].name).ends);
  }
  return fewest == std::numeric_limits<std::uint64_t>::max() ? 0 : fewest;
}

}  // namespace causalctl::progress
