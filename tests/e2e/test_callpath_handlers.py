"""A signal's handler that runs on a stack of its own is below what it has interrupted."""

import json
import os

import pytest

from test_callpath import Tree, run
from test_modules import compiled, running

# Where children may come, the clocks of the cores sample, and otherwise, for so few switches, those of
# the threads. What is pretended to be broken follows, and what --verbose must say.
WAYS = {"by clocks of cores": (("--children",), "", "sampled by the clocks of the cores"),
        "by clocks of threads": ((), "", "by BPF: what a thread of ours did was seen"),
        "by perf": ((), "scheduler", "switches and wake-ups by BPF: loaded, but"),
        "without programs": ((), "bpf,scheduler", "stacks below those of signal handlers are not copied")}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("handlers"), "handler_stack.c", "handler_stack")


@pytest.mark.parametrize("way", WAYS)
def test_a_handler_is_below_what_it_interrupts(options, program, tmp_path, way):
    words, broken, said = WAYS[way]
    with running(program) as pid:
        done = run(options, "callpath", *words, pid, "--duration", "3s", "--verbose", "--format", "json",
                   folder=tmp_path, env={**os.environ, "CAUSALCTL_PRETEND_BROKEN": broken})
    assert done.returncode == 0 and said in done.stderr, done.stderr
    tree = Tree(json.loads(done.stdout[done.stdout.index("{"):]))
    for column, inner in (("cpu", "on_tick"), ("cpu", "on_user"), ("blocked", "sleeps")):
        index = tree.columns.index(column)
        all_of_it = tree.sum(column, inner)
        below = sum(own[index] for path, own in tree.paths
                    if inner in path and "serve" in path[:path.index(inner)])
        assert all_of_it > 0, column
        if way == "without programs":  # the chain ends behind the instruction
            assert below == 0
        else:
            assert below >= 0.97 * all_of_it, (column, inner, below, all_of_it)
    nested = [path for path, _ in tree.paths if "on_user" in path]
    assert all("on_tick" in path[:path.index("on_user")] for path in nested), nested
