"""The kernel's part of call paths: recorded always, shown by --kernel."""

import json
import os
import pathlib

import pytest

from test_callpath import Tree, recorded, run
from test_modules import compiled, running

WAYS = {"by BPF": {}, "by perf": {"CAUSALCTL_PRETEND_BROKEN": "scheduler"}}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("kernel"), "kernel_work.c", "kernel_work")


@pytest.fixture(autouse=True)
def functions_are_told():
    if "\nffff" not in pathlib.Path("/proc/kallsyms").read_text():
        pytest.skip("the kernel hides its functions (kernel.kptr_restrict)")


def shown(options, folder, *words):
    done = run(options, "report", "callpath.jsonl", "--format", "json", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_kernel(report, column, caller, part):
    """Returns what paths have that lead from the caller into a function of the kernel with this part in its name."""
    tree = Tree(report)
    return sum(own[tree.columns.index(column)] for path, own in tree.paths
               if caller in path and any(name.startswith("[k] ") and part in name for name in path))


@pytest.mark.parametrize("way", WAYS)
def test_time_in_the_kernel_has_a_path(options, program, tmp_path, way):
    env = {**os.environ, **WAYS[way]}
    with running(program) as pid:
        done = run(options, "callpath", pid, "--duration", "3s", "--quiet", "--kernel", folder=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "[k] " in done.stdout and "nanosleep" in done.stdout, done.stdout
    folded = shown(options, tmp_path)
    assert not [frame for frame in folded["frames"] if "[k]" in frame["function"]]
    report = shown(options, tmp_path, "--kernel")
    whole = Tree(folded)
    cpu, blocked = whole.sum("cpu", "reads_zeros"), whole.sum("blocked", "sleeps")
    assert Tree(report).sum("cpu", "reads_zeros") == cpu > 0
    assert Tree(report).sum("blocked", "sleeps") == blocked > 0
    assert in_kernel(report, "cpu", "reads_zeros", "zero") >= 0.8 * cpu
    assert in_kernel(report, "blocked", "sleeps", "nanosleep") >= 0.95 * blocked
    # Nothing that samples threads, nor the way into the kernel, is on a path.
    names = {frame["function"] for frame in report["frames"]}
    assert not [name for name in names if any(part in name for part in ("bpf_trace", "bpf_prog", "_sched_switch",
                                                                        "SYSCALL"))], names
    assert report["columns"] == folded["columns"]


def test_the_kernel_in_other_formats(options, program, tmp_path):
    with running(program) as pid:
        recorded(options, tmp_path, pid, "--duration", "2s")
    for words in (("--format", "folded"), ("--by", "function"), ("--by", "path")):
        plain = run(options, "report", "callpath.jsonl", *words, folder=tmp_path)
        assert plain.returncode == 0 and "[k] " not in plain.stdout, plain.stdout
        full = run(options, "report", "callpath.jsonl", *words, "--kernel", folder=tmp_path)
        assert full.returncode == 0 and "[k] " in full.stdout, full.stdout + full.stderr
    name = next(frame["function"] for frame in shown(options, tmp_path, "--kernel")["frames"]
                if "nanosleep" in frame["function"])
    under = shown(options, tmp_path, "--kernel", "--under", name)
    assert {path[0] for path, _ in Tree(under).paths} == {name}
    other = tmp_path / "other.jsonl"
    other.write_text((tmp_path / "callpath.jsonl").read_text())
    for words, is_shown in (((), False), (("--kernel",), True)):
        report = shown(options, tmp_path, "--diff", other, *words)
        assert any("[k] " in row["name"] for row in report["functions"]["rows"]) == is_shown, report["functions"]


def test_a_recording_without_the_kernels_part(options, program, tmp_path):
    with running(program) as pid:
        recorded(options, tmp_path, pid, "--duration", "1s")
    log = tmp_path / "callpath.jsonl"
    log.write_text(log.read_text().replace('"[kernel]"', '"[other]"'))
    done = run(options, "report", log, "--kernel", folder=tmp_path)
    assert done.returncode == 2 and "no functions of the kernel" in done.stderr, done.stderr
    done = run(options, "report", log, "--causal", log, "--kernel", folder=tmp_path)
    assert done.returncode == 2 and "--causal has no place for --kernel" in done.stderr, done.stderr
