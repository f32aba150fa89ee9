#include "controller/callpath/residual.h"

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kFewestUsed = 4;   // first lives that tell the density
constexpr std::size_t kFewestEven = 16;  // of an even density, if an eighth of all lives is as many
constexpr std::size_t kPart = 8;         // of the lives over which the density looks even
constexpr double kStep = 1.4;            // from one number of lives that is looked at to the next
constexpr double kSeenToFall = 2.5;      // standard errors
// Standard errors of the rate's interval, more than those of 95 %, since the number of lives that
// tell it is chosen by these lives. With them it covers in 94 to 98 % of the cases of the test.
constexpr double kErrors = 2.24;

// Returns the quantile of the chi-squared distribution at the normal one `z` (Wilson and Hilferty,
// "The distribution of chi-square", PNAS 17 (1931)), which is good to 0.1 % from 32 degrees on, and
// to 1 % from 8.
double chi_squared(double degrees, double z) {
  const double part = 2 / (9 * degrees);
  return degrees * std::pow(1 - part + z * std::sqrt(part), 3);
}

// The 95 % interval of the mean of a Poisson distribution of which `count` was drawn (Johnson, Kemp
// & Kotz, "Univariate Discrete Distributions", 2005, §4.7.3).
double poisson_low(std::size_t count) {
  if (count == 0) return 0;
  return chi_squared(2 * static_cast<double>(count), -statistics::kNormal95) / 2;
}
double poisson_high(std::size_t count) {
  return chi_squared(2 * static_cast<double>(count) + 2, statistics::kNormal95) / 2;
}

// 1, 2, 5, 10, … from the first above `from_ns` to the last below `to_ns`.
std::vector<Nanoseconds> round_times(Nanoseconds from_ns, Nanoseconds to_ns) {
  std::vector<Nanoseconds> times;
  for (Nanoseconds power = 1; power < to_ns; power *= 10) {
    for (const Nanoseconds factor : {1, 2, 5}) {
      if (factor * power > from_ns && factor * power < to_ns) times.push_back(factor * power);
    }
  }
  return times;
}

// `lives_ns` are sorted.
std::vector<LongerCalls> longer_calls(const std::vector<Nanoseconds>& lives_ns,
                                      const ResidualLives& residuals, Nanoseconds from_ns) {
  // What is next to the precision would have a bound of a few moments only.
  std::vector<Nanoseconds> edges = round_times(from_ns + from_ns / 2, residuals.watched_ns);
  edges.insert(edges.begin(), from_ns);
  edges.push_back(residuals.watched_ns);
  const auto below = [&](Nanoseconds time_ns) {
    return std::upper_bound(lives_ns.begin(), lives_ns.end(), time_ns) - lives_ns.begin();
  };
  const auto lives = [&](std::size_t i) {  // between two edges
    return static_cast<std::size_t>(below(edges[i + 1]) - below(edges[i]));
  };
  const auto exposure_s = [&](std::size_t i) {
    return static_cast<double>(edges[i + 1] - edges[i]) * static_cast<double>(residuals.samples) /
           static_cast<double>(kSecond);
  };
  std::vector<LongerCalls> longer;
  for (std::size_t i = 1; i + 1 < edges.size(); ++i) {
    longer.push_back({edges[i], poisson_low(lives(i)) / exposure_s(i),
                      poisson_high(lives(i - 1)) / exposure_s(i - 1)});
  }
  return longer;
}

// `times` are sorted. Returns the number of the first ones over which their density looks even.
std::size_t even_part(const std::vector<double>& times) {
  const auto density = [&](std::size_t count) {
    return static_cast<double>(count - 1) / times[count - 1];
  };
  std::vector<std::size_t> even{kFewestUsed};
  for (;;) {
    const std::size_t last = even.back();
    const auto next =
        std::max(last + 1, static_cast<std::size_t>(static_cast<double>(last) * kStep));
    if (next > times.size()) return last;
    for (const std::size_t fewer : even) {
      const double error =
          std::sqrt(1 / static_cast<double>(fewer) - 1 / static_cast<double>(next));
      if (std::abs(std::log(density(fewer) / density(next))) > kSeenToFall * error) return last;
    }
    even.push_back(next);
  }
}

// The number of the first lives that tell the density.
std::size_t used_part(const std::vector<double>& times) {
  const std::size_t even = even_part(times);
  const std::size_t fewest =
      even < kFewestEven ? kFewestUsed : std::min(kFewestEven, times.size() / kPart);
  return std::max(fewest, even / kPart);
}

// Returns the lives that can tell a rate, sorted.
std::vector<Nanoseconds> measured_lives(const ResidualLives& residuals) {
  std::vector<Nanoseconds> lives;
  for (const Nanoseconds life_ns : residuals.lives_ns) {
    if (life_ns > std::max<Nanoseconds>(0, residuals.precision_ns) &&
        life_ns <= residuals.watched_ns) {
      lives.push_back(life_ns);
    }
  }
  std::sort(lives.begin(), lives.end());
  return lives;
}

}  // namespace

std::optional<CallRate> calls_of(const ResidualLives& residuals) {
  const Nanoseconds from_ns = std::max<Nanoseconds>(0, residuals.precision_ns);
  const std::vector<Nanoseconds> lives_ns = measured_lives(residuals);
  if (lives_ns.size() < kFewestLives || residuals.samples == 0) return std::nullopt;
  std::vector<double> times;
  for (const Nanoseconds life_ns : lives_ns)
    times.push_back(static_cast<double>(life_ns - from_ns));
  const std::size_t count = used_part(times);
  // Lives times samples, in seconds, in which so many calls have ended.
  const double exposure_s =
      times[count - 1] * static_cast<double>(residuals.samples) / static_cast<double>(kSecond);
  const double degrees = 2 * static_cast<double>(count);
  CallRate rate;
  rate.per_second = static_cast<double>(count - 1) / exposure_s;
  rate.low = chi_squared(degrees, -kErrors) / 2 / exposure_s;
  rate.high = chi_squared(degrees, kErrors) / 2 / exposure_s;
  rate.from_ns = from_ns;
  rate.to_ns = from_ns + static_cast<Nanoseconds>(times[count - 1]);
  rate.longer = longer_calls(lives_ns, residuals, from_ns);
  return rate;
}

}  // namespace causalctl::callpath
