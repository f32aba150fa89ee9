// What the page tells of calls: the bounds of how many the samples have seen, and how often those
// are made that were watched.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/printable.h"
#include "controller/report/callpath/calls.h"
#include "controller/report/callpath/html.h"
#include "controller/report/callpath/rate_json.h"

namespace causalctl::report::callpath {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::size_t> column_named(const Profile& profile, std::string_view name) {
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    if (profile.columns[i].name == name && !profile.columns[i].is_event) return i;
  }
  return std::nullopt;
}

// Returns for each rate the nodes of the page that its callees are part of.
std::vector<std::vector<std::uint32_t>> nodes_of_rates(const Profile& profile,
                                                       const Labels& places) {
  const std::vector<CallRate>& rates = profile.watched.rates;
  Profile marks;
  marks.frames = profile.frames;
  marks.nodes = profile.nodes;
  marks.columns.resize(rates.size());
  marks.own.assign(rates.size(), std::vector<std::uint64_t>(profile.nodes.size()));
  for (std::size_t i = 0; i < rates.size(); ++i) {
    for (const std::uint32_t callee : rates[i].callees) marks.own[i][callee] = 1;
  }
  std::vector<std::vector<std::uint32_t>> nodes(rates.size());
  const LabelTree tree = merged(marks, places);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    for (std::uint32_t node = 0; node < tree.nodes.size(); ++node) {
      if (tree.own[i][node] > 0) nodes[i].push_back(node);
    }
  }
  return nodes;
}

Json rate_json(const CallRate& rate, const std::vector<std::uint32_t>& nodes) {
  Json json = {{"caller", rate.path.empty() ? "" : printable(rate.path.back())},
               {"file", printable(rate.file)},
               {"line", rate.line}};
  json.update(numbers_of(rate));
  json["nodes"] = nodes;
  return json;
}

}  // namespace

bool tells_of_calls(const Profile& profile) {
  const auto at_most = column_named(profile, "new_max");
  if (!at_most || !column_named(profile, "new_min")) return false;
  const std::vector<std::uint64_t>& own = profile.own[*at_most];
  return std::any_of(own.begin(), own.end(), [](std::uint64_t calls) { return calls > 0; });
}

std::string calls_json(const Profile& profile, const Labels& places) {
  Json json = {{"at_least", *column_named(profile, "new_min")},
               {"at_most", *column_named(profile, "new_max")},
               {"rates", Json::array()}};
  const auto nodes = nodes_of_rates(profile, places);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].empty()) json["rates"].push_back(rate_json(profile.watched.rates[i], nodes[i]));
  }
  json["longer_than_ns"] = profile.watched.longer_than_ns;
  json["without_rate"] = without_rate(profile.watched);
  return ",\n\"calls\":" + json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace causalctl::report::callpath
