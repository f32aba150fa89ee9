"""`causalctl callpath`: time that is missing is told, and time in which the program could not run is in
a state of its own."""

import contextlib
import json
import os
import pathlib
import signal
import time

import pytest

from fixture import wait_until
from freezer import Freezer
from test_callpath import Tree, recorded, recording, run
from test_modules import compiled, running
from test_stacks import functions, taken


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("time"), "lost_time.c", "lost_time",
                    "-fno-optimize-sibling-calls")


def findings(report, what):
    return [each for each in report["time"] if each["what"] == what]


def finding(report, what):
    (found,) = findings(report, what)
    return found


def interrupted_report(options, folder, recorder):
    recorder.send_signal(signal.SIGINT)
    text, _ = recorder.communicate(timeout=60)
    assert recorder.returncode == 0
    done = run(options, "report", "callpath.jsonl", "--format", "json", folder=folder)
    assert done.returncode == 0, done.stderr
    return text, json.loads(done.stdout)


def total(report, column):
    return sum(each["total"] for each in report["columns"] if each["name"] == column)


def halted_at(options, pid):
    """Returns the functions in which the process stands still, outermost first, as `stacks` reads them."""
    (thread,) = taken(options, pid)["threads"]
    return tuple(reversed(functions(thread)))


def check_halt(report, what, text, least_ns, path):
    """The time is in the state, on the path on which the process was halted, and neither blocked nor
    runnable."""
    found = finding(report, what)
    assert text in found["text"], found
    assert found["ns"] >= least_ns, found
    assert abs(total(report, what) - found["ns"]) < 0.3 * found["ns"] + 1e8, (report["columns"], found)
    assert total(report, "blocked") < 0.3 * found["ns"] + 1e8, report["columns"]
    check_path(report, what, path)


def check_path(report, what, path):
    tree = Tree(report)
    index = tree.columns.index(what)
    there = sum(own[index] for each, own in tree.paths if each == path)
    # Until the look that finds the halt, where the process stands may not be known.
    assert there > 0.97 * total(report, what), (path, [each for each in tree.paths if each[1][index]])


