"""Measures what causalctl and Coz cost the same program, in the same minutes, for scripts/bench.

A window is the program's rounds per second, natively or under a profiler. Each window under a
profiler lies between two windows of its reference, the same binary without the profiler. So a
slowdown is a ratio within a few seconds, whatever the machine does in an hour. The order of the
arms rotates from pair to pair, so that each comes first, second and so on equally often. causalctl
attaches to the native process. Coz profiles a program from its start and needs its macro in it. So
each of its windows is a new process, compared with the program that has the macro but no Coz, so
that the macro is not charged to Coz. Processes that are not being measured are stopped (SIGSTOP) or
have ended."""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

import fixture
import predict
import programs
import twins

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGETS = ROOT / "build/tests/targets"
COZ_TARGETS = ROOT / "third_party/coz"
LONGEST_WAIT_S = 60
LONGEST_END_S = 20  # the longest end of a program under Coz, which then writes its profile
# After this time Coz has samples, has chosen a line and is in its first experiments (of 0.5 s).
COZ_SETTLE_S = 2.0
ATTACH_S = 8  # the survey and the calibrations; used only to say how long it will take

NATIVE = "native"
CAUSALCTL_NULL = "causalctl, speedups all 0"
CAUSALCTL_FULL = "causalctl, full run"
MACRO = "Coz's macro, without Coz"
COZ_NULL = "Coz, speedups all 0"
COZ_FULL = "Coz, full run"

# The reference with which each arm is compared.
REFERENCES = {CAUSALCTL_NULL: NATIVE, CAUSALCTL_FULL: NATIVE, MACRO: NATIVE, COZ_NULL: MACRO,
              COZ_FULL: MACRO}
ARMS = tuple(REFERENCES)

# Errors by which a window may fail while the others continue.
FAILURES = (RuntimeError, OSError, LookupError, TypeError, ValueError, subprocess.TimeoutExpired)


class NotMeasured(RuntimeError):
    """Says why there is no Coz here, or why its programs could not be built."""


@dataclasses.dataclass
class Window:
    arm: str
    rate: float  # rounds a second


def order(number):
    """Returns the arms of a pair."""
    first = number % len(ARMS)
    return ARMS[first:] + ARMS[:first]


def schedule(pairs):
    """Returns the arms of all windows in the order of time. A window of a reference between two
    arms that are compared with it serves both."""
    names = []
    for number in range(pairs):
        for arm in order(number):
            reference = REFERENCES[arm]
            if names[-1:] != [reference]:
                names.append(reference)
            names += [arm, reference]
    return names


def slowdown_percent(before, together, after):
    """Returns the slowdown of a rate, compared with the mean of the rates before and after."""
    return 100 * ((before + after) / 2 / together - 1)


def slowdowns(windows, arm):
    """Returns one for each window of the arm that lies between two of its reference. (The program
    with the macro is a reference, too: its windows beside Coz's are compared with nothing.)"""
    return [slowdown_percent(before.rate, window.rate, after.rate)
            for before, window, after in zip(windows, windows[1:], windows[2:])
            if window.arm == arm and before.arm == after.arm == REFERENCES[arm]]


class Attached:
    """A causalctl that is attached to a target, from its start until stop()."""

    def __init__(self, causalctl, directory, pid, *arguments, point="round_done"):
        self.log = directory / f"{uuid.uuid4()}.jsonl"
        self.output = directory / f"{uuid.uuid4()}.json"
        marker = ("CAUSALCTL_BENCH", str(uuid.uuid4()))
        self.marker = "=".join(marker)
        self.started = time.monotonic()
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(
                [causalctl, "attach", str(pid), "--progress", point, "--format", "json",
                 "--quiet", "--duration", "600s", "-o", self.log, *arguments],
                stdout=out, stdin=subprocess.DEVNULL, env=dict(os.environ, **dict([marker])))
        try:
            self.first_experiment_s = self._wait_for_experiment()
        except BaseException:
            self.end()
            raise

    def _wait_for_experiment(self):
        """Returns the seconds from the start of causalctl to its first experiment."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.log.exists():
                for line in self.log.read_text().splitlines(keepends=True):
                    if line.endswith("\n") and '"type":"experiment"' in line:
                        now = time.monotonic()
                        return now - self.started - json.loads(line)["wall_ns"] / 1e9
            time.sleep(0.005)
        if self.process.poll() is not None:
            raise RuntimeError(f"causalctl ended with {self.process.returncode}")
        raise RuntimeError(f"causalctl made no experiment within {LONGEST_WAIT_S} s")

    def processes(self):
        return fixture.processes_with(self.marker)

    def cpu_s(self):
        return sum(fixture.cpu_seconds(pid) for pid in self.processes())

    def peak_rss_mib(self):
        return sum(int(fixture.status_fields(f"/proc/{pid}")["VmHWM"].split()[0])
                   for pid in self.processes()) / 1024

    def end(self):
        """Ends the profile. Returns False if it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=LONGEST_WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        return True

    def stop(self):
        """Ends the profile and returns the report."""
        if not self.end():
            raise RuntimeError(f"causalctl did not end within {LONGEST_WAIT_S} s of SIGINT")
        text = self.output.read_text()
        return json.loads(text) if text.strip() else None


