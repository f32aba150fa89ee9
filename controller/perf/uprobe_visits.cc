#include "controller/perf/uprobe_visits.h"

#include "controller/base/error.h"
#include "controller/perf/visit_trial.h"

namespace causalctl::perf {

std::optional<Uprobes> make_uprobes(Pid target, std::string& reason) {
  const UprobeTrial& trial = uprobe_trial();
  reason = trial.finding;
  if (!trial.means) return std::nullopt;
  try {
    return Uprobes(target, *trial.means);
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

bool UprobeVisits::make(std::string& reason) {
  if (uprobes_) return true;
  uprobes_ = make_uprobes(target_, reason);
  if (uprobes_ && started_) uprobes_->start();
  return uprobes_.has_value();
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
