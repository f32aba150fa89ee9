// Whether the binaries in scope have line information, as soon as it is known.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "controller/causal/engine/attribution.h"

namespace causalctl::causal {

class LineCheck {
 public:
  // Adds a warning to `warnings`. All of them outlive it.
  LineCheck(Attribution& attribution, const config::Scope& scope,
            std::vector<std::string>& warnings)
      : attribution_(attribution), scope_(scope), warnings_(warnings) {}

  void poll();  // cheap

 private:
  Attribution& attribution_;
  const config::Scope& scope_;
  std::vector<std::string>& warnings_;
  bool done_ = false;
};

}  // namespace causalctl::causal
