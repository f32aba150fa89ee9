// What a program would gain if an instruction did not wait: the stall's part of the time of the
// line or function that a causal profile has sped up, times what the program gains from that (its
// slope).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "config/config.h"
#include "controller/commands/epochs_as_paths.h"
#include "controller/continuous/record/counts.h"
#include "controller/report/callpath/gains.h"
#include "controller/report/continuous/stalls_model.h"

namespace causalctl::commands {

class StallEffects {
 public:
  // `profile` is the name of an experiment log, of whose groups of runs `group` chooses one. Throws
  // as causal_group(), and Error if the profile is certain of no unit, or the epochs have none of
  // its units.
  StallEffects(const ChosenHost& host, const std::string& label, const std::string& profile,
               const std::string& group);

  // Returns the effect of a stall; nullopt if the profile says nothing certain of it. head() tells
  // how often that was. `places`: link-time addresses where samples of the stall stand, the
  // likeliest first.
  // `worth`: how much information all samples have, as a share of their number.
  std::optional<report::continuous::StallEffect> of(const continuous::Image& image,
                                                    const std::vector<Address>& places,
                                                    double stalled_ns, double worth);
  // What goes above the table, once all stalls were asked for.
  report::continuous::EffectHead head() const;

 private:
  struct UnitTime {
    double samples = 0, ns = 0;
  };

  void charge_places(const report::callpath::Profile& places, const config::Scope& scope);

  report::callpath::CausalProfile causal_;
  // By the file's path, its build and the address.
  std::map<std::tuple<std::string, std::string, Address>, std::int32_t> unit_at_;
  std::vector<UnitTime> units_;
  double known_ns_ = 0, uncertain_ns_ = 0, elsewhere_ns_ = 0;  // of the stalls that were asked for
};

}  // namespace causalctl::commands
