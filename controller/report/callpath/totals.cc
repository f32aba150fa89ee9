#include <algorithm>

#include "controller/base/error.h"
#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

std::optional<std::size_t> column_named(const Profile& profile, std::string_view name) {
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    if (profile.columns[i].name == name && !profile.columns[i].is_event) return i;
  }
  return std::nullopt;
}

std::vector<std::uint64_t> totals(const Profile& profile, std::size_t column) {
  std::vector<std::uint64_t> sums = profile.own.at(column);
  INVARIANT(sums.size() == profile.nodes.size());
  for (std::size_t node = sums.size(); node-- > 1;) sums[profile.nodes[node].parent] += sums[node];
  return sums;
}

Profile ranked_by(Profile profile, std::size_t column) {
  const auto to_front = [&](auto& list) {
    const auto begin = list.begin();
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(column),
                begin + static_cast<std::ptrdiff_t>(column) + 1);
  };
  to_front(profile.columns);
  to_front(profile.own);
  return profile;
}

Profile without_calls(Profile profile) {
  for (std::size_t i = profile.columns.size(); i-- > 0;) {
    if (profile.columns[i].unit != kCalls || profile.columns[i].is_event) continue;
    profile.columns.erase(profile.columns.begin() + static_cast<std::ptrdiff_t>(i));
    profile.own.erase(profile.own.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return profile;
}

}  // namespace causalctl::report::callpath
