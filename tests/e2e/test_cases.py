"""Runs the cases of cases.py: causalctl with real target programs. world.py says what must be true
around every case."""

import pytest

import cases
import tiers
import world


def marks_of(case, options):
    marks = [pytest.mark.timeout(case.timeout + 240)]
    if tiers.left_to_full(case.name):
        marks.append(pytest.mark.full)
    if case.undisturbed or case.measures and not options.no_figures:
        marks.append(pytest.mark.alone)
    if case.may_meet_shot:
        marks.append(pytest.mark.flaky(reruns=1))
    return marks


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        options = metafunc.config.option
        metafunc.parametrize("case", [
            pytest.param(case, id=case.name, marks=marks_of(case, options))
            for case in cases.CASES])


def last_lines(text):
    return "\n".join("  " + line for line in text.splitlines()[-15:])


def test_case(case, options):
    reason = world.reason_to_skip(options, case)
    if reason:
        pytest.skip(reason)
    reason = world.missing_program(case)
    if reason:
        pytest.fail(f"not run: {reason}")
    problems, outcome, surroundings = world.run_case(options, case)
    if options.keep:
        print(f"kept: {surroundings.directory}")
    if problems:
        if world.met_shot(case, surroundings):
            problems.insert(0, "SIGTRAP ended the target, as docs/safety.md foresees")
        if outcome:
            problems += ["stdout:", last_lines(outcome.stdout),
                         "stderr:", last_lines(outcome.stderr)]
        pytest.fail("\n".join(problems))
