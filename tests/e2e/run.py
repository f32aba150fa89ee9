#!/usr/bin/env python3
"""Runs the cases of cases.py: causalctl against real target programs.

Usage: tests/e2e/run.py [-k PATTERN]... [-v] [-l] [--jobs N] [--no-figures] [--causalctl PATH]
                        [--targets DIR]

Around every case: the target is alive and its state is that of before, its output at its end is right,
and no process of causalctl is left. Prints a line a case and, last, `N passed, N failed`."""

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from case import experiments_of, records_in  # noqa: E402
import fixture  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


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
        self.helpers = []  # processes that a case has started, ended with it
        self.at_end = []  # functions that undo what a case has done to the machine
        self.marker = f"CAUSALCTL_E2E={uuid.uuid4()}"
        self.names = {"dir": self.directory, "log": self.log, "targets": options.targets,
                      "root": ROOT, "causalctl": options.causalctl}

    def fill(self, words):
        names = dict(self.names, pid=self.target.pid if self.target else self.names.get("pid", 0))
        return [str(word).format(**names) for word in words]

    def wait_for_log(self, reached, seconds, every=0.02):
        """Whether what the log holds fulfils `reached(records)` in time, or when causalctl has ended."""
        fixture.wait_until(lambda: reached(records_in(self.log)) or
                           self.process.poll() is not None, seconds, every)
        return reached(records_in(self.log))

    def wait_for_experiments(self, count, seconds=30):
        if not self.wait_for_log(lambda records: len(experiments_of(records)) >= count, seconds):
            raise RuntimeError(f"waited in vain for {count} experiments in the log")

    def start(self):
        environment = dict(os.environ, **dict([self.marker.split("=", 1)]))
        if self.case.broken:
            environment["CAUSALCTL_PRETEND_BROKEN"] = ",".join(self.case.broken)
        command = self.fill([self.options.causalctl, *self.case.arguments])
        extra = {}
        if self.case.user is not None:
            command[0] = str(self.program_for_everyone())
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

    def program_for_everyone(self):
        """A copy that another user can reach, in a scratch directory that is his."""
        program = self.directory / "causalctl"
        shutil.copy(self.options.causalctl, program)
        program.chmod(0o755)
        os.chown(self.directory, self.case.user, self.case.user)
        return program

    def finish(self):
        """Waits for causalctl; None: it did not end in time and was killed."""
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
                print(f"    the machine is not as before: {error}")  # and the others go on
        if self.target:
            self.target.end()
        for helper in self.helpers:
            helper.kill()
            helper.wait()
        if not self.options.v:
            shutil.rmtree(self.directory, ignore_errors=True)


def tail(text, lines=15):
    return "\n".join("      " + line for line in text.splitlines()[-lines:])


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
    for check in case.checks:
        try:
            problems += check(outcome)
        except (KeyError, IndexError, TypeError, ValueError, OSError) as error:
            problems.append(f"{check.__name__}: {type(error).__name__}: {error}")
    return problems


def problems_of_target(world, case):
    """The harmlessness fixture's verdict, and the target's own word at its end."""
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
        if options.v:
            traceback.print_exc()
    finally:
        world.clean()
    return problems, outcome, world


def met_shot(case, world):
    return (case.may_meet_shot and world.target is not None and
            world.target.process.returncode == -signal.SIGTRAP)


def told(options, name):
    """Runs the case of that name. Returns what is to be printed of it, and whether it is right."""
    import cases  # after the path is set

    case = next(case for case in cases.CASES if case.name == name)
    start = time.monotonic()
    problems, outcome, world = run_case(options, case)
    notes = []
    if problems and met_shot(case, world):
        notes = ["    tried again, because SIGTRAP ended the target, as docs/safety.md foresees:",
                 *(f"      {problem}" for problem in problems)]
        problems, outcome, world = run_case(options, case)
    seconds = time.monotonic() - start
    lines = [f"{'FAILED' if problems else 'ok    '} {case.name} ({seconds:.1f} s)",
             *(f"    {problem}" for problem in problems), *notes]
    if outcome and (problems or options.v):
        lines.append(f"    stdout:\n{tail(outcome.stdout)}\n    stderr:\n{tail(outcome.stderr)}")
    if options.v:
        lines.append(f"    kept: {world.directory}")
    return "\n".join(lines), not problems


def result_of(done, name):
    try:
        return done.result()
    except concurrent.futures.BrokenExecutor:  # somebody has killed its process
        return f"FAILED {name}\n    the process that ran it, or another case's, was killed", False


def results_of(options, cases):
    """What told() returns of each, as they come; with --jobs not in their order."""
    tell = functools.partial(told, options)
    if options.jobs > 1:
        one_by_one = {case.name for case in cases
                      if case.undisturbed or case.measures and not options.no_figures}
        # Processes: fixtures fork, which threads do not bear; names: a case cannot be sent to them.
        pool = concurrent.futures.ProcessPoolExecutor(
            options.jobs, mp_context=multiprocessing.get_context("fork"))
        running = {pool.submit(tell, case.name): case.name
                   for case in cases if case.name not in one_by_one}
        try:
            for done in concurrent.futures.as_completed(running):
                yield result_of(done, running[done])
        finally:  # after Ctrl-C, too: no other case begins
            pool.shutdown(cancel_futures=True)
        cases = [case for case in cases if case.name in one_by_one]
    for case in cases:
        yield tell(case.name)


def missing_program(case):
    for program, package in case.needs.items():
        if not shutil.which(program):
            return f"{program} is not installed (apt-get install {package})"
    if case.user is not None and os.geteuid() != 0:
        return "only root can act as another user"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", metavar="PATTERN", action="append", default=[],
                        help="only cases whose name contains PATTERN")
    parser.add_argument("-v", action="store_true", help="show and keep all output")
    parser.add_argument("-l", action="store_true", help="list the cases")
    parser.add_argument("--jobs", type=int, default=1,
                        help="cases at the same time; those that compare speeds, or look at who "
                             "has the cores, come after them, one by one")
    parser.add_argument("--no-figures", action="store_true",
                        help="no speeds are compared, as with a causalctl that sanitizers slow down")
    parser.add_argument("--causalctl", default=ROOT / "build/causalctl", type=pathlib.Path)
    parser.add_argument("--targets", default=ROOT / "build/tests/targets", type=pathlib.Path)
    options = parser.parse_args()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what nohup ignores is handed on to all we start
    options.causalctl = options.causalctl.resolve()
    options.targets = options.targets.resolve()

    import cases  # after the path is set

    chosen = [case for case in cases.CASES
              if not options.k or any(pattern in case.name for pattern in options.k)]
    if options.l:
        print("\n".join(case.name for case in chosen))
        return 0
    if not options.causalctl.is_file():
        print(f"{options.causalctl} does not exist: run scripts/build")
        print("0 passed, 1 failed")
        return 1
    missing = {case.name: reason for case in chosen if (reason := missing_program(case))}
    passed = 0
    for text, fine in results_of(options, [case for case in chosen if case.name not in missing]):
        print(text, flush=True)
        passed += fine
    failed = len(chosen) - passed  # what was not looked at is not right
    for name, reason in missing.items():
        print(f"NOT RUN {name}: {reason}")
    if not chosen:
        print("no case has such a name")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
