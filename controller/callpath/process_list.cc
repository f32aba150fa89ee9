#include "controller/callpath/process_list.h"

namespace causalctl::callpath {

std::uint32_t ProcessList::began(Pid pid, const std::string& program) {
  ++recording_.account.processes;
  latest_.erase(pid);
  return number_of(pid, program);
}

std::uint32_t ProcessList::executed(Pid pid, const std::string& program) {
  const auto before = latest_.find(pid);
  if (before != latest_.end() && before->second.second == program) return before->second.first;
  latest_.erase(pid);
  return number_of(pid, program);
}

std::uint32_t ProcessList::number_of(Pid pid, const std::string& program) {
  if (recording_.processes.size() >= kMostProcesses) return shared_number_of(program);
  const auto number = static_cast<std::uint32_t>(recording_.processes.size());
  recording_.processes.push_back({pid, program});
  latest_[pid] = {number, program};
  return number;
}

std::uint32_t ProcessList::shared_number_of(std::string program) {
  if (shared_.size() >= kMostSharedPrograms && !shared_.contains(program)) {
    program = kOtherPrograms;
  }
  const auto [known, is_new] = shared_.try_emplace(program, recording_.shared.size());
  if (is_new) {
    recording_.shared.push_back({static_cast<std::uint32_t>(recording_.processes.size()), 0});
    recording_.processes.push_back({0, program});
  }
  SharedEntry& entry = recording_.shared[known->second];
  ++entry.count;
  return entry.process;
}

}  // namespace causalctl::callpath
