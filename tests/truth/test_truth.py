#!/usr/bin/env python3
"""Tests the truth suite itself: that its judgement finds each kind of miss; that scripts/truth
measures a live program, prints the table and notices a wrong prediction; and that scripts/bench
evaluates windows with and without a profiler correctly."""

import io
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import fixture
import overhead
import predict
import programs
import table
import twins

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def row(name, truth, prediction, half=0.01, truth_half=0.005, verdict="optimise"):
    [task] = programs.tasks([name], [50])
    ours = predict.Prediction(prediction, prediction - half, prediction + half, verdict)
    return table.Row(task, twins.Estimate(truth, truth - truth_half, truth + truth_half), ours)


def test_student_interval():
    """The three ratios are around a quarter less time; t with 2 degrees of freedom is 4.303."""
    found = twins.truth_of([math.log(0.75) + shift for shift in (-0.01, 0, 0.01)])
    half = 4.303 * 0.01 / math.sqrt(3)
    wanted = [1 - 0.75 * math.exp(shift) for shift in (0, half, -half)]
    assert (found.effect, found.low, found.high) == pytest.approx(wanted, abs=1e-9)


def test_good_rows_pass():
    assert table.misses([row("serial/first", 0.15, 0.155),
                         row("decoy/decoy", 0.001, 0.002, verdict="no-effect")]) == []


def expect_misses(rows, *wanted):
    """Expects exactly these misses, in any order."""
    found = table.misses(rows)
    assert len(found) == len(wanted), found
    for each in wanted:
        assert any(each in miss for miss in found), found


def test_large_error_is_found():
    expect_misses([row("serial/first", 0.15, 0.18, half=0.04)], "mean absolute error 3.0")


def test_bad_program_is_found():
    rows = [row(name, 0.15, 0.15) for name in
            ("serial/first", "serial/second", "barrier-2/a", "barrier-5/a", "barrier-25/a")]
    expect_misses([*rows, row("io/a", 0.15, 0.21, half=0.07)], "io: mean absolute error 6.0")


def test_narrow_interval_is_found():
    expect_misses([row("serial/first", 0.15, 0.165, half=0.01)], "0 of 1 intervals")


def test_noise_of_the_truth_is_no_miss():
    expect_misses([row("serial/first", 0.15, 0.165, half=0.01, truth_half=0.014)])


def test_unknown_truth_is_found():
    expect_misses([row("serial/first", 0.15, 0.15, truth_half=0.03)], "is known to ± 3.0")


def test_zero_not_called_is_found():
    expect_misses([row("decoy/decoy", 0, 0.002, verdict="not-enough-data")],
                  "the verdict is not-enough-data")


def test_zero_that_is_none_is_found():
    expect_misses([row("decoy/decoy", 0.03, 0.03, verdict="no-effect")], "the target is wrong")


def test_missing_prediction_is_found():
    nothing = row("serial/first", 0.15, 0.15)
    nothing.ours = predict.Prediction(problem="it was raining")
    expect_misses([nothing], "it was raining", "0 of 1 intervals")


def test_profile_of_coz_is_read():
    totals = {0: [0, 0], 50: [0, 0]}
    predict.add_profile(totals, io.StringIO(
        "startup\ttime=1\n"
        "experiment\tselected=x.c:1\tspeedup=0.00\tduration=500\tselected-samples=3\n"
        "throughput-point\tname=round\tdelta=50\n"
        "experiment\tselected=x.c:1\tspeedup=0.50\tduration=300\tselected-samples=3\n"
        "throughput-point\tname=round\tdelta=40\n"
        "experiment\tselected=x.c:1\tspeedup=0.50\tduration=100\tselected-samples=3\n"
        "throughput-point\tname=round\tdelta=10\n"
        "experiment\tselected=x.c:1\tspeedup=0.50\tduration=300\tselected-samples=1\n"
        "throughput-point\tname=round\tdelta=3\n"  # cut off by the end of the program
        "experiment\tselected=x.c:1\tspeedup=0.50\tduration=300\tselected-samples=0\n"
        "throughput-point\tname=round\tdelta=0\n"
        "runtime\ttime=900\n"))
    assert totals == {0: [500, 50], 50: [400, 50]}


