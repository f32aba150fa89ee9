#include "controller/callpath/engine/process_list.h"

#include "controller/callpath/record/limits.h"

namespace causalctl::callpath {
namespace {

// Returns the program, or what stands for it if it is a further one beyond `most`.
template <class ByProgram>
std::string program_or_other(const ByProgram& known, const std::string& program, std::size_t most) {
  return known.size() < most || known.contains(program) ? program : kOtherPrograms;
}

}  // namespace

std::uint32_t ProcessRun::number() {
  if (!number_) number_ = list_->number_of(*this);
  return *number_;
}

std::shared_ptr<ProcessRun> ProcessList::began(Pid pid, const std::string& program, bool is_born) {
  ++recording_.account.processes;
  std::shared_ptr<ProcessRun> run(new ProcessRun(*this, pid, program));
  run->is_inherited_ = is_born;
  count(*run);
  return run;
}

std::shared_ptr<ProcessRun> ProcessList::executed(const std::shared_ptr<ProcessRun>& before,
                                                  const std::string& program) {
  const bool was_inherited = before->is_inherited_;
  before->is_inherited_ = false;
  if (before->program_ == program) return before;
  std::shared_ptr<ProcessRun> run(new ProcessRun(*this, before->pid_, program));
  run->shares_ = before->shares_;
  if (was_inherited) {
    for (const std::uint32_t index : before->counted_) --recording_.programs[index].processes;
  } else {
    run->counted_ = before->counted_;
  }
  count(*run);
  return run;
}

// A process that executes a program again is still one that ran it.
void ProcessList::count(ProcessRun& run) {
  const std::string program = program_or_other(programs_, run.program_, kMostPrograms);
  const auto [known, is_new] =
      programs_.try_emplace(program, static_cast<std::uint32_t>(recording_.programs.size()));
  if (is_new) recording_.programs.push_back({program, 0});
  if (run.counted_.insert(known->second).second) ++recording_.programs[known->second].processes;
}

std::uint32_t ProcessList::number_of(ProcessRun& run) {
  const auto number = static_cast<std::uint32_t>(recording_.processes.size());
  if (number >= kMostProcesses) {
    if (!run.shares_) ++recording_.account.processes_merged;
    run.shares_ = true;
    return shared_number_of(program_or_other(shared_, run.program_, kMostSharedPrograms));
  }
  recording_.processes.push_back({run.pid_, run.program_});
  return number;
}

std::uint32_t ProcessList::shared_number_of(std::string program) {
  const auto [known, is_new] =
      shared_.try_emplace(program, static_cast<std::uint32_t>(recording_.processes.size()));
  if (is_new) recording_.processes.push_back({0, std::move(program)});
  return known->second;
}

}  // namespace causalctl::callpath
