"""What causalctl says where its environment is not the usual one: /proc, limits, a frozen target,
files that were replaced, rights that a program loses."""

import dataclasses
import os
import pathlib
import subprocess
import tempfile

import pytest

from test_modules import compiled, running
from world import program_for

NOBODYS_ID = 65534
NOBODY = ("setpriv", f"--reuid={NOBODYS_ID}", f"--regid={NOBODYS_ID}", "--clear-groups")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("environments")
    folder.chmod(0o777)
    return compiled(folder, "mapped_again.c")


def told(options, *words, around=(), **more):
    done = subprocess.run([*around, options.causalctl, *map(str, words)], capture_output=True,
                          text=True, timeout=60, check=False, **more)
    return done.returncode, done.stdout + done.stderr


def needs(*around):
    if subprocess.run([*around, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{around[0]} is not permitted here")


@pytest.fixture
def open_folder():
    """A folder for programs of nobody."""
    needs(*NOBODY)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        path.chmod(0o777)
        yield path


@pytest.fixture
def of_nobody(options):
    """The options with a causalctl that nobody may execute."""
    needs(*NOBODY)
    with tempfile.TemporaryDirectory() as folder:
        yield dataclasses.replace(
            options, causalctl=program_for(NOBODYS_ID, options.causalctl, pathlib.Path(folder)))


def test_proc_of_another_pid_namespace(options, tmp_path):
    around = ("unshare", "--pid", "--fork")
    needs(*around)
    log = tmp_path / "x.jsonl"
    for words in (("stacks", os.getpid()), ("points", "python3"), ("doctor", 1),
                  ("callpath", 1, "-o", log), ("attach", 1, "--progress", "main", "-o", log),
                  ("run", "--progress", "main", "-o", log, "--", "true")):
        code, text = told(options, *words, around=around)
        assert code == 1, text
        assert "/proc is that of another PID namespace" in text, text
        assert "mount -t proc" in text, text


def test_proc_is_not_mounted(options):
    around = ("unshare", "--mount", "sh", "-c", 'umount -l /proc; exec "$0" "$@"')
    needs(*around)
    code, text = told(options, "doctor", around=around)
    assert code == 1, text
    assert "/proc is not mounted" in text, text
    assert "CAP_PERFMON" not in text, text


@pytest.mark.parametrize("command", ["stacks", "points", "doctor", "callpath", "attach"])
def test_no_process_is_named(options, command):
    code, text = told(options, command, "")
    assert code == 2, text
    assert "the word that names the process is empty" in text, text


def test_command_lines_are_one_line(options, tmp_path):
    name = f"causal_cl{os.getpid()}"[:15]
    program = compiled(tmp_path, "mapped_again.c", name)
    with running(program, "below\ncausalctl: do this\x1b[2J"), running(program):
        code, text = told(options, "stacks", name)
    assert code == 2, text
    assert "\ncausalctl: do this" not in text, text
    assert "\x1b" not in text, text


def test_library_was_replaced(of_nobody, open_folder):
    (open_folder / "l.c").write_text("#include <unistd.h>\nvoid wait_here(void) { for (;;) pause(); }\n")
    (open_folder / "m.c").write_text('#include <stdio.h>\nvoid wait_here(void);\nint main(void) {'
                                  ' puts("ready"); fflush(stdout); wait_here(); }\n')
    library = open_folder / "libl.so"
    for words in (("-shared", "-fPIC", "l.c", "-o", "libl.so"), ("m.c", "-o", "m", "./libl.so")):
        subprocess.run(["gcc", "-O1", *words], cwd=open_folder, check=True)
    with running(*NOBODY, open_folder / "m", cwd=open_folder) as pid:
        library.unlink()
        for command in ("stacks", "doctor"):
            code, text = told(of_nobody, command, pid, around=NOBODY)
            assert text.count("libl.so cannot be read: it was deleted") == 1, text


def test_another_build_of_the_same_layout(of_nobody, open_folder):
    parts = ["#include <unistd.h>\nvoid {}(void) {{ for (;;) pause(); }}\n",
             "volatile int never; void {}(void) {{ for (;;) never++; }}\n"]
    main = '#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); waits_a(); }\n'
    for name, first in (("old", "waits_a"), ("new", "spins_b")):
        second = "spins_b" if first == "waits_a" else "waits_a"
        texts = [parts[first == "spins_b"].format(first), parts[second == "spins_b"].format(second)]
        (open_folder / f"{name}.c").write_text("".join(texts) + main)
        subprocess.run(["gcc", "-O1", "-Wl,--build-id=none", f"{name}.c", "-o", name],
                       cwd=open_folder, check=True)
    program = open_folder / "prog"
    (open_folder / "old").rename(program)
    with running(*NOBODY, program) as pid:
        (open_folder / "new").rename(program)
        _, text = told(of_nobody, "stacks", pid, around=NOBODY)
    assert "spins_b" not in text, text


def test_directory_for_temporary_files(options, tmp_path):
    for directory in (tmp_path / "none", "/etc/passwd"):
        code, text = told(options, "run", "--end-to-end", "-o", tmp_path / "x.jsonl", "--", "true",
                          env={**os.environ, "TMPDIR": str(directory)})
        assert code == 1, text
        assert f"can be made in {directory}" in text, text
        assert "hint: set TMPDIR" in text, text


def test_full_directory_for_temporary_files(options):
    around = ("unshare", "-m")
    needs(*around)
    full = ('mount -t tmpfs -o size=64k none /mnt; dd if=/dev/zero of=/mnt/f bs=4k 2>/dev/null; '
            'TMPDIR=/mnt exec "$0" "$@"')
    code, text = told(options, "ab", "--a", "seq 100000", "--b", "seq 100000", "--rounds", 2,
                      "--null-rounds", 0, around=(*around, "sh", "-c", full))
    assert code == 0, text


@pytest.mark.parametrize("kilobytes", (64, 128))
def test_small_stack(options, program, kilobytes):
    around = ("prlimit", f"--stack={kilobytes << 10}")
    with running(program, "below") as pid:
        code, text = told(options, "stacks", pid, around=around)
        assert code == 0, text
        code, text = told(options, "attach", pid, "--progress", "syscall:read", "--duration", "1s",
                          around=around)
        assert code == 1 and "no result" in text, text
    _, text = told(options, "callpath", "--", "sh", "-c", "ulimit -s >&2", around=around)
    assert f"\n{kilobytes}\n" in "\n" + text, text  # the program has the limit of before


def test_closed_standard_output(options, program):
    closed = ("sh", "-c", 'exec "$0" "$@" >&-')
    with running(program, "below") as pid:
        for words in (("stacks", pid), ("stacks", pid, os.getpid()), ("points", pid), ("doctor",),
                      ("callpath", pid, "--duration", "100ms"), ("--version",), ("ab", "--help")):
            code, text = told(options, *words, around=closed)
            assert code == 1 and "standard output is closed" in text, (words, text)
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([options.causalctl, "--version"], stdout=full, check=False,
                              stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output" in done.stderr, done.stderr


def test_limit_of_processes(options, program):
    groups = pathlib.Path("/sys/fs/cgroup/pids")
    group = groups / f"causalctl-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no control group for processes can be made")
    try:
        (group / "pids.max").write_text("1")
        into = ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"')
        with running(program, "below") as pid:
            code, text = told(options, "stacks", pid, around=into)
        assert code in (0, 1), text
        assert "bug" not in text, text
        assert code == 0 or "pids.max" in text, text
    finally:
        group.rmdir()


def test_program_loses_its_rights(of_nobody, open_folder, program):
    path = open_folder / "suid"
    path.write_bytes(program.read_bytes())
    path.chmod(0o4755)
    _, text = told(of_nobody, "callpath", "--duration", "100ms", "-o", open_folder / "s.jsonl",
                   "--", path, around=NOBODY)
    assert "runs without its rights (set-uid)" in text, text


def test_a_process_of_another_user_is_left_out_of_a_set(of_nobody, open_folder):
    if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        pytest.skip("only root may open perf events here")
    path = open_folder / f"causal_sp{os.getpid()}"[:15]
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", path], check=True, text=True, input='#include <stdio.h>\n'
                   'volatile long n; int main(void) { puts("ready"); fflush(stdout); for (;;) n++; }\n')
    words = ("callpath", "--match", path.name, "--duration", "1s", "-o", open_folder / "s.jsonl")
    with running(path) as other:
        code, text = told(of_nobody, *words, around=NOBODY)
        assert code == 1 and "perf_event_open" in text and "  hint: run as root" in text, text
        with running(*NOBODY, path) as own:
            code, text = told(of_nobody, *words, around=NOBODY)
    assert code == 0, text
    left_out = f"1 process of the set is not recorded, because its events may not be opened: {other} ({path.name});"
    assert left_out in " ".join(text.split()), text
    assert f"--match {path.name} (1 process): " in text, text
    assert own != other


def test_target_is_not_ended_for_our_memory(options, tmp_path):
    """A program that is started has the score that its user gave it; causalctl has the highest."""
    script = tmp_path / "scores"
    script.write_text("#!/bin/sh\ncat /proc/self/oom_score_adj; cat /proc/$PPID/oom_score_adj\n"
                      "sleep 0.3\n")
    script.chmod(0o755)
    _, text = told(options, "callpath", "-o", tmp_path / "x.jsonl", "--", script)
    own = pathlib.Path("/proc/self/oom_score_adj").read_text()
    assert text.startswith(own + "1000\n") or f"\n{own}1000\n" in text, text


def test_script_profiles_itself(options, tmp_path):
    """causalctl is below its target, and is not offered as a process to record."""
    words = f'"{options.causalctl}" callpath $$ --duration 1s -o {tmp_path}/x.jsonl; true'
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60,
                          check=False)
    assert "below it" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_zombie_has_no_points(options):
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        code, text = told(options, "points", child.pid)
        assert code == 3, text
        assert "zombie" in text, text
