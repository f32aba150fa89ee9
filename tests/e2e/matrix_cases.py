"""The matrix: a target in every state that docs/safety.md names is profiled with pauses at full
rate. Afterwards it must be as it was: alive, at its own rate, with right results and its own exit
status. A row works, works with a limit that the report states, or is refused with a reason.
`scripts/matrix` prints the table of what really happened."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time

import counting_target
import fixture
import freezer
from attaching import ENDLESS, halved
from case import (Case, TARGET_SOURCES, digest_same, expect, log_ends_with, patterns, same_or_waits,
                  warns, well_formed)
from during import end, paused, stop, until_paused, wait_for_pauses

PROGRAMS = TARGET_SOURCES / "matrix"
STATES = "{targets}/matrix_states"
RIGHT = patterns("^wrong 0$")
DONE = RIGHT + patterns("^failed 0$", r"^rounds [1-9]\d*$")
# Stopping the whole process and letting it go on breaks sigwaitinfo also without causalctl:
# signal(7).
FINE = DONE + patterns("^eintr 0$")
BUSY = FINE + patterns(r"^done [1-9]\d*$")

BRIEFLY = "4s"  # scripts/matrix has an option for it
BY_CHANCE = "looked at for {seconds}, however many pauses that gives"
WORKS, LIMITED, REFUSED = "works", "works with a limit", "refused"


@dataclasses.dataclass(frozen=True)
class Row:
    state: str
    program: str
    case: object  # a Case, or the name of one in another file
    outcome: str = WORKS
    limit: str = ""  # in words, if there is one


# --- what happens around a profile ---

def word_after_pauses(world):
    """After some pauses, tells the target to do what it does once."""
    wait_for_pauses(world)
    os.kill(world.target.pid, signal.SIGUSR2)


def word_between_pauses(world):
    word_after_pauses(world)
    wait_for_pauses(world)
    end(world)


def rounds(world):
    return counting_target.read_counter(world.directory / "counter")


def rate(world, seconds):
    """Returns the rounds per CPU second and per second of the clock."""
    pid = world.target.pid
    count, cpu, clock = rounds(world), fixture.cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    done = rounds(world) - count
    return (done / max(fixture.cpu_seconds(pid) - cpu, 0.01), done / (time.monotonic() - clock))


def measure_rate(world):
    world.names["rate"] = rate(world, 0.4)


def goes_on(world):
    """Checks that the target goes on as fast as before, which may need several measurements on a
    shared machine. With --no-figures it only checks that the target goes on."""
    if not world.target.alive():
        return [f"the target ended with {world.target.process.returncode}"]
    if "rate" not in world.names:
        return []
    before = world.names["rate"] if not world.options.no_figures else (0.01, 0.01)
    deadline = time.monotonic() + counting_target.PASSING
    after = rate(world, 0.4)
    while any(now < counting_target.SLOWER * then for now, then in zip(after, before)):
        if time.monotonic() > deadline:
            return [f"rounds per CPU second and second: {after}, before {before}"]
        after = rate(world, 1.0)
    return []


def stop_and_measure(world):
    """Measures the target's rate and then stops it, since a stopped target has no rate."""
    measure_rate(world)
    stop(world)
    world.target.before = fixture.State(world.target.pid)


def stop_during(world):
    wait_for_pauses(world)
    world.target.before.stopped = True
    stop(world)
    time.sleep(0.5)
    end(world)


def stays_stopped_then_goes_on(world):
    problems = expect(fixture.State(world.target.pid).stopped, "the target is not stopped any more")
    before = rounds(world)
    time.sleep(0.1)
    problems += expect(rounds(world) == before, "the target makes progress though it is stopped")
    os.kill(world.target.pid, signal.SIGCONT)
    world.target.before.stopped = False
    return problems + goes_on(world)


def make_freezer(version):
    def with_target(world):
        measure_rate(world)
        world.names["freezer"] = freezer.Freezer(version, world.target.pid, world.directory)
        world.at_end.append(world.names["freezer"].end)
    return with_target


def freeze_before(version):
    def with_target(world):
        make_freezer(version)(world)
        world.names["freezer"].set(True)
    return with_target


def freeze_for_a_while(world):
    wait_for_pauses(world)
    world.names["freezer"].set(True)
    time.sleep(0.7)
    world.names["freezer"].set(False)
    wait_for_pauses(world)
    end(world)


def freeze_until_the_end(world):
    wait_for_pauses(world)
    world.names["freezer"].set(True)
    end(world)


