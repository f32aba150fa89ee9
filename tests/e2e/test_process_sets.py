"""Sets of processes, as the words and options of `stacks` and `callpath` name them: who is a member, and
what is refused."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import jsonschema
import pytest

from fixture import children, wait_until
from test_modules import compiled, running
from test_stacks import NOBODY, SCHEMA, check_untraced, functions, run, settle
from world import program_for

# Of the program, which no other process of the test run has: 15 bytes at most.
NAME = f"set{os.getpid()}"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
NOBODY_THERE = 4_000_000  # above the largest PID


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    folder.chmod(0o755)
    return compiled(folder, "standing.c", NAME, "-Wno-infinite-recursion")


def causalctl(options, *words, **more):
    return subprocess.run([options.causalctl, *map(str, words)], capture_output=True, text=True,
                          timeout=60, check=False, **more)


def taken_set(options, *words, **more):
    done = run(options, *words, "--format", "json", **more)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    pids = [process["pid"] for process in document["processes"]]
    assert pids == sorted(set(pids)), pids
    return document


def pids_of(document):
    return [process["pid"] for process in document["processes"]]


@contextlib.contextmanager
def two_running(program, letters="r"):
    with running(program, letters) as first, running(program, letters) as second:
        yield sorted((first, second))


@contextlib.contextmanager
def shell_with(*commands):
    """Yields a shell with these children."""
    script = " & ".join(commands) + " & wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as shell:
        try:
            assert wait_until(lambda: len(children(shell.pid)) == len(commands), 20)
            for _ in commands:
                assert shell.stdout.readline() == "ready\n"
            yield shell.pid
        finally:
            os.killpg(shell.pid, signal.SIGKILL)


# --- who is a member ---

def test_several_pids(options, program):
    with two_running(program) as pids:
        document = taken_set(options, pids[1], pids[0], pids[1])
        assert document["set"] == f"processes {pids[0]}, {pids[1]}"
        assert pids_of(document) == pids and not document["not_read"]
        for process in document["processes"]:
            check_untraced(process["pid"])
            assert any("reads_pipe" in functions(thread) for thread in process["threads"])
        text = run(options, *pids).stdout
    assert text.startswith(f"processes {pids[0]}, {pids[1]}\n\nprocess {pids[0]} ({NAME}), "), text
    assert re.search(rf"^process {pids[1]} \({NAME}\), .*: 2 threads, 0 running$", text, re.M), text


def test_one_process_is_no_set(options, program):
    with running(program, "r") as pid:
        for words in ((pid,), (pid, pid), (pid, NAME)):
            done = run(options, *words, "--format", "json")
            assert done.returncode == 0 and json.loads(done.stdout)["pid"] == pid, done.stderr
        document = taken_set(options, "--match", NAME)
    assert document["set"] == f"--match {NAME} (1 process)" and pids_of(document) == [pid]


def test_children(options, program):
    with shell_with(f"{program} r", f"{program} b") as shell:
        below = children(shell)
        document = taken_set(options, "--children", shell)
        assert pids_of(document) == sorted([shell, *below])
        assert document["set"] == f"--children {shell} (3 processes)"
        for pid in below:
            check_untraced(pid)
    with running(program, "r") as pid:
        assert pids_of(taken_set(options, "--children", pid)) == [pid]


def test_children_without_causalctl_itself(options, program):
    """The shell has started it."""
    script = f"{program} r & read line; {options.causalctl} stacks --format json --children $$; kill -9 $!"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as shell:
        assert shell.stdout.readline() == "ready\n"
        shell.stdin.write("go\n")
        shell.stdin.close()
        document = json.loads(shell.stdout.read())
    assert len(document["processes"]) == 2 and not document["not_read"], document
    assert pids_of(document)[0] == shell.pid


def test_children_come_and_go(options):
    with subprocess.Popen(["sh", "-c", "echo ready; while :; do /bin/true; done"],
                          stdout=subprocess.PIPE, text=True) as shell:
        try:
            assert shell.stdout.readline() == "ready\n"
            for _ in range(15):
                document = taken_set(options, "--children", shell.pid)
                assert shell.pid in pids_of(document)
                assert all(each["ended"] for each in document["not_read"]), document["not_read"]
        finally:
            shell.kill()


def test_match(options, program, tmp_path):
    other = shutil.copy(program, tmp_path / f"{NAME}oth")
    with two_running(program) as pids, running(other, "r") as third:
        assert pids_of(taken_set(options, "--match", NAME)) == pids
        assert pids_of(taken_set(options, "--match", f"{NAME}*")) == sorted([*pids, third])
        assert pids_of(taken_set(options, "--match", f"{NAME}ot?")) == [third]
        done = run(options, NAME)
        assert done.returncode == 2 and "several processes are called" in done.stderr, done.stderr
        assert "--match NAME takes all of them" in done.stderr, done.stderr


def test_match_a_name_that_the_kernel_cuts(options, program, tmp_path):
    names = ("set_with_a_long_name", "set_with_a_lower_name")
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(running(shutil.copy(program, tmp_path / name), "r"))
                for name in names]
        assert pids_of(taken_set(options, "--match", names[0])) == [pids[0]]
        assert pids_of(taken_set(options, "--match", "set_with_a_lo*")) == sorted(pids)


@contextlib.contextmanager
def cgroup_with(path, pids):
    """Makes a cgroup with processes in it, which must have ended before the block does."""
    try:
        path.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    try:
        for pid in pids:
            (path / "cgroup.procs").write_text(str(pid))
        yield path
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not (path / "cgroup.procs").read_text(), 10)
        remove_cgroup(path)


def remove_cgroup(path):
    """For a moment after its last process has ended, and after one below it was removed, it is busy."""
    def is_removed():
        with contextlib.suppress(OSError):
            path.rmdir()
        return not path.exists()
    assert wait_until(is_removed, 10)


def hierarchies():
    """Returns the places of a hierarchy of each version."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    found = {}
    for _, place, kind, flags, *_ in mounts:
        if place.startswith(str(CGROUPS)) and (kind == "cgroup2" or
                                               kind == "cgroup" and "pids" in flags.split(",")):
            found[kind] = pathlib.Path(place)
    return found


