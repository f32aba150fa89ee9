#!/usr/bin/env python3
"""Proves which cases run.py runs at the same time, and that none is lost when a process is killed.

Usage: tests/e2e/test_run.py. The last line is `N passed, N failed`."""

import argparse
import dataclasses
import os
import signal
import sys
import time

import run


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


def main():
    failed = 0
    tests = (cases_that_compare_speeds_are_alone, without_figures_only_the_undisturbed_are,
             a_killed_process_fails_its_case_and_the_rest_is_told,
             only_a_foreseen_end_is_tried_again_and_once)
    for test in tests:
        if not test():
            print(f"FAILED {test.__name__}")
            failed += 1
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
