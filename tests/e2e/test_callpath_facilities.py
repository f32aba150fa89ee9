"""`causalctl callpath` where something that a recording relies on can be opened, but never fires."""

import json
import os

import pytest

from test_callpath import check_alive, check_paths, run
from test_callpath import program  # pylint: disable=unused-import
from test_modules import running

ALL_SEEN = {name: "seen" for name in ("sample", "clock", "switch", "wake-up")}


def without(facility):
    return {**os.environ, "CAUSALCTL_PRETEND_BROKEN": facility}


@pytest.mark.parametrize("facility", ["sample", "clock"])
def test_refused_without(facility, options, program, tmp_path):
    with running(program) as pid:
        done = run(options, "callpath", pid, "--duration", "1s", folder=tmp_path, env=without(facility))
        check_alive(pid)
    assert done.returncode == 1, done.stderr
    assert "no recording of call paths is possible here" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def recorded(options, program, folder, facility, *words):
    """Returns the report, and what the log says of the facilities."""
    with running(program) as pid:
        done = run(options, "callpath", pid, *words, "--duration", "2s", "--format", "json", "--quiet",
                   folder=folder, env=without(facility))
        check_alive(pid)
    assert done.returncode == 0, done.stderr
    first = (folder / "callpath.jsonl").read_text(encoding="utf-8").splitlines()[0]
    return json.loads(done.stdout), json.loads(first)["facilities"]


def test_the_log_says_what_was_seen(options, program, tmp_path):
    report, facilities = recorded(options, program, tmp_path, "")
    assert facilities == ALL_SEEN
    assert not any("not recorded" in each for each in report["warnings"]), report["warnings"]


def test_no_waits_without_switches(options, program, tmp_path):
    report, facilities = recorded(options, program, tmp_path, "switch", "--wakers")
    assert facilities == {**ALL_SEEN, "switch": "never-fired"}
    assert any(each.startswith("where threads wait is not recorded") for each in report["warnings"]), report
    assert "blocked" not in check_paths(report, 30).columns


def test_waits_without_wake_ups(options, program, tmp_path):
    report, facilities = recorded(options, program, tmp_path, "wake-up", "--wakers")
    assert facilities == {**ALL_SEEN, "wake-up": "never-fired"}
    assert any(each.startswith("wake-ups are not recorded") for each in report["warnings"]), report
    assert check_paths(report, 30).sum("blocked", "waits_for_a_tick") > 0.5 * report["wall_ns"]
