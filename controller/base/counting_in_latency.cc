#include "controller/base/counting_in_latency.h"

#include <fmt/format.h>

#include <algorithm>

namespace causalctl {
namespace {

constexpr double kWorthTelling = 0.02;  // of the mean

}  // namespace

std::string words_of_counting(Nanoseconds cost_ns, double mean_s) {
  const double cost_s = static_cast<double>(cost_ns) / kSecond;
  if (mean_s <= 0 || cost_s < kWorthTelling * mean_s) return "";
  return fmt::format(
      "at least {:.2g} µs of the mean latency, {:.3g} µs, is the cost of counting its begin and "
      "its end: differences look too small. Name places that are farther apart",
      1e6 * std::min(cost_s, mean_s), 1e6 * mean_s);
}

}  // namespace causalctl
