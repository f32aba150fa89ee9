"""`causalctl stacks`: where the threads of processes stand that are compiled here, and that these
do not notice."""

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema
import pytest

from fixture import wait_until
from test_modules import compiled, running
from world import program_for

NOBODY = 65534
SCHEMA = json.loads(
    (pathlib.Path(__file__).parents[2] / "docs/stacks-schema.json").read_text())


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("standing")
    folder.chmod(0o755)
    return compiled(folder, "standing.c", "standing", "-Wno-infinite-recursion")


def run(options, *words, **more):
    return subprocess.run([options.causalctl, "stacks", *map(str, words)], capture_output=True,
                          text=True, timeout=60, check=False, **more)


def taken(options, pid, *words):
    done = run(options, pid, "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    process = json.loads(done.stdout)
    jsonschema.validate(process, SCHEMA)
    return process


def thread_with(process, function):
    found = [thread for thread in process["threads"]
             if any(frame["function"] == function for frame in thread["frames"])]
    assert len(found) == 1, (function, process)
    return found[0]


def functions(thread):
    return [frame["function"] for frame in thread["frames"]]


def states(pid):
    """Returns the state and the tracer of each thread."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = (path / "status").read_text()
            found.append((re.search(r"State:\t(.)", text)[1],
                          int(re.search(r"TracerPid:\t(\d+)", text)[1])))
    return found


def settle(pid, letters):
    """Waits until as many threads are in each of these states."""
    wanted = sorted(letters)
    assert wait_until(lambda: sorted(state for state, _ in states(pid)) == wanted, 20), states(pid)


def check_untraced(pid):
    assert all(tracer == 0 for _, tracer in states(pid)), states(pid)


def test_known_places(options, standing):
    with running(standing, "brrwd") as pid:
        settle(pid, "SRSSSS")
        process = taken(options, pid)
        check_untraced(pid)
    assert process["pid"] == pid and process["name"] == "standing"
    assert all(thread["complete"] and not thread["searched"] for thread in process["threads"])
    assert process["threads"][0]["state"] == "running"
    busy = thread_with(process, "outer_loop")
    assert functions(busy)[:2] == ["inner_loop", "outer_loop"], busy
    assert [frame["inlined"] for frame in busy["frames"][:2]] == [True, False]
    assert busy["frames"][0]["file"].endswith("standing.c") and busy["frames"][0]["line"] > 0
    assert busy["taken"] == "in-a-stop" and busy["stopped_at_most_ns"] >= busy["held_ns"] > 0
    mutex = thread_with(process, "waits_for_mutex")
    assert mutex["waits_in"].startswith("futex(0x") and mutex["taken"] == "without-stop"
    reading = [thread for thread in process["threads"] if "reads_pipe" in functions(thread)]
    assert len(reading) == 2
    assert re.fullmatch(r"read\(\d+: pipe:\[\d+\]\)", reading[0]["waits_in"]), reading[0]
    assert functions(thread_with(process, "main"))[-1] == "_start"
    deep = [thread for thread in process["threads"] if "recursion" in functions(thread)]
    assert functions(deep[0]).count("recursion") == 901


def test_functions_of_the_kernel(options, standing):
    """Those in which blocked threads wait stand above their own; a running thread has none."""
    with running(standing, "br") as pid:
        settle(pid, "SRS")
        process = taken(options, pid, "--kernel")
        text = run(options, pid, "--kernel").stdout
        without = taken(options, pid)
    if any("(--kernel) cannot be read" in warning for warning in process["warnings"]):
        pytest.skip("root may not read /proc/PID/stack here")
    frames = thread_with(process, "reads_pipe")["frames"]
    kernel = [frame["function"] for frame in frames if frame["module"] == "[kernel]"]
    assert [frame["function"] for frame in frames][:len(kernel)] == kernel, frames
    assert any("pipe" in name and name.startswith("[k] ") for name in kernel), kernel
    assert not any("entry_" in name or "do_syscall" in name for name in kernel), kernel
    assert not [frame for frame in thread_with(process, "outer_loop")["frames"]
                if frame["module"] == "[kernel]"]
    assert re.search(r"^  #0 +\[k\] \w+$", text, re.M), text
    assert "[kernel]" not in json.dumps(without)


def test_text(options, standing):
    with running(standing, "brr") as pid:
        settle(pid, "SRSS")
        text = run(options, pid).stdout
        each = run(options, pid, "--each", "--verbose").stdout
    assert re.search(r"^process \d+ \(standing\), .*: 4 threads, 1 running$", text, re.M), text
    assert re.search(r"^  #0 inner_loop at standing\.c:\d+ \(standing\) \[inlined\]$", text, re.M)
    assert re.search(r'^2 threads \d+, \d+ "standing": blocked in read', text, re.M), text
    assert text.index("running, CPU") < text.index("blocked in")
    assert len(re.findall(r"^thread \d+", each, re.M)) == 4, each
    assert re.search(r"^  stopped for [\d.]+ .s, [\d.]+ .s at most$", each, re.M), each
    assert "  read without a stop\n" in each


def test_frame_pointer_is_read_in_a_stop(options, standing):
    """Of a blocked thread only the stack pointer is known without one."""
    with running(standing, "f") as pid:
        settle(pid, "SS")
        thread = thread_with(taken(options, pid), "on_frame")
        check_untraced(pid)
        assert thread["taken"] == "in-a-stop" and thread["complete"], thread
        assert thread["state"] == "blocked" and thread["waits_in"] == "pause", thread


@pytest.mark.parametrize("letter,states_then", [("a", "SR"), ("h", "SS")])
def test_handler_on_another_stack(options, standing, letter, states_then):
    with running(standing, letter) as pid:
        settle(pid, states_then)
        thread = thread_with(taken(options, pid), "handler")
        names = functions(thread)
        assert thread["complete"] and not thread["remark"], thread
        assert names.index("handler") < names.index("interrupted") < names.index("start_thread")


def test_parent_of_vfork(options, standing):
    with running(standing, "v") as pid:
        settle(pid, "SD")
        thread = max(int(path.name) for path in pathlib.Path(f"/proc/{pid}/task").iterdir())
        child = int(pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text())
        try:
            began = time.monotonic()
            process = taken(options, pid)
            assert time.monotonic() - began < 20
            check_untraced(pid)
        finally:
            os.kill(child, signal.SIGKILL)
    waiting, = [each for each in process["threads"] if each["state"] == "uninterruptible"]
    assert waiting["waits_in"] in ("vfork", "clone") and waiting["taken"] == "without-stop"
    assert functions(waiting)[1] == "forks" and waiting["complete"], waiting


def test_stopped_target_stays_stopped(options, standing):
    with running(standing, "brf") as pid:
        settle(pid, "SRSS")
        os.kill(pid, signal.SIGSTOP)
        settle(pid, "TTTT")
        for words in ((), ("--reference",)):
            process = taken(options, pid, *words)
            assert all(thread["state"] == "stopped" and thread["complete"]
                       for thread in process["threads"]), process
            assert states(pid) == [("T", 0)] * 4
        os.kill(pid, signal.SIGCONT)
        settle(pid, "SRSS")


def test_reference_agrees(options, standing):
    with running(standing, "rwdfh") as pid:
        settle(pid, "SSSSSS")
        ours, reference = taken(options, pid), taken(options, pid, "--reference")
        for a, b in zip(ours["threads"], reference["threads"]):
            assert b["taken"] == "in-a-stop" and a["frames"] == b["frames"], (a, b)
        check_untraced(pid)


def test_first_thread_has_ended(options, tmp_path):
    program = compiled(tmp_path, "without_first_thread.c")
    with running(program) as pid:
        assert wait_until(lambda: "Z" in [state for state, _ in states(pid)], 10)
        process = taken(options, pid)
    ended = [thread for thread in process["threads"] if thread["state"] == "ended"]
    others = [thread for thread in process["threads"] if thread["state"] != "ended"]
    assert [thread["tid"] for thread in ended] == [pid] and "has ended" in ended[0]["remark"]
    assert others and all(thread["complete"] for thread in others), others


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_traced_by_another(options, standing):
    with running(standing, "br") as pid:
        settle(pid, "SRS")
        with subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(pid)],
                              stderr=subprocess.DEVNULL) as strace:
            try:
                assert wait_until(lambda: all(each for _, each in states(pid)), 20)
                process = taken(options, pid)
                busy = [thread for thread in process["threads"] if thread["state"] == "running"]
                assert len(busy) == 1 and busy[0]["taken"] == "not-read", process
                assert re.search(r"process \d+ \(strace\) traces it", busy[0]["remark"])
                assert thread_with(process, "reads_pipe")["complete"]
            finally:
                strace.terminate()


def test_signals_are_delivered(options, standing):
    """Real-time signals are queued, so that each one counts."""
    sent = 0
    with subprocess.Popen([standing, "s"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            for _ in range(10):
                with subprocess.Popen([options.causalctl, "stacks", str(process.pid)],
                                      stdout=subprocess.DEVNULL) as stacks:
                    while stacks.poll() is None:
                        os.kill(process.pid, signal.SIGRTMIN)
                        sent += 1
                        time.sleep(0.0002)
                    assert stacks.returncode == 0
            time.sleep(0.2)
            process.terminate()
            assert process.stdout.readline() == f"counted {sent} turns 1\n"
        finally:
            process.kill()


@pytest.mark.parametrize("words", [(), ("--reference",)], ids=["copy", "reference"])
def test_killed_at_any_moment(options, standing, words):
    with subprocess.Popen([standing, "bbbfrs"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            settle(process.pid, "SRRRRSS")
            for _ in range(40):
                with subprocess.Popen([options.causalctl, "stacks", str(process.pid), *words],
                                      stdout=subprocess.DEVNULL) as stacks:
                    time.sleep(random.uniform(0, 0.06))
                    stacks.kill()
                settle(process.pid, "SRRRRSS")
                check_untraced(process.pid)
            process.terminate()
            assert process.stdout.readline() == "counted 0 turns 1\n"
        finally:
            process.kill()


def test_threads_come_and_go(options):
    with subprocess.Popen([options.targets / "threads_storm", "--seconds", "30"],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert any(line.startswith("ready ") for line in process.stdout)
            for _ in range(10):
                result = taken(options, process.pid)
                assert result["threads"]
            check_untraced(process.pid)
        finally:
            process.kill()


NUMBERS = """
import pathlib, subprocess, sys
def next_number(pid):
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid))
causalctl, target = sys.argv[1:]
next_number(20000)
storm = [target, "--seconds", "90", "--rate", "100", "--work-us", "30000"]
with subprocess.Popen(storm, stdout=subprocess.PIPE, text=True) as process:
    any(line.startswith("ready ") for line in process.stdout)
    next_number(300)
    try:
        for _ in range(5):
            command = [causalctl, "stacks", "--quiet", str(process.pid)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    finally:
        process.kill()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a namespace of numbers")
def test_threads_with_lower_numbers_come_and_go(options):
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c",
                           NUMBERS, options.causalctl, options.targets / "threads_storm"],
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


