#include "controller/progress/counters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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

void Counters::Worker::begin(Nanoseconds now_ns) {
  ++open;
  began_last = true;
  begun_ns = now_ns;
}

// Two begins in a row may be one piece of work that was given up without passing its end. Two ends
// in a row, both of pieces that began here, belong to two pieces that were open at once.
void Counters::Worker::end(Nanoseconds now_ns) {
  overlaps |= open > 0 && !began_last;
  if (open > 0) --open;  // otherwise it began before the attach, or on another thread
  began_last = false;
  if (begun_ns) measured_ns.push_back(now_ns - *begun_ns);
  begun_ns.reset();
}

void Counters::Worker::start() {
  begun_ns.reset();  // it is a stamp in the virtual time of another experiment
  measured_ns.clear();
}

void Counters::start() {
  for (auto& [tag, throughput] : throughput_) throughput = {};
  for (auto& [name, latency] : latency_) {
    for (auto& [tid, worker] : latency.workers) worker.start();
    latency.in_flight.start();
    latency.of_ended_ns.clear();
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
    latency.workers[thread].begin(virtual_ns);
    latency.in_flight.begin_at(virtual_ns);
    return;
  }
  latency.workers[thread].end(virtual_ns);
  latency.in_flight.end_at(virtual_ns);
}

void Counters::late_visit(std::uint32_t tag, Tid thread) {
  INVARIANT(tag < points_.size());
  ++totals_[tag];
  if (points_[tag].kind == CountedPoint::Kind::throughput) return;
  Latency& latency = latency_[points_[tag].name];
  Worker& worker = latency.workers[thread];
  const bool begins = points_[tag].kind == CountedPoint::Kind::begin;
  if (begins) {
    worker.begin(0);
    worker.begun_ns.reset();
  } else {
    worker.end(0);
  }
  latency.in_flight.late(begins ? 1 : -1);
}

void Counters::thread_ended(Tid thread) {
  for (auto& [name, latency] : latency_) {
    const auto found = latency.workers.find(thread);
    if (found == latency.workers.end()) continue;
    const Worker& worker = found->second;
    if (!worker.overlaps) {
      latency.of_ended_ns.insert(latency.of_ended_ns.end(), worker.measured_ns.begin(),
                                 worker.measured_ns.end());
    }
    latency.workers.erase(found);
  }
}

std::vector<Nanoseconds> Counters::measured(const Latency& latency) {
  std::vector<Nanoseconds> all_ns = latency.of_ended_ns;
  for (const auto& [tid, worker] : latency.workers) {
    if (worker.overlaps) continue;
    all_ns.insert(all_ns.end(), worker.measured_ns.begin(), worker.measured_ns.end());
  }
  return all_ns;
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
    std::vector<Nanoseconds> sorted = measured(latency);
    std::sort(sorted.begin(), sorted.end());
    if (!sorted.empty() && are_pairs(sorted.size(), count.begins, count.ends)) {
      count.mean_ns = std::accumulate(sorted.begin(), sorted.end(), Nanoseconds{0}) /
                      static_cast<Nanoseconds>(sorted.size());
      count.p50_ns = quantile(sorted, 0.5);
      count.p99_ns = quantile(sorted, 0.99);
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
