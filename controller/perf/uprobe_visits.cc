#include "controller/perf/uprobe_visits.h"

#include "controller/base/error.h"
#include "controller/base/log.h"
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

bool UprobeVisits::add_call(std::uint64_t tracepoint, std::uint32_t tag) {
  if (target_ == 0 || tag >= Uprobes::kMostTags || !calls_are_counted()) return false;
  try {
    if (!calls_) calls_.emplace(target_, Uprobes::Means::none);
    calls_->add_call(tracepoint, tag);
  } catch (const Error& error) {
    log::verbose("system calls are counted by an event of each thread: {}", error.what());
    return false;
  }
  if (started_) calls_->start();
  return true;
}

void UprobeVisits::start() {
  started_ = true;
  if (uprobes_) uprobes_->start();
  if (calls_) calls_->start();
}

std::uint64_t UprobeVisits::count(std::uint32_t tag) const {
  std::uint64_t sum = 0;
  if (tag >= Uprobes::kMostTags) return sum;
  if (uprobes_) sum += uprobes_->count(tag);
  if (calls_) sum += calls_->count(tag);
  return sum;
}

}  // namespace causalctl::perf