def test_state_and_stack_are_of_one_moment(options, standing):
    """The frame of polls() needs a pointer, so that the thread is stopped, when it may compute."""
    with running(standing, "p") as pid:
        for _ in range(15):
            thread, = [each for each in taken(options, pid)["threads"] if each["tid"] != pid]
            names = functions(thread)
            if thread["state"] == "blocked":
                assert "polls" in names and thread["waits_in"].startswith("poll"), thread
            if "computes" in names:
                assert thread["state"] == "running" and not thread["waits_in"], thread


def test_python(options):
    code = "import threading\nprint('ready', flush=True)\nthreading.Event().wait()"
    with running(sys.executable, "-c", code) as pid:
        settle(pid, "S")
        thread, = taken(options, pid)["threads"]
    assert thread["complete"] and thread["waits_in"].startswith("futex"), thread
    assert any(name.startswith("_start") for name in functions(thread)[-1:]), functions(thread)


def test_output_file(options, standing, tmp_path):
    with running(standing, "r") as pid:
        settle(pid, "SS")
        path = tmp_path / "stacks.json"
        done = run(options, pid, "--format", "json", "-o", path)
        assert done.returncode == 0 and not done.stdout
        assert json.loads(path.read_text())["version"] == 1
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("words,status,text", [
    ((4_000_000,), 3, "no such process: 4000000"),
    ((2,), 1, r"process 2 \(.*\) is a kernel thread"),
    (("no-such-process",), 2, "no process is called no-such-process"),
    ((1, "--format", "yaml"), 2, '--format: "yaml" is not a format of stacks'),
    ((), 2, "no process is named"),
])
def test_refused(options, words, status, text):
    done = run(options, *words)
    assert done.returncode == status, done.stderr
    assert re.search(text, done.stderr), done.stderr