@contextlib.contextmanager
def stopped(options, pid):
    """Yields the path on which the process is stopped meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield halted_at(options, pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_stopped_in_the_middle(options, program, tmp_path):
    with running(program, "work") as pid, recording(options, tmp_path, pid) as recorder:
        with stopped(options, pid) as path:
            time.sleep(1.5)
        time.sleep(0.3)
        text, report = interrupted_report(options, tmp_path, recorder)
    assert "was stopped by a signal (SIGSTOP) for" in text and "Time stopped: " in text, text
    check_halt(report, "stopped", "stopped by a signal", 1e9, path)
    assert "so still" not in finding(report, "stopped")["text"]


def test_stopped_in_a_switch_that_is_not_sampled(options, program, tmp_path):
    with running(program, "naps") as pid, recording(options, tmp_path, pid) as recorder:
        with stopped(options, pid) as path:
            time.sleep(1.1)
        _, report = interrupted_report(options, tmp_path, recorder)
    check_path(report, "stopped", path)


def test_stopped_in_slices_that_are_shorter_than_the_looks(options, program, tmp_path):
    with running(program, "work") as pid, recording(options, tmp_path, pid) as recorder:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.005)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.005)
        _, report = interrupted_report(options, tmp_path, recorder)
    assert total(report, "stopped") > 4e8, report["columns"]
    # The loop never blocks; until the first look that finds it stopped, a stop seems to be a wait.
    assert total(report, "blocked") < 0.1 * total(report, "stopped"), report["columns"]


def test_stopped_all_the_time(options, program, tmp_path):
    with running(program, "work") as pid, stopped(options, pid) as path:
        report = recorded(options, tmp_path, pid, "--duration", "1s")
    check_halt(report, "stopped", f"and is so still; kill -CONT {pid}", 9e8, path)


@pytest.mark.parametrize("version", [1, 2])
def test_frozen(options, program, tmp_path, version):
    if os.geteuid() != 0:
        pytest.skip("it needs root, to freeze a control group")
    with running(program, "work") as pid:
        freezer = Freezer(version, pid, tmp_path)
        folder = tmp_path / "out"
        folder.mkdir()
        try:
            with recording(options, folder, pid) as recorder:
                freezer.set(True)
                path = halted_at(options, pid)
                time.sleep(1.5)
                freezer.set(False)
                time.sleep(0.3)
                _, report = interrupted_report(options, folder, recorder)
        finally:
            freezer.end()
    check_halt(report, "frozen", "was frozen by its control group for", 1e9, path)


@contextlib.contextmanager
def limited(cores, *pids):
    """A control group for the processes that may use as many cores, together."""
    root = pathlib.Path("/sys/fs/cgroup")
    version_1 = (root / "cpu").is_dir()
    root = root / "cpu" if version_1 else root
    group = root / f"causalctl-{os.getpid()}-{pids[0]}"
    try:
        group.mkdir()
        if version_1:
            (group / "cpu.cfs_quota_us").write_text(str(int(cores * 100000)))
        else:
            (root / "cgroup.subtree_control").write_text("+cpu")
            (group / "cpu.max").write_text(f"{int(cores * 100000)} 100000")
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        pytest.skip(f"no quota can be set here: {error}")
    try:
        yield
    finally:
        for pid in pids:
            (root / "cgroup.procs").write_text(str(pid))
        wait_until(lambda: not (group / "cgroup.procs").read_text(), 5)
        group.rmdir()


@pytest.mark.full  # beside other tests too little of the quota is used up
def test_a_quota_is_told(options, program, tmp_path):
    with running(program, "work") as pid, limited(0.1, pid):
        report = recorded(options, tmp_path, pid, "--duration", "2s")
    found = finding(report, "held-back")
    assert "Its control group may use 0.1 cores, and was held back for" in found["text"], found
    assert found["ns"] > 0.5 * report["wall_ns"], found


# Where each thread needs events of its own.
def test_time_of_short_threads_that_is_missing_is_told(options, program, tmp_path, monkeypatch):
    monkeypatch.setenv("CAUSALCTL_PRETEND_BROKEN", "scheduler")
    with running(program, "threads") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "2s")
    found = finding(report, "cpu-missing")
    assert found["of_ns"] > total(report, "cpu"), found
    assert abs(found["of_ns"] - found["ns"] - total(report, "cpu")) < 2, (found, report["columns"])
    assert found["ns"] > 0.2 * found["of_ns"], found
    assert "of the CPU time is missing: the kernel counts" in found["text"], found
    assert "threads began meanwhile" in found["text"], found


def test_of_a_loop_nothing_is_missing(options, program, tmp_path):
    with running(program, "work") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "1s")
    found = finding(report, "cpu-missing")
    assert found["ns"] < 0.1 * found["of_ns"], found


def test_the_vdso_of_a_program_that_was_started_by_another_and_has_ended(options, program, tmp_path):
    done = run(options, "callpath", "--format", "json", "--", "env", str(program), "clock",
               folder=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout[done.stdout.index("{"):])
    named = sum(each["own"][0] for each in report["functions"] if "clock_gettime" in each["name"])
    assert named > 0.8 * report["columns"][0]["total"], report["functions"][:5]


def test_threads_that_block_as_soon_as_they_are_born(options, program, tmp_path):
    done = run(options, "callpath", "--format", "json", "--", str(program), "pool", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout[done.stdout.index("{"):])
    waited = Tree(report).sum("blocked", "worker", "wait_for_work")
    assert waited > 0.75 * total(report, "blocked"), (waited, report["columns"])  # 8 of 9 threads


def test_names_of_threads_do_not_fill_the_memory(options, program, tmp_path):
    with running(program, "names") as pid:
        report = recorded(options, tmp_path, pid, "--threads", "by-name", "--duration", "2s")
    groups = {frame["function"] for frame in report["frames"] if frame["group"]}
    assert len(groups) <= 258 and "req-*" in groups, len(groups)
    assert any("merged with those that differ in a number only" in each for each in report["warnings"])


def test_a_deep_recursion_has_its_outermost_frames(options, program, tmp_path):
    with running(program, "deep") as pid:
        done = run(options, "callpath", pid, "--duration", "3s", "--quiet", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) < 60, done.stdout
    assert "more calls of the same (recursion)" in done.stdout, done.stdout
    report = json.loads(run(options, "report", "callpath.jsonl", "--format", "json",
                            folder=tmp_path).stdout)
    tree = Tree(report)
    assert tree.sum("samples", "main", "down") > 0.8 * total(report, "samples"), report["chains"]
    assert tree.sum("samples", "down", "[2048 to 4095 frames]", "down") > 0.75 * total(report, "samples")
