#include "controller/progress/counters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "controller/base/error.h"

namespace causalctl::progress {
namespace {

// A distribution is shown only if nearly every end is known to belong to a begin, or, where there
// are more ends, nearly every begin to an end. With too many more, the next end on a begin's thread
// may as well be another's.
constexpr double kMatchedShare = 0.9;
constexpr double kMostEnds = 1.5;  // for each begin

Nanoseconds quantile(const std::vector<Nanoseconds>& sorted, double q) {
  const auto index =
      static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)));
  return sorted[index];
}

bool are_pairs(std::uint64_t matched, std::uint64_t begins, std::uint64_t ends) {
  if (static_cast<double>(ends) > kMostEnds * static_cast<double>(begins)) begins = ends;
  return static_cast<double>(matched) >=
         kMatchedShare * static_cast<double>(std::min(begins, ends));
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

void Counters::start(Nanoseconds passed_ns) {
  for (auto& [tag, throughput] : throughput_) throughput = {};
  for (auto& [name, latency] : latency_) {
    latency.in_flight.start();
    latency.pairs.start(passed_ns);
  }
}

void Counters::visit(std::uint32_t tag, Tid thread, Nanoseconds virtual_ns, Nanoseconds gained_ns) {
  INVARIANT(tag < points_.size());
  ++totals_[tag];
  if (points_[tag].kind == CountedPoint::Kind::throughput) {
    Throughput& point = throughput_[tag];
    // First and last are told by real time: the more the threads' virtual times differ, the farther
    // apart the smallest and the largest stamp would lie.
    if (point.visits == 0) {
      point.first_ns = virtual_ns;
      point.first_gained_ns = gained_ns;
    }
    point.last_ns = virtual_ns;
    point.last_gained_ns = gained_ns;
    ++point.visits;
    return;
  }
  Latency& latency = latency_[points_[tag].name];
  if (points_[tag].kind == CountedPoint::Kind::begin) {
    latency.pairs.begin(thread, virtual_ns);
    latency.in_flight.begin_at(virtual_ns);
    return;
  }
  latency.pairs.end(thread, virtual_ns);
  latency.in_flight.end_at(virtual_ns);
}

void Counters::late_visit(std::uint32_t tag, Tid thread, Nanoseconds ago_ns) {
  INVARIANT(tag < points_.size());
  ++totals_[tag];
  if (points_[tag].kind == CountedPoint::Kind::throughput) return;
  Latency& latency = latency_[points_[tag].name];
  if (points_[tag].kind == CountedPoint::Kind::begin) {
    latency.pairs.late_begin(thread, ago_ns);
    latency.in_flight.late(1);
    return;
  }
  latency.pairs.late_end(thread);
  latency.in_flight.late(-1);
}

void Counters::thread_began(Tid thread) {
  ++births_;
  for (auto& [name, latency] : latency_) latency.pairs.thread_began(thread);
}

void Counters::forget_in_progress() {
  for (auto& [name, latency] : latency_) latency = {};
}

void Counters::thread_ended(Tid thread) {
  for (auto& [name, latency] : latency_) latency.pairs.thread_ended(thread);
}

std::vector<ThroughputCount> Counters::throughput() const {
  std::vector<ThroughputCount> counts;
  for (const auto& [tag, point] : throughput_) {
    const Nanoseconds gained_ns = point.last_gained_ns - point.first_gained_ns;
    counts.push_back({points_[tag].name, point.visits, point.first_ns, point.last_ns,
                      point.last_ns - point.first_ns + gained_ns});
  }
  return counts;
}

std::vector<LatencyCount> Counters::latency(Nanoseconds length_ns) const {
  std::vector<LatencyCount> counts;
  for (const auto& [name, latency] : latency_) {
    LatencyCount count;
    count.name = name;
    count.begins = latency.in_flight.seen().begins;
    count.ends = latency.in_flight.seen().ends;
    count.in_progress_start = latency.in_flight.at_start();
    count.in_progress_end = latency.in_flight.now();
    const PairedLatency paired = latency.pairs.paired(length_ns);
    if (!paired.lengths_ns.empty() && are_pairs(paired.ends, count.begins, count.ends)) {
      count.mean_ns = paired.mean_ns;
      count.p50_ns = quantile(paired.lengths_ns, 0.5);
      count.p99_ns = quantile(paired.lengths_ns, 0.99);
    } else {
      count.mean_ns = latency.in_flight.mean(length_ns);
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
    fewest = std::min(fewest, latency_.at(points_[tag].name).in_flight.seen().ends);
  }
  return fewest == std::numeric_limits<std::uint64_t>::max() ? 0 : fewest;
}

}  // namespace causalctl::progress