MARKER = ("CAUSALCTL_TRUTH_TEST", str(os.getpid()))


# Gives the programs priority over everything else here, if we have the right to it. Otherwise the
# truth would be about a compiler that runs beside them. Niceness is not enough, because it counts
# only within a session (autogroups, sched(7)).
AHEAD = ["chrt", "--fifo", "1"] if os.geteuid() == 0 else []


def start_script(targets, fake, *arguments):
    return subprocess.Popen(
        [*AHEAD, sys.executable, str(ROOT / "scripts/truth"), "--targets", str(targets),
         "--seconds", "1", "--causalctl", str(ROOT / "tests/truth/fake_causalctl"), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, FAKE=fake, **dict([MARKER])))


def test_what_a_target_has_started_is_stopped_with_it(options):
    """The source of requests is another process, which must be stopped, too."""
    with tempfile.TemporaryDirectory() as directory:
        counted = twins.Counted(directory, options.targets / "paced", ["--per-ms", "100000"])
        states = []
        for act in (lambda: None, counted.go, counted.stop):
            act()
            states.append([fixture.status_fields(f"/proc/{pid}")["State"][0] == "T"
                           for pid in (counted.pid, *counted.children)])
        counted.end()
    assert states == [[True, True], [False, False], [True, True]]


def script(options, fake, *arguments):
    """Returns (status, stdout) of scripts/truth with this causalctl, for one unit of one
    program."""
    process = start_script(options.targets, fake, "-k", "serial/first", "--pairs", "6",
                           "--window", "0.3", *arguments)
    out, _ = process.communicate(timeout=90)
    return process.returncode, out


ROW = r"^\| serial \| first \| 50 % \| (\S+) "


def test_windows_hold_many_rounds():
    """A window of a second has only eleven rounds of 90 ms, and would show 8.4 % instead of 5 %."""
    for program in programs.PROGRAMS:
        options = dict(zip(program.arguments[::2], program.arguments[1::2]))
        assert program.longer * 1000 / float(options.get("--round-ms", 10)) >= 40, program


@pytest.mark.alone
def test_verdict_is_of_what_was_measured(options):
    """The unit has 30 % of a round's time, and is twice as fast, which gains 15 %. A shared machine
    need not come closer to that than to tell it from nothing and from all."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "truth.json")
        status, out = script(options, "0.15,0.05,0.25,optimise", "--speedups", "50",
                             "--json", str(file))
        [measured] = json.loads(file.read_text())["rows"]
    told = re.search(ROW, out, re.M)
    [task] = programs.tasks(["serial/first"], [50])
    truth = twins.Estimate(**measured["truth"])
    missed = table.misses([table.Row(task, truth, predict.Prediction(**measured["ours"]))])
    assert 0 < truth.effect < 0.5
    assert told
    assert abs(100 * truth.effect - float(told[1])) < 0.1
    assert status == (1 if missed else 0)
    assert ([f"MISSED {line}" for line in missed] ==
            [line for line in out.splitlines() if line.startswith("MISSED")])


@pytest.mark.alone
def test_wrong_prediction_is_noticed(options):
    status, out = script(options, "4.00,3.98,4.02,optimise", "--speedups", "50")
    assert status == 1
    assert re.search(ROW, out, re.M)
    assert "MISSED mean absolute error" in out
    assert "MISSED 0 of 1 intervals" in out


@pytest.mark.alone
def test_arms_are_told_apart(options):
    """One arm predicts something wrong; the other one fails because of its option."""
    fake = ROOT / "tests/truth/fake_causalctl"
    status, out = script(options, "4.00,3.98,4.02,optimise", "--speedups", "50",
                         "--arm", f"wrong={fake} --quiet", "--arm", f"none={fake} --bad")
    rows = re.findall(r"^\| serial \((\w+)\) \| first \|", out, re.M)
    assert status == 1
    assert rows == ["wrong", "none"]
    assert "MISSED wrong: mean absolute error" in out
    assert "MISSED none: no prediction" in out


@pytest.mark.alone
def test_failing_causalctl_is_noticed(options):
    status, out = script(options, "fail", "--speedups", "50")
    assert status == 1
    assert "made to fail" in out
    assert "MISSED no prediction" in out


@pytest.mark.alone
def test_interrupt_leaves_nothing(options):
    process = start_script(options.targets, "0,0,0,x", "-k", "barrier-5/a", "--speedups", "50",
                           "--pairs", "200", "--beside", "1")
    # These are the script, a busy loop, the original and its twin.
    running = fixture.wait_until(lambda: len(fixture.processes_with("=".join(MARKER))) >= 4, 20)
    time.sleep(0.3)  # in the middle of a window, most likely
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert running
    assert process.returncode == 130
    assert not fixture.processes_with("=".join(MARKER))


def windows(*rates):
    return [overhead.Window(arm, rate) for arm, rate in rates]


def test_slowdown_is_against_both_neighbours():
    """The machine gets slower all the time, and the profiler takes a fifth of it."""
    found = overhead.slowdowns(windows(
        (overhead.NATIVE, 104), (overhead.CAUSALCTL_NULL, 85), (overhead.NATIVE, 100),
        (overhead.CAUSALCTL_FULL, 49), (overhead.NATIVE, 96), (overhead.CAUSALCTL_NULL, 100),
        (overhead.NATIVE, 104)), overhead.CAUSALCTL_NULL)
    assert found == pytest.approx([20, 0], abs=1e-9)


def test_coz_is_not_charged_for_its_macro():
    """The macro takes half, and Coz takes nothing more. The windows of the macro's program beside
    those of Coz are Coz's reference, and are compared with nothing."""
    measured = windows((overhead.NATIVE, 100), (overhead.MACRO, 50), (overhead.NATIVE, 100),
                       (overhead.MACRO, 50), (overhead.COZ_NULL, 50), (overhead.MACRO, 50),
                       (overhead.COZ_FULL, 25), (overhead.MACRO, 50))
    assert [overhead.slowdowns(measured, arm) for arm in
            (overhead.MACRO, overhead.COZ_NULL, overhead.COZ_FULL)] == [[100], [0], [100]]


