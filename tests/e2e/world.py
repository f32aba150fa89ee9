"""Runs a case in its surroundings, and checks what must be true of every case: the target is alive,
its state is that of before, its output at its end is right, no process of causalctl is left, and a
profile has counted visits of its progress points."""

import dataclasses
import errno
import functools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import traceback
import uuid
import warnings

import fixture
from case import experiments_of, has_counted, kept_experiments, records_in, something_counted

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass(frozen=True)
class Options:
    """Options for all cases of a run; pytest has an option for each (tests/conftest.py)."""

    causalctl: pathlib.Path = ROOT / "build/causalctl"
    targets: pathlib.Path = ROOT / "build/tests/targets"
    count_by: str = ""  # how every profile counts visits; "" lets causalctl choose
    no_figures: bool = False  # compare no speeds
    keep: bool = False  # keep the scratch directories


def program_for(user, program, folder):
    """Makes a copy in a scratch directory, which then belongs to the user: the clone may lie below a home that
    others may not enter."""
    copy = folder / "causalctl"
    shutil.copy(program, copy)
    copy.chmod(0o755)
    os.chown(folder, user, user)
    return copy


@dataclasses.dataclass
class Outcome:
    """What a case left behind, for its predicates."""

    status: int
    stdout: str
    stderr: str
    directory: pathlib.Path
    target_output: str = ""

    def report(self):
        return json.loads(self.stdout)

    def log(self, name="profile.jsonl"):
        return [json.loads(line) for line in (self.directory / name).read_text().splitlines()]


