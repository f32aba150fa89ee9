#!/usr/bin/env python3
"""Proves which cases run.py runs, and which at the same time, that none is lost when a process is
killed, and that a profile which counts nothing fails.

Usage: tests/e2e/test_run.py, after a build. The last line is `N passed, N failed`."""

import argparse
import dataclasses
import fnmatch
import os
import pathlib
import signal
import sys
import tempfile
import time

import fixture
import run
import throttling_cases
import tiers
from case import Case, has_counted


@dataclasses.dataclass(frozen=True)
class Named:
    """What results_of() asks of a case."""

    name: str
    undisturbed: bool = False
    measures: bool = False


def takes_a_while(_, name):
    """In told()'s place: when it ran, and in which process."""
    start = time.monotonic()
    time.sleep(0.2)
    return (name, start, time.monotonic(), os.getpid()), True


def is_killed(_, name):
    if name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return takes_a_while(_, name)


def results(tell, cases, no_figures=False):
    run.told = tell
    return list(run.results_of(argparse.Namespace(jobs=3, no_figures=no_figures), cases))


def beside_others(name, told):
    start, end = next(text[1:3] for text, _ in told if text[0] == name)
    return any(text[0] != name and text[1] < end and start < text[2] for text, _ in told)


TOLD = run.told
CASES = [Named("first"), Named("looks", undisturbed=True), Named("second"),
         Named("compares", measures=True)]


def who_is_beside_others(no_figures):
    told = results(takes_a_while, CASES, no_figures)
    assert sorted(text[0] for text, _ in told) == sorted(case.name for case in CASES), told
    return {case.name for case in CASES if beside_others(case.name, told)}


def cases_that_compare_speeds_are_alone():
    return who_is_beside_others(no_figures=False) == {"first", "second"}


def without_figures_only_the_undisturbed_are():
    return who_is_beside_others(no_figures=True) == {"first", "second", "compares"}


def a_killed_process_fails_its_case_and_the_rest_is_told():
    told = results(is_killed, [Named("killed"), *CASES])
    failed = [text for text, fine in told if not fine]
    alone = [text[0] for text, fine in told if fine and text[3] == os.getpid()]
    return (len(told) == len(CASES) + 1 and alone == ["looks", "compares"] and
            any(text.startswith("FAILED killed\n") for text in failed))


def ends_told(may_meet_shot, statuses):
    """What told() says of a case whose target ends so the first time and, if there is one, the next:
    how often it was run, and whether it is right."""
    import cases
    case = dataclasses.replace(cases.CASES[0], name="meets a shot", may_meet_shot=may_meet_shot)
    cases.CASES.append(case)
    tries = []

    def run_case(_options, _case):
        status = statuses[len(tries)]
        tries.append(status)
        target = argparse.Namespace(process=argparse.Namespace(returncode=status))
        world = argparse.Namespace(target=target, directory="")
        return [f"ended with {status}"] if status else [], None, world

    kept, run.run_case = run.run_case, run_case
    try:
        text, fine = TOLD(argparse.Namespace(v=False), case.name)
    finally:
        run.run_case = kept
        cases.CASES.remove(case)
    return len(tries), fine, "tried again" in text


def only_a_foreseen_end_is_tried_again_and_once():
    shot = -signal.SIGTRAP
    return (ends_told(True, [shot, 0]) == (2, True, True) and
            ends_told(True, [shot, shot]) == (2, False, True) and
            ends_told(True, [-signal.SIGSEGV]) == (1, False, False) and
            ends_told(False, [shot]) == (1, False, False) and
            ends_told(True, [0]) == (1, True, False))


def options(**more):
    given = {"causalctl": run.ROOT / "build/causalctl", "targets": run.ROOT / "build/tests/targets",
             "count_by": None, "v": False, "no_figures": True}
    return argparse.Namespace(**{**given, **more})


def named(*names):
    import cases
    return [case for case in cases.CASES if case.name in names]


def broken(case):
    """The case with a progress point that is never visited, for as long as a few experiments take."""
    words = {"round_done": "main", "300s": "2s"}
    return dataclasses.replace(case, arguments=tuple(words.get(word, word) for word in case.arguments),
                               during=None)


def a_profile_that_counts_nothing_fails():
    """Of each command; what it checks besides would let attach_fixed pass."""
    chosen = named("attach_fixed", "attach_functions", "run_static_pie")
    found = [run.run_case(options(), broken(case))[0] for case in chosen]
    return len(found) == 3 and all(
        any(problem.startswith("nothing was counted") for problem in problems) for problems in found)


