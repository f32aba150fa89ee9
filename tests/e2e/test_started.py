"""Which process a word means, and what becomes of programs that causalctl starts: their status, what
they execute, and what they leave behind."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from fixture import wait_until

SOURCE = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
volatile long count;
__attribute__((noinline)) void item_done(void) { count++; }
__attribute__((noinline)) static void work(void) { for (volatile long i = 0; i < 300000; i++) ; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(int argc, char** argv) {
  double end = now() + atof(argv[1]);
  int status = argc > 2 ? atoi(argv[2]) : 0, children = argc > 3 ? atoi(argv[3]) : 0;
  printf("ready\\n"); fflush(stdout);
  for (int i = 0; i < children; i++) if (fork() == 0) for (;;) work();
  if (children) for (;;) wait(0);
  while (now() < end) { work(); item_done(); }
  if (status < 0) { raise(-status); pause(); }
  return status;
}
"""

NAME = f"causal_st{os.getpid()}"[:15]  # comm: 15 characters at most; tests run beside each other


@pytest.fixture(name="program", scope="module")
def make_program(tmp_path_factory):
    path = tmp_path_factory.mktemp("started") / NAME
    subprocess.run(["gcc", "-O2", "-g", "-x", "c", "-", "-o", path], input=SOURCE, text=True, check=True)
    return path


def causalctl(options, folder, *words, **more):
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run([options.causalctl, *map(str, words)], capture_output=True, text=True,
                          timeout=100, check=False, cwd=folder, env=environment, **more)


