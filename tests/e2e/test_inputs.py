"""`causalctl inputs run`: input sizes of programs whose sizes are known, and how runs end. What each size is,
and why, stands beside the routine in tests/targets/inputs/."""

import json
import os
import shutil
import signal
import subprocess

import jsonschema
import pytest

from fixture import ROOT, wait_until
from inputs_log import Log

SOURCES = ROOT / "tests" / "targets" / "inputs"
N = 25  # of the programs
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "inputs-log-schema.json").read_text()))


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    # What is measured is the code of this optimisation: no loop has become a vector's.
    for compiler, source in (("gcc", "analytic.c"), ("g++", "throws.cc")):
        subprocess.run([compiler, "-O1", "-g", "-pthread", SOURCES / source, "-o",
                        folder / source.partition(".")[0]], check=True)
    return folder


def run(options, folder, *words, check=True, **more):
    done = subprocess.run([options.causalctl, "inputs", "run", *map(str, words)], capture_output=True, text=True,
                          timeout=200, check=False, cwd=folder, **more)
    assert not check or done.returncode == 0, done.stderr
    return done


def log_of(options, folder, name, *words):
    path = folder / f"{name}.jsonl"
    run(options, folder, "-o", path, *words)
    for line in path.read_text().splitlines():
        SCHEMA.validate(json.loads(line))
    return Log(path)


# Mode, routine → (sizes by rms, sizes by trms): how many activations had which size. What is external
# or thread input is all of the cells of trms where it is named.
ALONE = [
    ("sum", "sum", {N: 1}, {N: 1}, 0),
    ("twice", "sum_twice", {N: 1}, {N: 1}, 0),
    ("copy", "copy_and_sum", {N: 1}, {N: 1}, 0),
    ("list", "walk", {3 * N: 1}, {3 * N: 1}, 0),
    ("matrix", "multiply", {4 * N * N: 1}, {4 * N * N: 1}, 0),
    ("tail", "tail", {N: 1}, {N: 1}, 0),
    ("tail", "sum", {N: 1}, {N: 1}, 0),
    ("jump", "jump_back", {6: 2}, {6: 2}, 0),
    ("jump", "read_and_jump", {N + 6: 2}, {N + 6: 2}, 0),
    ("jump", "with_jump", {3 * N: 2}, {3 * N: 2}, 0),
    ("external", "external_read", {1: 1}, {N: 1}, N),
    ("external", "consume", {1: N}, {1: N}, N),
    ("mapped", "mapped_read", {N: 1}, {N: 1}, N),
]


@pytest.mark.parametrize("mode", sorted({case[0] for case in ALONE}))
def test_sizes(options, folder, mode):
    log = log_of(options, folder, mode, "--", "./analytic", mode, N)
    for _, routine, rms, trms, external in (case for case in ALONE if case[0] == mode):
        assert log.sizes(routine, "rms") == rms, routine
        assert log.sizes(routine, "trms") == trms, routine
        assert sum(row.external for row in log.rows(routine, "trms")) == external, routine
        assert sum(row.thread for row in log.rows(routine, "trms")) == 0, routine
    assert log.end["reason"] == "exited" and log.end["status"] == 0 and log.end["events_lost"] == 0


def test_recursion(options, folder):
    """Every activation of quicksort reads its whole part. fibonacci: of the activations for n = 2 … N,
    the first of each fills the table; each but those for 2 and 3 then asks for a known result, of n - 2."""
    log = log_of(options, folder, "sort", "--", "./analytic", "sort", N)
    sizes = log.sizes("quicksort", "trms")
    assert sizes[N] == 1 and max(sizes) == N
    # Each activation with two items or more makes two; 2 k + 1 activations in all.
    parts = sum(calls for size, calls in sizes.items() if size > 0)
    assert sum(sizes.values()) == 2 * parts + 1
    # Each item is the pivot of one activation, or alone in its part.
    assert parts <= N
    memo = log_of(options, folder, "memo", "--", "./analytic", "memo", N)
    # 2 (k - 1) cells for the first activation of k = 2 … N; 2 cells for known ones, k = 2 … N - 2;
    # none for 1 and 0 below 2, and for 1 below 3.
    expected = {2 * (k - 1): 1 for k in range(2, N + 1)}
    expected[2] += N - 3
    expected[0] = 3
    assert memo.sizes("fibonacci", "rms") == expected


def test_cost_grows_with_size(options, folder):
    """The loop of `sum` is one block of five instructions, and two blocks are around it. Recursive
    activations count once in what a routine costs at its outermost."""
    log = log_of(options, folder, "cost", "--", "./analytic", "sum", 1000)
    assert log.rows("sum", "rms")[0].blocks == 1002
    longer = log_of(options, folder, "longer", "--", "./analytic", "sum", 5000)
    assert longer.rows("sum", "rms")[0].blocks == 5002
    assert longer.end["total_blocks"] > log.end["total_blocks"]


