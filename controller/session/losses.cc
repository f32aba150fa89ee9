#include "controller/session/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace causalctl::session {
namespace {

// The share of the run for which threads ran before they were watched, from which it is reported.
constexpr double kUnseenTold = 0.01;

}  // namespace

void warn_of_losses(const perf::Session& session, Recording& recording) {
  auto& warnings = recording.warnings;
  for (const std::string& reason : session.limits().reasons) {
    if (std::find(warnings.begin(), warnings.end(), reason) == warnings.end()) {
      warnings.push_back(reason);
    }
  }
  const perf::SessionLosses losses = session.losses();
  if (losses.threads_missed > 0) {
    warnings.push_back(
        fmt::format("{} threads ended before they could be watched; what they did is missing, also "
                    "their visits",
                    losses.threads_missed));
  }
  // The text has no figures, so that the same warning of many runs (end to end) is shown once.
  const auto unseen = static_cast<double>(losses.unseen_ns);
  if (unseen > kUnseenTold * static_cast<double>(recording.wall_ns)) {
    warnings.emplace_back(
        "threads began during the run, and each was watched only from about a tick after its "
        "start. What they did until then is missing, also their visits");
  }
}

}  // namespace causalctl::session
