// What the page tells of calls: the bounds of how many the samples have seen.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/report/callpath/html.h"

namespace causalctl::report::callpath {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

bool tells_of_calls(const Profile& profile) {
  const auto at_most = column_named(profile, "new_max");
  if (!at_most || !column_named(profile, "new_min")) return false;
  const std::vector<std::uint64_t>& own = profile.own[*at_most];
  return std::any_of(own.begin(), own.end(), [](std::uint64_t calls) { return calls > 0; });
}

std::string calls_json(const Profile& profile) {
  const Json json = {{"at_least", *column_named(profile, "new_min")},
                     {"at_most", *column_named(profile, "new_max")}};
  return ",\n\"calls\":" + json.dump();
}

}  // namespace causalctl::report::callpath
