#include "controller/continuous/analysis/spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/statistics.h"

namespace causalctl::continuous {
namespace {

using CountsOfFunction = std::vector<Count>;  // by set

double time_of(const Count& count) { return static_cast<double>(count.time_ns); }

// If the sets are alike, the time of each is that of a Poisson number of samples, of which each
// stands for the same time.
double chance_of(const std::vector<SampleSet>& sets, const CountsOfFunction& counts) {
  Count all;
  double units = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    all += counts[i];
    units += sets[i].units;
  }
  const double of_sample = time_of(all) / static_cast<double>(all.samples);
  double chi_square = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const double expected = time_of(all) / units * sets[i].units;
    const double residual = time_of(counts[i]) - expected;
    chi_square += residual * residual / (expected * of_sample);
  }
  return statistics::chi_square_tail(chi_square, sets.size() - 1);
}

Spread spread_of_one(const std::vector<SampleSet>& sets, const CountsOfFunction& counts) {
  std::vector<double> values;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    values.push_back(time_of(counts[i]) / sets[i].units);
  }
  Spread spread;
  for (const double value : values) spread.sum += value;
  spread.least = *std::min_element(values.begin(), values.end());
  spread.most = *std::max_element(values.begin(), values.end());
  spread.range = (spread.most - spread.least) / spread.sum;
  const double mean = statistics::mean(values);
  const double half = statistics::half_interval_of_mean(values);
  spread.mean = {mean, std::max(0.0, mean - half), mean + half};
  spread.deviation =
      statistics::standard_error(values) * std::sqrt(static_cast<double>(values.size()));
  return spread;
}

}  // namespace

std::vector<Spread> spread_of(const std::vector<SampleSet>& sets, double least_share) {
  INVARIANT(sets.size() >= 2);
  std::map<std::pair<std::string, std::string>, CountsOfFunction> functions;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const Row& row : sets[i].rows.rows) {
      auto& counts = functions[{row.name, row.image}];
      counts.resize(sets.size());
      counts[i] += row.count;
    }
  }
  std::vector<Spread> rows;
  std::vector<double> chances;
  double all = 0;
  for (const auto& [key, counts] : functions) {
    Spread row = spread_of_one(sets, counts);
    std::tie(row.name, row.image) = key;
    all += row.sum;
    rows.push_back(std::move(row));
    chances.push_back(chance_of(sets, counts));
  }
  const std::vector<double> adjusted = statistics::benjamini_hochberg(chances);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].adjusted_p = adjusted[i];
  std::erase_if(rows,
                [&](const Spread& row) { return !row.differs() && row.sum < least_share * all; });
  std::stable_sort(rows.begin(), rows.end(), [](const Spread& a, const Spread& b) {
    return std::pair(a.differs(), a.range) > std::pair(b.differs(), b.range);
  });
  return rows;
}

}  // namespace causalctl::continuous
