"""What a report says first is borne by the rest of it. Thirty logs of real programs (tests/recorded) are
reported, and each first line is compared with the numbers and sentences below it. The rules are written
here anew, from the report alone; they share nothing with the program."""

import gzip
import json
import pathlib
import re
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "recorded"
LOGS = sorted(log.name.removesuffix(".jsonl.gz") for log in FOLDER.glob("*.jsonl.gz"))
ROUNDING = 1e-6
# Two sentences that must not stand in one report.
CONTRADICTIONS = (
    (r"does not help", r"longer (run|profile)|for longer|a run of about"),
    (r"^Nothing that was measured", r"worth optimising|tell nothing|Do not trust"),
    (r"^Undecided", r"worth optimising|contention: optimising hurts"),
    (r"Not enough data for a finding", r"no effect larger than|worth optimising|does not help"),
    (r"faster here makes the program", r"Do not trust it|Undecided"),
    (r"more samples \(--period", r"fewer samples \(--period"),
)


@pytest.fixture(scope="module", params=LOGS)
def reported(request, options, tmp_path_factory):
    """The report of a log, as JSON and as lines of text."""
    folder = tmp_path_factory.mktemp("report")
    log = folder / "log.jsonl"
    log.write_bytes(gzip.decompress((FOLDER / f"{request.param}.jsonl.gz").read_bytes()))

    def report(form):
        done = subprocess.run([options.causalctl, "report", log, "--format", form], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return json.loads(report("json")), report("text").splitlines()


def denied(report, point, unit, speedup):
    """The largest effect that may have no other cause than the run itself, as its footer says. What
    samples take of threads that are not in the unit does not end with the unit's time."""
    if point["null_low"] is None:
        return 1
    overhead, check = report["overhead"], report["selfcheck"]
    unpaid = abs(check["delay_asked_ns"] - check["delay_paid_ns"]) / max(report["wall_ns"], 1)
    elsewhere = 0 if unit["ceiling"] is None else 1 - unit["ceiling"]
    cost = max(overhead["slowdown_high"] or 0, 0)
    cost -= elsewhere * min(overhead["slowdown_by_samples"], cost)
    return max(abs(point["null_low"]), abs(point["null_high"]), unpaid, speedup * cost)


def beyond(effect, low, high, bound):
    return (low > bound - ROUNDING) if effect > 0 else (high < -bound + ROUNDING)


def point_of(report, name):
    return next(each for each in report["progress"] if each["name"] == name)


def statements(unit):
    yield 0.1, *(0.1 * unit[key] for key in ("slope", "slope_low", "slope_high"))
    for pool in unit["summary"]:
        yield pool["speedup"], pool["effect"], pool["low"], pool["high"]


def test_there_are_thirty():
    assert len(LOGS) >= 30


def test_an_effect_is_larger_than_what_the_footer_denies(reported):
    report, _ = reported
    finding = report["finding"]
    if finding["kind"] not in ("optimise", "contention"):
        pytest.skip("no effect is stated")
    point = point_of(report, finding["progress"])
    unit = next(each for each in point["units"] if each["unit"] == finding["unit"])
    bound = denied(report, point, unit, finding["speedup"])
    assert beyond(finding["effect"], finding["low"], finding["high"], bound), (finding, bound)
    assert unit["verdict"] == finding["kind"] and not unit["everybodys_caller"]
    if unit["ceiling"] is not None:
        assert finding["low"] <= unit["ceiling"] * finding["speedup"] + ROUNDING


def test_no_verdict_is_for_what_the_footer_denies(reported):
    report, lines = reported
    for point in report["progress"]:
        for unit in point["units"]:
            if unit["verdict"] not in ("optimise", "contention"):
                continue
            assert any(beyond(effect, low, high, denied(report, point, unit, speedup))
                       for speedup, effect, low, high in statements(unit)), (point["name"], unit["unit"])
            assert report["finding"]["kind"] in ("optimise", "contention", "only-callers")
    words = [line for line in lines if re.search("worth optimising|contention: optimising hurts", line)]
    told = [unit for point in report["progress"] for unit in point["units"][:25]
            if unit["verdict"] in ("optimise", "contention")]
    assert len(words) == len(told)


def test_a_check_that_failed_is_said_first(reported):
    report, lines = reported
    head = " ".join(lines[:2])
    for point in report["progress"]:
        low, high, value = (point[key] for key in ("null_low", "null_high", "null_effect"))
        if low is None or low <= 0 <= high or abs(value) <= 0.01:
            continue
        said = head.find(f"self-check of {point['name']} failed")
        assert said >= 0, (point["name"], head)
        assert said < (head.find(" faster here makes ") % 10000)
    discarded = report["losses"]["experiments_discarded"]
    if 2 * discarded > report["experiments"]:
        assert f"{discarded} of {report['experiments']} experiments were discarded" in head
    if report["target"]["digest"] == "changed":
        assert "not as it was before" in head


def test_nothing_is_said_to_gain_only_if_that_is_known(reported):
    report, lines = reported
    finding = report["finding"]
    if finding["kind"] != "no-effect":
        pytest.skip("it does not say so")
    point = point_of(report, finding["progress"])
    low, high = point["null_low"], point["null_high"]
    assert low is not None and max(abs(low), abs(high)) <= finding["most"] + ROUNDING
    for unit in point["units"]:
        if unit["slope"] is not None and not unit["everybodys_caller"]:
            ends = [unit["slope_high"], *(pool["high"] for pool in unit["summary"])]
            ceiling = 1 if unit["ceiling"] is None else unit["ceiling"]
            assert min(max(ends), ceiling) <= finding["most"] + ROUNDING, unit["unit"]
    assert not any(f"{point['name']}: the experiments tell nothing" in line for line in lines)


def test_an_undecided_run_says_why_and_what_would_help(reported):
    report, lines = reported
    finding = report["finding"]
    if finding["kind"] != "not-enough-data":
        pytest.skip("it is decided")
    assert finding["reasons"] and finding["helps"]
    for help_ in finding["helps"]:
        assert help_["text"] in finding["statement"]
        # A length is told only where it can be reached, and is longer than what was tried.
        if help_["help"] == "longer" and "time_ns" in help_:
            assert report["wall_ns"] <= help_["time_ns"] <= 2 * 3600 * 10**9
            assert 0 < help_.get("effect", 0.1) <= 0.1


def test_text_and_json_say_the_same(reported):
    report, lines = reported
    statement = report["finding"]["statement"]
    first = 0 if report["scope"]["enough"] else 1
    assert lines[first] == statement


@pytest.mark.parametrize("one, other", CONTRADICTIONS)
def test_no_sentence_denies_another(reported, one, other):
    _, lines = reported
    says = [line for line in lines if re.search(one, line)]
    denies = [line for line in lines if re.search(other, line)]
    assert not (says and denies), (says, denies)
