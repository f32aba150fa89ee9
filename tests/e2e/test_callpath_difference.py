"""`causalctl report NEW --diff OLD`: two builds of one program, in the second of which a function costs
twice as much."""

import json
import shutil

import pytest

from test_callpath import run
from test_modules import compiled, running

# Twice a third of the work is two quarters of it.
OLD_SHARE, NEW_SHARE = 1 / 3, 1 / 2


@pytest.fixture(scope="module")
def logs(options, tmp_path_factory):
    """Recordings of the builds, each in a folder of its own; and another one of the old build."""
    folder = tmp_path_factory.mktemp("difference")
    for name, flags in (("old", ()), ("new", ("-DTIMES=2", "-fno-pie", "-no-pie")), ("again", ())):
        (folder / name).mkdir()
        program = compiled(folder / name, "dearer.c", "server", "-fno-ipa-icf", *flags)
        with running(program) as pid:
            done = run(options, "callpath", pid, "--duration", "8s", "--event", "uprobe:round_done", "-o",
                       folder / f"{name}.jsonl", "--quiet", folder=folder)
        assert done.returncode == 0, done.stderr
    shutil.rmtree(folder / "old")  # its names are in the log
    return folder


def difference(options, folder, *words, new="new", old="old"):
    done = run(options, "report", f"{new}.jsonl", "--diff", f"{old}.jsonl", "--format", "json", *words,
               folder=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return report, {row["name"]: row for row in report["functions"]["rows"]}


def holds(change, truth):
    """An interval of four standard errors, rather than of two."""
    middle = change["difference"]
    return (middle - 2 * (middle - change["low"]) <= truth <= middle + 2 * (change["high"] - middle))


def test_share_of_what_became_dearer(options, logs):
    report, rows = difference(options, logs)
    assert report["metric"]["name"] == "cpu" and report["per"] == "share"
    assert min(report[side]["parts"] for side in ("old", "new")) >= 7, report["old"]
    parse = rows["parse"]["total"]
    assert parse["verdict"] == "more" and holds(parse, NEW_SHARE - OLD_SHARE), parse
    assert rows["store"]["own"]["verdict"] == "less", rows["store"]
    # All time is below _start() in both. Not so main(): the instruction that the uprobe replaced runs
    # in a copy of its own, and rounds, of which each has one, became fewer.
    start = rows["_start"]["total"]
    assert start["verdict"] == "none" and holds(start, 0), start
    paths = report["paths"]["rows"]
    below = [(paths[row["parent"]]["function"], row["total"]["verdict"]) for row in paths
             if row["function"] == "work"]
    assert sorted(below) == [("parse", "more"), ("reply", "less")], paths


def test_time_per_call_of_what_became_dearer(options, logs):
    """Per round only the one function has changed. What else runs on a core slows all functions of
    a recording alike, by up to a factor of two: the others are the measure."""
    report, rows = difference(options, logs, "--per", "uprobe:round_done")
    assert rows["parse"]["total"]["verdict"] == "more", rows["parse"]
    parse, reply, store, total = (change["new"] / change["old"] for change in (
        rows["parse"]["total"], rows["reply"]["total"], rows["store"]["own"], report["all"]))
    assert parse / reply == pytest.approx(2, rel=0.15), (parse, reply)
    assert store / reply == pytest.approx(1, rel=0.15), (store, reply)
    assert total / reply == pytest.approx(4 / 3, rel=0.1), (total, reply)


def test_nothing_has_changed(options, logs):
    report, rows = difference(options, logs, new="again")
    for name in ("parse", "reply", "store", "work"):
        assert holds(rows[name]["total"], 0), rows[name]
    assert "more" not in [row["total"]["verdict"] for row in report["paths"]["rows"]], report["paths"]


def test_only_some_paths(options, logs):
    report, rows = difference(options, logs, "--under", "parse")
    assert set(rows) == {"parse", "work"}
    assert rows["work"]["own"]["verdict"] in ("none", "perhaps"), rows
    # How much there is a second depends on what else ran on the machine during each recording; that
    # the reply's third of it became a quarter does not.
    everything, _ = difference(options, logs, "--per", "second")
    _, rows = difference(options, logs, "--through", "reply", "--per", "second")
    reply, total = (change["new"] / change["old"] for change in (rows["reply"]["total"], everything["all"]))
    assert "parse" not in rows and reply / total == pytest.approx(3 / 4, rel=0.1), (reply, total)


def test_text_and_page(options, logs):
    text = run(options, "report", "new.jsonl", "new.jsonl", "--diff", "old.jsonl", folder=logs).stdout
    assert "NEW: server (process " in text and "OLD: server (process " in text, text
    assert [line for line in text.splitlines() if line.endswith(("parse", "─ parse")) and " more " in line], text
    for by in ("function", "line", "path"):
        text = run(options, "report", "new.jsonl", "--diff", "old.jsonl", "--by", by, folder=logs).stdout
        assert ("dearer.c:" in text) == (by != "function") and "more" in text, text
    page = logs / "page.html"
    done = run(options, "report", "new.jsonl", "--diff", "old.jsonl", "--format", "html", "-o", page, folder=logs)
    assert done.returncode == 0 and '"difference":{' in page.read_text(), done.stderr


@pytest.mark.parametrize("words, message", [
    (("--diff", "nothing.jsonl"), "nothing.jsonl"),
    (("--diff", "causal.jsonl"), "--diff causal.jsonl: it is no log of call paths"),
    (("--diff", "old.jsonl", "--metric", "blocked"), "--metric blocked: the recording has no such column"),
    (("--diff", "old.jsonl", "--metric", "new_min"), "bounds of calls"),
    (("--diff", "old.jsonl", "--by", "calls"), "bounds of calls cannot be compared"),
    (("--diff", "old.jsonl", "--wakers"), "who ended waits cannot be compared"),
    (("--diff", "old.jsonl", "--format", "pprof"), "pprof has no place for two recordings"),
    (("--diff", "old.jsonl", "--per", "visit"), "--per visit: the recording has no such column"),
    (("--diff", "old.jsonl", "--under", "pars"), "the nearest are: parse"),
    (("--per", "second"), "--per is for comparisons"),
])
def test_refused(options, logs, words, message):
    (logs / "causal.jsonl").write_text('{"type":"run","version":1,"run":"a"}\n')
    done = run(options, "report", "new.jsonl", *words, "-o", "out", folder=logs)
    assert done.returncode in (1, 2) and message in done.stderr, done.stderr
    assert not (logs / "out").exists()


def test_old_recording_without_the_column(options, logs, tmp_path):
    with running(logs / "again" / "server") as pid:
        done = run(options, "callpath", pid, "--duration", "1s", "-o", logs / "other.jsonl", "--quiet",
                   folder=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run(options, "report", "new.jsonl", "--diff", "other.jsonl", "--metric", "uprobe:round_done",
               folder=logs)
    assert done.returncode == 2, done.stderr
    assert "--metric uprobe:round_done: the recording of --diff has no such column" in done.stderr
    assert "it has cpu, samples" in done.stderr, done.stderr