def thaw(world):
    before = rounds(world)
    time.sleep(0.1)
    problems = expect(rounds(world) == before, "the target makes progress though it is frozen")
    world.names["freezer"].set(False)
    return problems


def thaw_and_go_on(world):
    return thaw(world) + goes_on(world)


def trace_for_a_while(world):
    """Attaches a debugger and detaches it again."""
    wait_for_pauses(world)
    tracer = subprocess.Popen(["strace", "-f", "-o", world.directory / "strace", "-p",
                               str(world.target.pid)], stderr=subprocess.DEVNULL)
    world.helpers.append(tracer)
    time.sleep(0.7)
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    wait_for_pauses(world)
    end(world)


def delete_inside(world):
    """Deletes the file that the target runs, in the mount namespace that only it has."""
    measure_rate(world)
    pathlib.Path(f"/proc/{world.target.pid}/root/mnt/program").unlink()


def build_musl(world):
    sources = [PROGRAMS / "states.c", PROGRAMS / "state_odd.c",
               PROGRAMS / "state_table.c", TARGET_SOURCES / "harness.c"]
    # musl does not have the kernel's headers, so those of Debian are used.
    headers = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
    subprocess.run(["musl-gcc", "-O2", "-g", "-DSTATIC_PROGRAM", "-D_GNU_SOURCE", "-pthread",
                    *headers, "-o",
                    world.directory / "states_musl", *sources], check=True, timeout=60)


def build_go(world):
    subprocess.run(["go", "build", "-o", world.directory / "goroutines",
                    PROGRAMS / "goroutines.go"], check=True, timeout=120)


# --- checks ---

def by_ptrace(outcome):
    """Checks that the whole target is paused by ptrace; warnings about single threads do not
    count."""
    return [warning for warning in outcome.report()["warnings"]
            if re.search("pauses (were )?by ptrace", warning)]


def by_signal(outcome):
    return [f"unexpected: {warning}" for warning in by_ptrace(outcome)]


# --- the rows ---

def attach(*options, duration=ENDLESS, point="round_done", fixed="hot_work"):
    # The larger the speedup, the longer a pause lasts; at 100 % it lasts as long as its experiment.
    # Pauses are most frequent at 50 %. (On an overloaded machine they are few, because waiting for
    # a core counts as being paused.)
    full_rate = halved(fixed) if fixed else ()
    return ("attach", "{pid}", "--progress", point, "--duration", duration, "--experiment", "100ms",
            "--min-visits", "1", "--period", "1ms", "--pause-cost", "150us", "--unit", "function",
            "--closed-loop", *full_rate, "--format", "json", "-o", "{log}", *options)


def states(state, *options, program=STATES):
    return (program, "--state", state, "--counter", "{dir}/counter", *options)


def profiled(name, target, *, arguments=None, checks=(by_signal,), output=FINE, **more):
    """A target that is profiled to the end and goes on at its rate."""
    more.setdefault("with_target", measure_rate)
    more.setdefault("after", goes_on)
    more.setdefault("during", until_paused)
    return Case(name, arguments or attach(), target, target_output=output,
                checks=(well_formed, digest_same, *checks, *((paused,) if more["during"] else ())),
                **more)


def by_ptrace_because(reason):
    return (warns("pauses by ptrace: .*" + reason),)


def frozen_rows(version):
    def name(when):
        return f"matrix_frozen_{when}_version_{version}"

    freezer_name = f"is frozen by a cgroup of version {version}"
    before = Case(name("before"), attach(duration="1s"), states("plain"), exit=(1,),
                  with_target=freeze_before(version), after=thaw_and_go_on, target_output=DONE,
                  stderr=patterns(r"^causalctl: process \d+ is frozen by a cgroup$",
                                  "^  hint: thaw it first"))
    during = profiled(name("during"), states("plain"), during=freeze_for_a_while,
                      with_target=make_freezer(version), output=DONE)
    at_end = Case(name("at_end"), attach(), states("plain"), exit=(1,), during=freeze_until_the_end,
                  with_target=make_freezer(version), after=thaw_and_go_on, target_output=DONE,
                  absent=patterns("report it"),  # because it explains what it leaves
                  checks=(well_formed, paused, warns("is frozen by a cgroup: .* it is thawed")))
    return [Row(f"{freezer_name} before", "C", before, REFUSED),
            Row(f"{freezer_name} for a while during the run", "C", during),
            Row(f"{freezer_name} at the end of the run", "C", at_end, LIMITED,
                "the stub stays until it is thawed, when the guardian removes it; exit status 1")]


