// CPU time that no path has is that of threads which were seen late or not at all, of records that
// were lost, and of switches, of which each costs some microseconds that its records count as
// waiting. The kernel counts all of it.
#include "controller/callpath/analysis/present_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "controller/base/duration.h"
#include "controller/base/number.h"
#include "controller/callpath/analysis/group_rows.h"
#include "controller/callpath/record/limits.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Profile;
using report::callpath::TimeFinding;

constexpr double kTold = 0.03;                      // share that is missing from which it is told
constexpr double kStarved = 0.5;                    // share of the time in which threads could run
constexpr Nanoseconds kUnsure = 20 * kMillisecond;  // the clock is read before and after the events
constexpr Nanoseconds kOfSwitch = 15 * kMicrosecond;

struct TimeSums {
  std::uint64_t all = 0;
  std::uint64_t without_path = 0;
};

std::map<Metric, TimeSums> sums_of(const Recording& run) {
  std::map<Metric, TimeSums> sums;
  for (const auto& [key, slice] : run.slices) {
    TimeSums& sum = sums[key.metric];
    for (const auto& [node, value] : slice) {
      sum.all += value;
      if (node == kRoot) sum.without_path += value;
    }
  }
  return sums;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

// Says why CPU time is missing, as far as that is known.
std::string causes(const Recording& run, std::uint64_t missing_ns) {
  const TimeAccount& account = run.account;
  std::vector<std::string> list;
  if (account.threads_missed > 0 ||
      (account.threads_begun > 0 && account.unseen_ns > static_cast<Nanoseconds>(missing_ns / 4))) {
    list.push_back(fmt::format(
        "{} threads began meanwhile, and each is seen only some milliseconds after its start{}: "
        "what runs in threads that end soon has more of the time than is shown here.",
        account.threads_begun + account.threads_missed,
        account.threads_missed > 0 ? fmt::format("; {} had ended before", account.threads_missed)
                                   : ""));
  }
  if (run.losses.records_lost > 0) {
    list.push_back(
        fmt::format("{} records were lost, because causalctl got no core in time to read them: "
                    "record on a quieter machine, or with a longer --period.",
                    run.losses.records_lost));
  }
  if (run.losses.throttles > 0) {
    list.emplace_back("The kernel took no samples for a while (throttling).");
  }
  if (static_cast<std::uint64_t>(kOfSwitch) * account.switches > missing_ns / 4) {
    list.push_back(
        fmt::format("Threads came to a core {} times, and each switch costs some microseconds that "
                    "count as waiting here.",
                    account.switches));
  }
  if (account.unreadable_program) {
    list.push_back(
        fmt::format("{} has executed a program that causalctl may not read, and there the kernel "
                    "ends all events: run causalctl as root.",
                    is_of_set(run) ? "A process" : "The process"));
  }
  if (list.empty()) list.emplace_back("Why is not known.");
  return fmt::format("{}", fmt::join(list, " "));
}

void add_cpu(const Recording& run, std::uint64_t has_ns, TimeFinding finding,
             std::vector<TimeFinding>& findings) {
  const auto all_ns = static_cast<std::uint64_t>(std::max<Nanoseconds>(0, run.account.cpu_ns));
  if (all_ns == 0) return;
  finding.what = TimeFinding::What::cpu_missing;
  finding.column = "cpu";
  finding.of_ns = all_ns;
  finding.ns = all_ns - std::min(all_ns, has_ns);
  const double share = share_of(finding.ns, all_ns);
  if (share >= kTold && finding.ns >= static_cast<std::uint64_t>(kUnsure)) {
    finding.text +=
        fmt::format("{} % of the CPU time is missing: the kernel counts {}, this report has {}. {}",
                    percent(share), duration(all_ns), duration(has_ns), causes(run, finding.ns));
    findings.push_back(std::move(finding));
  } else {
    finding.text.clear();
    findings.push_back(std::move(finding));
  }
}

void add_without_path(const Recording& run, const TimeSums& sums,
                      std::pair<const char*, const char*> of, TimeFinding finding,
                      std::vector<TimeFinding>& findings) {
  const double share = share_of(sums.without_path, sums.all);
  if (share < kTold) return;
  finding.what = TimeFinding::What::without_path;
  finding.column = of.first;
  finding.ns = sums.without_path;
  finding.of_ns = sums.all;
  finding.text += fmt::format("{} % of the {} has no path, and stands at [no call chain].",
                              percent(share), of.second);
  if (finding.column == "blocked" && run.account.stacks_not_read > 0) {
    finding.text += fmt::format(
        " Of {} threads at the beginning, the stacks of {} were not read, as there was no time.",
        run.account.threads_at_start, run.account.stacks_not_read);
  }
  findings.push_back(std::move(finding));
}

// "for 1.5 s of the 3.0 s"
std::string how_long(Nanoseconds ns, Nanoseconds wall_ns) {
  const bool always = ns >= wall_ns - wall_ns / 50;
  return always ? fmt::format("all the time ({})", duration(wall_ns))
                : fmt::format("for {} of the {}", duration(ns), duration(wall_ns));
}

std::string continue_words(const Recording& run) {
  if (is_of_set(run)) return "; kill -CONT lets them go on";
  return fmt::format("; kill -CONT {} lets it go on", run.pid);
}

void add_halt(const Recording& run, TimeFinding::What what, TimeFinding finding,
              std::vector<TimeFinding>& findings) {
  const TimeAccount& account = run.account;
  const bool stopped = what == TimeFinding::What::stopped;
  const Nanoseconds ns = stopped ? account.stopped_ns : account.frozen_ns;
  if (ns <= 0) return;
  finding.what = what;
  finding.column = stopped ? "stopped" : "frozen";
  finding.ns = static_cast<std::uint64_t>(ns);
  finding.of_ns = static_cast<std::uint64_t>(std::max<Nanoseconds>(0, run.wall_ns));
  const std::string time = how_long(ns, run.wall_ns);
  const bool still = account.halted_at_end == (stopped ? "stopped" : "frozen");
  const bool many = is_of_set(run);
  finding.text += many ? "The processes were " : "The process was ";
  const char* so_still = !still ? "" : many ? ", and are so still" : ", and is so still";
  if (!stopped) {
    finding.text +=
        fmt::format("frozen by {} control group {}{}{}.", many ? "their" : "its", time, so_still,
                    still ? fmt::format("; thaw {}", many ? "them" : "it") : "");
  } else if (account.tracer != 0) {
    finding.text += fmt::format("stopped by {} tracer, process {}, {}{}.", many ? "their" : "its",
                                account.tracer, time, so_still);
  } else {
    finding.text += fmt::format("stopped by a signal (SIGSTOP) {}{}{}.", time, so_still,
                                still ? continue_words(run) : "");
  }
  findings.push_back(std::move(finding));
}

void add_quota(const Recording& run, TimeFinding finding, std::vector<TimeFinding>& findings) {
  const TimeAccount& account = run.account;
  if (account.held_back_ns <= 0) return;
  finding.what = TimeFinding::What::held_back;
  finding.column = "runnable";
  finding.ns = static_cast<std::uint64_t>(account.held_back_ns);
  finding.of_ns = static_cast<std::uint64_t>(std::max<Nanoseconds>(0, run.wall_ns));
  finding.text += fmt::format(
      "{} control group may use {}, and was held back for {} (on all cores together). Threads "
      "count as runnable meanwhile, although cores may be idle.",
      is_of_set(run) ? "Their" : "Its",
      account.quota_cores > 0 ? fmt::format("{:.3g} cores", account.quota_cores)
                              : "a limited share of the cores",
      duration(account.held_back_ns));
  findings.push_back(std::move(finding));
}

void add_starved(const Recording& run, std::uint64_t cpu_ns, std::uint64_t runnable_ns,
                 TimeFinding finding, std::vector<TimeFinding>& findings) {
  const double share = share_of(runnable_ns, cpu_ns + runnable_ns);
  if (share < kStarved || run.account.held_back_ns > 0) return;
  finding.what = TimeFinding::What::starved;
  finding.column = "runnable";
  finding.ns = runnable_ns;
  finding.of_ns = cpu_ns + runnable_ns;
  finding.text += fmt::format(
      "In {} % of the time in which threads could run they waited for a core: there are more of "
      "them than cores, or other programs had these.",
      percent(share));
  findings.push_back(std::move(finding));
}

void add_limits(const Recording& run, const std::string& which, Profile& profile) {
  if (run.account.names_merged > 0) {
    const std::string limit =
        is_of_set(run) ? fmt::format("threads had more than {} names in a process, or {} in all",
                                     kMostNames, kMostGroups)
                       : fmt::format("threads had more than {} names", kMostNames);
    profile.warnings.push_back(which + limit +
                               ": each further one is merged with those that differ in a number "
                               "only (req-*)");
  }
  if (run.account.processes_merged > 0) {
    const auto shared = std::find_if(run.processes.begin(), run.processes.end(),
                                     [](const Process& each) { return each.pid == 0; });
    profile.warnings.push_back(
        which + fmt::format("the first {} processes are told apart: {} further ones count together "
                            "by program{}",
                            kMostProcesses, run.account.processes_merged,
                            shared == run.processes.end()
                                ? ""
                                : fmt::format(", as \"{} (others)\"", shared->program)));
  }
  if (run.account.paths_cut > 0) {
    profile.warnings.push_back(
        which + fmt::format("there are more than {} paths, and no further ones are kept: {} call "
                            "chains on others stand at [path not kept], below what is known of "
                            "them",
                            kMostNodes, run.account.paths_cut));
  }
  if (run.account.kernel_parts_cut > 0) {
    profile.warnings.push_back(
        which + fmt::format("there are very many paths: {} call chains are kept without their "
                            "functions of the kernel",
                            run.account.kernel_parts_cut));
  }
  if (run.account.code_merged > 0) {
    profile.warnings.push_back(
        which + fmt::format("code in no file has more than {} places, and no further ones are "
                            "kept: {} frames on others stand at {}",
                            kMostCompiled, run.account.code_merged, kAnonymous));
  }
}

}  // namespace

void add_time(const Recording& run, std::size_t number, const std::string& which,
              Profile& profile) {
  TimeFinding finding;
  finding.run = number;
  finding.text = which;
  std::map<Metric, TimeSums> sums = sums_of(run);
  add_limits(run, which, profile);
  add_cpu(run, sums[Metric::cpu_ns].all, finding, profile.time);
  add_halt(run, TimeFinding::What::stopped, finding, profile.time);
  add_halt(run, TimeFinding::What::frozen, finding, profile.time);
  add_quota(run, finding, profile.time);
  add_starved(run, sums[Metric::cpu_ns].all, sums[Metric::runnable_ns].all, finding, profile.time);
  const std::pair<Metric, std::pair<const char*, const char*>> columns[] = {
      {Metric::cpu_ns, {"cpu", "CPU time"}},
      {Metric::blocked_ns, {"blocked", "time blocked"}},
      {Metric::runnable_ns, {"runnable", "time waiting for a core"}},
      {Metric::stopped_ns, {"stopped", "time stopped"}},
      {Metric::frozen_ns, {"frozen", "time frozen"}}};
  for (const auto& [metric, of] : columns) {
    add_without_path(run, sums[metric], of, finding, profile.time);
  }
}

}  // namespace causalctl::callpath
