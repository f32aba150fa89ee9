#include "controller/session/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace causalctl::session {
namespace {

// The share of the run for which threads ran before they were watched, from which it is reported.
constexpr double kUnseenTold = 0.01;
constexpr std::size_t kMostForbiddenNamed = 8;

// Returns what is missing of the points where threads are watched late, and what to do. Uprobes
// count a thread's visits from its birth on.
std::string missing_visits(const std::vector<Counting>& points) {
  const auto is_late = [](const Counting& point) {
    return point.way != progress::CountedBy::uprobe;
  };
  if (std::none_of(points.begin(), points.end(), is_late)) return "";
  const bool by_uprobe = std::any_of(points.begin(), points.end(), [&](const Counting& point) {
    return is_late(point) && point.can_be_uprobe;
  });
  return by_uprobe ? ", also their visits (--count-by uprobe counts these)" : ", also their visits";
}

}  // namespace

std::vector<std::string> texts_of_forbidden(
    const std::map<Pid, perf::ForbiddenProcess>& processes) {
  std::map<std::string, std::vector<std::string>> named;
  for (const auto& [pid, process] : processes) {
    named[process.reason].push_back(fmt::format("{} ({})", pid, process.name));
  }
  std::vector<std::string> texts;
  for (auto& [reason, names] : named) {
    const std::size_t count = names.size();
    names.resize(std::min(count, kMostForbiddenNamed));
    const std::size_t others = count - names.size();
    texts.push_back(
        fmt::format("{} of the set {} not recorded, because {} events may not be opened: {}{}; {}",
                    count == 1 ? "1 process" : fmt::format("{} processes", count),
                    count == 1 ? "is" : "are", count == 1 ? "its" : "their", fmt::join(names, ", "),
                    others == 0   ? ""
                    : others == 1 ? " and 1 other"
                                  : fmt::format(" and {} others", others),
                    reason));
  }
  return texts;
}

void warn_of_losses(const perf::Session& session, Recording& recording) {
  auto& warnings = recording.warnings;
  for (const std::string& reason : session.limits().reasons) {
    if (std::find(warnings.begin(), warnings.end(), reason) == warnings.end()) {
      warnings.push_back(reason);
    }
  }
  for (std::string& text : texts_of_forbidden(session.limits().forbidden)) {
    warnings.push_back(std::move(text));
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
    warnings.push_back(
        "threads began during the run, and each was watched only from about a tick after its "
        "start. What they did until then is missing" +
        missing_visits(recording.counting));
  }
}

}  // namespace causalctl::session