LIFE = [
    Row("exits in mid-run", "C", Case(
        "matrix_exit", attach(), states("exit"), target_ends=True, during=word_after_pauses,
        target_status=(7,), target_output=(),
        checks=(well_formed, paused, by_signal, log_ends_with("target-exited")))),
    Row("execs itself, from the main thread", "C", Case(
        "matrix_exec", attach(), states("exec"), during=word_after_pauses, with_target=measure_rate,
        after=goes_on, texts_may_change=True, target_output=FINE + patterns("^executing itself$"),
        checks=(well_formed, paused, by_signal, log_ends_with("target-exited")))),
    Row("execs itself, from another thread", "C", Case(
        "matrix_exec_from_thread", attach(), states("exec_from_thread"), during=word_after_pauses,
        with_target=measure_rate, after=goes_on, texts_may_change=True,
        target_output=FINE + patterns("^executing itself$"),
        checks=(well_formed, paused, by_signal, log_ends_with("target-exited")))),
    Row("forks, 60 children a second", "C",
        profiled("matrix_fork", states("fork"), output=BUSY)),
    Row("vforks, and execs in every second child", "C",
        profiled("matrix_vfork", states("vfork"), output=BUSY)),
    Row("makes and ends 1,000 threads a second", "C",
        profiled("matrix_storm", states("storm"), output=BUSY)),
    Row("opens and closes a library in a loop", "C",
        profiled("matrix_dlopen", states("dlopen"), output=BUSY)),
]

SIGNALS = [
    Row("blocks every signal in all threads", "C",
        profiled("matrix_blocked", states("blocked"), checks=(warns("threads that block SIGTRAP"),)),
        LIMITED, "pauses by ptrace"),
    Row("has a thread that lets signals in only while it waits (ppoll, sigtimedwait)", "C",
        profiled("matrix_waits_for_signals", states("waits_for_signals"), output=BUSY,
                 checks=(by_signal, warns("threads that block SIGTRAP"))),
        LIMITED, "pauses of that thread by ptrace"),
    Row("execs itself from a thread that blocks every signal, and unblocks SIGTRAP then", "C", Case(
        "matrix_blocked_exec", attach(), states("blocked_exec"), during=word_after_pauses,
        with_target=measure_rate, after=goes_on, texts_may_change=True,
        target_output=FINE + patterns("^executing itself$"),
        checks=(well_formed, paused, by_signal, log_ends_with("target-exited")))),
    Row("has a SIGTRAP handler, and uses it", "C",
        profiled("matrix_trap_handler", states("trap_handler"), output=BUSY,
                 checks=by_ptrace_because("handles SIGTRAP itself")), LIMITED, "pauses by ptrace"),
    Row("has threads with 16 KiB of stack, every other with an alternate stack of 8 KiB", "C",
        profiled("matrix_stacks", states("stacks"), output=BUSY)),
    Row("is stopped (SIGSTOP) before", "C", Case(
        "matrix_stopped_before", attach(duration="1s"), states("plain"), exit=(1,),
        counts_nothing="the target is stopped",
        with_target=stop_and_measure, after=stays_stopped_then_goes_on, target_output=DONE,
        checks=(well_formed, digest_same, warns("no experiment"))), LIMITED,
        "nothing to measure; it stays stopped"),
    Row("is stopped (SIGSTOP) during the run, to its end", "C", Case(
        "matrix_stopped_during", attach(), states("plain"), with_target=measure_rate,
        during=stop_during, after=stays_stopped_then_goes_on, target_output=DONE, exit=(0, 1),
        checks=(well_formed, paused, by_signal, same_or_waits)), LIMITED,
        "it stays stopped; a stub in which a thread stands stays until it goes on (exit status 1)"),
    *(row for version in (1, 2) for row in frozen_rows(version)),
    Row("is traced by a debugger (strace) for a while during the run", "C", profiled(
        "matrix_traced_during", states("plain"),
        during=trace_for_a_while, needs={"strace": "strace"}, output=DONE)),
]

