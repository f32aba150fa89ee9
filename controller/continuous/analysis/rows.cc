#include "controller/continuous/analysis/rows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "controller/base/proportion.h"

namespace causalctl::continuous {
namespace {

using Key = std::pair<std::string, std::string>;  // name, image

void add_functions(const ProfileKey& key, const Counts& counts, const FunctionNames& names,
                   std::map<Key, Count>& sums) {
  FunctionAt function;
  bool is_known = false;
  for (const auto& [offset, count] : counts) {
    if (!is_known || offset < function.begin || offset >= function.end) {
      function = names(key.image, offset);
      is_known = true;
    }
    sums[{function.name, key.image.path}] += count;
  }
}

}  // namespace

Rows rows_of(const Profile& profile, const std::string& event, By by, const FunctionNames& names) {
  Rows result;
  std::map<Key, Count> sums;
  for (const auto& [key, counts] : profile) {
    if (key.event != event) continue;
    const Count sum = sum_of(counts);
    result.all += sum;
    switch (by) {
      case By::function:
        add_functions(key, counts, names, sums);
        break;
      case By::image:
        sums[{key.image.path, ""}] += sum;
        break;
      case By::label:
        sums[{key.label, ""}] += sum;
        break;
    }
  }
  for (const auto& [key, count] : sums) {
    result.rows.push_back(
        {key.first, key.second, count, share_with_interval(count.samples, result.all.samples)});
  }
  std::stable_sort(result.rows.begin(), result.rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.count.time_ns, a.count.samples) > std::tie(b.count.time_ns, b.count.samples);
  });
  return result;
}

}  // namespace causalctl::continuous
