// What counting costs the target at present, and where. Passive.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::progress {

struct Armory {
  struct Breakpoint {
    Address address = 0;
    std::uint32_t tag = 0;
  };
  std::vector<Breakpoint> breakpoints;
  std::vector<Address> uprobes;             // addresses that have, or have had, one of causalctl's
  std::vector<Nanoseconds> visit_costs_ns;  // by tag: what is not there is not known

  Nanoseconds visit_cost_ns(std::uint32_t tag) const {
    return tag < visit_costs_ns.size() ? visit_costs_ns[tag] : 0;
  }
};

}  // namespace causalctl::progress