CONFINED = [
    Row("is in other pid and mount namespaces, its executable deleted", "C", profiled(
        "matrix_namespaces",
        ("/usr/bin/python3", PROGRAMS / "in_namespaces.py", *states("plain")),
        with_target=delete_inside, needs={"unshare": "util-linux"})),
    Row("is under a seccomp filter that kills for the stub's system calls", "C", profiled(
        "matrix_seccomp", states("seccomp"), output=BUSY,
        checks=by_ptrace_because("seccomp")), LIMITED, "pauses by ptrace"),
    Row("has one thread (not the first) under such a filter", "C", profiled(
        "matrix_seccomp_thread", states("seccomp_thread"), output=BUSY,
        checks=by_ptrace_because("seccomp")), LIMITED, "pauses by ptrace"),
    Row("puts itself under such a filter during the run", "C", profiled(
        "matrix_seccomp_later", states("seccomp_later"), output=BUSY,
        during=word_between_pauses, checks=(warns("seccomp"),)), LIMITED, "pauses by ptrace"),
    Row("has an io_uring that a thread of the kernel polls", "C", profiled(
        "matrix_ring", states("ring"), output=BUSY)),
    Row("has a thread that dispatches system calls itself (Wine)", "C", profiled(
        "matrix_dispatch", states("dispatch"), output=BUSY,
        checks=(warns("dispatched system calls"),)), LIMITED, "pauses by ptrace"),
    Row("dispatches the system calls of all its threads itself", "C", profiled(
        "matrix_dispatch_all", states("dispatch_all"),
        checks=by_ptrace_because("dispatches its system calls")), LIMITED, "pauses by ptrace"),
    Row("may make no memory executable (PR_SET_MDWE)", "C", profiled(
        "matrix_no_new_code", states("no_new_code"), output=BUSY,
        checks=by_ptrace_because("mprotect")), LIMITED, "pauses by ptrace"),
    Row("is in seccomp's strict mode", "C", profiled(
        "matrix_strict", ("{targets}/matrix_strict", "--counter", "{dir}/counter"), output=RIGHT,
        checks=by_ptrace_because("seccomp")), LIMITED, "pauses by ptrace"),
]

PROGRAM_KINDS = [
    Row("is linked statically", "C, glibc", profiled(
        "matrix_static", states("storm", program="{targets}/matrix_states_static"), output=BUSY)),
    Row("is linked with musl", "C, musl", profiled(
        "matrix_musl", states("storm", program="{dir}/states_musl"), output=BUSY, before=build_musl,
        needs={"musl-gcc": "musl-tools"})),
    Row("goroutines on many threads", "Go", profiled(
        "matrix_go", ("{dir}/goroutines", "{dir}/counter"), output=RIGHT, before=build_go,
        needs={"go": "golang-go"}, arguments=attach(point="main.roundDone", fixed="main.otherWork"),
        checks=by_ptrace_because("handles SIGTRAP itself")), LIMITED, "pauses by ptrace"),
    Row("a pool of processes, threads that compress, a database", "Python 3", profiled(
        "matrix_python", ("/usr/bin/python3", PROGRAMS / "real_use.py", "{dir}/counter"),
        output=RIGHT, during=None, arguments=attach(point="syscall:write", fixed="_PyEval_EvalFrameDefault",
                                                    duration=BRIEFLY)),
        LIMITED, BY_CHANCE),
    Row("worker threads, messages, timers", "Node", profiled(
        "matrix_node", ("node", PROGRAMS / "workers.mjs", "{dir}/counter"), output=RIGHT,
        needs={"node": "nodejs"}, writes_code=True,
        during=None, arguments=attach("--scope-binary", "*", point="syscall:pwrite64", fixed="",
                                      duration=BRIEFLY)), LIMITED, BY_CHANCE),
    Row("threads, a pool, timers, garbage", "Java", profiled(
        "matrix_java", ("java", PROGRAMS / "Workers.java", "{dir}/counter"), output=RIGHT,
        target_status=(143,), writes_code=True, needs={"javac": "default-jdk-headless"},
        during=None, arguments=attach("--scope-binary", "*", point="syscall:futex", fixed="",
                                      duration=BRIEFLY)), LIMITED, BY_CHANCE),
]

# These cases are in profile_cases.py and refusal_cases.py.
ELSEWHERE = [
    Row("installs a SIGTRAP handler during the run", "C", "attach_target_installs_sigtrap_handler",
        LIMITED, "from then on pauses by ptrace"),
    Row("resets SIGTRAP again and again during the run", "C", "attach_target_resets_sigtrap",
        LIMITED, "from then on pauses by ptrace"),
    Row("is a 32-bit program", "C", "bits32_refused", REFUSED),
    Row("is traced already", "C", "traced_refused", REFUSED),
]

ROWS = LIFE + SIGNALS + CONFINED + PROGRAM_KINDS + ELSEWHERE
CASES = [dataclasses.replace(row.case, measures=True)
         for row in ROWS if isinstance(row.case, Case)]
