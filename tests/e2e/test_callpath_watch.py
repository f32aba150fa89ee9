"""`callpath --sentinel watch`: what the reports say of rates, and of places that have none; threads
that end, and registers that others have."""

import contextlib
import ctypes
import os
import struct
import subprocess

import pytest

from test_callpath import check_alive, recorded, run
from test_modules import compiled, running

WATCH = ("--sentinel", "watch")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("watched"), "watched_calls.c", "calls")


@pytest.fixture(autouse=True)
def needs_a_watch_that_fires(request, options):
    if "where_no_watch_fires" in request.node.name:
        return
    findings = subprocess.run([options.causalctl, "doctor"], capture_output=True, text=True,
                              check=False).stdout.splitlines()
    watches = next(line for line in findings if "watches of memory" in line)
    if not watches.startswith("ok "):
        pytest.skip(f"no watch of memory fires here: {watches}")


def test_refused_where_no_watch_fires(options, program, tmp_path):
    with running(program, "long") as pid:
        done = run(options, "callpath", pid, *WATCH, "--duration", "1s", folder=tmp_path,
                   env={**os.environ, "CAUSALCTL_PRETEND_BROKEN": "watch"})
        check_alive(pid)
    assert done.returncode == 1 and "--sentinel watch is not possible here" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_auto_goes_on_where_no_watch_fires(options, program, tmp_path):
    with running(program, "long") as pid:
        done = run(options, "callpath", pid, "--sentinel", "auto", "--duration", "1s", folder=tmp_path,
                   env={**os.environ, "CAUSALCTL_PRETEND_BROKEN": "watch"})
    assert done.returncode == 0 and "no calls are watched: " in done.stdout, done.stdout + done.stderr


def test_report_shows_the_rates(options, program, tmp_path):
    """A thread that hardly gets a core, beside other tests, may have too few returns."""
    with running(program, "long") as pid:
        report = recorded(options, tmp_path, pid, *WATCH, "--duration", "8s")
        check_alive(pid)
    places, rates = report["watched_places"], report["call_rates"]
    assert places["count"] == len(rates) + places["few_returns"] + places["out_of_range"] >= 1, places
    assert rates or places["few_returns"], places  # these calls can be told
    assert all(rate["low"] < rate["per_second"] < rate["high"] for rate in rates), rates
    assert all(each["low"] <= each["high"] for rate in rates for each in rate["longer"]), rates
    overview = run(options, "report", "callpath.jsonl", folder=tmp_path).stdout
    assert "How often calls are made that last longer than" in overview, overview
    told = f"Of {places['count']} places whose calls were watched, " in overview
    assert told == (places["count"] > len(rates)), overview


def test_short_calls_are_not_taken_for_long_ones(options, program, tmp_path):
    """Of 200,000 calls a second only those are long that are interrupted, perhaps by a sample."""
    with running(program, "short") as pid:
        report = recorded(options, tmp_path, pid, *WATCH, "--duration", "8s")
    assert report["watched_places"]["count"] >= 1, report["watched_places"]
    if report["watched_places"]["longer_than_ns"] < 10_000:
        pytest.skip("a trap is so fast here that calls of 2 µs are long")
    assert all(rate["per_second"] < 5000 for rate in report["call_rates"]), report["call_rates"]


def test_threads_that_end_are_left(options, program, tmp_path):
    with running(program, "threads") as pid:
        report = recorded(options, tmp_path, pid, *WATCH, "--duration", "8s")
        check_alive(pid)
    assert report["watched_places"]["count"] >= 1, report["watched_places"]
    assert not any("sentinel" in warning for warning in report["warnings"]), report["warnings"]


def breakpoint_at(pid, address):
    """Takes a breakpoint register of the thread, until the descriptor that is returned is closed."""
    exclude_kernel_and_hypervisor = 1 << 5 | 1 << 6
    attributes = struct.pack("=IIQQQQQIIQQ", 5, 72, 0, 0, 0, 0, exclude_kernel_and_hypervisor, 0, 4,
                             address, 8)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(298, attributes, pid, -1, -1, 0)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    return descriptor


def test_registers_that_others_have_are_told(options, program, tmp_path):
    with running(program, "long") as pid, contextlib.ExitStack() as taken:
        for address in range(0x10000, 0x10004):
            taken.callback(os.close, breakpoint_at(pid, address))
        report = recorded(options, tmp_path, pid, *WATCH, "--duration", "5s")
        check_alive(pid)
    told = [warning for warning in report["warnings"] if "--sentinel" in warning]
    assert len(told) == 1 and "no longer" in told[0], report["warnings"]
    assert report["call_rates"] == []


def test_too_few_samples_are_told(options, program, tmp_path):
    with running(program, "long") as pid:
        report = recorded(options, tmp_path, pid, *WATCH, "--duration", "1s")
    assert any("no calls were watched" in warning for warning in report["warnings"]), report["warnings"]
    assert report["watched_places"]["count"] == 0
