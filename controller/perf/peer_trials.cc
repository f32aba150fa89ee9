#include "controller/perf/peer_trials.h"

namespace causalctl::perf {

std::vector<Tid> PeerTrials::take_woken_often(Nanoseconds now_ns) {
  std::vector<Tid> often;
  for (const auto& [tid, count] : wakes_) {
    if (count >= kWokenOften && taken_.insert(tid).second) often.push_back(tid);
  }
  if (now_ns >= forget_at_ns_) {
    wakes_.clear();
    taken_.clear();
    forget_at_ns_ = now_ns + kForgetWakes;
  }
  return often;
}

bool PeerTrials::begin(Pid process, Nanoseconds now_ns) {
  std::erase_if(rests_until_ns_, [&](const auto& rest) { return rest.second <= now_ns; });
  if (rests_until_ns_.contains(process)) return false;
  return trials_.emplace(process, Trial{now_ns + kTrial}).second;
}

void PeerTrials::asked(Pid process) {
  if (const auto trial = trials_.find(process); trial != trials_.end()) ++trial->second.asked;
}

void PeerTrials::answered(Pid process) {
  if (const auto trial = trials_.find(process); trial != trials_.end()) ++trial->second.answered;
}

std::vector<Pid> PeerTrials::take_peers(Nanoseconds now_ns) {
  std::vector<Pid> peers;
  std::erase_if(trials_, [&](const auto& entry) {
    const auto& [process, trial] = entry;
    if (trial.answered >= kAnswers && trial.answered * kWakesPerAnswer >= trial.asked) {
      peers.push_back(process);
      return true;
    }
    if (now_ns < trial.end_ns) return false;
    rests_until_ns_[process] = now_ns + kRest;
    return true;
  });
  return peers;
}

std::vector<Pid> PeerTrials::on_trial() const {
  std::vector<Pid> processes;
  for (const auto& [process, trial] : trials_) processes.push_back(process);
  return processes;
}

}  // namespace causalctl::perf
