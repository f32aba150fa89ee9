#include "controller/callpath/engine/table_gaps.h"

#include <fmt/format.h>

#include <algorithm>

namespace causalctl::callpath {
namespace {

constexpr double kLeastTold = 0.01;  // of the chains

}  // namespace

void TableGaps::take(const unwind::Chain& chain, std::span<const LocationId> path) {
  if (path.empty()) return;
  const auto& frames = chain.frames;
  const auto guess = std::find_if(frames.begin(), frames.end(), [](const auto& frame) {
    return frame.how == unwind::FrameHow::guess;
  });
  if (guess == frames.end() && chain.end != unwind::ChainEnd::no_table) return;
  // The code that is called by the caller in question. The innermost frame is no caller.
  const auto called =
      static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, guess - frames.begin() - 1));
  ++met_[path[path.size() - 1 - std::min(called, path.size() - 1)]];  // of a long one, not all
}

std::vector<std::string> TableGaps::warnings(const Recording& recording) const {
  std::map<std::string, std::uint64_t> by_file;
  for (const auto& [location, count] : met_) {
    by_file[recording.modules.at(recording.locations.at(location).module).path] += count;
  }
  const auto chains = static_cast<double>(recording.chains.complete + recording.chains.incomplete);
  std::vector<std::string> warnings;
  for (const auto& [file, count] : by_file) {
    const double share = static_cast<double>(count) / std::max(chains, 1.0);
    if (share < kLeastTold) continue;
    warnings.push_back(fmt::format(
        "{}: no unwind table tells who calls its code, which {:.1f} % of the call chains "
        "meet: the callers were searched for on the stack, or are missing",
        file, 100 * share));
  }
  return warnings;
}

}  // namespace causalctl::callpath