class UnderCoz(twins.Counted):
    """A target that `coz run` has started."""

    def __init__(self, directory, profile, options, program, arguments):
        super().__init__(directory, "coz", ["run", "--output", str(profile), *options, "---",
                                            str(program), *arguments])

    def end(self):
        """Ends the program, and `coz run` with it; ended first, that would leave it running."""
        for last_word in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                if fixture.began(self.pid) == self.target.began:
                    os.kill(self.pid, signal.SIGCONT)
                    os.kill(self.pid, last_word)
            if fixture.wait_until(lambda: not self.target.alive(), LONGEST_END_S):
                break
        super().end()


def build_for_coz(script=ROOT / "scripts/targets/build-coz"):
    """Provides the programs with Coz's macro, and Coz itself, if they are available."""
    done = subprocess.run([script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        [*_, last] = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise NotMeasured(last)


class Program:
    """Starts a program twice, built without Coz's macro and with it, and stops both. The owner of
    `stack` ends them."""

    def __init__(self, stack, directory, causalctl, program, window_s):
        self.directory = directory
        self.causalctl = causalctl
        self.point = program.point
        self.window_s = window_s
        self.coz_program = COZ_TARGETS / program.target
        # All processes must do the same work in a round.
        native = TARGETS / program.target
        task = programs.Task(program, program.units[0], 0)
        self.arguments = task.original(twins.calibrate(native))
        self.native = twins.Counted(directory, native, self.arguments)
        stack.callback(self.native.end)
        self.macro = twins.Counted(directory, self.coz_program, self.arguments)
        stack.callback(self.macro.end)
        fixed = ("--fixed", program.line(task.unit), "--speedup", "0")
        self.measures = {
            NATIVE: lambda: self._alone(self.native),
            CAUSALCTL_NULL: lambda: self._attached(*fixed),
            CAUSALCTL_FULL: self._attached,
            MACRO: lambda: self._alone(self.macro),
            COZ_NULL: lambda: self._under_coz({0}, "--fixed-speedup", "0"),
            COZ_FULL: lambda: self._under_coz(None),
        }

    def window(self, arm):
        # This ends what a failed window has left running, too.
        self.native.stop()
        self.macro.stop()
        return Window(arm, self.measures[arm]())

    def _alone(self, target):
        target.go()
        time.sleep(twins.SETTLE_S)
        rate = target.rate(self.window_s)
        target.stop()
        return rate

    def _attached(self, *arguments):
        self.native.go()
        attached = Attached(self.causalctl, self.directory, self.native.pid, *arguments,
                            point=self.point)
        try:
            rate = self.native.rate(self.window_s)
        except BaseException:
            attached.end()
            raise
        if attached.stop() is None:
            raise RuntimeError(f"causalctl made no report: it ended with "
                               f"{attached.process.returncode}")
        self.native.stop()
        return rate

    def _under_coz(self, speedups, *options):
        """`speedups` are those that the profile must have; None allows any."""
        profile = self.directory / f"{uuid.uuid4()}.coz"
        target = UnderCoz(self.directory, profile, options, self.coz_program, self.arguments)
        try:
            target.go()
            time.sleep(COZ_SETTLE_S)
            rate = target.rate(self.window_s)
        finally:
            target.end()
        if target.target.process.returncode != 0:
            raise RuntimeError(f"coz ended with {target.target.process.returncode}")
        # A profiler that is not at work costs nothing.
        found = collections.defaultdict(lambda: [0, 0])
        with open(profile, encoding="utf-8") as file:
            predict.add_profile(found, file)
        if not found or speedups not in (None, set(found)):
            raise RuntimeError(f"Coz made experiments with the speedups {sorted(found)}")
        return rate


def seconds_of(names, window_s):
    extra_s = {CAUSALCTL_NULL: ATTACH_S, CAUSALCTL_FULL: ATTACH_S, COZ_NULL: COZ_SETTLE_S,
               COZ_FULL: COZ_SETTLE_S}
    return sum(window_s + extra_s.get(name, twins.SETTLE_S) for name in names)


def measure(directory, causalctl, program, pairs, window_s):
    """Returns the windows in the order of time, and {arm: why windows of it failed}."""
    names = schedule(pairs)
    print(f"bench: {program.name}, {len(names)} windows, about "
          f"{seconds_of(names, window_s) / 60:.0f} min", file=sys.stderr, flush=True)
    windows, problems = [], collections.defaultdict(list)
    with contextlib.ExitStack() as stack:
        running = Program(stack, directory, causalctl, program, window_s)
        for name in names:
            try:
                windows.append(running.window(name))
            except FAILURES as error:
                if name in REFERENCES.values():  # without a reference nothing can be compared
                    raise
                problems[name].append(str(error))
    return windows, problems
