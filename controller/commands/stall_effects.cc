#include "controller/commands/stall_effects.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/proportion.h"
#include "controller/callpath/analysis/charge.h"
#include "controller/callpath/analysis/present.h"
#include "controller/commands/causal_profile.h"
#include "controller/commands/report.h"

namespace causalctl::commands {
namespace {

namespace paths = report::callpath;
namespace view = report::continuous;

bool is_of_build(const causal::RunGroup& group, const ChosenHost& host) {
  const auto& [executable, build_id] = std::pair(group.basis.executable, group.basis.build_id);
  if (build_id.empty()) return true;
  const auto profile = recorded_in(host, "").profile;
  return std::none_of(profile.begin(), profile.end(), [&](const auto& entry) {
    const continuous::Image& image = entry.first.image;
    return image.path == executable && image.build_id != build_id;
  });
}

std::size_t column_named(const paths::Profile& profile, const char* name) {
  const auto found =
      std::find_if(profile.columns.begin(), profile.columns.end(),
                   [name](const paths::Column& column) { return column.name == name; });
  return static_cast<std::size_t>(found - profile.columns.begin());
}

}  // namespace

StallEffects::StallEffects(const ChosenHost& host, const std::string& label,
                           const std::string& profile, const std::string& group) {
  const causal::RunGroup chosen =
      causal_group(read_files({profile}, "--causal takes a log of causalctl attach"), group);
  causal_ = causal_profile(chosen, is_of_build(chosen, host));
  if (std::none_of(causal_.units.begin(), causal_.units.end(), paths::has_verdict)) {
    throw paths::no_verdicts(causal_);
  }
  charge_places(host, label, chosen);
}

// Places are charged as the causal profile charges samples, of which these have no callers.
void StallEffects::charge_places(const ChosenHost& host, const std::string& label,
                                 const causal::RunGroup& group) {
  const callpath::ReadLog log = as_paths({&host, 1}, label);
  paths::Profile profile = callpath::present(log.runs);
  profile.program = causal_.program;
  const auto charges = callpath::charge(profile, causal_.units, scope_of(group.runs.front()));
  const auto& samples = profile.own.at(column_named(profile, "samples"));
  const auto& cpu = profile.own.at(column_named(profile, "cpu"));
  units_.resize(causal_.units.size());
  bool has_units = false;
  for (std::size_t node = 0; node < charges.size(); ++node) {
    if (samples[node] == 0 || charges[node].unit < 0) continue;
    has_units = true;
    const paths::Frame& frame = profile.frames[profile.nodes[node].frame];
    unit_at_[{frame.module, frame.offset}] = charges[node].unit;
    UnitTime& unit = units_[static_cast<std::size_t>(charges[node].unit)];
    unit.samples += static_cast<double>(samples[node]);
    unit.ns += static_cast<double>(cpu[node]);
  }
  if (has_units) return;
  throw Error(
      "--causal: the epochs have none of the profile's units",
      fmt::format("the profile is of {}; its units were looked for: {}", printable(causal_.program),
                  printable(paths::names_of_units(causal_.units))));
}

std::optional<view::StallEffect> StallEffects::of(const continuous::Image& image,
                                                  const std::vector<Address>& places,
                                                  double stalled_ns, double worth) {
  const auto at = std::find_if(places.begin(), places.end(), [&](Address place) {
    return unit_at_.contains({image.path, place});
  });
  if (at == places.end()) {
    elsewhere_ns_ += stalled_ns;
    return std::nullopt;
  }
  const auto number = static_cast<std::size_t>(unit_at_.at({image.path, *at}));
  const paths::CausalUnit& unit = causal_.units[number];
  if (!paths::has_verdict(unit)) {
    uncertain_ns_ += stalled_ns;
    return std::nullopt;
  }
  known_ns_ += stalled_ns;
  const UnitTime& time = units_[number];
  const Interval of_unit =
      interval_of_share(std::min(1.0, stalled_ns / time.ns), time.samples * worth);
  return view::StallEffect{unit.name, of_unit, paths::product(*unit.slope, of_unit)};
}

view::EffectHead StallEffects::head() const {
  const double all_ns = std::max(1.0, known_ns_ + uncertain_ns_ + elsewhere_ns_);
  return {causal_.program,        causal_.point,          known_ns_ / all_ns,
          uncertain_ns_ / all_ns, elsewhere_ns_ / all_ns, causal_.notes};
}

}  // namespace causalctl::commands
