#include "controller/commands/process_set_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <tuple>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/procfs.h"
#include "controller/session/cgroup_places.h"
#include "controller/session/process_table.h"
#include "controller/tracee/adoption.h"
#include "controller/tracee/process.h"
#include "unwind/names/names.h"

namespace causalctl::commands {
namespace {

using session::SetDescription;
using session::SetKind;

constexpr std::size_t kMostListed = 8;  // processes or paths in a message
constexpr std::size_t kMostSimilar = 4;
constexpr const char* kWayToAll = "; --match NAME takes all of them";
constexpr const char* kHowToFindOthers =
    "see `ps -e` for those that run; --match NAME takes later ones of that name, too";

// Returns "a, b and 3 others", given the first ones of `all`.
std::string enumerated(const std::vector<std::string>& texts, std::size_t all) {
  std::string text = fmt::format("{}", fmt::join(texts, ", "));
  if (all > texts.size()) text += fmt::format(" and {} others", all - texts.size());
  return text;
}

std::string first_of(std::vector<std::string> texts) {
  const std::size_t all = texts.size();
  texts.resize(std::min(all, kMostListed));
  return enumerated(texts, all);
}

// Returns "12 (a), 13 (b) and 3 others".
std::string listed(const std::vector<Pid>& pids, bool with_names) {
  std::vector<std::string> texts;
  for (const Pid pid : pids) {
    if (texts.size() == kMostListed) break;
    texts.push_back(with_names ? fmt::format("{} ({})", pid, tracee::process_name(pid))
                               : fmt::format("{}", pid));
  }
  return enumerated(texts, pids.size());
}

std::string similar_hint(const std::string& wanted, const std::vector<std::string>& names,
                         const std::string& otherwise) {
  const auto near = unwind::nearest(wanted, names, kMostSimilar);
  return near.empty() ? otherwise : fmt::format("similar names: {}", fmt::join(near, ", "));
}

std::vector<Pid> pids_of(const std::vector<std::string>& words) {
  std::vector<Pid> pids;
  for (const std::string& word : words) pids.push_back(process_of(word, kWayToAll));
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void require_present(const std::vector<Pid>& pids) {
  std::vector<Pid> gone;
  for (const Pid pid : pids) {
    if (procfs::has_ended(pid)) gone.push_back(pid);
  }
  if (gone.size() < 2) return;  // tracee::check_readable() says more of one
  throw TargetGone(fmt::format("no such processes: {}", listed(gone, false)),
                   "the numbers are those of `ps` in this pid namespace");
}

void require_rights(const std::vector<Pid>& pids) {
  std::vector<Pid> refused;
  uid_t owner = 0;
  int error = 0;
  for (const Pid pid : pids) {
    const procfs::Status status = tracee::check_program(pid, getpid());
    const int here = tracee::trace_error(pid);
    if (here == 0 || here == ESRCH) continue;
    if (refused.empty()) std::tie(owner, error) = std::pair(status.uid, here);
    refused.push_back(pid);
  }
  if (refused.size() < 2) return;
  throw Error::from_errno(fmt::format("processes {} cannot be traced", listed(refused, true)),
                          error, tracee::permission_hint(owner));
}

void check_each(const std::vector<Pid>& pids) {
  require_present(pids);
  require_rights(pids);
  for (const Pid pid : pids) tracee::check_readable(pid, getpid());
}

std::vector<std::string> names_in_use() {
  std::vector<std::string> names;
  for (const session::ProcessRow& row : session::ProcFolder().rows()) {
    if (!row.runs_program() || row.pid == getpid()) continue;
    names.push_back(row.name);
    const std::string path = procfs::executable(row.pid);
    if (!path.empty()) names.emplace_back(base_name(path));
  }
  return names;
}

void require_cgroup(const std::string& path) {
  std::vector<session::Cgroup> cgroups = cgroups_called(path, session::hierarchies());
  std::erase_if(cgroups, [](const auto& each) { return !is_there(each); });
  if (cgroups.empty()) {
    throw UsageError(fmt::format("there is no cgroup {}", path),
                     similar_hint(path, session::cgroup_paths_here(),
                                  "/proc/PID/cgroup tells the cgroups of a process"));
  }
  if (!std::all_of(cgroups.begin(), cgroups.end(), session::is_threaded)) return;
  throw UsageError(fmt::format("cgroup {} is threaded: it has threads, not processes", path),
                   "name the cgroup above it");
}

// Throws UsageError if the unit has no cgroup.
std::vector<session::Cgroup> cgroups_of(const std::string& unit) {
  if (session::is_unit_without_cgroup(unit)) {
    throw UsageError(fmt::format("--service {}: a unit of this kind has no processes", unit),
                     fmt::format("name the unit that it starts, mostly {}.service",
                                 unit.substr(0, unit.rfind('.'))));
  }
  const std::string name = session::unit_name(unit);
  auto found = session::cgroups_of_unit(session::unit_glob(name));
  if (!found.empty()) return session::of_nearest_manager(std::move(found));
  const auto names = session::unit_names();
  if (names.empty()) {
    throw UsageError(
        fmt::format("--service {}: no unit of systemd has a cgroup on this machine", unit),
        "--match NAME and --cgroup PATH need no systemd");
  }
  throw UsageError(fmt::format("no unit {} has a cgroup, so none runs", name),
                   similar_hint(name, names, "see `systemctl list-units`"));
}

// Returns the paths of the cgroups of the unit, each once. Throws UsageError if it is not clear
// which are meant.
std::vector<std::string> paths_of_unit(const std::string& unit) {
  const std::vector<session::Cgroup> cgroups = cgroups_of(unit);
  if (const auto paths = session::paths_of_namesakes(cgroups); !paths.empty()) {
    throw UsageError(fmt::format("several units are called {}; their cgroups are {}",
                                 session::unit_name(unit), first_of(paths)),
                     fmt::format("name one of them, as in --cgroup {}", paths.front()));
  }
  std::set<std::string> paths;
  for (const session::Cgroup& each : cgroups) paths.insert(each.path);
  return {paths.begin(), paths.end()};
}

[[noreturn]] void refuse_empty(const SetDescription& description) {
  switch (description.kind) {
    case SetKind::match:
      throw UsageError(fmt::format("no process is called {}", description.text),
                       similar_hint(description.text, names_in_use(), "see `ps -e`"));
    case SetKind::cgroup:
      throw TargetGone(
          fmt::format("no process is in cgroup {}, nor in one below it", description.text),
          "/proc/PID/cgroup tells the cgroups of a process");
    case SetKind::service:
      throw TargetGone(fmt::format("no process of unit {} runs", description.text),
                       fmt::format("see `systemctl status {}`", description.text));
    case SetKind::all:
      throw TargetGone("causalctl is the only process here",
                       "in a container only its own processes are seen: start causalctl outside");
    case SetKind::processes:
    case SetKind::children:
      break;
  }
  throw TargetGone(
      fmt::format("{} ended before it could be looked at",
                  description.pids.size() == 1
                      ? fmt::format("process {}", description.pids.front())
                      : fmt::format("each of the processes {}", listed(description.pids, false))),
      kHowToFindOthers);
}

SetDescription description_of(const SetWords& words) {
  if (!words.children.empty()) {
    const Pid pid = process_of(words.children);
    tracee::check_readable(pid, getpid());
    return {SetKind::children, {pid}, ""};
  }
  if (!words.match.empty()) return {SetKind::match, {}, words.match};
  if (!words.cgroup.empty()) {
    require_cgroup(words.cgroup);
    return {SetKind::cgroup, {}, words.cgroup};
  }
  if (!words.service.empty()) {
    return {SetKind::service, {}, words.service, paths_of_unit(words.service)};
  }
  if (words.all) return {SetKind::all, {}, ""};
  return {SetKind::processes, pids_of(words.processes), ""};
}

}  // namespace

void add_set_options(CLI::App& app, SetWords& words, bool starts_programs) {
  OptionGroup group(app, "Processes");
  const std::string below = "a process and all below it, also later ones";
  if (starts_programs) {
    group.optional_value("--children", words.children, words.with_children, "[PID]",
                         below + "; without a PID the program after --");
  } else {
    group.value("--children", words.children, "PID", below);
  }
  group.value("--match", words.match, "NAME",
              "all with this name, or whose executable has it; * is any text, ? any character");
  group.value("--cgroup", words.cgroup, "PATH",
              "all in a cgroup or below it, as in /proc/PID/cgroup");
  group.value("--service", words.service, "UNIT", "all of a unit of systemd");
  group.flag("--all", words.all, "all processes but causalctl");
}

std::vector<std::string> ways_of(const SetWords& words) {
  std::vector<std::string> ways;
  if (!words.processes.empty()) ways.push_back(fmt::format("{}", fmt::join(words.processes, " ")));
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) ways.push_back(fmt::format("{} {}", option, value));
  };
  add("--children", words.children);
  add("--match", words.match);
  add("--cgroup", words.cgroup);
  add("--service", words.service);
  if (words.all) ways.emplace_back("--all");
  return ways;
}

