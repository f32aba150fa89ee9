#include "controller/report/callpath/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "controller/base/error.h"
#include "controller/base/fields.h"
#include "controller/base/printable.h"
#include "controller/base/proportion.h"
#include "controller/report/callpath/labels.h"

namespace causalctl::report::callpath {
namespace {

constexpr std::size_t kMostListed = 8;  // in an error

// Numbers paths by function: children of a node with equal labels are one.
struct PathNumbers {
  std::vector<std::uint32_t> of_node;
  std::vector<std::uint32_t> parent{0};
  std::vector<std::uint32_t> label{0};
};
PathNumbers numbered(const Profile& profile, const Labels& labels) {
  PathNumbers paths;
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  paths.of_node.resize(profile.nodes.size());
  for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
    const std::uint32_t above = paths.of_node[profile.nodes[node].parent];
    const std::uint32_t label = labels.of_frame[profile.nodes[node].frame];
    const auto [entry, is_new] = known.emplace(std::uint64_t{above} << 32 | label,
                                               static_cast<std::uint32_t>(paths.parent.size()));
    if (is_new) {
      paths.parent.push_back(above);
      paths.label.push_back(label);
    }
    paths.of_node[node] = entry->second;
  }
  return paths;
}

std::vector<std::string> names_on(const PathNumbers& paths, std::uint32_t path,
                                  const Labels& labels) {
  std::vector<std::string> names;
  for (; path != 0; path = paths.parent[path]) names.push_back(labels.all[paths.label[path]].name);
  std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace

std::string names_of_units(const std::vector<CausalUnit>& units) {
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostListed, units.size()); ++i) {
    names += (i == 0 ? "" : ", ") + units[i].name;
  }
  if (units.size() > kMostListed) names += fmt::format(" and {} more", units.size() - kMostListed);
  return names;
}

std::size_t column_named(std::string_view name, const Profile& profile) {
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    if (profile.columns[i].name == name) return i;
  }
  throw UsageError("--causal: the recording has no samples of CPU time",
                   "record the program while it works");
}

Error no_verdicts(const CausalProfile& causal) {
  return Error(fmt::format("--causal: the profile of {} has a verdict on no unit",
                           printable(causal.program)),
               "profile for longer, or see causalctl report PROFILE for what is missing");
}

Interval product(const Interval& a, const Interval& b) {
  const double value = a.value * b.value;
  const bool rises = a.value >= 0;  // with b
  const double down = a.value * ((rises ? b.low : b.high) - b.value);
  const double up = a.value * ((rises ? b.high : b.low) - b.value);
  return {value, value - std::hypot(b.value * (a.value - a.low), down),
          value + std::hypot(b.value * (a.high - a.value), up)};
}

Gains gains_of(const Profile& profile, const std::vector<Charge>& charges, CausalProfile causal) {
  INVARIANT(charges.size() == profile.nodes.size());
  const std::vector<std::uint64_t>& samples = profile.own[column_named("samples", profile)];
  if (std::none_of(causal.units.begin(), causal.units.end(), has_verdict)) {
    throw no_verdicts(causal);
  }
  const Labels labels = by_function(profile);
  const PathNumbers paths = numbered(profile, labels);
  Gains gains;
  gains.samples_of_unit.resize(causal.units.size());
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> of_path;
  std::uint64_t in_units = 0;
  for (std::size_t node = 0; node < samples.size(); ++node) {
    const Charge& charge = charges[node];
    gains.samples += samples[node];
    if (charge.unit == Charge::kOutOfScope) gains.out_of_scope += samples[node];
    if (charge.unit == Charge::kNotInProfile) gains.not_in_profile += samples[node];
    if (charge.unit < 0 || samples[node] == 0) continue;
    const auto unit = static_cast<std::size_t>(charge.unit);
    in_units += samples[node];
    gains.samples_of_unit[unit] += samples[node];
    if (has_verdict(causal.units[unit])) {
      of_path[{unit, paths.of_node[charge.node]}] += samples[node];
    } else {
      gains.not_certain += samples[node];
    }
  }
  if (in_units == 0) {
    throw Error(fmt::format("--causal: the paths of {} have none of the profile's units",
                            printable(subject_of(profile))),
                fmt::format("the profile is of {}; its units were looked for: {}",
                            printable(causal.program), printable(names_of_units(causal.units))));
  }
  for (const auto& [key, count] : of_path) {
    const auto& [unit, path] = key;
    const Interval share = share_with_interval(count, gains.samples_of_unit[unit]);
    gains.paths.push_back({unit, names_on(paths, path, labels), count, share,
                           product(*causal.units[unit].slope, share)});
  }
  std::stable_sort(gains.paths.begin(), gains.paths.end(),
                   [](const Gain& a, const Gain& b) { return a.gain.value > b.gain.value; });
  gains.causal = std::move(causal);
  return gains;
}

}  // namespace causalctl::report::callpath