def test_buffer_is_read_again(options, folder):
    """A file of 3,000 cells comes into a buffer of 1,024."""
    log = log_of(options, folder, "buffered", "--", "./analytic", "buffered", 3000)
    assert log.sizes("buffered_read", "rms") == {1024: 1}
    assert log.sizes("buffered_read", "trms") == {3000: 1}
    assert log.rows("buffered_read", "trms")[0].external == 3000


THREADS = [
    ("1a", "figure_1a", {1: 1}, {2: 1}, 1),
    ("1b", "figure_1b", {1: 1}, {2: 1}, 1),
    ("1b", "figure_1b_h", {1: 1}, {1: 1}, 1),
    ("2", "consumer", {1: 1}, {N: 1}, N),
    ("2", "consume", {1: N}, {1: N}, N),
    ("late", "sum", {N: 1}, {N: 1}, N),
    ("early", "sum_twice", {N: 1}, {N: 1}, 0),
]


@pytest.mark.parametrize("mode", sorted({case[0] for case in THREADS}))
def test_threads(options, folder, mode):
    log = log_of(options, folder, f"threads{mode}", "--", "./analytic", mode, N)
    for _, routine, rms, trms, thread in (case for case in THREADS if case[0] == mode):
        assert log.sizes(routine, "rms") == rms, routine
        assert log.sizes(routine, "trms") == trms, routine
        assert sum(row.thread for row in log.rows(routine, "trms")) == thread, routine
        assert sum(row.external for row in log.rows(routine, "trms")) == 0, routine
    assert [thread["number"] for thread in log.threads] == [1, 2]


def test_as_aprof_counts(options, folder):
    """The return address is two cells more, and what main wrote before the thread began is thread input."""
    log = log_of(options, folder, "aprof", "--aprof-compatible", "--", "./analytic", "early", N)
    assert log.head["aprof_compatible"]
    assert log.sizes("sum_twice", "trms") == {N + 2: 1}
    assert log.rows("sum_twice", "trms")[0].thread == N


