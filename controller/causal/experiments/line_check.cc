#include "controller/causal/experiments/line_check.h"

#include <utility>

#include "controller/causal/engine/unit_of.h"

namespace causalctl::causal {

void LineCheck::poll() {
  if (done_) return;
  const auto lines = attribution_.lines();
  if (!lines) return;
  done_ = true;
  if (auto warning = missing_lines(*lines, scope_)) warnings_.push_back(std::move(*warning));
}

}  // namespace causalctl::causal
