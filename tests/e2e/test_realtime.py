"""Targets whose threads have real-time priority: causalctl runs above them, or refuses them. Most
of these threads nap, so that they keep nothing else from a core."""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import pytest

from fixture import wait_until
from test_modules import compiled, running
from world import program_for

NOBODY = 65534
CORES = len(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def realtime():
    with tempfile.TemporaryDirectory() as folder:  # which others may enter, unlike pytest's own
        path = pathlib.Path(folder)
        path.chmod(0o755)
        yield compiled(path, "realtime.c", "realtime")


def schedule(pid, policy, priority):
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            os.sched_setscheduler(int(tid), policy, os.sched_param(priority))
    except PermissionError:
        pytest.skip("no thread may have real-time priority here")


def has_handler(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        caught = int(re.search(r"SigCgt:\t(\w+)", status.read())[1], 16)
    return bool(caught >> (signal.SIGTRAP - 1) & 1)


def attach(options, tmp_path, pid, *words):
    return [options.causalctl, "attach", str(pid), "--progress", "item_done", "-o",
            tmp_path / "p.jsonl", *words]


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


@contextlib.contextmanager
def started(command):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("policy", [os.SCHED_FIFO, os.SCHED_RR], ids=["fifo", "rr"])
def test_causalctl_runs_above(options, tmp_path, realtime, policy):
    with running(realtime, str(CORES), "naps") as pid:
        schedule(pid, policy, 50)
        with started(attach(options, tmp_path, pid, "--duration", "60s")) as causalctl:
            assert wait_until(lambda: has_handler(pid), 30)
            assert wait_until(lambda: os.sched_getparam(causalctl.pid).sched_priority == 51, 10)
            for tid in os.listdir(f"/proc/{pid}/task"):
                os.sched_setscheduler(int(tid), policy, os.sched_param(60))
            assert wait_until(lambda: os.sched_getparam(causalctl.pid).sched_priority == 61, 10)
            causalctl.send_signal(signal.SIGINT)
            assert wait_until(lambda: not has_handler(pid), 10)
            assert causalctl.wait(30) in (0, 1), causalctl.stderr.read()
            assert "CHANGED" not in causalctl.stderr.read()
        assert os.sched_getscheduler(pid) == policy
        assert os.sched_getparam(pid).sched_priority == 60


def check_refused(done, *words):
    assert done.returncode == 1 and "\n  hint: " in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_what_cannot_be_outranked_is_refused(options, tmp_path, realtime):
    with running(realtime, str(CORES), "naps") as pid:
        schedule(pid, os.SCHED_FIFO, 99)
        done = run(attach(options, tmp_path, pid, "--duration", "1s"))
        check_refused(done, f"{CORES} threads of process {pid}", "no priority is above")
        assert not has_handler(pid)


def test_deadline_is_refused(options, tmp_path, realtime):
    with running(realtime, "1", "naps") as pid:
        policy = ["chrt", "-d", "-T", "2000000", "-D", "50000000", "-P", "50000000", "-p", "0"]
        if run([*policy, str(pid)]).returncode != 0:
            pytest.skip("no thread may have SCHED_DEADLINE here")
        done = run(attach(options, tmp_path, pid, "--duration", "1s"))
        check_refused(done, f"thread {pid} of process {pid}", "SCHED_DEADLINE")


def test_by_a_user_without_priorities(options, realtime):
    if os.geteuid() != 0:
        pytest.skip("only root can start a program with real-time priority as another user")
    with running(realtime, str(CORES), "naps", user=NOBODY, group=NOBODY) as pid:
        schedule(pid, os.SCHED_FIFO, 50)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            own = dataclasses.replace(options, causalctl=program_for(NOBODY, options.causalctl, folder))
            done = run(attach(own, folder, pid, "--duration", "1s"), user=NOBODY, group=NOBODY)
        check_refused(done, f"{CORES} threads of process {pid}", "may not run at priority 51")


@contextlib.contextmanager
def above_all():
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(98))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@pytest.mark.full  # it keeps all cores from everything else
@pytest.mark.alone
@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_threads_that_spin_on_all_cores(options, tmp_path, realtime, killed):
    with running(realtime, str(CORES), "spins") as pid, above_all():
        schedule(pid, os.SCHED_FIFO, 50)
        begin = time.monotonic()
        with started(attach(options, tmp_path, pid, "--duration", "3s")) as causalctl:
            assert wait_until(lambda: has_handler(pid), 20)
            if killed:
                causalctl.kill()
                assert wait_until(lambda: not has_handler(pid), 3)
            else:
                assert wait_until(lambda: not has_handler(pid), 20)
                schedule(pid, os.SCHED_OTHER, 0)
                causalctl.wait(20)
                assert time.monotonic() - begin < 40