void check_ways(const std::vector<std::string>& ways) {
  if (ways.empty()) {
    throw UsageError("no process is named",
                     "give a PID or a name, --children PID, --match NAME, --cgroup PATH, "
                     "--service UNIT or --all");
  }
  if (ways.size() == 1) return;
  throw UsageError(
      fmt::format("processes are named in {} ways: {}", ways.size(), fmt::join(ways, "; ")),
      "leave out all but one");
}

std::string name_of(const SetDescription& description) {
  switch (description.kind) {
    case SetKind::processes:
      return fmt::format("process{} {}", description.pids.size() == 1 ? "" : "es",
                         listed(description.pids, false));
    case SetKind::children:
      return "--children " + listed(description.pids, false);
    case SetKind::match:
      return "--match " + printable(description.text);
    case SetKind::cgroup:
      return "--cgroup " + printable(description.text);
    case SetKind::service:
      return printable(fmt::format("--service {}{}{}", description.text,
                                   description.cgroups.empty() ? "" : " in ",
                                   first_of(description.cgroups)));
    case SetKind::all:
      break;
  }
  return "--all";
}

std::string headline_of(const SetDescription& description, std::size_t processes) {
  if (description.kind == SetKind::processes) return name_of(description);
  return fmt::format("{} ({} process{})", name_of(description), processes,
                     processes == 1 ? "" : "es");
}

SetChoice choose_set(const SetWords& words) {
  check_ways(ways_of(words));
  SetChoice choice;
  choice.description = description_of(words);
  const SetDescription& description = choice.description;
  choice.is_single = description.kind == SetKind::processes && description.pids.size() == 1;
  if (choice.is_single) {
    choice.pids = description.pids;
  } else {
    if (description.kind == SetKind::processes) check_each(description.pids);
    choice.pids = set_of(choice)->present();
    if (choice.pids.empty()) refuse_empty(description);
  }
  choice.name = name_of(description);
  choice.text = headline_of(description, choice.pids.size());
  return choice;
}

SetChoice choose_program_with_children(const std::vector<std::string>& command, Pid pid) {
  SetChoice choice;
  choice.description = {SetKind::children, {pid}, ""};
  choice.pids = {pid};
  choice.name = choice.text = printable(fmt::format("--children -- {}", fmt::join(command, " ")));
  return choice;
}

std::unique_ptr<session::BoundedSet> set_of(const SetChoice& choice) {
  return session::make_process_set(choice.description, {getpid()});
}

}  // namespace causalctl::commands