@pytest.mark.parametrize("kind", ["cgroup", "cgroup2"])
def test_cgroup(options, program, kind):
    if kind not in hierarchies():
        pytest.skip(f"no hierarchy of {kind} is mounted")
    top = hierarchies()[kind]
    name = f"causalctl-set-{os.getpid()}"
    with two_running(program) as pids, cgroup_with(top / name, pids[:1]):
        with cgroup_with(top / name / "below", pids[1:]):
            for path in (top / name, f"/{name}", name, (top / name).relative_to(CGROUPS)):
                document = taken_set(options, "--cgroup", path)
                assert pids_of(document) == pids, path
            assert document["set"].endswith("(2 processes)")
            assert pids_of(taken_set(options, "--cgroup", f"/{name}/below")) == pids[1:]
            done = run(options, "--cgroup", f"{name[:-1]}x")
            assert done.returncode == 2 and f"there is no cgroup {name[:-1]}x" in done.stderr
            assert name in done.stderr, done.stderr  # as a hint
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            assert wait_until(lambda: not (top / name / "below/cgroup.procs").read_text(), 10)
            done = run(options, "--cgroup", f"/{name}/below")
            assert done.returncode == 3 and "no process is in cgroup" in done.stderr, done.stderr


def test_service(options, program):
    """The cgroups are those that systemd would make."""
    if "cgroup2" not in hierarchies():
        pytest.skip("no hierarchy of version 2 is mounted")
    top = hierarchies()["cgroup2"] / f"causalctl-{os.getpid()}.slice"
    units = ("causalctl-test-one.service", "causalctl-test@2.service")
    with two_running(program) as pids, contextlib.ExitStack() as stack:
        stack.callback(top.rmdir)
        for unit, pid in zip(units, pids):
            stack.enter_context(cgroup_with(top / unit, [pid]))
        for word in ("causalctl-test-one", units[0]):
            assert pids_of(taken_set(options, "--service", word)) == pids[:1]
        for word in ("causalctl-test@", "causalctl-test@.service", "causalctl-test@2", units[1]):
            assert pids_of(taken_set(options, "--service", word)) == pids[1:]
        assert pids_of(taken_set(options, "--service", top.name)) == pids
        done = run(options, "--service", "causalctl-test-won")
        assert done.returncode == 2, done.stderr
        assert "no unit causalctl-test-won.service has a cgroup" in done.stderr
        assert f"hint: similar names: {units[0]}" in done.stderr, done.stderr


