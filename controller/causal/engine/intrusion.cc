#include "controller/causal/engine/intrusion.h"

#include <fmt/format.h>

namespace causalctl::causal {
namespace {

constexpr double kDearVisits = 0.05;  // share of the target's CPU time
constexpr double kHotLine = 0.02;     // share of its samples
constexpr std::uint64_t kEnoughSamples = 50;

}  // namespace

bool is_hot_line(std::uint64_t samples_near, std::uint64_t samples) {
  return samples >= kEnoughSamples &&
         static_cast<double>(samples_near) > kHotLine * static_cast<double>(samples);
}

std::vector<std::string> warnings_of(const Intrusion& intrusion) {
  std::vector<std::string> warnings;
  if (intrusion.target_cpu_ns > 0) {
    const double share = static_cast<double>(intrusion.visits) *
                         static_cast<double>(intrusion.visit_cost_ns) /
                         static_cast<double>(intrusion.target_cpu_ns);
    if (share > kDearVisits) {
      // The kernel emulates the instructions that most functions begin with (docs/facilities.md).
      const char* cheaper =
          intrusion.uprobe_instead ? ", or, at the entry of a function, try --count-by uprobe" : "";
      warnings.push_back(fmt::format(
          "{}: counting it takes {:.0f} % of the target's CPU time ({:.1f} us a visit, {} visits "
          "in {:.1f} s of CPU time); choose a point that is passed less often, such as a batch{}",
          intrusion.point, 100 * share, static_cast<double>(intrusion.visit_cost_ns) / 1e3,
          intrusion.visits, static_cast<double>(intrusion.target_cpu_ns) / 1e9, cheaper));
    }
  }
  const double near = static_cast<double>(intrusion.samples_near_breakpoint);
  if (is_hot_line(intrusion.samples_near_breakpoint, intrusion.samples)) {
    warnings.push_back(
        fmt::format("{:.0f} % of the samples lie in the same 64 bytes as the breakpoint of a "
                    "progress point. Some processors run such code several times slower while the "
                    "breakpoint is armed. Choose another point, or check the program's speed",
                    100 * near / static_cast<double>(intrusion.samples)));
  }
  if (intrusion.samples >= kEnoughSamples && intrusion.spinning_share > kSpinning) {
    warnings.push_back(
        fmt::format("{:.0f} % of the samples lie in loops that wait by spinning, which no wake-up "
                    "ends. They are "
                    "taken to wait for the thread that is ahead; effects may be off",
                    100 * intrusion.spinning_share));
  }
  return warnings;
}

}  // namespace causalctl::causal
