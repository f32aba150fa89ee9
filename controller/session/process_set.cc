#include "controller/session/process_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "controller/base/number.h"
#include "controller/base/procfs.h"
#include "controller/session/cgroup_places.h"
#include "controller/session/process_table.h"
#include "controller/session/set_members.h"

namespace causalctl::session {
namespace {

std::vector<ProcessRow> rows_of(const std::vector<Pid>& pids, ProcFolder& proc) {
  std::vector<ProcessRow> rows;
  for (const Pid pid : pids) {
    if (auto row = proc.row(pid)) rows.push_back(std::move(*row));
  }
  return rows;
}

class GivenProcesses final : public BoundedSet {
 public:
  GivenProcesses(const std::vector<Pid>& pids, OwnProcesses ours)
      : BoundedSet(Growth::none, std::move(ours)), rows_(rows_of(pids, proc_)) {}

  bool after_exec(Pid, const Program&, bool is_member) override { return is_member; }

 private:
  std::vector<Pid> all_present() override {
    std::vector<Pid> pids;
    for (const ProcessRow& row : rows_) {
      const auto now = proc_.row(row.pid);
      if (now && now->start_ticks == row.start_ticks && now->runs_program()) {
        pids.push_back(row.pid);
      }
    }
    return pids;
  }

  ProcFolder proc_;
  std::vector<ProcessRow> rows_;  // in ascending order
};

class Descendants final : public BoundedSet {
 public:
  Descendants(const std::vector<Pid>& roots, OwnProcesses ours)
      : BoundedSet(Growth::children, std::move(ours)), family_(rows_of(roots, proc_)) {}

  // A member that is known here stays one also if its parent ends before the next scan.
  bool after_exec(Pid process, const Program&, bool is_member) override {
    if (!is_member) return false;
    if (const auto row = proc_.row(process)) family_.add(*row);
    return true;
  }

 private:
  std::vector<Pid> all_present() override { return family_.update(proc_.rows(), ours().given()); }

  ProcFolder proc_;
  Family family_;
};

class Namesakes final : public BoundedSet {
 public:
  Namesakes(std::string glob, OwnProcesses ours)
      : BoundedSet(Growth::open, std::move(ours)), glob_(std::move(glob)) {}

  bool after_exec(Pid process, const Program& program, bool is_member) override {
    return is_called(process, program) && (is_member || !ours().have(process));
  }

 private:
  bool is_called(Pid pid, const Program& program) const {
    const auto file = [&] {
      return program.file.empty() ? procfs::executable(pid) : std::string(program.file);
    };
    return is_process_named(program.name, {file, [pid] { return procfs::words_of(pid); }}, glob_);
  }

  std::vector<Pid> all_present() override {
    std::vector<Pid> pids = procfs::processes();
    std::erase_if(pids, [&](Pid pid) {
      std::string_view line = proc_.text_of(pid, "comm");
      const std::string name(line.substr(0, line.find('\n')));
      return !is_called(pid, {name}) || !proc_.runs_program(pid);
    });
    return pids;
  }

  ProcFolder proc_;
  std::string glob_;
};

// Those in cgroups, which are found anew at each look: a unit that starts again has new ones.
class CgroupMembers : public BoundedSet {
 public:
  explicit CgroupMembers(OwnProcesses ours) : BoundedSet(Growth::open, std::move(ours)) {}

  // A process is mostly moved into a cgroup before it executes the program that belongs there.
  bool after_exec(Pid process, const Program&, bool is_member) override {
    const std::string cgroups(proc_.text_of(process, "cgroup"));
    if (cgroups.empty()) return is_member;  // it is gone
    return is_in(cgroups) && (is_member || !ours().have(process));
  }

 private:
  virtual bool is_in(std::string_view cgroups_of_process) const = 0;
  virtual std::vector<Cgroup> cgroups() const = 0;

  std::vector<Pid> all_present() override {
    std::vector<Pid> pids = processes_in(cgroups());
    std::erase_if(pids, [&](Pid pid) { return !proc_.runs_program(pid); });
    return pids;
  }

  ProcFolder proc_;
};

class InCgroup final : public CgroupMembers {
 public:
  InCgroup(const std::string& path, OwnProcesses ours)
      : CgroupMembers(std::move(ours)), cgroups_(cgroups_called(path, hierarchies())) {}

 private:
  bool is_in(std::string_view cgroups_of_process) const override {
    return std::any_of(cgroups_.begin(), cgroups_.end(),
                       [&](const Cgroup& each) { return is_in_cgroup(cgroups_of_process, each); });
  }
  std::vector<Cgroup> cgroups() const override { return cgroups_; }

