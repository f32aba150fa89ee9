#include "controller/progress/thread_pairs.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace causalctl::progress {
namespace {

constexpr double kMuchLonger = 3;        // than the mean
constexpr Nanoseconds kMayStillEnd = 2;  // times as old as the longest that has ended

}  // namespace

ThreadPairs::Since::Since(Nanoseconds now_ns)
    : begun_ns(std::max<Nanoseconds>(now_ns, 0)), before_ns(std::max<Nanoseconds>(-now_ns, 0)) {}

Nanoseconds ThreadPairs::Since::age_ns(Nanoseconds now_ns) const {
  return before_ns + std::max<Nanoseconds>(now_ns - begun_ns, 0);
}

void ThreadPairs::Since::start(Nanoseconds passed_ns) {
  before_ns = age_ns(passed_ns);
  begun_ns = 0;
}

void ThreadPairs::Ended::add(const Ended& other) {
  lengths_ns.insert(lengths_ns.end(), other.lengths_ns.begin(), other.lengths_ns.end());
  within_ns += other.within_ns;
}

// Two begins in a row may be one piece of work that was given up without passing its end. Two ends
// in a row, both of pieces that were seen to begin, belong to two pieces that were open at once.
void ThreadPairs::begin(Tid thread, Nanoseconds now_ns) {
  if (!watched_) watched_.emplace(now_ns);
  Worker& worker = workers_[thread];
  worker.was_seen = worker.has_begun = worker.began_last = true;
  ++worker.open;
  worker.begun.emplace(now_ns);
  longest_ns_ = std::max(longest_ns_, std::exchange(worker.unseen_age_ns, 0));
}

void ThreadPairs::end(Tid thread, Nanoseconds now_ns) {
  Worker& worker = workers_[thread];
  if (!worker.was_seen) worker.unseen_end_ns = std::max<Nanoseconds>(now_ns, 0);
  if (const auto length = close(worker, now_ns)) {
    worker.ended.lengths_ns.push_back(length->all_ns);
    worker.ended.within_ns += length->within_ns;
  }
}

void ThreadPairs::late_end(Tid thread) { (void)close(workers_[thread], 0); }

std::optional<ThreadPairs::Length> ThreadPairs::close(Worker& worker, Nanoseconds now_ns) {
  if (!watched_) watched_.emplace(now_ns);
  if (!std::exchange(worker.was_seen, true)) worker.unseen_age_ns = watched_->age_ns(now_ns);
  worker.overlaps |= worker.open > 0 && !worker.began_last;
  if (worker.open > 0) --worker.open;  // otherwise it began before counting, or on another thread
  worker.began_last = false;
  if (!worker.begun) return std::nullopt;
  const Nanoseconds all_ns = worker.begun->age_ns(now_ns);
  const Length length = {all_ns, all_ns - worker.begun->before_ns};
  worker.begun.reset();
  longest_ns_ = std::max(longest_ns_, length.all_ns);
  return length;
}

void ThreadPairs::thread_ended(Tid thread) {
  const auto found = workers_.find(thread);
  if (found == workers_.end()) return;
  if (!found->second.overlaps) of_ended_threads_.add(found->second.ended);
  workers_.erase(found);
}

void ThreadPairs::start(Nanoseconds passed_ns) {
  if (watched_) watched_->start(passed_ns);
  of_ended_threads_ = {};
  for (auto& [tid, worker] : workers_) {
    worker.ended = {};
    worker.unseen_end_ns.reset();
    if (worker.begun) worker.begun->start(passed_ns);
  }
}

PairedLatency ThreadPairs::paired(Nanoseconds length_ns) const {
  PairedLatency result;
  Ended ended = of_ended_threads_;
  Nanoseconds longest_ns = 0;  // in the window
  for (const auto& [tid, worker] : workers_) {
    if (worker.overlaps) continue;
    ended.add(worker.ended);
    if (worker.unseen_end_ns && worker.has_begun) {
      ++result.ends;
      ended.within_ns += *worker.unseen_end_ns;
    }
    if (!worker.begun) continue;
    const Nanoseconds age_ns = worker.begun->age_ns(length_ns);
    if (age_ns > kMayStillEnd * longest_ns_) continue;
    longest_ns = std::max(longest_ns, age_ns);
    ended.within_ns += age_ns - worker.begun->before_ns;
  }
  const bool all_known = result.ends == 0;
  result.lengths_ns = std::move(ended.lengths_ns);
  std::sort(result.lengths_ns.begin(), result.lengths_ns.end());
  result.ends += result.lengths_ns.size();
  if (result.lengths_ns.empty()) return result;
  longest_ns = std::max(longest_ns, result.lengths_ns.back());
  const auto ends = static_cast<Nanoseconds>(result.ends);
  result.mean_ns = ended.within_ns / ends;
  if (all_known &&
      static_cast<double>(longest_ns) <= kMuchLonger * static_cast<double>(result.mean_ns)) {
    const Nanoseconds sum_ns =
        std::accumulate(result.lengths_ns.begin(), result.lengths_ns.end(), Nanoseconds{0});
    result.mean_ns = sum_ns / ends;
  }
  return result;
}

}  // namespace causalctl::progress
