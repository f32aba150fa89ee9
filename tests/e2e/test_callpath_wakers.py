"""`callpath --wakers`: which function ended the waits of a thread, where that is known."""

import json
import os

import pytest

from test_callpath import Tree, recorded, run
from test_modules import compiled, running

WOKEN = "[woken by]"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("wakers"), "wakers.c", "wakers")


def blocked(report, waiter, *waker):
    """Returns the blocked time of a path that waits, by this waker if one is given."""
    total = 0
    for path, own in Tree(report).paths:
        woken = path.index(WOKEN) if WOKEN in path else len(path)
        if waiter in path[:woken] and all(each in path[woken:] for each in waker):
            total += own[0]
    return total


@pytest.mark.parametrize("what, waiter, waker, broken", [
    ("queue", "takes_item", "puts_item", ""),
    ("queue", "takes_item", "puts_item", "scheduler"),  # by an event of each thread
    ("pipe", "reads_byte", "writes_byte", ""),
    ("barrier", "meets", "arrives_last", ""),
])
def test_the_waker_is_named(options, program, tmp_path, what, waiter, waker, broken):
    env = {**os.environ, "CAUSALCTL_PRETEND_BROKEN": broken}
    with running(program, what) as pid:
        done = run(options, "callpath", pid, "--duration", "3s", "--wakers", "--format", "json", "--verbose",
                   folder=tmp_path, env=env)
    by_program = "switches and wake-ups by BPF: what a thread of ours did was seen" in done.stderr
    assert done.returncode == 0 and by_program == (not broken), done.stderr
    report = json.loads(done.stdout[done.stdout.index("{"):])
    whole = blocked(report, waiter)
    assert whole > 0.1 * report["wall_ns"], (whole, report["wall_ns"])  # beside a load it waits for a core
    assert blocked(report, waiter, waker, "main") >= 0.95 * whole
    usual = run(options, "report", "callpath.jsonl", "--format", "json", folder=tmp_path)
    # A wait of which a record was lost is not known to be over.
    if not any("records lost" in note for note in report["notes"]):
        assert whole == pytest.approx(Tree(json.loads(usual.stdout)).sum("blocked", waiter), rel=0.05)
    text = run(options, "report", "callpath.jsonl", "--wakers", folder=tmp_path).stdout
    assert WOKEN in text and waker in text, text


def test_a_timer_is_told_from_the_program(options, program, tmp_path):
    with running(program, "sleep") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "2s", "--wakers")
    whole = blocked(report, "sleeps")
    assert whole > 0.1 * report["wall_ns"]
    by_nobody = blocked(report, "sleeps", "[outside: timer, device or another process]") + blocked(
        report, "sleeps", "[interrupt]")
    assert by_nobody >= 0.95 * whole


def test_wakers_that_were_not_recorded(options, program, tmp_path):
    with running(program, "sleep") as pid:
        recorded(options, tmp_path, pid, "--duration", "1s")
    done = run(options, "report", "callpath.jsonl", "--wakers", folder=tmp_path)
    assert done.returncode == 2 and "was not recorded" in done.stderr, done.stderr
    done = run(options, "report", "callpath.jsonl", "--wakers", "--epoch", "0", folder=tmp_path)
    assert done.returncode == 2 and "not recorded by epoch" in done.stderr, done.stderr
