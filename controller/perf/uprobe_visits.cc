#include "controller/perf/uprobe_visits.h"

#include "controller/base/error.h"
#include "controller/perf/visit_trial.h"

namespace causalctl::perf {

bool UprobeVisits::make(std::string& reason) {
  if (uprobes_) return true;
  const UprobeTrial& trial = uprobe_trial();
  reason = trial.finding;
  if (!trial.means) return false;
  try {
    uprobes_.emplace(target_, *trial.means);
  } catch (const Error& error) {
    reason = error.what();
    return false;
  }
  if (started_) uprobes_->start();
  return true;
}

bool UprobeVisits::add(const std::vector<UprobePlace>& places, std::string& reason) {
  if (!make(reason)) return false;
  uprobes_->add(places);
  return true;
}

void UprobeVisits::start() {
  started_ = true;
  if (uprobes_) uprobes_->start();
}

std::uint64_t UprobeVisits::count(std::uint32_t tag) const {
  return uprobes_ && tag < Uprobes::kMostTags ? uprobes_->count(tag) : 0;
}

}  // namespace causalctl::perf