def test_thread_instead_of_process(options, standing):
    with running(standing, "r") as pid:
        thread = max(int(path.name) for path in pathlib.Path(f"/proc/{pid}/task").iterdir())
        done = run(options, thread)
    assert done.returncode == 2
    assert f"{thread} is a thread of process {pid}" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_another_users_process(options, standing):
    with tempfile.TemporaryDirectory() as folder, running(standing, "r") as pid:
        program = program_for(NOBODY, options.causalctl, pathlib.Path(folder))
        done = run(dataclasses.replace(options, causalctl=program), pid, user=NOBODY)
    assert done.returncode == 1 and "cannot be traced" in done.stderr, done.stderr
    assert "hint: the process belongs to uid 0" in done.stderr, done.stderr


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("eu-stack"),
                    reason="there is no eu-stack: apt install elfutils")
def test_same_as_eu_stack(options, standing):
    """Compares the functions of blocked threads, whose stacks stay as they are."""
    with running(standing, "rrwdfh") as pid:
        settle(pid, "SSSSSSS")
        process = taken(options, pid)
        text = subprocess.run(["eu-stack", "-n", "0", "-p", str(pid)], capture_output=True,
                              text=True, timeout=60, check=False).stdout
        check_untraced(pid)
    theirs = {}
    for part in re.split(r"^TID ", text, flags=re.M)[1:]:
        tid, _, rest = part.partition(":")
        theirs[int(tid)] = re.findall(r"^#\d+\s+0x[0-9a-f]+ (?:- 1 )?(\S*)", rest, re.M)
    assert len(theirs) == 7, text
    for thread in process["threads"]:
        ours = [frame["function"] for frame in thread["frames"] if not frame["inlined"]]
        assert len(ours) == len(theirs[thread["tid"]]), (ours, theirs[thread["tid"]])
        for mine, name in zip(ours, (name.partition("@")[0] for name in theirs[thread["tid"]])):
            # Where one address has several names, each tool chooses its own.
            assert mine == name or mine.strip("_") in name or name.strip("_") in mine, (mine, name)