class World:
    """The surroundings of a case: its scratch directory, its target, its causalctl process."""

    def __init__(self, options, case):
        self.options = options
        self.case = case
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="causalctl-e2e-"))
        self.log = self.directory / "profile.jsonl"
        self.target = None
        self.process = None
        self.helpers = []  # processes that a case has started, which end with it
        self.at_end = []  # functions that undo what a case has done to the machine
        self.marker = f"CAUSALCTL_E2E={uuid.uuid4()}"
        self.names = {"dir": self.directory, "log": self.log, "targets": options.targets,
                      "root": ROOT, "causalctl": options.causalctl}

    def fill(self, words):
        names = dict(self.names, pid=self.target.pid if self.target else self.names.get("pid", 0))
        return [str(word).format(**names) for word in words]

    def command(self, arguments):
        """Returns the command of causalctl with these arguments and the way of counting of this
        run."""
        words = self.fill([self.options.causalctl, *arguments])
        if self.options.count_by and arguments[:1] in (("attach",), ("run",)):
            at = words.index("--") if "--" in words else len(words)
            words[at:at] = ["--set", f'progress.count_by="{self.options.count_by}"']
        return words

    def wait_for_log(self, reached, seconds, every=0.02):
        """Returns whether the log fulfils `reached(records)` in time, or when causalctl has
        ended."""
        fixture.wait_until(lambda: reached(records_in(self.log)) or
                           self.process.poll() is not None, seconds, every)
        return reached(records_in(self.log))

    def has_experiments(self, count, records):
        """Returns whether there are so many experiments that the case ends as it should: with a
        result if it must end with 0, and with something counted if it asks for that."""
        all_of_them = experiments_of(records)
        if self.case.exit == (0,):
            all_of_them = kept_experiments(records)
        return (len(all_of_them) >= count and
                (not self.case.must_count() or has_counted(records)))

    def wait_for_experiments(self, count, seconds=90):
        if not self.wait_for_log(lambda records: self.has_experiments(count, records), seconds):
            raise RuntimeError(f"waited in vain for {count} experiments in the log")

    def start(self):
        environment = dict(os.environ, **dict(
            each.split("=", 1) for each in (self.marker, *self.fill(self.case.environment))))
        if self.case.pretend_broken:
            all_broken = [environment.get("CAUSALCTL_PRETEND_BROKEN", ""), self.case.pretend_broken]
            environment["CAUSALCTL_PRETEND_BROKEN"] = ",".join(filter(None, all_broken))
        command = self.command(self.case.arguments)
        extra = {}
        if self.case.user is not None:
            command[0] = str(program_for(self.case.user, self.options.causalctl, self.directory))
            extra = {"user": self.case.user, "group": self.case.user, "extra_groups": []}
        if self.case.closed or self.case.ignored or self.case.descriptors:
            extra["preexec_fn"] = self.be_started_oddly
        with open(self.directory / "stdout", "wb") as out, \
                open(self.directory / "stderr", "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, env=environment, cwd=self.directory,
                                            start_new_session=True, **extra)

    def be_started_oddly(self):
        for fd in self.case.closed:
            os.close(fd)
        for number in self.case.ignored:
            signal.signal(number, signal.SIG_IGN)
        if self.case.descriptors:
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.case.descriptors, most))

    def finish(self):
        """Waits for causalctl; returns None if it did not end in time and was killed."""
        try:
            return self.process.wait(timeout=self.case.timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def left_over(self):
        name = pathlib.Path(self.options.causalctl).name
        found = fixture.processes_with(self.marker)
        if self.case.alone:
            return found
        return {pid: path for pid, path in found.items()
                if pathlib.Path(path.removesuffix(" (deleted)")).name == name}

    def clean(self):
        for pid in fixture.processes_with(self.marker):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for undo in self.at_end:
            try:
                undo()
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                warnings.warn(f"{self.case.name}: the machine is not as before: {error}")
        if self.target:
            self.target.end()
        for helper in self.helpers:
            helper.kill()
            helper.wait()
        if not self.options.keep:
            shutil.rmtree(self.directory, ignore_errors=True)


def problems_of_outcome(case, outcome):
    problems = []
    if outcome.status not in case.exit:
        wanted = " or ".join(str(status) for status in case.exit)
        problems.append(f"exit status {outcome.status}, not {wanted}")
    for name in ("stdout", "stderr"):
        for pattern in getattr(case, name):
            if not pattern.search(getattr(outcome, name)):
                problems.append(f"{name} does not match {pattern.pattern!r}")
    both = outcome.stdout + outcome.stderr
    for pattern in case.output:
        if not pattern.search(both):
            problems.append(f"neither stdout nor stderr matches {pattern.pattern!r}")
    for pattern in case.absent:
        if pattern.search(both):
            problems.append(f"the output matches {pattern.pattern!r}")
    for check in (*case.checks, *((something_counted,) if case.must_count() else ())):
        try:
            problems += check(outcome)
        except (KeyError, IndexError, TypeError, ValueError, OSError) as error:
            problems.append(f"{check.__name__}: {type(error).__name__}: {error}")
    return problems


def problems_of_target(world, case):
    """Returns the problems found by the harmlessness fixture and in the target's output at its
    end."""
    target = world.target
    problems = []
    if case.target_ends:
        if not fixture.wait_until(lambda: not target.alive(), 20):
            problems.append("the target has not ended")
    elif not target.alive():
        problems.append(f"the target ended with {target.process.returncode}")
    else:
        found = []

        def unharmed():
            found[:] = fixture.differences(target.pid, target.before, case.texts_may_change,
                                           case.writes_code)
            return not found

        fixture.wait_until(unharmed, case.clean_within)
        problems += found
    status = target.end()
    if status not in case.target_status:
        problems.append(f"the target ended with {status}")
    for pattern in case.target_output:
        if not pattern.search(target.output()):
            problems.append(f"the target's output does not match {pattern.pattern!r}")
    return problems


def run_case(options, case):
    world = World(options, case)
    outcome = None
    problems = []
    try:
        if case.before:
            case.before(world)
        if case.target:
            world.target = fixture.Target(world.fill(case.target))
        if case.with_target:
            case.with_target(world)
        world.start()
        if case.during:
            case.during(world)
        status = world.finish()
        outcome = Outcome(status if status is not None else -1,
                          (world.directory / "stdout").read_text(errors="replace"),
                          (world.directory / "stderr").read_text(errors="replace"),
                          world.directory)
        if status is None:
            problems.append(f"causalctl did not end within {case.timeout} s")
        problems += case.after(world) if case.after else []
        if not fixture.wait_until(lambda: not world.left_over(), case.clean_within):
            problems.append(f"left-over processes: {world.left_over()}")
        if world.target:
            problems += problems_of_target(world, case)
            outcome.target_output = world.target.output()
        problems += problems_of_outcome(case, outcome)
    except Exception as error:  # a broken case must not end the others
        problems.append(f"{type(error).__name__}: {error}")
        traceback.print_exc()
    finally:
        world.clean()
    return problems, outcome, world


def met_shot(case, world):
    return (case.may_meet_shot and world.target is not None and
            world.target.process.returncode == -signal.SIGTRAP)


def missing_program(case):
    for program, package in case.needs.items():
        if not shutil.which(program):
            return f"{program} is not installed (apt-get install {package})"
    if case.user is not None and os.geteuid() != 0:
        return "only root can act as another user"
    return None


@functools.cache
def no_breakpoint_fires(options):
    """Returns why none does on this machine; None if one does."""
    if subprocess.run([options.targets / "breakpoint_fires"], check=False).returncode != 0:
        return "no breakpoint fires here"
    return None


def never_fires(options):
    """Returns why no breakpoint register counts in this run; None if one does."""
    return "counted by uprobes" if options.count_by == "uprobe" else no_breakpoint_fires(options)


def runs_no_32_bit_programs(options):
    """Returns why the kernel executes none; None if it does."""
    try:
        process = subprocess.Popen([options.targets / "bits32"], stdout=subprocess.DEVNULL)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return "this machine runs no 32-bit programs"
    process.kill()
    process.wait()
    return None


def reason_to_skip(options, case):
    """Returns why this machine, or this way of counting, cannot show the case; None if it can."""
    if case.needs_32_bit:
        return runs_no_32_bit_programs(options)
    reason = never_fires(options) if case.needs_breakpoint else None
    return f"{reason}, and {case.needs_breakpoint}" if reason else None
