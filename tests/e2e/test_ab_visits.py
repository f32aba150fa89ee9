"""What `ab` counts where threads live briefly, ends have no begin, or nothing is passed at all."""

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


def compared(options, folder, pid, *more, exit_code=0):
    done = run(options, "ab", "--a", pid, "--b", pid, "--measure", "400ms", "--rounds", "2",
               "--null-rounds", "0", *more, folder=folder)
    assert done.returncode == exit_code, done.stderr
    return done


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
