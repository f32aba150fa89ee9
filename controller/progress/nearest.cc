#include "controller/progress/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace causalctl::progress {
namespace {

constexpr std::size_t kLongestName = 128;  // the distance is quadratic; names may be hostile

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestName);
  b = b.substr(0, kLongestName);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string>& names,
                                 std::size_t count) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const auto& name : names) {
    const bool contains = !wanted.empty() && name.find(wanted) != std::string::npos;
    ranked.emplace_back(edit_distance(wanted, name) + (contains ? 0 : kLongestName), name);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  ranked.resize(std::min(ranked.size(), count));
  std::vector<std::string> result;
  for (const auto& [distance, name] : ranked) result.emplace_back(name);
  return result;
}

std::string nearest_clause(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("; nearest: {}", fmt::join(names, ", "));
}

}  // namespace causalctl::progress
