"""`causalctl callpath` where something that a recording relies on can be opened, but never fires. The
other things must be seen on this machine."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from fixture import wait_until
from test_callpath import check_alive, check_paths, run
from test_callpath import program  # pylint: disable=unused-import
from test_modules import running

ALL_SEEN = {name: "seen" for name in ("sample", "clock", "switch", "wake-up", "scheduler")}


@pytest.fixture(autouse=True, scope="module")
def all_are_seen(options):
    lines = subprocess.run([options.causalctl, "doctor"], capture_output=True, text=True,
                           check=False).stdout.splitlines()
    for name in ("samples", "clock of records", "switch records", "sched:sched_waking"):
        finding = next(line for line in lines if re.match(rf"\w+ +{name} ", line))
        if not finding.startswith("ok "):
            pytest.skip(f"this machine lacks something itself: {finding}")


def seen_but(facility):
    seen = {**ALL_SEEN, facility: "never-fired"}
    if facility == "switch":
        del seen["scheduler"]  # it is not tried
    return seen


def without(facility):
    return {**os.environ, "CAUSALCTL_PRETEND_BROKEN": facility}


@pytest.mark.parametrize("facility", ["sample", "clock"])
def test_refused_without(facility, options, program, tmp_path):
    with running(program) as pid:
        done = run(options, "callpath", pid, "--duration", "1s", folder=tmp_path, env=without(facility))
        check_alive(pid)
    assert done.returncode == 1, done.stderr
    assert "no recording of call paths is possible here" in done.stderr, done.stderr
    assert "causalctl ab" not in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words, status, message", [
    (("--format", "svg"), 2, "svg"),
    (("--output", "/nonexistent/log"), 1, "/nonexistent/log"),
])
def test_wrong_words_are_told_before_what_the_machine_lacks(options, tmp_path, words, status, message):
    """The process is this one."""
    done = run(options, "callpath", os.getpid(), *words, folder=tmp_path, env=without("sample"))
    assert (done.returncode, message in done.stderr) == (status, True), done.stderr


def test_idle_without_switches(options, tmp_path):
    clock_nanosleep = "230"
    sleeper = subprocess.Popen(["sleep", "60"])
    call = pathlib.Path(f"/proc/{sleeper.pid}/syscall")
    try:
        assert wait_until(lambda: call.read_text().split()[0] == clock_nanosleep, 20)
        done = run(options, "callpath", sleeper.pid, "--duration", "1s", folder=tmp_path,
                   env=without("switch"))
    finally:
        sleeper.kill()
        sleeper.wait()
    assert done.returncode == 1, done.stderr
    assert "no sample of process" in done.stderr, done.stderr
    assert "where threads wait was not recorded" in done.stderr, done.stderr


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
    assert facilities == seen_but("switch")
    told = [each for each in report["warnings"] if "recorded" in each or "switches" in each]
    assert len(told) == 1, report["warnings"]
    assert told[0].startswith("where threads wait is not recorded, nor who ends waits (--wakers): "), told
    assert "blocked" not in check_paths(report, 30).columns


def test_time_on_cores_needs_no_switches(options, program, tmp_path):
    report, facilities = recorded(options, program, tmp_path, "switch", "--event", "cpu")
    assert facilities == seen_but("switch")
    assert not any("switches" in each for each in report["warnings"]), report["warnings"]


def test_waits_without_wake_ups(options, program, tmp_path):
    report, facilities = recorded(options, program, tmp_path, "wake-up", "--wakers")
    assert facilities == seen_but("wake-up")
    told = [each for each in report["warnings"] if "wake-ups are not recorded" in each]
    assert told == ["wake-ups are not recorded: opened, but no record came"], report["warnings"]
    assert ("a thread that was woken and waits for a core counts as blocked, and --wakers shows nothing"
            in report["warnings"]), report["warnings"]
    paths = check_paths(report, 30)
    assert paths.sum("blocked", "waits_for_a_tick") > 0.5 * report["wall_ns"]
    assert '"type":"wakers"' not in (tmp_path / "callpath.jsonl").read_text(encoding="utf-8")