@pytest.mark.parametrize("cell, cells", [(1, 4 * N), (2, 2 * N), (8, (N + 1) // 2), (16, (N + 3) // 4)])
def test_cells(options, folder, cell, cells):
    """malloc aligns to 16 bytes, so the first item begins a cell of any size."""
    log = log_of(options, folder, f"cell{cell}", "--cell", cell, "--", "./analytic", "sum", N)
    assert log.head["cell_bytes"] == cell
    assert log.sizes("sum", "rms") == {cells: 1}


def test_exceptions(options, folder):
    """What is read after an exception was caught is not in the activations that it has left."""
    n = 100000
    log = log_of(options, folder, "throws", "--", "./throws", n)
    assert log.sizes("sum(int const*, long)", "rms") == {n: 2}
    for routine in ("throw_it(long)", "pass_on(long)"):
        sizes = log.sizes(routine, "rms")
        assert sum(sizes.values()) == 2 and max(sizes) < 30000, routine
    sizes = log.sizes("catch_it(int const*, long)", "rms")
    assert sum(sizes.values()) == 2 and n <= min(sizes) and max(sizes) < n + 30000


def test_what_the_program_does_is_seen(options, folder):
    """Its input, output and status are its own. A signal's number is 128 less than ours."""
    done = run(options, folder, "-o", "cat.jsonl", "--", "cat", check=True, input="one\ntwo\n")
    assert done.stdout == "one\ntwo\n"
    assert "to read on: causalctl report cat.jsonl" in done.stderr
    done = run(options, folder, "-o", "status.jsonl", "--", "sh", "-c", "exit 7", check=False)
    assert done.returncode == 7 and Log(folder / "status.jsonl").end["status"] == 7
    done = run(options, folder, "-q", "-o", "signal.jsonl", "--", "sh", "-c", "kill -SEGV $$", check=False)
    assert done.returncode == 128 + signal.SIGSEGV
    end = Log(folder / "signal.jsonl").end
    assert (end["reason"], end["status"]) == ("signal", signal.SIGSEGV)
    assert done.stderr == ""


def test_fork_and_exec(options, folder):
    """A child does not write the result; a program that executes another one has what it did before."""
    done = run(options, folder, "-o", "fork.jsonl", "--", "sh", "-c", "(exit 3); /bin/echo child; exit 4",
               check=False)
    assert done.returncode == 4 and done.stdout == "child\n"
    log = Log(folder / "fork.jsonl")
    assert log.end["reason"] == "exited" and log.end["total_blocks"] > 0
    done = run(options, folder, "-o", "exec.jsonl", "--", "sh", "-c", "exec /bin/echo other")
    assert done.stdout == "other\n"
    assert Log(folder / "exec.jsonl").routines


def start(options, folder, log):
    """Starts a program that goes on for ever."""
    return subprocess.Popen([options.causalctl, "inputs", "run", "-o", log, "--", "sh", "-c",
                             "echo ready; while :; do :; done"], cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def scratch_folders(folder):
    return list(folder.glob("causalctl-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(options, folder, monkeypatch, number):
    monkeypatch.setenv("TMPDIR", str(folder))
    log = folder / f"interrupted{number}.jsonl"
    with start(options, folder, log) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        process.wait(20)
    assert process.returncode == 0
    assert Log(log).end["reason"] == "interrupted" and Log(log).routines
    assert not scratch_folders(folder)


def test_killed(options, folder, monkeypatch):
    """The log has what was found until ten seconds before, and no end; the program ends as well."""
    monkeypatch.setenv("TMPDIR", str(folder))
    log = folder / "killed.jsonl"
    with start(options, folder, log) as process:
        assert process.stdout.readline() == "ready\n"
        assert wait_until(lambda: "points" in Log(log).types, 60)
        process.kill()
        process.communicate(timeout=60)  # both have let go of the pipes
    assert Log(log).end is None and Log(log).head["kind"] == "inputs"
    for left in scratch_folders(folder):
        shutil.rmtree(left)


@pytest.mark.full  # lines are written every ten seconds, in which it computes
def test_lines_add_up(options, folder):
    """While a program runs, its log gets lines every ten seconds. They add up to what the routine did: each round
    reads 1,000 cells."""
    source = """
      #include <stdio.h>
      #include <unistd.h>
      int items[1000];
      __attribute__((noipa)) int sum(void) { int all = 0; for (int i = 0; i < 1000; i++) all += items[i]; return all; }
      int main(void) { long calls = 0;
        while (access("stop", F_OK) != 0) { sum(); calls++; } printf("%ld\\n", calls); return 0; }"""
    subprocess.run(["gcc", "-O1", "-g", "-x", "c", "-", "-o", folder / "rounds"], input=source, text=True, check=True)
    path = folder / "rounds.jsonl"
    with subprocess.Popen([options.causalctl, "inputs", "run", "-o", path, "--", "./rounds"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(lambda: path.exists() and Log(path).lines("sum", "trms") >= 2, 100)
        (folder / "stop").touch()
        stdout, stderr = process.communicate(timeout=100)
    log = Log(path)
    assert log.lines("sum", "trms") >= 3
    assert log.sizes("sum", "trms") == {1000: int(stdout)}
    # A block ends at a jump: the first round with what is before it, 999 more, and what is after them.
    assert log.rows("sum", "trms")[0].blocks == 1001 * int(stdout)
    assert " M basic blocks" in stderr


def refused(options, folder, *words, code=2, **more):
    done = run(options, folder, *words, check=False, **more)
    assert done.returncode == code and "hint: " in done.stderr, done
    return done.stderr


def test_refusals(options, folder):
    (folder / "text").write_text("no program\n")
    (folder / "arm").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\xb7\0" + bytes(60))
    (folder / "arm").chmod(0o755)
    assert "there is no such program" in refused(options, folder, "--", "./missing")
    assert "there is no such program" in refused(options, folder, "--", "./text")
    assert "it is not for x86-64" in refused(options, folder, "--", "./arm")
    assert "no program to run" in refused(options, folder)
    assert "does not come after --" in refused(options, folder, "ls")
    assert "a cell has 1, 2, 4, 8 or 16 bytes" in refused(options, folder, "--cell", "3", "--", "ls")
    stderr = refused(options, folder, "--", "/bin/ls", code=1, env={**os.environ, "PATH": "/nowhere"})
    assert "Valgrind" in stderr and "apt-get install valgrind" in stderr
    assert not (folder / "inputs.jsonl").exists()


def test_unknown_instruction(options, folder):
    """Valgrind knows no AVX-512."""
    source = 'int main(void) { __asm__ volatile("vpaddd %zmm0, %zmm1, %zmm2"); return 0; }'
    subprocess.run(["gcc", "-x", "c", "-", "-o", folder / "wide"], input=source, text=True, check=True)
    stderr = refused(options, folder, "-o", "wide.jsonl", "--", "./wide", code=1)
    assert "does not know an instruction" in stderr and "AVX-512" in stderr
