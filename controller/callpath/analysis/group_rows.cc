#include "controller/callpath/analysis/group_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/base_name.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Program;
using report::callpath::Stands;

constexpr const char* kUnknownProcess = "[process not known]";

std::string program_of_run(const Recording& run) { return std::string(base_name(run.executable)); }

bool any_is_of_set(std::span<const Recording> runs) {
  return std::any_of(runs.begin(), runs.end(), is_of_set);
}

std::set<std::string> names_above(std::span<const Recording> runs, Stands stands,
                                  GroupRows::GroupsOf groups_of) {
  std::set<std::string> names;
  for (const Recording& run : runs) {
    for (const std::uint32_t group : groups_of(run)) {
      names.insert(stands == Stands::process ? process_of(run, run.groups[group])
                                             : program_of(run, run.groups[group]));
    }
  }
  return names;
}

// "cc1", "cc1, as and 3 other programs"
std::string list_words(const std::vector<std::string>& programs) {
  constexpr std::size_t kMostListed = 3;
  const std::size_t listed = std::min(programs.size(), kMostListed);
  const std::size_t others = programs.size() - listed;
  return fmt::format("{}{}", fmt::join(programs.begin(), programs.begin() + listed, ", "),
                     others == 0   ? ""
                     : others == 1 ? " and 1 other program"
                                   : fmt::format(" and {} other programs", others));
}

bool have_common(const std::set<std::string>& one, const std::set<std::string>& other) {
  return std::any_of(one.begin(), one.end(),
                     [&](const std::string& name) { return other.contains(name); });
}

}  // namespace

std::string program_of(const Recording& run, const Group& group) {
  if (!is_of_set(run)) return program_of_run(run);
  return group.process ? run.processes[*group.process].program : kUnknownProcess;
}

std::string process_of(const Recording& run, const Group& group) {
  if (!is_of_set(run)) return fmt::format("{} (process {})", program_of_run(run), run.pid);
  if (!group.process) return kUnknownProcess;
  const Process& process = run.processes[*group.process];
  if (process.pid == 0) return process.program + " (others)";
  return fmt::format("{} (process {})", process.program, process.pid);
}

std::uint64_t processes_of(const Recording& run) {
  if (!is_of_set(run)) return 1;
  if (run.account.processes > 0) return run.account.processes;
  std::set<Pid> pids;  // of a log that ends before the account
  for (const Process& process : run.processes) pids.insert(process.pid);
  return pids.size();
}

std::string words_of(const Recording& run) {
  const std::uint64_t processes = processes_of(run);
  if (run.executable.empty() && !run.set.empty()) {
    return fmt::format("{} ({} process{})", run.set, processes, processes == 1 ? "" : "es");
  }
  if (processes < 2) return fmt::format("{} (process {})", run.executable, run.pid);
  return fmt::format("{} and {} other {}", run.executable, processes - 1,
                     processes == 2 ? "process" : "processes");
}

std::vector<Program> programs_of(std::span<const Recording> runs, const ChosenEpochs& epochs) {
  if (!any_is_of_set(runs)) return {};
  std::map<std::string, Program> programs;
  for (std::size_t number = 0; number < runs.size(); ++number) {
    const Recording& run = runs[number];
    for (const ProgramCount& each : run.programs) {
      if (each.processes > 0) programs[each.program].processes += each.processes;
    }
    if (!is_of_set(run)) ++programs[program_of_run(run)].processes;
    for (const auto& [key, slice] : run.slices) {
      const bool is_cpu = key.metric == Metric::cpu_ns;
      if ((!is_cpu && key.metric != Metric::blocked_ns) || !epochs.has(number, key.epoch)) continue;
      Program& program = programs[program_of(run, run.groups[key.group])];
      std::uint64_t& sum = is_cpu ? program.cpu_ns : program.blocked_ns;
      for (const auto& [node, value] : slice) sum += value;
    }
  }
  std::vector<Program> list;
  for (auto& [name, program] : programs) {
    program.name = name;
    list.push_back(std::move(program));
  }
  std::stable_sort(list.begin(), list.end(), [](const Program& a, const Program& b) {
    return std::pair(a.cpu_ns, a.blocked_ns) > std::pair(b.cpu_ns, b.blocked_ns);
  });
  return list;
}

