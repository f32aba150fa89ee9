#include "controller/continuous/analysis/rows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "controller/base/proportion.h"

namespace causalctl::continuous {
namespace {

using Key = std::pair<std::string, std::string>;  // name, image

// As many samples of equal weight would tell as much as those that were counted, which stand for
// different times (Kish, "Survey Sampling", 1965, §8.2). Those of one place are taken to be alike.
double samples_worth(const Profile& profile, const std::string& event) {
  double sum = 0, squares = 0;
  for (const auto& [key, counts] : profile) {
    if (key.event != event) continue;
    for (const auto& [offset, count] : counts) {
      const auto time = static_cast<double>(count.time_ns);
      sum += time;
      if (count.samples > 0) squares += time * time / static_cast<double>(count.samples);
    }
  }
  return squares == 0 ? 0 : sum * sum / squares;
}

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
      case By::line:
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
  const double worth = samples_worth(profile, event);
  const auto all = static_cast<double>(std::max<Nanoseconds>(1, result.all.time_ns));
  for (const auto& [key, count] : sums) {
    const double share = static_cast<double>(count.time_ns) / all;
    result.rows.push_back({key.first, key.second, count, interval_of_share(share, worth)});
  }
  std::stable_sort(result.rows.begin(), result.rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.count.time_ns, a.count.samples) > std::tie(b.count.time_ns, b.count.samples);
  });
  return result;
}

}  // namespace causalctl::continuous