def test_failed_window_is_left_out():
    """The window of Coz between those of the macro fails."""
    measured = windows((overhead.MACRO, 50), (overhead.MACRO, 40), (overhead.NATIVE, 100),
                       (overhead.CAUSALCTL_FULL, 50), (overhead.NATIVE, 100))
    assert [overhead.slowdowns(measured, arm) for arm in overhead.ARMS] == [[], [100], [], [], []]


def test_order_rotates():
    """In as many pairs as there are arms, each arm is once at each place."""
    orders = [overhead.order(number) for number in range(len(overhead.ARMS))]
    for place in (*orders, *zip(*orders)):
        assert set(place) == set(overhead.ARMS)


def test_arms_are_between_their_references():
    """Every arm is, in all pairs, and each window that is measured is compared with another one."""
    pairs = 7
    names = overhead.schedule(pairs)
    found = [windows(*((name, 1) for name in names[i:i + 3])) for i in range(len(names))]
    each = [sum(overhead.slowdowns(three, arm) == [0] for three in found)
            for arm in overhead.ARMS]
    arms = [name for name in names if name not in (overhead.NATIVE, overhead.MACRO)]
    assert each == [pairs] * len(overhead.ARMS)
    assert len(arms) == 4 * pairs
    assert all(a != b for a, b in zip(names, names[1:]))


def test_missing_coz_is_told(tmp_path):
    build = tmp_path / "build-coz"
    build.write_text("#!/bin/sh\necho trying >&2\necho no such package >&2\nexit 1\n")
    build.chmod(0o755)
    with pytest.raises(overhead.NotMeasured, match="^no such package$"):
        overhead.build_for_coz(build)


@pytest.mark.alone
def test_interrupt_of_bench_leaves_nothing():
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "scripts/bench"), "-k", "slowdown-two-busy-null",
         "--window", "60", "--causalctl", str(ROOT / "tests/truth/fake_causalctl")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, **dict([MARKER])))
    # These are the script and its target.
    running = fixture.wait_until(lambda: len(fixture.processes_with("=".join(MARKER))) >= 2, 20)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert running
    assert process.returncode == 130
    assert not fixture.processes_with("=".join(MARKER))
