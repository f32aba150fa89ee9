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

// Whether the program has the build of the causal profile wherever it was recorded.
bool is_of_build(const causal::RunGroup& group, const paths::Profile& profile) {
  const auto& [program, build_id] = std::pair(group.basis.executable, group.basis.build_id);
  for (std::size_t i = 0; i < profile.modules.size(); ++i) {
    if (profile.modules[i] == program && profile.build_ids[i] != build_id) return build_id.empty();
  }
  return true;
}

}  // namespace

StallEffects::StallEffects(const ChosenHost& host, const std::string& label,
                           const std::string& profile, const std::string& group) {
  const causal::RunGroup chosen =
      causal_group(read_files({profile}, "--causal takes a log of causalctl attach"), group);
  const callpath::ReadLog log = as_paths({&host, 1}, label);
  paths::Profile places = callpath::present(log.runs);
  causal_ = causal_profile(chosen, is_of_build(chosen, places));
  if (std::none_of(causal_.units.begin(), causal_.units.end(), paths::has_verdict)) {
    throw paths::no_verdicts(causal_);
  }
  places.program = causal_.program;
  charge_places(places, scope_of(chosen.runs.front()));
}

// Places are charged as the causal profile charges samples. They have no callers.
void StallEffects::charge_places(const paths::Profile& places, const config::Scope& scope) {
  const auto charges = callpath::charge(places, causal_.units, scope);
  const auto& samples = places.own[paths::column_named("samples", places)];
  const auto& cpu = places.own[paths::column_named("cpu", places)];
  units_.resize(causal_.units.size());
  bool has_units = false;
  for (std::size_t node = 0; node < charges.size(); ++node) {
    if (samples[node] == 0 || charges[node].unit < 0) continue;
    has_units = true;
    const paths::Frame& frame = places.frames[places.nodes[node].frame];
    const bool has_build = frame.module_number < places.build_ids.size();
    const std::string build_id = has_build ? places.build_ids[frame.module_number] : "";
    unit_at_[{frame.module, build_id, frame.offset}] = charges[node].unit;
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
    return unit_at_.contains({image.path, image.build_id, place});
  });
  if (at == places.end()) {
    elsewhere_ns_ += stalled_ns;
    return std::nullopt;
  }
  const auto number = static_cast<std::size_t>(unit_at_.at({image.path, image.build_id, *at}));
  const paths::CausalUnit& unit = causal_.units[number];
  if (!paths::has_verdict(unit) || unit.in_own_code == 0) {
    uncertain_ns_ += stalled_ns;
    return std::nullopt;
  }
  known_ns_ += stalled_ns;
  const UnitTime& time = units_[number];
  // The unit's time in the causal profile is also that of the kernel and of other code on its
  // behalf. Here it is that of its own instructions.
  const Interval of_own =
      interval_of_share(std::min(1.0, stalled_ns / time.ns), time.samples * worth);
  const Interval own = share_with_interval(std::min(unit.in_own_code, unit.samples), unit.samples);
  const Interval of_unit = paths::product(of_own, own);
  return view::StallEffect{unit.name, of_unit, paths::product(*unit.slope, of_unit)};
}

view::EffectHead StallEffects::head() const {
  const double all_ns = std::max(1.0, known_ns_ + uncertain_ns_ + elsewhere_ns_);
  return {causal_.program,        causal_.point,          known_ns_ / all_ns,
          uncertain_ns_ / all_ns, elsewhere_ns_ / all_ns, causal_.notes};
}

}  // namespace causalctl::commands