@contextlib.contextmanager
def running(*command):
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def executable(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def pids_of(path):
    """Returns the processes that run this executable."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(path):
                found.append(int(entry.name))
    return found


# --- which process ---

def test_a_name_is_looked_up_among_processes(options, program, tmp_path):
    with running(program, 60) as target:
        for words in (("stacks", NAME), ("callpath", NAME, "--duration", "300ms")):
            done = causalctl(options, tmp_path, *words)
            assert done.returncode == 0, done.stderr
            assert str(target.pid) in done.stdout, done.stdout
        with running(program, 60) as other:
            done = causalctl(options, tmp_path, "callpath", NAME, "--duration", "300ms")
            assert done.returncode == 2, done.stderr
            assert f"several processes are called {NAME}: " in done.stderr
            for pid in (target.pid, other.pid):
                assert f"{pid} ({str(program)[:40]}" in done.stderr  # long commands are cut
            assert "has used the most CPU time" in done.stderr


def test_a_long_name_is_cut_by_the_kernel(options, tmp_path):
    script = executable(tmp_path, "causal_with_a_long_name", "#!/bin/sh\necho ready\nread x\n")
    with subprocess.Popen([script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        assert target.stdout.readline() == "ready\n"
        done = causalctl(options, tmp_path, "stacks", script.name)
        around = causalctl(options, tmp_path, "stacks", f" {script.name} ")
        other = causalctl(options, tmp_path, "stacks", "causal_with_a_lower_name")
        target.kill()
    assert done.returncode == 0 and str(target.pid) in done.stdout, done.stderr
    assert around.returncode == 0 and str(target.pid) in around.stdout, around.stderr
    # The kernel has the same fifteen characters of both.
    assert other.returncode == 2 and "no process is called" in other.stderr, other.stdout


def test_a_name_is_never_started(options, tmp_path):
    executable(tmp_path, "causal_daemon", "#!/bin/sh\ntouch started\n")
    for words in (("callpath", "causal_daemon"), ("callpath", "--quiet", "./causal_daemon"),
                  ("stacks", "causal_daemon"), ("points", "causal_daemon"), ("doctor", "causal_daemon"),
                  ("attach", "causal_daemon", "--progress", "main"),
                  ("run", "--progress", "main", "causal_daemon"),
                  ("callpath", "-o", "--", "causal_daemon"), ("callpath", "1", "--", "causal_daemon")):
        done = causalctl(options, tmp_path, *words)
        assert done.returncode == 2, (words, done.stderr)
        assert not (tmp_path / "started").exists(), words


# --- what a started program leaves behind ---

def left_pid(done):
    return int(re.search(r"go on: (\d+) \(", done.stderr).group(1))


def test_a_daemon_that_is_left_is_told(options, program, tmp_path):
    executable(tmp_path, "daemon", f"#!/bin/sh\nsetsid {program} 60 >/dev/null 2>&1 &\nsleep 0.3\n")
    done = causalctl(options, tmp_path, "callpath", "--", "./daemon")
    pid = left_pid(done)
    assert pids_of(program) == [pid]
    os.kill(pid, signal.SIGKILL)
    assert "the program has ended and left processes behind" in done.stderr


def test_what_a_program_has_started_ends_with_it(options, program, tmp_path):
    executable(tmp_path, "daemon", f"#!/bin/sh\nsetsid {program} 60 >/dev/null 2>&1 &\nexec sleep 60\n")
    done = causalctl(options, tmp_path, "callpath", "--duration", "700ms", "--", "./daemon")
    assert done.returncode == 0, done.stderr
    assert pids_of(program) == []


# --- children ---

def test_children_that_do_the_work_are_told(options, program, tmp_path):
    shell = f"{program} 60 0 2 >/dev/null; true"
    done = causalctl(options, tmp_path, "callpath", "--duration", "1500ms", "--", "sh", "-c", shell)
    assert wait_until(lambda: not pids_of(program), 5)
    assert done.returncode == 0, done.stderr
    told = re.search(r"warning.* below it that (is|are) not followed.*causalctl callpath \d+",
                     done.stdout.replace("\n", " "))
    assert told, done.stdout
    with running(program, 60, 0, 2):
        master = min(pids_of(program))
        done = causalctl(options, tmp_path, "callpath", master, "--duration", "1s")
    assert "2 processes below it that are not followed" in " ".join(done.stdout.split()), done.stdout


# --- a program behind a wrapper ---

def test_it_goes_on_until_a_program_has_the_function(options, program, tmp_path):
    script = executable(tmp_path, "start.sh", f"#!/bin/sh\nexport MODE=$(echo fast)\nexec {program} 1\n")
    for wrapped in ((script,), ("env", "MODE=x", program, 1), ("sh", "-c", f"exec env A=1 {program} 1")):
        done = causalctl(options, tmp_path, "callpath", "--count", "item_done", "--", *wrapped)
        assert done.returncode == 0, done.stderr
        assert re.search(r"calls of item_done", done.stdout, re.IGNORECASE), done.stdout
        assert "goes on until it executes another one" in done.stderr


def test_what_was_executed_is_said_if_no_program_has_the_function(options, program, tmp_path):
    child = executable(tmp_path, "child.sh", f"#!/bin/sh\n{program} 1\ntrue\n")
    done = causalctl(options, tmp_path, "callpath", "--count", "item_done", "--", child)
    assert done.returncode == 2
    assert "looked for in what" in done.stderr and "child processes are not followed" in done.stderr
    done = causalctl(options, tmp_path, "callpath", "--count", "no_such", "--", "env", program, 0.2)
    assert done.returncode == 2
    assert f"{shutil.which('env')}, {program}\n" in done.stderr, done.stderr


# --- its status ---

@pytest.mark.parametrize("status, code, text", [(3, 3, "exit status 3"), (-6, 134, "SIGABRT")])
def test_its_status_is_ours(options, program, tmp_path, status, code, text):
    done = causalctl(options, tmp_path, "callpath", "--", program, 0.3, status)
    assert done.returncode == code, done.stderr
    assert text in done.stdout and f"so causalctl ends with {code}" in done.stderr
    end = json.loads((tmp_path / "callpath.jsonl").read_text().splitlines()[-1])
    assert end.get("signal") == (6 if status < 0 else None)
    assert status < 0 or any(text in each for each in end["warnings"]), end


def test_the_status_of_a_program_that_we_end_is_not_ours(options, program, tmp_path):
    done = causalctl(options, tmp_path, "callpath", "--duration", "300ms", "--", program, 60, 3)
    assert done.returncode == 0, done.stderr