std::set<std::uint32_t> groups_with_values(const Recording& run) {
  std::set<std::uint32_t> groups;
  for (const auto& [key, slice] : run.slices) groups.insert(key.group);
  return groups;
}

std::set<std::uint32_t> groups_with_wakers(const Recording& run) {
  std::set<std::uint32_t> groups;
  for (const auto& [group, sums] : run.wakers) groups.insert(group);
  return groups;
}

GroupRows::Names GroupRows::add_rows(std::span<const Recording> runs, GroupsOf groups_of) {
  Names names;
  for (const Recording& run : runs) {
    for (const std::uint32_t number : groups_of(run)) {
      const Group& group = run.groups[number];
      Row& row = rows_[&run][number];
      if (above_) {
        row.above = *above_ == Stands::process ? process_of(run, group) : program_of(run, group);
      }
      row.threads = name_of_group(run, group);
      names[row.above].insert(row.threads);
    }
  }
  return names;
}

GroupRows::GroupRows(std::span<const Recording> runs, bool by_process, GroupsOf groups_of) {
  const Stands wanted = by_process ? Stands::process : Stands::program;
  if ((by_process || any_is_of_set(runs)) && names_above(runs, wanted, groups_of).size() > 1) {
    above_ = wanted;
  }
  for (const auto& [above, threads] : add_rows(runs, groups_of)) {
    if (threads.size() > 1) with_threads_.insert(above);
  }
}

GroupRows::GroupRows(std::span<const Recording> before, std::span<const Recording> after) {
  const std::set<std::string> old_programs =
      names_above(before, Stands::program, groups_with_values);
  const std::set<std::string> new_programs =
      names_above(after, Stands::program, groups_with_values);
  if ((any_is_of_set(before) || any_is_of_set(after)) &&
      (old_programs.size() > 1 || new_programs.size() > 1)) {
    if (have_common(old_programs, new_programs)) {
      above_ = Stands::program;
    } else {
      notes_.emplace_back("Programs are left out, because none has the same name in both.");
    }
  }
  const Names old_names = add_rows(before, groups_with_values);
  const Names new_names = add_rows(after, groups_with_values);
  std::vector<std::string> none_common;  // rows above
  for (const auto& [above, threads] : new_names) {
    const auto old_threads = old_names.find(above);
    if (old_threads == old_names.end()) {
      if (above_ && threads.size() > 1) with_threads_.insert(above);
    } else if (!have_common(threads, old_threads->second)) {
      none_common.push_back(above);
    } else if (threads.size() > 1 || old_threads->second.size() > 1) {
      with_threads_.insert(above);
    }
  }
  for (const auto& [above, threads] : old_names) {
    const bool is_alone = above_ && !new_names.contains(above);
    if (is_alone && threads.size() > 1) with_threads_.insert(above);
  }
  if (!none_common.empty()) {
    notes_.push_back(
        fmt::format("Groups of threads{} are left out, because none has the same name in both.",
                    above_ ? " of " + list_words(none_common) : ""));
  }
}

std::uint32_t GroupRows::top(const Recording& run, std::uint32_t group, Frames& frames,
                             ProfileTree& tree) const {
  const Row& row = rows_.at(&run).at(group);
  std::uint32_t node = 0;
  if (above_) node = tree.child(node, frames.of_group(row.above, *above_));
  if (!with_threads_.contains(row.above)) return node;
  return tree.child(node, frames.of_group(row.threads, Stands::threads));
}

}  // namespace causalctl::callpath
