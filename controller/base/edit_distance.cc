#include "controller/base/edit_distance.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace causalctl {

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  // Only cells within `limit` of the diagonal can lead to a distance within it.
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = std::min(j, limit + 1);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t from = i > limit ? i - limit : 1;
    const std::size_t to = std::min(b.size(), i + limit);
    std::size_t diagonal = row[from - 1];
    row[from - 1] = from == 1 ? std::min(i, limit + 1) : limit + 1;
    std::size_t smallest = row[from - 1];
    for (std::size_t j = from; j <= to; ++j) {
      const std::size_t above = j == i + limit ? limit + 1 : row[j];
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, above + 1, row[j - 1] + 1, limit + 1});
      smallest = std::min(smallest, row[j]);
    }
    if (smallest > limit) return limit + 1;
  }
  return row[b.size()];
}

}  // namespace causalctl
