#include "tests/fuzz/targets.h"

#include <algorithm>
#include <array>

namespace causalctl::fuzz {
namespace {

constexpr std::array kTargets = {
    Target{"callgrind", read_callgrind},
    Target{"callpath", read_callpath_log},
    Target{"elf", read_elf},
    Target{"go_table", read_go_table},
    Target{"inputs", read_inputs_log},
    Target{"log", read_log},
    Target{"memory", read_memory},
    Target{"options", read_options},
    Target{"perf_map", read_perf_map},
    Target{"proc", read_proc},
    Target{"records", read_records},
    Target{"spec", read_spec},
    Target{"symbol", read_symbol},
    Target{"toml", read_toml},
    Target{"unwind", read_unwind},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  const auto found = std::find_if(kTargets.begin(), kTargets.end(),
                                  [&](const Target& each) { return each.name == name; });
  return found == kTargets.end() ? nullptr : &*found;
}

}  // namespace causalctl::fuzz
