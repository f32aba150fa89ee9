#include "controller/perf/sample_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>
#include <vector>

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
constexpr int kSteps = 200;                  // of a piece of work
constexpr Nanoseconds kShortestPiece = 200;  // for the size of a buffer
constexpr unsigned kStackPages = 128;        // of the ring, for stacks of 60 samples

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

Nanoseconds own_cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// Works for so long.
std::vector<Piece> work_for(Nanoseconds longest_ns) {
  const std::vector<Place> places = round_trip();
  // A program has a stack that is deep enough to be copied in full.
  std::array<char, kStackBelow> below;
  asm volatile("" : : "r"(below.data()) : "memory");
  std::vector<Piece> pieces(static_cast<std::size_t>(longest_ns / kShortestPiece));
  std::size_t done = 0;
  const Place* at = places.data();
  const Nanoseconds end_ns = monotonic_now() + longest_ns;
  for (Nanoseconds now_ns = 0; now_ns < end_ns && done < pieces.size(); ++done) {
    for (int i = 0; i < kSteps; ++i) at = at->next;
    asm volatile("" : : "r"(at));
    now_ns = monotonic_now();
    pieces[done] = {now_ns, own_cpu_now()};
  }
  pieces.resize(done);
  return pieces;
}

// Returns the number of the piece that was being done at that time.
std::size_t piece_at(std::span<const Piece> pieces, Nanoseconds time_ns) {
  const auto after = [](Nanoseconds time, const Piece& piece) { return time < piece.end_ns; };
  return static_cast<std::size_t>(std::upper_bound(pieces.begin(), pieces.end(), time_ns, after) -
                                  pieces.begin());
}

double median_piece(std::span<const Piece> pieces) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < std::min(pieces.size(), kTypical); ++i) {
    lengths.push_back(static_cast<double>(pieces[i].cpu_ns - pieces[i - 1].cpu_ns));
  }
  return std::max(1.0, statistics::median(lengths));
}

std::optional<Interval> mean_of_usual(std::span<const double> values) {
  if (values.size() < kFewest) return std::nullopt;
  const double middle = statistics::median(values);
  const double far = kSomethingElse * std::max(1.0, statistics::robust_deviation(values));
  std::vector<double> usual;
  for (const double each : values) {
    if (std::abs(each - middle) < far) usual.push_back(each);
  }
  const double mean = statistics::mean(usual);
  const double reach = statistics::half_interval_of_mean(usual);
  return Interval{mean, mean - reach, mean + reach};
}

}  // namespace

std::optional<Interval> excess_by_samples(std::span<const Piece> pieces,
                                          std::span<const Nanoseconds> samples_ns) {
  if (pieces.size() < 2) return std::nullopt;
  const auto some = static_cast<std::size_t>(static_cast<double>(kCompared) / median_piece(pieces));
  std::vector<double> excess_ns;
  for (std::size_t i = 0; i < samples_ns.size(); ++i) {
    const std::size_t first = piece_at(pieces, samples_ns[i]);
    if (some == 0 || first < some + 1 || first + some > pieces.size()) continue;
    const Piece& begin = pieces[first - some - 1];
    const Piece& sampled = pieces[first - 1];
    const Piece& end = pieces[first + some - 1];
    // Work that is slower because of another sample says nothing.
    if (i > 0 && samples_ns[i - 1] + kCompared > begin.end_ns) continue;
    if (i + 1 < samples_ns.size() && samples_ns[i + 1] <= end.end_ns) continue;
    excess_ns.push_back(static_cast<double>(end.cpu_ns - 2 * sampled.cpu_ns + begin.cpu_ns));
  }
  return mean_of_usual(excess_ns);
}

std::optional<Interval> time_of_sample(const SamplingFields& fields, std::size_t samples) {
  ThreadPlan plan = nothing_but_bookkeeping();
  plan.sample = true;
  plan.sampling = fields;
  plan.sampling.period_ns = kPeriodOffTicks;
  plan.rings.most_stack_pages = kStackPages;
  try {
    ThreadEvents events = own_events(plan, kPeriodOffTicks);
    const auto pieces = work_for(static_cast<Nanoseconds>(samples) * kPeriodOffTicks);
    events.enable_sampling(false);
    std::vector<Nanoseconds> samples_ns;
    events.read([&](const Record& record) {
      const auto* sample = std::get_if<SampleRecord>(&record);
      if (sample == nullptr || !events.is_sample(*sample)) return;
      samples_ns.push_back(sample->common.time_ns);
    });
    return excess_by_samples(pieces, samples_ns);
  } catch (const Error& error) {
    log::verbose("what a sample takes cannot be measured: {}", error.what());
    return std::nullopt;
  }
}

}  // namespace causalctl::perf
