"""The rows of the matrix (matrix_cases.py) with `causalctl callpath` in place of `attach`: it pauses
nobody and injects nothing, but has the kernel count the calls of a function, which writes into the
target's code."""

import dataclasses

from attaching import ENDLESS
from case import expect
from matrix_cases import BRIEFLY, word_after_pauses, word_between_pauses

NOTHING_RUNS = ("matrix_stopped_before", "matrix_frozen_before_version_1",
                "matrix_frozen_before_version_2")  # perhaps its threads are seen to wait
REFUSED = ("bits32_refused",)
# They wait for what the target does to SIGTRAP, which is nothing to `callpath`.
LEFT_OUT = ("attach_target_installs_sigtrap_handler", "attach_target_resets_sigtrap")


def samples(outcome):
    chains = outcome.report()["chains"]
    return chains["complete"] + chains["incomplete"]


def has_samples(outcome):
    return expect(samples(outcome) > 0, "no samples")


def as_callpath(case):
    """Returns the case with `callpath`; None if it makes no sense there."""
    if case.name in LEFT_OUT:
        return None
    point = case.arguments[case.arguments.index("--progress") + 1]
    counted = () if point.startswith("syscall:") or case.name in REFUSED else ("--count", point)
    during = case.during
    if during is word_after_pauses and not case.target_ends:
        during = word_between_pauses  # after an exec, callpath goes on
    exits = {name: (0, 1) for name in NOTHING_RUNS} | {name: (1,) for name in REFUSED}
    return dataclasses.replace(
        case, during=during, stderr=(), checks=() if case.name in exits else (has_samples,),
        exit=exits.get(case.name, (0,)),
        arguments=("callpath", "{pid}", "--duration", ENDLESS if during else BRIEFLY, *counted,
                   "--format", "json", "-o", "{log}"))


def described(outcome, refusal):
    if outcome.status != 0:
        return f"refused: “{refusal}”"
    if samples(outcome) == 0:
        return "works: it is seen to wait"
    complete = outcome.report()["chains"]["complete"]
    return f"works: {samples(outcome)} samples, {100 * complete / samples(outcome):.1f} % complete"