  std::vector<Cgroup> cgroups_;
};

class InUnit final : public CgroupMembers {
 public:
  InUnit(const SetDescription& unit, OwnProcesses ours)
      : CgroupMembers(std::move(ours)), glob_(unit_glob(unit_name(unit.text))) {
    for (const std::string& path : unit.cgroups) parents_.insert(parent_of(path));
  }

 private:
  static std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

  bool is_in(std::string_view cgroups_of_process) const override {
    return is_in_unit(cgroups_of_process, glob_, parents_);
  }
  std::vector<Cgroup> cgroups() const override {
    std::vector<Cgroup> found = cgroups_of_unit(glob_);
    std::erase_if(found,
                  [this](const Cgroup& each) { return !parents_.contains(parent_of(each.path)); });
    return found;
  }

  std::string glob_;
  std::set<std::string> parents_;  // of its cgroups
};

class AllProcesses final : public BoundedSet {
 public:
  explicit AllProcesses(OwnProcesses ours) : BoundedSet(Growth::open, std::move(ours)) {}

  bool after_exec(Pid process, const Program&, bool is_member) override {
    return is_member || !ours().have(process);
  }

 private:
  // Only processes that the last look has not seen are read: opening a file of each is what takes
  // time. So a zombie may be a member until its parent has waited for it.
  std::vector<Pid> all_present() override {
    std::vector<ProcEntry> programs = proc_entries();
    std::erase_if(programs, [&](const ProcEntry& each) {
      return !std::binary_search(seen_.begin(), seen_.end(), each) && !proc_.runs_program(each.pid);
    });
    seen_ = std::move(programs);
    std::vector<Pid> pids;
    for (const ProcEntry& each : seen_) pids.push_back(each.pid);
    return pids;
  }

  ProcFolder proc_;
  std::vector<ProcEntry> seen_;  // that run programs, in ascending order
};

std::vector<Pid> children_of(Pid pid) {
  std::vector<Pid> children;
  for (const Tid tid : procfs::threads(pid)) {
    const auto text = procfs::read_text(fmt::format("/proc/{}/task/{}/children", pid, tid));
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (const auto child = parse_number<Pid>(word)) children.push_back(*child);
    }
  }
  return children;
}

}  // namespace

OwnProcesses::OwnProcesses(std::vector<Pid> given) : given_(std::move(given)) {
  std::sort(given_.begin(), given_.end());
}

std::vector<Pid> OwnProcesses::now() const {
  std::vector<Pid> all = given_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<Pid> children = children_of(all[i]);
    all.insert(all.end(), children.begin(), children.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool OwnProcesses::have(Pid pid) const {
  const std::vector<Pid> all = now();
  return std::binary_search(all.begin(), all.end(), pid);
}

std::vector<Pid> BoundedSet::present() {
  std::vector<Pid> found = all_present();
  // Who names a process means it, even if causalctl has started it.
  const std::vector<Pid> own = is_open() ? ours_.now() : ours_.given();
  std::erase_if(found, [&](Pid pid) { return std::binary_search(own.begin(), own.end(), pid); });
  present_ = at_most(found, present_, most_);
  left_out_ = std::max(left_out_, found.size() - present_.size());
  return present_;
}

bool BoundedSet::has_room(Pid process, std::size_t watched) {
  constexpr std::size_t most_kept = 100'000;
  if (watched < most_) return true;
  if (had_no_room_.size() < most_kept) had_no_room_.insert(process);
  return false;
}

// A process that came later may be among those that a later look at /proc has left out.
std::string BoundedSet::text_of_left_out() const {
  const std::size_t left_out = std::max(left_out_, had_no_room_.size());
  if (left_out == 0) return "";
  return fmt::format(
      "the set had more processes than are watched at a time: {}, the most, are watched, and at "
      "least {} {} left out; name a smaller set",
      most_, left_out, left_out == 1 ? "is" : "are");
}

namespace {

std::unique_ptr<BoundedSet> unbounded_set(const SetDescription& description, OwnProcesses own) {
  switch (description.kind) {
    case SetKind::processes:
      return std::make_unique<GivenProcesses>(description.pids, std::move(own));
    case SetKind::children:
      return std::make_unique<Descendants>(description.pids, std::move(own));
    case SetKind::match:
      return std::make_unique<Namesakes>(description.text, std::move(own));
    case SetKind::cgroup:
      return std::make_unique<InCgroup>(description.text, std::move(own));
    case SetKind::service:
      return std::make_unique<InUnit>(description, std::move(own));
    case SetKind::all:
      break;
  }
  return std::make_unique<AllProcesses>(std::move(own));
}

}  // namespace

std::unique_ptr<BoundedSet> make_process_set(const SetDescription& description,
                                             std::vector<Pid> ours, std::size_t most) {
  auto set = unbounded_set(description, OwnProcesses(std::move(ours)));
  set->most_ = most;
  return set;
}

}  // namespace causalctl::session
