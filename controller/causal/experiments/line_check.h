// Warns if the binaries in scope have no line information, as soon as that is known.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "controller/causal/engine/attribution.h"

namespace causalctl::causal {

class LineCheck {
 public:
  // Adds its warning to `warnings`. All arguments must outlive this object.
  LineCheck(Attribution& attribution, const config::Scope& scope,
            std::vector<std::string>& warnings)
      : attribution_(attribution), scope_(scope), warnings_(warnings) {}

  void poll();  // call it in each round of a loop; it is cheap

 private:
  Attribution& attribution_;
  const config::Scope& scope_;
  std::vector<std::string>& warnings_;
  bool done_ = false;
};

}  // namespace causalctl::causal