def experiment(**visits):
    return {"type": "experiment", "latency": [],
            "throughput": [{"name": name, "visits": count} for name, count in visits.items()]}


def every_point_must_be_counted():
    lasts = experiment(a=0)
    lasts["latency"] = [{"name": "lasts", "ends": 0}]
    return (has_counted([experiment(a=0), experiment(a=3)]) and not has_counted([]) and
            not has_counted([experiment(a=3, b=0)]) and
            not has_counted([experiment(a=3), lasts]))


def whoever_is_to_profile_must_count():
    def must_count(*arguments, **more):
        return Case("", arguments, **more).must_count()

    return (must_count("attach", "{pid}") and must_count("run", "--", "x", exit=(0, 1)) and
            must_count("attach", exit=(-signal.SIGKILL,)) and
            not must_count("attach", counts_nothing="a reason") and
            not must_count("attach", exit=(2,)) and not must_count("attach", "--help") and
            not must_count("report", "x") and not must_count())


def a_way_of_counting_is_handed_on():
    def command(count_by, *arguments):
        world = run.World(options(count_by=count_by, causalctl="c"), None)
        world.clean()
        return world.command(arguments)

    given = ["--set", 'progress.count_by="uprobe"']
    return (command("uprobe", "attach", "1") == ["c", "attach", "1", *given] and
            command("uprobe", "run", "--", "x", "--") == ["c", "run", *given, "--", "x", "--"] and
            command("uprobe", "report", "x") == ["c", "report", "x"] and
            command(None, "attach", "1") == ["c", "attach", "1"])


def what_needs_a_breakpoint_is_skipped_where_none_fires():
    chosen = named("attach_as_ordinary_user", "attach_text")
    os.environ["CAUSALCTL_PRETEND_BROKEN"] = "breakpoint"
    try:
        pretended = run.skipped(options(), chosen)
    finally:
        del os.environ["CAUSALCTL_PRETEND_BROKEN"]
    by_uprobes = run.skipped(options(count_by="uprobe"), chosen)
    return (list(pretended) == list(by_uprobes) == ["attach_as_ordinary_user"] and
            pretended["attach_as_ordinary_user"].startswith("no breakpoint fires here, and ") and
            by_uprobes["attach_as_ordinary_user"].startswith("counted by uprobes, and "))


def the_quick_tier_has_every_command_and_channel():
    import cases
    names = [case.name for case in cases.CASES]
    quick = [case.arguments for case in cases.CASES if not tiers.left_to_full(case.name)]
    commands = {words[0] for words in quick if words}
    channels = {words[words.index("--pause-channel") + 1] for words in quick
                if "--pause-channel" in words}
    return (all(fnmatch.filter(names, pattern) for pattern in tiers.LEFT_TO_FULL) and
            {"attach", "run", "report", "ab", "doctor", "points"} <= commands and
            "ptrace" in channels and any("--end-to-end" in words for words in quick))


def is_set_back_after(number):
    """Whether the limit is what it was, once this signal has ended who lowered it."""
    with tempfile.TemporaryDirectory() as directory:
        limit = pathlib.Path(directory, "limit")
        limit.write_text("100000\n")
        runner = os.fork()
        if runner == 0:
            try:
                held = throttling_cases.LoweredLimit(limit)  # until its name goes
                time.sleep(60)
            finally:
                os._exit(1)
        low = f"{throttling_cases.LOW}\n"
        lowered = fixture.wait_until(lambda: limit.read_text() == low, 10)
        os.kill(runner, number)
        os.waitpid(runner, 0)
        return lowered and fixture.wait_until(lambda: limit.read_text() == "100000\n", 10)


def the_limit_of_samples_is_set_back_however_the_runner_ends():
    return all(map(is_set_back_after, (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))


def main():
    failed = 0
    tests = (cases_that_compare_speeds_are_alone, without_figures_only_the_undisturbed_are,
             a_killed_process_fails_its_case_and_the_rest_is_told,
             only_a_foreseen_end_is_tried_again_and_once, a_profile_that_counts_nothing_fails,
             every_point_must_be_counted, whoever_is_to_profile_must_count,
             a_way_of_counting_is_handed_on, what_needs_a_breakpoint_is_skipped_where_none_fires,
             the_quick_tier_has_every_command_and_channel,
             the_limit_of_samples_is_set_back_however_the_runner_ends)
    for test in tests:
        if not test():
            print(f"FAILED {test.__name__}")
            failed += 1
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
