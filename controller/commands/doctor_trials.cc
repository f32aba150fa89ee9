// Tries each facility of the kernel on causalctl itself. For those that do not do what causalctl
// relies on it says what follows.
#include <fmt/format.h>

#include <utility>

#include "controller/base/restrictions.h"
#include "controller/commands/doctor_checks.h"
#include "controller/pause/blocked_trap.h"
#include "controller/pause/shot_filter.h"
#include "controller/perf/trials.h"
#include "controller/perf/visit_trial.h"

namespace causalctl::commands {
namespace {

constexpr int kAllRegisters = 4;

struct Meaning {
  const char* name;
  const char* without;  // what a run does without it
  bool required;
  const char* never_fired;  // what to do if it was opened and did not fire
  const char* refused;      // what to do if it could not be opened
};

Meaning meaning_of(Facility facility) {
  constexpr const char* elsewhere =
      "this machine, or what it runs in, does not let perf events fire: use another one, or "
      "causalctl ab, which needs no samples";
  constexpr const char* nothing = "nothing to do on this machine";
  switch (facility) {
    case Facility::sample:
      return {"samples", "there is no profile without", true, elsewhere, kRunAsRoot};
    case Facility::clock:
      return {"clock of records", "there is no profile without", true, elsewhere, kRunAsRoot};
    case Facility::switch_record:
      return {"switch records",
              "a thread that waits is taken to run, which falsifies the effects of what it waits "
              "for",
              false, nothing, kRunAsRoot};
    case Facility::wake_up:
      return {"sched:sched_waking", "wake-ups are guessed: less exact", false, nothing,
              "run as root, or with CAP_PERFMON and CAP_DAC_READ_SEARCH"};
    case Facility::sigtrap:
      return {"sigtrap events", "pauses go by ptrace, with more disturbance", false,
              "nothing to do: pauses go by ptrace", "Linux 5.19 or newer"};
    case Facility::bpf:
      return {"BPF programs", "before each pause /proc is read instead, which sees a change later",
              false, nothing, "Linux 6.11 or newer, and root or CAP_BPF and CAP_PERFMON"};
    case Facility::scheduler:
      return {"watching by BPF",
              "threads have perf events of their own, which costs the target more", false, nothing,
              "run as root, or with CAP_BPF and CAP_PERFMON"};
    case Facility::breakpoint:
    case Facility::uprobe:
      break;
  }
  return {"", "", false, "", ""};
}

Check breakpoints(const Trial& trial, int free_registers, bool uprobes_work) {
  Check check{"hardware breakpoints", Verdict::ok, "", "", false};
  switch (trial.outcome) {
    case Outcome::seen:
      check.finding = fmt::format("{}, {} registers free", trial.finding, free_registers);
      if (free_registers < kAllRegisters) {
        check.verdict = Verdict::limited;
        check.remedy = "close other debuggers; further points are uprobes, which need root";
      }
      return check;
    case Outcome::never_fired:
      check.verdict = Verdict::limited;
      check.finding = trial.finding + ": this (virtual) machine does not pass debug registers";
      if (uprobes_work) check.remedy = "nothing to do: points are counted by uprobes";
      return check;
    case Outcome::refused:
      check.verdict = Verdict::missing;
      check.finding = trial.finding;
      check.remedy = "close other debuggers; without breakpoints points are counted by uprobes";
      return check;
  }
  return check;
}

Check uprobes(const Trial& trial, bool breakpoints_work) {
  Check check{"uprobes", Verdict::ok, trial.finding + ": USDT probes, and points beyond four", "",
              false};
  if (trial.is_seen()) return check;
  check.verdict = Verdict::missing;
  check.finding = trial.finding + ": no USDT probes with a semaphore, no points beyond four places";
  if (trial.outcome == Outcome::refused) {
    check.remedy = trial.hint.empty() ? kRunAsRoot : trial.hint;
  } else if (breakpoints_work) {
    check.remedy = "nothing to do: points are counted by breakpoints";
  }
  return check;
}

}  // namespace

Check check_trial(const Trial& trial) {
  const Meaning meaning = meaning_of(trial.facility);
  Check check{meaning.name, Verdict::ok, trial.finding, "", meaning.required};
  if (trial.is_seen()) return check;
  check.verdict = meaning.required ? Verdict::missing : Verdict::limited;
  check.finding = fmt::format("{}: {}", trial.finding, meaning.without);
  check.remedy = trial.outcome == Outcome::never_fired ? meaning.never_fired
                 : trial.hint.empty()                  ? meaning.refused
                                                       : trial.hint;
  return check;
}

std::vector<Check> check_counting(const Counting& counting) {
  std::vector<std::string> ways;
  if (counting.breakpoint.is_seen()) ways.emplace_back("breakpoints");
  if (counting.uprobe.is_seen()) ways.emplace_back("uprobes");
  if (counting.system_calls) ways.emplace_back("tracepoints of system calls");
  Check all{"progress points", Verdict::ok, "", "", true};
  if (ways.empty()) {
    all.verdict = Verdict::missing;
    all.finding = "nothing can count them: no breakpoints, no uprobes, no system calls";
    all.remedy = kRunAsRoot;
  } else {
    all.finding = fmt::format("counted by {}", fmt::join(ways, ", "));
    if (!counting.breakpoint.is_seen() && !counting.uprobe.is_seen()) {
      all.verdict = Verdict::limited;
      all.remedy = "points can be system calls only: --progress syscall:NAME";
    }
  }
  return {breakpoints(counting.breakpoint, counting.free_registers, counting.uprobe.is_seen()),
          uprobes(counting.uprobe, counting.breakpoint.is_seen()), all};
}

std::vector<Check> check_facilities(bool system_calls_can_be_counted) {
  std::vector<Check> checks;
  bool tracepoints_work = false;
  for (const Trial& trial : perf::try_all()) {
    checks.push_back(check_trial(trial));
    if (trial.facility == Facility::wake_up) tracepoints_work = trial.is_seen();
  }
  Trial scheduler;
  (void)perf::try_scheduler(scheduler, {.wakings = true, .leaving = true});
  checks.push_back(check_trial(scheduler));
  checks.push_back(check_trial(pause::sigtrap_trial()));
  checks.push_back(check_trial(pause::ShotFilter::trial()));
  Counting counting;
  counting.free_registers = perf::free_debug_registers();
  counting.breakpoint = perf::try_breakpoint();
  counting.uprobe = perf::try_uprobes();
  counting.system_calls = system_calls_can_be_counted && tracepoints_work;
  for (auto& check : check_counting(counting)) checks.push_back(std::move(check));
  // One cause, told once: where a filter is that, no other remedy would help.
  const bool filtered = is_filtered(GuardedCall::perf_event_open);
  const std::string cause = restriction(GuardedCall::perf_event_open);
  for (Check& check : checks) {
    const bool is_told = !cause.empty() && check.remedy == cause;
    if (check.verdict != Verdict::ok && (filtered || is_told)) {
      check.remedy = "see 'perf events' above";
    }
  }
  return checks;
}

}  // namespace causalctl::commands