ALL = """
import json, os, subprocess, sys
causalctl, program = sys.argv[1:]
with subprocess.Popen([program, "r"], stdout=subprocess.PIPE, text=True) as target:
    assert target.stdout.readline() == "ready\\n"
    command = [causalctl, "stacks", "--all", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stacks:
        document = json.loads(stacks.stdout.read())
    target.kill()
pids = [process["pid"] for process in document["processes"]]
assert stacks.returncode == 0 and not document["not_read"], document
assert pids == sorted([os.getpid(), target.pid]), (pids, os.getpid(), target.pid, stacks.pid)
assert document["set"] == "--all (2 processes)", document["set"]
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a namespace of PIDs")
def test_all(options, program):
    """In a namespace of its own, so that the rest of the machine is left alone."""
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", ALL,
                           options.causalctl, program],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_unit_of_the_system_comes_before_one_in_a_container(options, program):
    if "cgroup2" not in hierarchies():
        pytest.skip("no hierarchy of version 2 is mounted")
    top = hierarchies()["cgroup2"]
    unit = f"causalctl-{os.getpid()}.service"
    containers = [f"causalctl-{os.getpid()}-{letter}.scope" for letter in "ab"]
    with two_running(program) as pids, contextlib.ExitStack() as stack:
        for container in containers:
            stack.callback(remove_cgroup, top / container)
        inner = [stack.enter_context(cgroup_with(top / container / unit, [pid]))
                 for container, pid in zip(containers, pids)]
        done = run(options, "--service", unit)
        assert done.returncode == 2 and f"several units are called {unit}" in done.stderr, done.stderr
        paths = [f"/{path.relative_to(top)}" for path in inner]
        assert f"their cgroups are {paths[0]}, {paths[1]}\n" in done.stderr, done.stderr
        assert f"hint: name one of them, as in --cgroup {paths[0]}" in done.stderr, done.stderr
        assert pids_of(taken_set(options, "--cgroup", paths[0])) == pids[:1]
        with running(program, "r") as third, cgroup_with(top / unit, [third]):
            document = taken_set(options, "--service", unit)
            assert pids_of(document) == [third]
            assert document["set"] == f"--service {unit} in /{unit} (1 process)"


# --- what is refused, or told of ---

@pytest.mark.parametrize("words,status,text", [
    (("--match", "no-such-process"), 2, "no process is called no-such-process"),
    (("--cgroup", "no/such/cgroup"), 2, "there is no cgroup no/such/cgroup"),
    (("--service", "no-such-unit"), 2, "no unit"),
    (("--service", "up.timer"), 2, "has no processes\n  hint: name the unit that it starts, mostly up.service"),
    (("--children", NOBODY_THERE), 3, f"no such process: {NOBODY_THERE}"),
    (("--children", 2), 1, r"process 2 \(.*\) is a kernel thread\n  hint: it runs no program"),
    ((NOBODY_THERE, NOBODY_THERE + 1), 3,
     f"no such processes: {NOBODY_THERE}, {NOBODY_THERE + 1}"),
    (("--all", "--match", "x"), 2, "named in 2 ways: --match x; --all\n  hint: leave out"),
    ((1, "--all"), 2, "named in 2 ways: 1; --all"),
    ((1, ""), 2, "the word that names the process is empty"),
    ((), 2, "no process is named\n  hint: give a PID or a name, --children PID, "),
])
@pytest.mark.parametrize("command", ["stacks", "callpath"])
def test_refused(options, command, words, status, text, tmp_path):
    if command == "callpath" and not words:
        text = "no process and no program to record"
    done = causalctl(options, command, *words, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert re.search(text, done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_similar_names_are_told(options, program):
    with running(program, "r"):
        done = run(options, "--match", NAME + "s")
    assert done.returncode == 2, done.stderr
    assert re.search(rf"hint: similar names: .*\b{NAME}\b", done.stderr), done.stderr


def test_one_of_several_is_not_there(options, program):
    with running(program, "r") as pid:
        done = run(options, pid, NOBODY_THERE)
    assert done.returncode == 3 and f"no such process: {NOBODY_THERE}" in done.stderr, done.stderr


def test_causalctl_itself(options, program):
    with running(program, "r") as pid:
        script = f"exec {options.causalctl} stacks {pid} $$"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "is causalctl itself\n  hint: name another" in done.stderr, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_processes_of_another_user(options, program):
    with tempfile.TemporaryDirectory() as folder, two_running(program) as pids:
        own = dataclasses.replace(
            options, causalctl=program_for(NOBODY, options.causalctl, pathlib.Path(folder)))
        done = run(own, *pids, user=NOBODY)
        assert done.returncode == 1, done.stderr
        assert f"processes {pids[0]} ({NAME}), {pids[1]} ({NAME}) cannot be traced" in done.stderr
        assert "hint: the process belongs to uid 0" in done.stderr, done.stderr
        done = run(own, "--match", NAME, user=NOBODY)
        assert done.returncode == 1 and "none could be read" in done.stderr, done.stderr
        assert done.stdout.count(": no stacks: ") == 2, done.stdout
        copy = shutil.copy(program, pathlib.Path(folder) / NAME)
        with running(copy, "r", user=NOBODY) as third:
            document = taken_set(own, "--match", NAME, user=NOBODY)
    assert pids_of(document) == [third]
    assert [each["pid"] for each in document["not_read"]] == pids
    assert all("cannot be traced" in each["reason"] and not each["ended"]
               for each in document["not_read"]), document


def test_reader_goes_away(options, program):
    with two_running(program) as pids:
        with subprocess.Popen([options.causalctl, "stacks", *map(str, pids)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as stacks:
            stacks.stdout.close()
            assert stacks.wait(timeout=30) == 0 and stacks.stderr.read() == b""


def test_an_interrupt_ends_at_once(options, program):
    with shell_with(*[f"{program} b"] * 20) as shell:
        with subprocess.Popen([options.causalctl, "stacks", "--children", str(shell)],
                              stdout=subprocess.PIPE, text=True) as stacks:
            assert stacks.stdout.readline() == f"--children {shell} (21 processes)\n"
            stacks.send_signal(signal.SIGINT)
            assert stacks.wait(timeout=5) == -signal.SIGINT
        for pid in children(shell):
            check_untraced(pid)


def test_stopped_processes_stay_stopped(options, program):
    with two_running(program, "rb") as pids:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            settle(pid, "TTT")
        document = taken_set(options, "--match", NAME)
        assert all(thread["state"] == "stopped" for process in document["processes"]
                   for thread in process["threads"])
        for pid in pids:
            settle(pid, "TTT")


@pytest.mark.parametrize("words,text", [
    (("--count", "main"), "--count main is possible with one process only"),
    (("--event", "uprobe:main"), "--event uprobe:main is possible with one process only"),
    (("--epoch", "dlopen"), "--epoch dlopen is possible with one process only"),
    (("--epoch", "on main"), "--epoch 'on main' is possible with one process only"),
])
def test_of_one_process_only(options, program, words, text, tmp_path):
    with two_running(program):
        done = causalctl(options, "callpath", "--match", NAME, *words, cwd=tmp_path)
    assert done.returncode == 2 and text in done.stderr, done.stderr
    assert "name one process, or leave out" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_program_beside_processes(options, tmp_path):
    done = causalctl(options, "callpath", "--all", "--", "true", cwd=tmp_path)
    assert done.returncode == 2 and "are not recorded together" in done.stderr, done.stderr
