"""Facilities of the kernel that can be opened but never fire. doctor says so. A profile uses
another way, or is refused before anything is put into the target."""

import re

from attaching import FIGURE1, attach, attach_json, profiled
from case import Case, digest_same, expect, patterns, visits, well_formed

LIMITED = "limited"
MISSING = "missing"


def doctor(facility, verdict, name, finding, possible=True):
    line = f"^{verdict} +{re.escape(name)} +{re.escape(finding)}$"
    conclusion = f"^a causal profile on this machine is {'' if possible else 'not '}possible$"
    return Case(f"doctor_broken_{facility}", ("doctor",), pretend_broken=facility,
                exit=(0 if possible else 1,), stdout=patterns(line, conclusion))


def refused(facility, message):
    """A case that is refused before there is a log, and so before anything is put into the
    target."""
    def no_log(outcome):
        return expect(not (outcome.directory / "profile.jsonl").exists(), "it has begun a log")

    return Case(f"attach_broken_{facility}", attach("--duration", "2s"), FIGURE1,
                pretend_broken=facility, exit=(1,), checks=(no_log,),
                stderr=patterns(f"^causalctl: {re.escape(message)}$",
                                "^  hint: .*profile on another one, or use causalctl ab"))


def says(facility, warning):
    """Checks the report's warnings and its facilities, and the log. All other facilities work."""
    def check_facility(outcome):
        report, log = outcome.report(), outcome.log()
        problems = expect(warning in report["warnings"], f"no such warning: {report['warnings']}")
        problems += expect(warning in log[-1]["warnings"], "no such warning in the log")
        for found in (report["facilities"], log[0]["facilities"]):
            never = [name for name in ("sample", "clock", "switch", "wake-up", "sigtrap", "bpf")
                     if found.get(name) == "never-fired"]
            problems += expect(never == [facility], f"{facility} is broken: {found}")
        return problems
    return check_facility


def replaced(facility, warning, **more):
    return profiled(f"attach_broken_{facility}", attach_json(), pretend_broken=facility,
                    checks=(well_formed, digest_same, visits("round_done", 20),
                            says(facility, warning)), **more)


def watched_by_perf(outcome):
    found = outcome.report()["facilities"]
    return expect(found.get("scheduler") == "never-fired", f"scheduler is broken: {found}")


CASES = [
    doctor("sample", MISSING, "samples", "opened, but no sample came: there is no profile without",
           possible=False),
    doctor("clock", MISSING, "clock of records",
           "opened, but no record came: there is no profile without", possible=False),
    doctor("switch", LIMITED, "switch records",
           "opened, but no record came: a thread that waits is taken to run, which falsifies the "
           "effects of what it waits for"),
    doctor("wake-up", LIMITED, "sched:sched_waking",
           "opened, but no record came: wake-ups are guessed: less exact"),
    doctor("sigtrap", LIMITED, "sigtrap events",
           "an event was opened on ourselves, but no SIGTRAP came: pauses go by ptrace, with more "
           "disturbance"),
    doctor("scheduler", LIMITED, "watching by BPF",
           "loaded, but nothing was recorded: threads have perf events of their own, which costs the "
           "target more"),
    doctor("bpf", LIMITED, "BPF programs",
           "a program was loaded, but never ran at its event: before each pause /proc is read "
           "instead, which sees a change later"),
    doctor("breakpoint", LIMITED, "hardware breakpoints",
           "opened, but never fired: this (virtual) machine does not pass debug registers"),
    doctor("uprobe", MISSING, "uprobes",
           "opened, but never fired: no USDT probes with a semaphore, no points beyond four places"),
    doctor("breakpoint,uprobe", LIMITED, "progress points",
           "counted by tracepoints of system calls"),
    doctor("breakpoint,uprobe,wake-up", MISSING, "progress points",
           "nothing can count them: no breakpoints, no uprobes, no system calls", possible=False),
    refused("sample", "no causal profile is possible here: a sampling event on ourselves was opened, "
                      "but no sample came"),
    refused("clock", "no causal profile is possible here, for want of a clock: an event on "
                     "ourselves: opened, but no record came"),
    replaced("switch", "switches of threads are not recorded (opened, but no record came): a thread "
                       "that waits is taken to run"),
    replaced("wake-up", "wake-ups are not recorded: opened, but no record came"),
    replaced("sigtrap",
             "pauses by ptrace: an event was opened on ourselves, but no SIGTRAP came"),
    replaced("bpf", "shots are not held back in the kernel (a program was loaded, but never ran at "
                    "its event): /proc is read before each of them"),
    # Another way tells the same, so there is nothing to warn of.
    profiled("attach_broken_scheduler", attach_json(), pretend_broken="scheduler",
             checks=(well_formed, digest_same, visits("round_done", 20), watched_by_perf)),
    Case("doctor_idle", ("doctor", "{pid}"), ("{targets}/idle",),
         target_output=patterns("^rounds 0$", "^eintr 0$"),
         stdout=patterns("^limited +activity +it does not run now: no sample in half a second$",
                         "^a causal profile of process \\d+ is possible$")),
    Case("doctor_busy", ("doctor", "{pid}"), FIGURE1,
         stdout=patterns("^ok +activity +100 % of \\d+ samples are in the executable or what it "
                         "calls$")),
    Case("doctor_one_call", ("doctor", "{pid}"), ("{targets}/in_library", "--per-ms", "400"),
         stdout=patterns("^limited +activity +.*, nearly all from one place in it: .* in libc",
                         "-> a profile of the executable has one unit only: --scope-binary 'libc")),
]
