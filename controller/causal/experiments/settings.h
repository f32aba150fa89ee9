// The sections of the configuration that experiments need. They outlive the run.
#pragma once

#include "config/config.h"

namespace causalctl::causal {

struct Settings {
  const config::Experiment& experiment;
  const config::Sampling& sampling;
  const config::Pause& pause;
  const config::Budget& budget;
  const config::Scope& scope;
};

inline Settings settings_of(const config::Config& config) {
  return {config.experiment, config.sampling, config.pause, config.budget, config.scope};
}

}  // namespace causalctl::causal
