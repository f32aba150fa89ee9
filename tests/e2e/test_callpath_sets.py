"""`causalctl callpath SET`: what several processes do, told apart by program and by process."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

import schemas
from fixture import wait_until
from freezer import Freezer
from test_callpath_time import limited

SPIN = """
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""


def callpath(options, folder, *words, timeout=100):
    done = subprocess.run([options.causalctl, "callpath", "--quiet", "--format", "json", *map(str, words)],
                          capture_output=True, text=True, timeout=timeout, check=False, cwd=folder)
    schemas.check_output(words, done, folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("{"):])


def reported(options, folder, *words):
    done = subprocess.run([options.causalctl, "report", "callpath.jsonl", "--format", "json", *words],
                          capture_output=True, text=True, timeout=60, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextlib.contextmanager
def waiting(*command, **more):
    """Yields a process that begins its work once a line is written to it."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True,
                          **more) as process:
        try:
            yield process
        finally:
            process.kill()


def recorded(options, folder, *words, until):
    """Records, beginning before until() is called and ending after it."""
    log = folder / "callpath.jsonl"
    with subprocess.Popen([options.causalctl, "callpath", "--quiet", "--format", "json", *map(str, words)],
                          stdout=subprocess.PIPE, text=True, cwd=folder) as recorder:
        try:
            # The log begins before the events do; its first account of losses comes once they flow.
            assert wait_until(lambda: log.exists() and '"type":"losses"' in log.read_text(), 20)
            until()
            recorder.send_signal(2)
            output, _ = recorder.communicate(timeout=60)
        finally:
            recorder.kill()
    assert recorder.returncode == 0
    return json.loads(output[output.index("{"):])


def cpu_s_of_the_kernel(profile):
    return next(each["of_ns"] for each in profile["time"] if each["what"] == "cpu-missing") / 1e9


def cpu_s_by_top(profile):
    """Returns the CPU time of each row at the top, in seconds."""
    column = [each["name"] for each in profile["columns"]].index("cpu")
    return {profile["frames"][node["frame"]]["function"]: node["total"][column] / 1e9
            for node in profile["nodes"] if node["parent"] == 0}


# --- a build: processes that live for milliseconds ---

def test_children_of_a_build_are_seen_whole(options, tmp_path):
    source = tmp_path / "unit.c"
    source.write_text("".join(f"int f{i}(int x) {{ return x * {i} + (x >> {i % 31}); }}\n"
                              for i in range(200)))
    units = 40
    rules = "".join(f"u{i}.o: unit.c\n\tgcc -O2 -c unit.c -o u{i}.o\n" for i in range(units))
    (tmp_path / "Makefile").write_text(f"all: {' '.join(f'u{i}.o' for i in range(units))}\n{rules}")
    with waiting("sh", "-c", "read go; make -j2 >make.log 2>&1; echo done; read end", cwd=tmp_path,
                 stdout=subprocess.PIPE) as shell:
        used = []

        def build():
            shell.stdin.write("go\n")
            shell.stdin.flush()
            assert shell.stdout.readline() == "done\n"
            used.append(children_cpu_s(shell.pid))
        profile = recorded(options, tmp_path, "--children", shell.pid, until=build)
    by_program = cpu_s_by_top(profile)
    assert {"make", "cc1"} <= set(by_program), (by_program, profile["wall_ns"], profile["time"],
                                                profile["warnings"])
    assert any(name.endswith("as") for name in by_program), by_program  # x86_64-linux-gnu-as
    assert by_program["cc1"] == max(by_program.values()), by_program
    # The kernel also counts what it does for a process before its first instruction and after its
    # end.
    assert 0.9 * used[0] < sum(by_program.values()) < 1.1 * used[0], (by_program, used)
    assert 0.9 * used[0] < cpu_s_of_the_kernel(profile) < 1.1 * used[0], (profile["time"], used)
    chains = profile["chains"]
    assert chains["complete"] > 0.95 * (chains["complete"] + chains["incomplete"]), chains
    assert any(frame["function"] == "main" for frame in profile["frames"])
    assert len(profile["programs"]) >= 4
    cc1 = next(each for each in profile["programs"] if each["program"] == "cc1")
    assert cc1["processes"] == units, cc1
    make = next(each for each in profile["programs"] if each["program"] == "make")
    assert make["processes"] == 1, make  # its children have executed other programs
    by_process = cpu_s_by_top(reported(options, tmp_path, "--by", "process"))
    assert sum(1 for name in by_process if name.startswith("cc1 (process ")) > units / 2, by_process
    assert sum(by_process.values()) == pytest.approx(sum(by_program.values()), rel=0.001)


def children_cpu_s(pid):
    """Returns the CPU time of the children that a process has waited for, and theirs."""
    with open(f"/proc/{pid}/stat", encoding="utf8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


# --- a program that is started, with its children ---

def copies_of_python(folder, *names):
    for name in names:
        shutil.copy(os.path.realpath(sys.executable), folder / name)
    (folder / "burns.py").write_text(SPIN + "burn(float(sys.argv[1]))\n")
    return [f"{folder / name} {folder / 'burns.py'}" for name in names]


def pids_of(command):
    """Returns the processes that run the executable of the command."""
    program = command.split()[0]
    pids = []
    for link in pathlib.Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if os.readlink(link) == program:
                pids.append(int(link.parent.name))
    return pids


def started_with_children(options, folder, script, *words):
    """Returns the report of a shell with all that it starts, and how the recording ended."""
    done = subprocess.run([options.causalctl, "callpath", "--format", "json", *words, "--children", "--",
                           "sh", "-c", script],
                          capture_output=True, text=True, timeout=100, check=False, cwd=folder)
    return json.loads(done.stdout[done.stdout.index("{"):]), done


def test_a_program_is_started_with_its_children(options, tmp_path):
    one, other = copies_of_python(tmp_path, "first_one", "second_one")
    profile, done = started_with_children(options, tmp_path, f"{one} 0.3 & {other} 0.6; wait; exit 5")
    assert done.returncode == 5, done.stderr
    assert "the program ended with exit status 5, so causalctl ends with 5" in done.stderr, done.stderr
    assert any("ended with exit status 5" in each for each in profile["warnings"]), profile["warnings"]
    assert {"first_one", "second_one"} <= {each["program"] for each in profile["programs"]}
    assert profile["processes"] == 3
    tops = cpu_s_by_top(profile)
    assert 0.27 < tops["first_one"] < 0.6 and 0.54 < tops["second_one"] < 0.9, tops


def test_it_ends_with_the_program_and_not_with_what_that_leaves(options, tmp_path):
    one, other = copies_of_python(tmp_path, "stays_there", "does_work")
    script = f"setsid {one} 60 >/dev/null 2>&1 & {other} 0.3"
    begin = time.monotonic()
    try:
        profile, done = started_with_children(options, tmp_path, script)
        assert time.monotonic() - begin < 30
        assert done.returncode == 0, done.stderr
        left = int(done.stderr.split("left processes behind")[1].split("go on: ")[1].split()[0])
        assert pids_of(one) == [left]
    finally:
        for pid in pids_of(one):
            os.kill(pid, signal.SIGKILL)
    assert {"stays_there", "does_work"} <= {each["program"] for each in profile["programs"]}


def test_after_the_duration_the_program_ends(options, tmp_path):
    one, = copies_of_python(tmp_path, "ends_early")
    profile, done = started_with_children(options, tmp_path, f"{one} 60", "--duration", "1s")
    assert done.returncode == 0, done.stderr
    assert "ends_early" in {each["program"] for each in profile["programs"]}
    assert wait_until(lambda: not pids_of(one), 5)


def test_children_without_a_pid_and_a_program(options, tmp_path):
    for words in (("--children",), ("--children", "--"), ("--children", "--duration", "1s")):
        done = subprocess.run([options.causalctl, "callpath", *words], capture_output=True, text=True,
                              timeout=60, check=False, cwd=tmp_path)
        assert done.returncode == 2, (words, done.stderr)
        assert "--children has no PID, and no program comes after --\n  hint: " in done.stderr, done.stderr
    for words in (("--children", "1", "--", "touch", "made"), ("--children", "touch", "made")):
        done = subprocess.run([options.causalctl, "callpath", *words], capture_output=True, text=True,
                              timeout=60, check=False, cwd=tmp_path)
        assert done.returncode == 2 and not (tmp_path / "made").exists(), (words, done.stderr)


# --- several processes of one program ---

def test_a_set_without_samples_is_called_as_it_was_typed(options, tmp_path):
    name = tmp_path / "sleeps_long"
    shutil.copy(shutil.which("sleep"), name)
    with waiting(name, "100"), waiting(name, "100"):
        done = subprocess.run([options.causalctl, "callpath", "--match", "sleeps_long", "--event", "cpu",
                               "--duration", "0.5s", "--quiet"],
                              capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "no sample of --match sleeps_long came" in done.stderr, done.stderr
    assert "hint: record the processes at work" in done.stderr, done.stderr


def test_two_processes_are_one_program(options, tmp_path):
    work = SPIN + "sys.stdin.readline()\nwhile True: burn(float(sys.argv[1])); time.sleep(0.02)\n"
    python = os.path.realpath(sys.executable)
    with waiting(python, "-c", work, "0.02") as one, waiting(python, "-c", work, "0.06") as other:
        for each in (one, other):
            each.stdin.write("go\n")
            each.stdin.flush()
        profile = callpath(options, tmp_path, one.pid, other.pid, "--duration", "4s")
    assert [each["program"] for each in profile["programs"]] == [os.path.basename(python)]
    assert profile["processes"] == 2
    by_process = cpu_s_by_top(reported(options, tmp_path, "--by", "process"))
    shares = {name: value for name, value in by_process.items() if value > 0}
    assert set(shares) == {f"{os.path.basename(python)} (process {each.pid})" for each in (one, other)}
    assert cpu_s_of_the_kernel(profile) == pytest.approx(sum(shares.values()), rel=0.1)
    # 1/2 and 3/4 of the time, if there is a core for each.
    few, many = (shares[f"{os.path.basename(python)} (process {each.pid})"] for each in (one, other))
    assert few < many


@contextlib.contextmanager
def two_at_work():
    work = SPIN + "sys.stdin.readline()\nburn(100)\n"
    with waiting(sys.executable, "-c", work) as one, waiting(sys.executable, "-c", work) as other:
        for each in (one, other):
            each.stdin.write("go\n")
            each.stdin.flush()
        yield one.pid, other.pid


def test_a_set_that_is_stopped_is_told_of_once_all_are(options, tmp_path):
    with two_at_work() as (one, other):
        def stop_one():
            os.kill(one, signal.SIGSTOP)
            time.sleep(1)

        stopped_at = []

        def stop_both():
            stop_one()
            os.kill(other, signal.SIGSTOP)
            stopped_at.append(time.monotonic())
            time.sleep(1)
        profile = recorded(options, tmp_path, one, other, until=stop_one)
        assert not [each for each in profile["time"] if each["what"] == "stopped"], profile["time"]
        os.kill(one, signal.SIGCONT)
        (tmp_path / "callpath.jsonl").unlink()
        profile = recorded(options, tmp_path, one, other, until=stop_both)
        longest = time.monotonic() - stopped_at[0]
        stopped = next(each for each in profile["time"] if each["what"] == "stopped")
        assert 0.7e9 < stopped["ns"] < 1e9 * longest, stopped
        assert stopped["text"].startswith("The processes were stopped by a signal (SIGSTOP) for ")
        assert stopped["text"].endswith(", and are so still; kill -CONT lets them go on."), stopped


@pytest.mark.parametrize("version", [1, 2])
def test_a_set_that_is_frozen_is_told_of(options, tmp_path, version):
    if os.geteuid() != 0:
        pytest.skip("it needs root, to freeze a control group")
    folder = tmp_path / "out"
    folder.mkdir()
    with two_at_work() as pids:
        freezer = Freezer(version, pids[0], tmp_path, pids[1])

        def freeze():
            freezer.set(True)
            time.sleep(1.5)
            freezer.set(False)
            time.sleep(0.3)
        try:
            profile = recorded(options, folder, *pids, until=freeze)
        finally:
            freezer.end()
    frozen = next(each for each in profile["time"] if each["what"] == "frozen")
    assert frozen["ns"] > 1e9, frozen
    assert frozen["text"].startswith("The processes were frozen by their control group"), frozen


@pytest.mark.full  # beside other tests too little of the quota is used up
def test_a_quota_of_a_set_is_told(options, tmp_path):
    with two_at_work() as pids, limited(0.1, *pids):
        profile = callpath(options, tmp_path, *pids, "--duration", "3s")
    found = next(each for each in profile["time"] if each["what"] == "held-back")
    assert "may use 0.1 cores, and was held back for" in found["text"], found
    assert found["ns"] > 0.5 * profile["wall_ns"], found


def test_an_open_set_sees_programs_that_come(options, tmp_path):
    program = tmp_path / "comes_later"
    shutil.copy(os.path.realpath(sys.executable), program)
    with waiting("sh", "-c", f"read go; {program} -c '{SPIN}\nburn(0.5)'; read end") as shell:
        def run_it():
            shell.stdin.write("go\n")
            shell.stdin.flush()
            time.sleep(2)
        # At least one process must be there at the beginning.
        with waiting(program, "-c", "input()"):
            profile = recorded(options, tmp_path, "--match", "comes_later", until=run_it)
    assert profile["set"] == "--match comes_later" and profile["pid"] == 0 and not profile["program"]
    assert [each["program"] for each in profile["programs"]] == ["comes_later"]
    assert profile["processes"] == 2
    tops = cpu_s_by_top(profile)
    assert 0.4 < sum(tops.values()) < 1.5, tops


def test_system_calls_of_short_processes(options, tmp_path):
    """Each of five processes makes 2,000 in a few milliseconds. What comes after the last sample of a core is
    missing: at this rate, some hundreds. (Events of threads see none of most of these processes.)"""
    command = "for i in 1 2 3 4 5; do dd if=/dev/zero of=/dev/null bs=1 count=2000 status=none; done"
    report = callpath(options, tmp_path, "--children", "--event", "syscall:write", "--", "sh", "-c", command)
    total = next(each["total"] for each in report["columns"] if each["name"] == "syscall:write")
    assert 6_000 <= total <= 10_000, (total, report["warnings"])
