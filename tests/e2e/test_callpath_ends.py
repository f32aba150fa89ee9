"""`causalctl callpath` of programs whose start-up code has no unwind tables, or wrong ones: chains
are complete, and those that are called complete have the functions that they must have."""

import shutil
import subprocess

import pytest

from test_callpath import Tree, recorded
from test_modules import PROGRAMS, compiled, running


def samples_by_path(report):
    tree = Tree(report)
    index = tree.columns.index("samples")
    return [(path, own[index]) for path, own in tree.paths if own[index]]


def check_chains(report, least, is_whole):
    chains = report["chains"]
    total = chains["complete"] + chains["incomplete"]
    assert total > least and chains["complete"] >= 0.97 * total, chains
    cut = [(path, count) for path, count in samples_by_path(report) if not is_whole(path)]
    assert sum(count for _, count in cut) <= chains["incomplete"], cut


@pytest.mark.parametrize("flags", [("-static",), ()])
def test_threads_of_musl(options, tmp_path, flags):
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed (musl-tools)")
    program = tmp_path / "prog"
    subprocess.run(["musl-gcc", "-O2", "-g", *flags, PROGRAMS / "no_tables.c", "-o", program],
                   check=True)
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "4s")

    def is_whole(path):
        if path[0] == "_start":
            return "main" in path and "run_main" in path
        return "run_other" in path and "main" not in path

    check_chains(report, 500, is_whole)
    assert {True, False} == {path[0] == "_start" for path, _ in samples_by_path(report)}


@pytest.mark.parametrize("flags", [(), ("-fno-asynchronous-unwind-tables",)])
def test_program_without_a_library(options, tmp_path, flags):
    program = tmp_path / "prog"
    subprocess.run(["gcc", "-O2", "-g", "-static", "-nostdlib", "-fno-stack-protector", *flags,
                    PROGRAMS / "no_library.c", "-o", program], check=True)
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "3s")
    check_chains(report, 400, lambda path: path[:2] == ("_start", "run_main"))


def test_assembly_with_much_on_the_stack(options, tmp_path):
    """Its caller is not found; so the chain is not complete, though RBP is 0 there."""
    program = tmp_path / "prog"
    subprocess.run(["gcc", "-O2", "-g", PROGRAMS / "deep_assembly.c", "-o", program], check=True)
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "2s")
    chains = report["chains"]
    cut = sum(count for path, count in samples_by_path(report) if "caller" not in path)
    assert chains["complete"] + chains["incomplete"] > 50
    assert 0 < cut <= chains["incomplete"], chains


def test_main_thread_ends_before_the_others(options, tmp_path):
    """The memory of the process can no longer be read by the number of the process."""
    program = compiled(tmp_path, "without_first_thread.c")
    with running(program, "2") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "5s")
    check_chains(report, 100, lambda path: "loop" in path or "__pthread_exit" in path)
