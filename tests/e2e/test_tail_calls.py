"""`causalctl callpath`: the functions that tail calls have left out of stacks."""

import pytest

from test_callpath import Tree, recorded, run
from test_modules import compiled, running


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("tails"), "tail_calls.c")


def paths_of(options, program, folder, way):
    """Returns the samples of each path below main, whose frames end with "~" if they are marked."""
    with running(program, way) as pid:
        report = recorded(options, folder, pid, "--duration", "1s", "--event", "cpu")
    for frame in report["frames"]:
        frame["function"] += "~" if frame["tail"] else ""
    paths = {}
    for path, own in Tree(report).paths:
        if "main" not in path or own[1] == 0:
            continue
        below = " ".join(path[path.index("main") + 1:])
        paths[below] = paths.get(below, 0) + own[1]
    return paths, report["tail_calls"]


def test_jumped_calls_of_figure_1(options, program, tmp_path):
    paths, counts = paths_of(options, program, tmp_path, "figure")
    assert set(paths) >= {"a c", "a~ c", "b c", "b~ c"}, paths
    samples = sum(paths.values())
    assert sum(paths.get(path, 0) for path in ("a c", "a~ c", "b c", "b~ c")) > 0.98 * samples
    # Each of a and b has half of the time, and half of that in the call to which it jumps.
    for path in ("a c", "a~ c", "b c", "b~ c"):
        assert abs(paths[path] - samples / 4) < 6 * (samples / 4) ** 0.5, paths
    assert counts["found"] > 0 and counts["ambiguous"] == counts["unexplained"] == 0, counts
    text = run(options, "report", "callpath.jsonl", folder=tmp_path).stdout
    assert "a (tail call)" in text and "b (tail call)" in text, text
    folded = run(options, "report", "callpath.jsonl", "--format", "folded", folder=tmp_path).stdout
    assert "main;a;c " in folded, folded


@pytest.mark.parametrize("way, path, kind", [
    ("chain", "e~ f~ d", "found"),
    ("ambiguous", "d", "ambiguous"),
    ("pointer", "d", "unexplained"),
    ("parts", "k rare d", None),
])
def test_ways_to_a_callee(options, program, tmp_path, way, path, kind):
    paths, counts = paths_of(options, program, tmp_path, way)
    assert paths.get(path, 0) > 0.95 * sum(paths.values()), paths
    for name in ("ambiguous", "unexplained"):
        assert (counts[name] > 0) == (name == kind), counts
    # A sample in a function that is about to jump on is itself below a jump, to which one way leads.
    marked = [each for each in paths if "~" in each and each.endswith(" d")]
    assert bool(marked) == (kind == "found"), paths
    assert counts["found"] > 0 or kind != "found", counts
