#include "controller/causal/analysis/beside_strangers.h"

#include <algorithm>

namespace causalctl::causal {
namespace {

// Threads that run for this many slices between two meetings wait for cores independently of each
// other.
constexpr double kApart = 10;

constexpr int kFewCores = 2;

// Returns the mean CPU time between two of `events`, 0 if there was no CPU time.
double between(Nanoseconds cpu_ns, std::uint64_t events) {
  return static_cast<double>(cpu_ns) / static_cast<double>(std::max<std::uint64_t>(events, 1));
}

}  // namespace

CoresShared classify(const CoreTotals& totals, Nanoseconds slice_ns) {
  CoresShared shared;
  const auto cpu = static_cast<double>(std::max<Nanoseconds>(totals.cpu_ns, 0));
  const auto waited = static_cast<double>(std::max<Nanoseconds>(totals.stranger_wait_ns, 0));
  if (cpu > 0) {
    shared.waited_share = waited / (cpu + waited);
    shared.stretch = (cpu + waited) / cpu;
    shared.matters = waited > kSharedFrom * cpu;
  }
  if (totals.quota_ns > 0) {
    shared.quota_share =
        static_cast<double>(totals.quota_stopped_ns) / static_cast<double>(totals.quota_ns);
  }
  const auto slice = static_cast<double>(slice_ns);
  shared.many_cores = totals.cores > kFewCores;
  const double to_meeting = between(totals.visitors_cpu_ns, totals.met);
  const double to_device = between(totals.visitors_cpu_ns, totals.ended_externally);
  if (totals.visitors_cpu_ns <= 0 || totals.spin || (totals.met > 0 && to_meeting < slice) ||
      (totals.ended_externally > 0 && to_device < kApart * slice)) {
    shared.meeting = Meeting::often;
  } else if (totals.met > 0 && to_meeting < kApart * slice) {
    shared.meeting = Meeting::seldom;
  }
  return shared;
}

}  // namespace causalctl::causal
