#include "controller/continuous/analysis/spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/statistics.h"

namespace causalctl::continuous {
namespace {

using CountsOfFunction = std::vector<Count>;  // by set

double time_of(const Count& count) { return static_cast<double>(count.time_ns); }

// Of fewer samples a number is not nearly normal.
constexpr double kFewestExpected = 5;

// The time that a sample of the set stands for. If samples stand for different times, it is that of
// which the time varies so (Kish, "Survey Sampling", 1965, §8.2).
double time_of_sample(const SampleSet& set) {
  double sum = 0, squares = 0;
  for (const Row& row : set.rows.rows) {
    const double time = time_of(row.count);
    sum += time;
    if (row.count.samples > 0) squares += time * time / static_cast<double>(row.count.samples);
  }
  return sum > 0 ? squares / sum : 0;
}

// What is expected of a set, for one function.
struct Expected {
  double time = 0;       // that was counted
  double units = 0;      // of the set
  double of_sample = 0;  // time
};

// The rate that is most probable if all sets have the same one.
double common_rate(const std::vector<Expected>& sets) {
  double samples = 0, units = 0;
  for (const Expected& set : sets) {
    samples += set.time / set.of_sample;
    units += set.units / set.of_sample;
  }
  return samples / units;
}

// Returns how probable such differences are if the sets are alike: the time of each is then that of
// a Poisson number of samples. Sets that are too short to have some samples of the function are
// left out. Returns nullopt if there are not two others.
std::optional<double> chance_of(const std::vector<SampleSet>& sets,
                                const std::vector<double>& of_sample,
                                const CountsOfFunction& counts) {
  std::vector<Expected> all;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (of_sample[i] > 0) all.push_back({time_of(counts[i]), sets[i].units, of_sample[i]});
  }
  if (all.empty()) return std::nullopt;
  const double rate = common_rate(all);
  std::erase_if(
      all, [&](const Expected& set) { return rate * set.units / set.of_sample < kFewestExpected; });
  if (all.size() < 2) return std::nullopt;
  const double rate_of_these = common_rate(all);
  double chi_square = 0;
  for (const Expected& set : all) {
    const double expected = rate_of_these * set.units;
    chi_square += (set.time - expected) * (set.time - expected) / (expected * set.of_sample);
  }
  return statistics::chi_square_tail(chi_square, all.size() - 1);
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
  std::vector<double> of_sample;
  for (const SampleSet& set : sets) of_sample.push_back(time_of_sample(set));
  std::vector<Spread> rows;
  std::vector<double> chances;
  std::vector<std::size_t> compared;  // rows
  double all = 0;
  for (const auto& [key, counts] : functions) {
    Spread row = spread_of_one(sets, counts);
    std::tie(row.name, row.image) = key;
    all += row.sum;
    if (const auto chance = chance_of(sets, of_sample, counts)) {
      chances.push_back(*chance);
      compared.push_back(rows.size());
    }
    rows.push_back(std::move(row));
  }
  const std::vector<double> adjusted = statistics::benjamini_hochberg(chances);
  for (std::size_t i = 0; i < compared.size(); ++i) {
    rows[compared[i]].adjusted_p = adjusted[i];
    rows[compared[i]].is_compared = true;
  }
  std::erase_if(rows,
                [&](const Spread& row) { return !row.differs() && row.sum < least_share * all; });
  std::stable_sort(rows.begin(), rows.end(), [](const Spread& a, const Spread& b) {
    return std::pair(a.differs(), a.range) > std::pair(b.differs(), b.range);
  });
  return rows;
}

}  // namespace causalctl::continuous
