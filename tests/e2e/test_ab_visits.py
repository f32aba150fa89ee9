"""What `ab` counts where threads live briefly, ends have no begin, requests are as long as a window,
or nothing is passed at all; and what `attach` counts of the same."""

import json
import os
import re
import signal

import pytest

from test_callpath import run
from test_modules import compiled, running

LATENCY = ("--latency", "q=req_begin,req_done")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("requests"), "requests.c", "requests")


def compared(options, folder, pid, *more, measure="400ms", exit_code=0):
    done = run(options, "ab", "--a", pid, "--b", pid, "--measure", measure, "--rounds", "2",
               "--null-rounds", "0", *more, folder=folder)
    assert done.returncode == exit_code, done.stderr
    return done


def profiled(options, folder, pid, *more):
    """Returns the point of a profile, and its warnings; the target hardly uses any CPU time, so there
    may be no result."""
    done = run(options, "attach", pid, *LATENCY, "--format", "json", *more, folder=folder)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    return report["progress"][0], report["warnings"]


def metric(report, name):
    return next(each for each in report["metrics"] if each["name"] == name)


def test_each_request_has_a_thread(options, program, tmp_path):
    """They are gone before breakpoints could be opened on them. Each lasts 5 ms and what the machine
    adds; its pairs are known, which needs its first visit."""
    with running(program, "thread") as pid:
        done = compared(options, tmp_path, pid, "--progress", "req_done", *LATENCY, "--format", "json")
    report = json.loads(done.stdout)
    begun = 1 / 0.010
    assert 0.4 * begun < metric(report, "req_done")["a"] <= 1.1 * begun, report
    assert 0.005 <= metric(report, "q p50")["a"], report
    assert not any("lost" in each or "began" in each for each in report["warnings"]), report


def test_long_requests_are_in_the_mean(options, program, tmp_path):
    """One thread is always in a request, so by Little's law mean × rate is 1. The mean of all is 45
    ms. A window of 900 ms has two long requests, and 18 to 27 in all."""
    with running(program, "long") as pid:
        done = compared(options, tmp_path, pid, *LATENCY, "--format", "json", measure="900ms")
        point, _ = profiled(options, tmp_path, pid, "--duration", "14s")
    report = json.loads(done.stdout)
    assert 0.03 < metric(report, "q mean")["a"] < 0.06, report
    assert 0.9 < point["mean_latency_s"] * point["rate_per_s"] < 1.1, point
    assert point["p99_latency_s"] > 0.3, point


def test_a_profile_counts_threads_that_live_briefly(options, program, tmp_path):
    with running(program, "thread") as pid:
        point, warnings = profiled(options, tmp_path, pid, "--duration", "10s")
    assert "uprobe" in point["counted_by"], point
    assert 0.005 <= point["p50_latency_s"] < 0.02, point
    assert not any("have no begin" in each for each in warnings), warnings


def test_threads_that_breakpoints_miss_are_told(options, program, tmp_path):
    with running(program, "thread") as pid:
        done = compared(options, tmp_path, pid, "--progress", "syscall:clock_nanosleep", "--format",
                        "json")
    assert any("threads began" in each for each in json.loads(done.stdout)["warnings"]), done.stdout


def test_ends_without_a_begin(options, program, tmp_path):
    with running(program, "more") as pid:
        done = compared(options, tmp_path, pid, *LATENCY, "--format", "json")
    report = json.loads(done.stdout)
    assert 0.005 <= metric(report, "q mean")["a"] < 0.03, report


def test_children_end_what_the_process_begins(options, program, tmp_path):
    with running(program, "fork") as pid:
        done = compared(options, tmp_path, pid, *LATENCY, exit_code=1)
    assert "q: its begin (req_begin) was passed" in done.stderr, done.stderr
    assert "its end (req_done) never" in done.stderr, done.stderr
    assert re.search(rf"process {pid} has (a process|\d+ processes) below it", done.stderr), done.stderr


def test_a_stopped_process_is_called_stopped(options, program, tmp_path):
    with running(program, "more") as pid:
        os.kill(pid, signal.SIGSTOP)
        done = compared(options, tmp_path, pid, "--progress", "req_done", exit_code=1)
        os.kill(pid, signal.SIGCONT)
    assert "the target is stopped by a signal" in done.stderr, done.stderr


def test_a_begin_that_is_the_end_is_refused(options, program, tmp_path):
    with running(program, "more") as pid:
        same = compared(options, tmp_path, pid, "--latency", "q=req_done,req_done", exit_code=2)
        done = compared(options, tmp_path, pid, "--latency", "q=req_done,requests:req_done",
                        exit_code=2)
    assert "its begin is its end" in same.stderr
    assert "are one place" in done.stderr, done.stderr
