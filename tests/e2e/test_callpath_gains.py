"""`causalctl report CALLPATHS --causal PROFILE`: paths ranked by what the program would gain there."""

import json

import pytest

from test_callpath import run, running_target
from test_modules import compiled, running


@pytest.fixture(scope="module")
def paths(options, tmp_path_factory):
    """A recording of call paths, and the program that it is of."""
    folder = tmp_path_factory.mktemp("gains")
    program = compiled(folder, "call_paths.c", "paths")
    with running(program) as pid:
        done = run(options, "callpath", pid, "--duration", "1s", "--quiet", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


def profile(folder, name, *lines):
    (folder / name).write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return name


RUN = {"type": "run", "version": 1, "run": "a", "executable": "/srv/other", "build_id": "99"}


@pytest.mark.parametrize("words, message", [
    (("--causal", "nothing.jsonl"), "nothing.jsonl"),
    (("--causal", "callpath.jsonl"), "--causal callpath.jsonl: it is no experiment log"),
    (("--causal", "bare.jsonl"), "the profile of /srv/other has a verdict on no unit"),
    (("--causal", "bare.jsonl", "--by", "line"), "--causal has no place for --by"),
    (("--causal", "bare.jsonl", "--metric", "waits"), "--causal has no place for --metric"),
    (("--causal", "bare.jsonl", "--diff", "callpath.jsonl"), "--causal has no place for --diff"),
    (("--causal", "bare.jsonl", "--format", "folded"), "folded has no place for gains"),
    (("--causal", "bare.jsonl", "--group", "3"), "--group 3: the logs have no such group"),
    (("--causal", "bare.jsonl", "--under", "nothing"), "no path has a function of this name"),
])
def test_refused(options, paths, words, message):
    profile(paths, "bare.jsonl", RUN)
    done = run(options, "report", "callpath.jsonl", *words, "-o", "out", folder=paths)
    assert done.returncode in (1, 2) and message in done.stderr, done.stderr
    assert not (paths / "out").exists()


@pytest.mark.full  # it profiles for half a minute
def test_gains_of_a_pipeline(options, tmp_path):
    """The consumer sets the pace; the producer, which takes a third of the samples, gains nothing."""
    if options.no_figures:
        pytest.skip("a profile of 40 s beside other tests may have no verdict: not with --no-figures")
    with running_target(options, "pipeline") as pid:
        for words in (("attach", pid, "--progress", "item_done", "--duration", "40s", "-o", "profile.jsonl"),
                      ("callpath", pid, "--duration", "5s")):
            done = run(options, *words, "--quiet", folder=tmp_path)
            assert done.returncode == 0, done.stderr
    done = run(options, "report", "callpath.jsonl", "--causal", "profile.jsonl", "--format", "json",
               folder=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    best = report["paths"][0]
    assert best["path"][-1] == "consumer_work" and best["unit"].startswith("pipeline.c:"), best
    assert best["gain"]["low"] > 0.3 and best["share"]["value"] > 0.9, best
    assert not [each for each in report["paths"]
                if each["path"][-1] == "producer_work" and each["gain"]["low"] > 0.1], report
    assert report["not_in_profile"] + report["out_of_scope"] < 0.1 * report["samples"], report
    page = tmp_path / "page.html"
    done = run(options, "report", "callpath.jsonl", "--causal", "profile.jsonl", "--format", "html", "-o", page,
               folder=tmp_path)
    assert done.returncode == 0 and '"causal":{' in page.read_text(), done.stderr
    text = run(options, "report", "callpath.jsonl", "--causal", "profile.jsonl", folder=tmp_path).stdout
    assert "Gain of item_done for code that becomes faster on this path alone" in text, text
    # Of another program: nothing of it is on these paths.
    other = compiled(tmp_path, "call_paths.c", "paths")
    with running(other) as pid:
        run(options, "callpath", pid, "--duration", "1s", "-o", "other.jsonl", "--quiet", folder=tmp_path)
    done = run(options, "report", "other.jsonl", "--causal", "profile.jsonl", folder=tmp_path)
    assert done.returncode == 1 and "have none of the profile's units" in done.stderr, done.stderr
    assert "pipeline.c:" in done.stderr, done.stderr
