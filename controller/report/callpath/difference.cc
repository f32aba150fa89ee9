#include "controller/report/callpath/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/base/error.h"
#include "controller/base/statistics.h"

namespace causalctl::report::callpath {
namespace {

using Values = std::vector<std::vector<std::uint64_t>>;  // by column and row

// Measures rows of one side.
class SideValues {
 public:
  // `all` is what all paths together have, by column.
  SideValues(const Side& side, std::vector<std::uint64_t> all) : side_(side), all_(std::move(all)) {
    double sum = 0;
    for (std::size_t i = 0; i < side.parts.size(); ++i) {
      const auto value = static_cast<double>(all_[side.parts[i]]);
      sum += value;
      const double base = side.bases.empty() ? value : side.bases[i];
      if (base <= 0 && value <= 0) continue;
      used_.push_back(side.parts[i]);
      bases_.push_back(base);
    }
    sum_ = sum;
    if (side.samples && sum > 0) {
      samples_per_value_ = static_cast<double>(all_[*side.samples]) / sum;
    }
  }

  Measured measured(const Values& values, std::size_t row) const {
    Measured measured{{}, bases_, samples_per_value_};
    for (const std::size_t column : used_) {
      measured.values.push_back(static_cast<double>(values[column][row]));
    }
    return measured;
  }
  // The part of all values that a row has.
  double share(const Values& values, std::size_t row) const {
    double sum = 0;
    for (const std::size_t column : side_.parts) sum += static_cast<double>(values[column][row]);
    return sum_ > 0 ? sum / sum_ : 0;
  }
  bool has_bases() const {
    return std::any_of(bases_.begin(), bases_.end(), [](double base) { return base > 0; });
  }
  std::size_t parts() const { return bases_.size(); }
  double sum() const { return sum_; }

 private:
  const Side& side_;
  std::vector<std::uint64_t> all_;
  std::vector<std::size_t> used_;  // columns
  std::vector<double> bases_;
  double sum_ = 0;
  double samples_per_value_ = 0;
};

struct BothValues {
  SideValues before;
  SideValues after;
  Ratio ratio;
};

std::vector<std::uint64_t> sums_of(const Sides& sides) {
  std::vector<std::uint64_t> sums;
  for (const auto& column : sides.profile.own) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : column) sum += value;
    sums.push_back(sum);
  }
  return sums;
}

BothValues both_of(const Sides& sides) {
  const std::vector<std::uint64_t> sums = sums_of(sides);
  return {SideValues(sides.before, sums), SideValues(sides.after, sums),
          sides.per.empty() ? Ratio::share : Ratio::rate};
}

// Compares the rows that are large enough.
Family compared(const BothValues& both, const Values& values, std::size_t rows, double least) {
  Family family;
  family.rows.resize(rows);
  std::vector<std::size_t> numbers;
  std::vector<double> p_values;
  for (std::size_t row = 0; row < rows; ++row) {
    const double mean = (both.before.share(values, row) + both.after.share(values, row)) / 2;
    if (mean < least) continue;
    Compared& each = family.rows[row];
    each.change =
        change_of(both.before.measured(values, row), both.after.measured(values, row), both.ratio);
    each.verdict = Verdict::unknown;
    if (!each.change.difference) continue;
    numbers.push_back(row);
    p_values.push_back(each.change.p_value);
  }
  family.compared = numbers.size();
  const std::vector<double> adjusted = statistics::holm(p_values);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Compared& each = family.rows[numbers[i]];
    each.adjusted_p = adjusted[i];
    if (adjusted[i] <= kChance) {
      each.verdict = each.change.after > each.change.before ? Verdict::more : Verdict::less;
      ++family.changed;
    } else if (p_values[i] <= kChance) {
      each.verdict = Verdict::perhaps;
      ++family.perhaps;
    } else {
      each.verdict = Verdict::none;
    }
  }
  return family;
}

int rank_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::more:
    case Verdict::less:
      return 0;
    case Verdict::perhaps:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

void check_comparable(const Sides& sides) {
  const BothValues both = both_of(sides);
  const auto check = [&](const SideValues& side, const char* which) {
    if (!side.has_bases() && !sides.per.empty()) {
      throw UsageError(fmt::format("--per {}: {} has none", sides.per, which),
                       "leave out --per, to compare shares");
    }
    if (side.sum() <= 0 && sides.per.empty()) {
      throw UsageError(
          fmt::format("{} has nothing of \"{}\" on these paths", which, sides.metric.title),
          "shares of nothing cannot be compared; --per second compares what there is");
    }
  };
  check(both.after, "the recording");
  check(both.before, "the recording of --diff");
}

DifferenceTable table_of_changes(const Sides& sides, Labels labels) {
  DifferenceTable table;
  table.tree = merged(sides.profile, labels);
  const LabelValues values = values_of(table.tree, Children(table.tree), labels);
  const BothValues both = both_of(sides);
  table.own = compared(both, values.own, labels.all.size(), kComparedInTable);
  table.total = compared(both, values.total, labels.all.size(), kComparedInTable);
  table.labels = std::move(labels);
  return table;
}

DifferenceTree tree_of_changes(const Sides& sides, Labels labels) {
  DifferenceTree tree;
  tree.tree = merged(sides.profile, labels);
  tree.total = compared(both_of(sides), tree.tree.total, tree.tree.nodes.size(), kComparedInTree);
  tree.labels = std::move(labels);
  return tree;
}

Change change_of_all(const Sides& sides) {
  const BothValues both = both_of(sides);
  Values sums;
  for (const std::uint64_t sum : sums_of(sides)) sums.push_back({sum});
  return change_of(both.before.measured(sums, 0), both.after.measured(sums, 0), both.ratio);
}

std::vector<std::uint32_t> ranked_changes(const Family& family) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < family.rows.size(); ++i) {
    if (family.rows[i].verdict != Verdict::too_small) order.push_back(i);
  }
  const auto size = [&](std::uint32_t row) {
    return std::abs(family.rows[row].change.after - family.rows[row].change.before);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int rank_a = rank_of(family.rows[a].verdict);
    const int rank_b = rank_of(family.rows[b].verdict);
    return rank_a != rank_b ? rank_a < rank_b : size(a) > size(b);
  });
  return order;
}

Labels by_known_line(const Profile& profile) { return by_line(profile, false); }

std::size_t fewest_parts(const Sides& sides) {
  const BothValues both = both_of(sides);
  return std::min(both.before.parts(), both.after.parts());
}

}  // namespace causalctl::report::callpath
