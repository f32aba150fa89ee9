#include "controller/perf/sample_time.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <random>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/statistics.h"
#include "controller/perf/trials.h"

namespace causalctl::perf {
namespace {

constexpr Nanoseconds kPeriodOffTicks = 1130 * kMicrosecond;  // no multiple of theirs
constexpr Nanoseconds kCompared = 100 * kMicrosecond;
constexpr std::size_t kFewest = 10;
constexpr double kSomethingElse = 10;
constexpr std::size_t kTypical = 2000;  // pieces of work, of which the median is taken
constexpr std::size_t kStackBelow = std::size_t{16} << 10;  // more than is copied with a sample
constexpr std::size_t kMemory = std::size_t{256} << 10;
constexpr int kSteps = 32;                            // of a piece of work
constexpr Nanoseconds kShortestPiece = 50;            // for the size of a buffer
constexpr Nanoseconds kRound = 10 * kPeriodOffTicks;  // then the rings are read
constexpr int kMostRounds = 4;                        // times as many as should do
constexpr unsigned kStackPages = 64;                  // of the ring, for the stacks of a round

struct alignas(64) Place {  // a cache line
  const Place* next = nullptr;
};

// Returns places that lead to each other in a random order, round and round.
std::vector<Place> round_trip() {
  std::vector<Place> places(kMemory / sizeof(Place));
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937());
  for (std::size_t i = 0; i < order.size(); ++i) {
    places[order[i]].next = &places[order[(i + 1) % order.size()]];
  }
  return places;
}

// Works for a round, and notes in `ends` when each piece was done.
void work(const std::vector<Place>& places, std::vector<Nanoseconds>& ends) {
  // A program has a stack that is deep enough to be copied in full.
  std::array<char, kStackBelow> below;
  below.fill(1);
  asm volatile("" : : "r"(below.data()) : "memory");
  ends.resize(static_cast<std::size_t>(kRound / kShortestPiece));
  std::size_t done = 0;
  const Place* at = places.data();
  const Nanoseconds end_ns = monotonic_now() + kRound;
  for (Nanoseconds now_ns = 0; now_ns < end_ns && done < ends.size(); ++done) {
    for (int i = 0; i < kSteps; ++i) at = at->next;
    asm volatile("" : : "r"(at));
    ends[done] = now_ns = monotonic_now();
  }
  ends.resize(done);
}

void read_into(ThreadEvents& events, Worked& worked) {
  worked.samples_ns.clear();
  worked.switches_ns.clear();
  events.read([&](const Record& record) {
    if (const auto* change = std::get_if<SwitchRecord>(&record)) {
      if (change->out) worked.switches_ns.push_back(change->common.time_ns);
    } else if (const auto* sample = std::get_if<SampleRecord>(&record)) {
      if (events.is_sample(*sample)) worked.samples_ns.push_back(sample->common.time_ns);
    }
  });
}

double median_piece(std::span<const Nanoseconds> ends_ns) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < std::min(ends_ns.size(), kTypical); ++i) {
    lengths.push_back(static_cast<double>(ends_ns[i] - ends_ns[i - 1]));
  }
  return std::max(1.0, statistics::median(lengths));
}

bool any_between(const std::vector<Nanoseconds>& times_ns, Nanoseconds from_ns, Nanoseconds to_ns) {
  const auto first = std::lower_bound(times_ns.begin(), times_ns.end(), from_ns);
  return first != times_ns.end() && *first <= to_ns;
}

ThreadEvents open_events(SamplingFields fields) {
  ThreadPlan plan = nothing_but_bookkeeping();
  plan.sample = plan.switches = true;
  plan.sampling = fields;
  plan.rings.most_stack_pages = kStackPages;
  try {
    return own_events(plan, kPeriodOffTicks);
  } catch (const Error&) {
    if (!fields.kernel) throw;
    plan.sampling.kernel = false;
    return own_events(plan, kPeriodOffTicks);
  }
}

}  // namespace

std::vector<double> excess_by_samples(const Worked& worked) {
  const std::vector<Nanoseconds>& ends = worked.ends_ns;
  std::vector<double> excess_ns;
  if (ends.size() < 2) return excess_ns;
  const auto some = static_cast<std::size_t>(static_cast<double>(kCompared) / median_piece(ends));
  for (std::size_t i = 0; i < worked.samples_ns.size(); ++i) {
    const Nanoseconds sample_ns = worked.samples_ns[i];
    const auto first = static_cast<std::size_t>(
        std::upper_bound(ends.begin(), ends.end(), sample_ns) - ends.begin());
    if (some == 0 || first < some + 1 || first + some > ends.size()) continue;
    const Nanoseconds begin_ns = ends[first - some - 1];
    const Nanoseconds sampled_ns = ends[first - 1];
    const Nanoseconds end_ns = ends[first + some - 1];
    if (any_between(worked.switches_ns, begin_ns, end_ns)) continue;
    // Work that is slower because of another sample says nothing.
    if (i > 0 && worked.samples_ns[i - 1] + kCompared > begin_ns) continue;
    if (i + 1 < worked.samples_ns.size() && worked.samples_ns[i + 1] <= end_ns) continue;
    excess_ns.push_back(static_cast<double>(end_ns - 2 * sampled_ns + begin_ns));
  }
  return excess_ns;
}

std::optional<Interval> mean_excess(std::span<const double> excess_ns) {
  if (excess_ns.size() < kFewest) return std::nullopt;
  const double middle = statistics::median(excess_ns);
  const double far = kSomethingElse * std::max(1.0, statistics::robust_deviation(excess_ns));
  std::vector<double> limited;
  for (const double each : excess_ns) {
    limited.push_back(std::clamp(each, middle - far, middle + far));
  }
  const double mean = statistics::mean(limited);
  const double reach = statistics::half_interval_of_mean(limited);
  return Interval{std::max(mean, 0.0), std::max(mean - reach, 0.0), std::max(mean + reach, 0.0)};
}

std::optional<Interval> time_of_sample(SamplingFields fields, std::size_t samples) {
  try {
    ThreadEvents events = open_events(fields);
    const std::vector<Place> places = round_trip();
    Worked worked;
    std::vector<double> excess_ns;
    const auto rounds = static_cast<std::size_t>(kMostRounds * kPeriodOffTicks) * samples / kRound;
    for (std::size_t i = 0; i < rounds && excess_ns.size() < samples; ++i) {
      work(places, worked.ends_ns);
      read_into(events, worked);
      const auto more = excess_by_samples(worked);
      excess_ns.insert(excess_ns.end(), more.begin(), more.end());
    }
    return mean_excess(excess_ns);
  } catch (const Error& error) {
    log::verbose("what a sample takes cannot be measured: {}", error.what());
    return std::nullopt;
  }
}

}  // namespace causalctl::perf
