#include "controller/callpath/residual.h"

#include <algorithm>
#include <cmath>

#include "controller/base/statistics.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kFewest = 16;  // lives from which a rate is told
constexpr std::size_t kPart = 8;     // of the lives over which the density looks even
constexpr double kStep = 1.4;        // from one number of lives that is looked at to the next
constexpr double kSeenToFall = 2.5;  // standard errors

// Returns the quantile of the chi-squared distribution at the normal one `z` (Wilson and Hilferty,
// "The distribution of chi-square", PNAS 17 (1931)), which is good to 0.1 % from 32 degrees on.
double chi_squared(double degrees, double z) {
  const double part = 2 / (9 * degrees);
  return degrees * std::pow(1 - part + z * std::sqrt(part), 3);
}

// `times` are sorted. Returns the number of the first ones over which their density looks even.
std::size_t even_part(const std::vector<double>& times) {
  const auto density = [&](std::size_t count) {
    return static_cast<double>(count - 1) / times[count - 1];
  };
  std::vector<std::size_t> even{kFewest};
  for (;;) {
    const auto next = static_cast<std::size_t>(static_cast<double>(even.back()) * kStep);
    if (next > times.size()) return even.back();
    for (const std::size_t fewer : even) {
      const double error =
          std::sqrt(1 / static_cast<double>(fewer) - 1 / static_cast<double>(next));
      if (std::abs(std::log(density(fewer) / density(next))) > kSeenToFall * error) {
        return even.back();
      }
    }
    even.push_back(next);
  }
}

}  // namespace

std::optional<CallRate> calls_of(const ResidualLives& residuals) {
  const Nanoseconds from_ns = std::max<Nanoseconds>(0, residuals.precision_ns);
  std::vector<double> times;
  for (const Nanoseconds life_ns : residuals.lives_ns) {
    if (life_ns <= from_ns || life_ns > residuals.watched_ns) continue;
    times.push_back(static_cast<double>(life_ns - from_ns));
  }
  if (times.size() < kFewest || residuals.samples < times.size()) return std::nullopt;
  std::sort(times.begin(), times.end());
  const std::size_t count = std::max(kFewest, even_part(times) / kPart);
  // Lives times samples, in seconds, in which so many calls have ended.
  const double exposure_s =
      times[count - 1] * static_cast<double>(residuals.samples) / static_cast<double>(kSecond);
  const double degrees = 2 * static_cast<double>(count);
  CallRate rate;
  rate.per_second = static_cast<double>(count - 1) / exposure_s;
  rate.low = chi_squared(degrees, -statistics::kNormal95) / 2 / exposure_s;
  rate.high = chi_squared(degrees, statistics::kNormal95) / 2 / exposure_s;
  rate.from_ns = from_ns;
  rate.to_ns = from_ns + static_cast<Nanoseconds>(times[count - 1]);
  return rate;
}

}  // namespace causalctl::callpath
