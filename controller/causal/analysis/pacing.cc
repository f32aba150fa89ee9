#include "controller/causal/analysis/pacing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/base/statistics.h"

namespace causalctl::causal {
namespace {

// If certainly more than this share is unfelt, the pace is the point's own; if certainly less, it
// is the program's. The bound is above a half because a server that still works for a request after
// it has sent the answer does not feel a pause there, either.
constexpr double kOwn = 0.6;
// Threads that queue for cores wait less for them while all are paused. Then the rate falls by less
// than the program's time, whether or not progress waits for the program. So only the threads'
// other waits can tell, with this bound.
constexpr double kOwnOfWaits = 0.5;
// As more is unfelt, an effect falls faster than a standard error of its logarithm says.
constexpr double kCurved = 1.5;

// Returns the unfelt share: 0 if the rate falls by the same factor as the program's time.
double unfelt_at(double rate, double paused_share) {
  return 1 - std::log(rate) / std::log(1 - paused_share);
}

Pace pace_of(double low, double high, double own) {
  if (low > own) return Pace::own;
  return high < own ? Pace::of_program : Pace::unknown;
}

}  // namespace

std::optional<Pacing> pacing_of(std::string point, const std::vector<PacePair>& pairs,
                                bool cores_short) {
  if (pairs.size() < kFewestPairs) return std::nullopt;
  std::vector<double> logs;
  std::vector<double> absorbed;
  double paused_share = 0;
  for (const PacePair& pair : pairs) {
    if (pair.off <= 0 || pair.on <= 0 || pair.paused_share <= 0) return std::nullopt;
    logs.push_back(std::log(pair.on / pair.off));
    paused_share += pair.paused_share / static_cast<double>(pairs.size());
    const double waited_for_as_many = pair.waited_off * pair.on / pair.off;
    absorbed.push_back((waited_for_as_many - pair.waited_on) / pair.paused_share);
  }
  const double mean = statistics::mean(logs);
  const double reach = statistics::half_interval_of_mean(logs);
  Pacing pacing{std::move(point),       paused_share,           std::exp(mean),
                std::exp(mean - reach), std::exp(mean + reach), cores_short};
  const double absorbed_reach = statistics::half_interval_of_mean(absorbed);
  pacing.absorbed = statistics::mean(absorbed);
  pacing.absorbed_low = pacing.absorbed - absorbed_reach;
  pacing.absorbed_high = pacing.absorbed + absorbed_reach;
  const bool sound = paused_share < 1 && pacing.low > 0 && std::isfinite(pacing.high);
  return sound ? std::optional(std::move(pacing)) : std::nullopt;
}

Pacing untested(std::string point) {
  Pacing pacing;
  pacing.point = std::move(point);
  return pacing;
}

Pace pace_of(const Pacing& pacing) {
  if (!(pacing.paused_share > 0 && pacing.paused_share < 1 && pacing.low > 0)) return Pace::unknown;
  if (pacing.cores_short) return pace_of(pacing.absorbed_low, pacing.absorbed_high, kOwnOfWaits);
  return pace_of(unfelt_at(pacing.low, pacing.paused_share),
                 unfelt_at(pacing.high, pacing.paused_share), kOwn);
}

const Pacing* find_pacing(const Run& run, const std::string& point) {
  const auto found = std::find_if(run.pacing.begin(), run.pacing.end(),
                                  [&](const Pacing& each) { return each.point == point; });
  return found == run.pacing.end() ? nullptr : &*found;
}

std::optional<report::Pacing> described_pacing(const std::vector<Run>& runs,
                                               const std::string& point) {
  for (const Run& run : runs) {
    const Pacing* pacing = find_pacing(run, point);
    if (pacing == nullptr) continue;
    report::Pacing described{
        pace_of(*pacing), pacing->paused_share, {pacing->rate, pacing->low, pacing->high}, {}};
    if (!pacing->tested()) described.rate = {NAN, NAN, NAN};
    if (pacing->cores_short) {
      described.absorbed = {pacing->absorbed, pacing->absorbed_low, pacing->absorbed_high};
    }
    return described;
  }
  return std::nullopt;
}

bool all_at_own_pace(const Run& run) {
  return !run.pacing.empty() &&
         std::all_of(run.pacing.begin(), run.pacing.end(),
                     [](const Pacing& pacing) { return pace_of(pacing) == Pace::own; });
}

Unfelt unfelt_of(const Run& run, const std::string& point) {
  const Pacing* pacing = find_pacing(run, point);
  if (pacing == nullptr) return {};
  const Pace pace = pace_of(*pacing);
  if (pace == Pace::of_program) return {};
  const Unfelt all_of_it{1, 0};
  const Unfelt anything{0.5, kCurved * 0.5 / statistics::kNormal95};
  if (pacing->cores_short || !pacing->tested()) return pace == Pace::own ? all_of_it : anything;
  if (pace == Pace::own && pacing->high >= 1) return all_of_it;
  const double share = std::clamp(unfelt_at(pacing->rate, pacing->paused_share), 0.0, 1.0);
  const double low = unfelt_at(pacing->low, pacing->paused_share);
  const double high = unfelt_at(pacing->high, pacing->paused_share);
  // The uniform pause may have been longer than the program's spare time, so all may be unfelt.
  const double all = pace == Pace::unknown ? kCurved * (1 - share) : 0;
  const double half = std::max((high - low) / 2, all);
  return {share, half / statistics::kNormal95};
}

}  // namespace causalctl::causal
