"""Proves which cases run, and which of them at the same time; that none is lost when a process is
killed; that only an expected end is tried again; and that a profile which counts nothing fails."""

import dataclasses
import fnmatch
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest

import cases
import fixture
import throttling_cases
import tiers
import world
from case import Case, has_counted

HERE = pathlib.Path(__file__).resolve().parent


class StandIns:
    """The results of pytest for a set of cases of stand_ins.py."""

    def __init__(self, options, folder, name, *arguments):
        self.folder = folder
        environment = dict(os.environ, STAND_INS=str(folder), STAND_INS_SET=name,
                           PYTHONPATH=str(HERE), TMPDIR=str(folder))
        self.process = subprocess.run(
            [sys.executable, "-m", "pytest", HERE / "test_cases.py", "-p", "stand_ins",
             "--causalctl=/bin/true", f"--targets={options.targets}",
             f"--junitxml={folder}/junit.xml", *arguments],
            env=environment, capture_output=True, text=True, check=False)

    def failed(self):
        """Returns {name: message} of the cases that failed, after checking that all have an
        outcome."""
        found = {}
        assert (self.folder / "junit.xml").exists(), self.process.stderr
        for case in xml.etree.ElementTree.parse(self.folder / "junit.xml").iter("testcase"):
            failures = [*case.iter("failure"), *case.iter("error")]
            found[case.get("name").removeprefix("test_case[").removesuffix("]")] = "".join(
                failure.get("message", "") + (failure.text or "") for failure in failures)
        self.names = sorted(found)
        return {name: message for name, message in found.items() if message}

    def tries(self, name):
        return len((self.folder / name).read_text())

    def beside_others(self):
        """Returns the names of the cases during which another one ran."""
        spans = {name: tuple(map(float, (self.folder / name).read_text().split()))
                 for name in self.names}
        return {name for name, (start, end) in spans.items()
                if any(name != other and begun < end and start < ended
                       for other, (begun, ended) in spans.items())}


@pytest.mark.parametrize("arguments, alone", [((), {"looks", "compares"}),
                                              (("--no-figures",), {"looks"})])
def test_cases_that_measure_are_alone(options, tmp_path, arguments, alone):
    run = StandIns(options, tmp_path, "turns", "-n", "3", *arguments)
    assert not run.failed(), run.process.stdout
    assert len(run.names) == 8
    beside = run.beside_others()
    assert not beside & alone
    assert beside  # the others do run at the same time


def test_a_killed_process_fails_its_case_and_the_others_go_on(options, tmp_path):
    run = StandIns(options, tmp_path, "killed", "-n", "3")
    assert list(run.failed()) == ["killed"], run.process.stdout
    assert run.names == ["first", "killed", "second", "third"]


def test_only_a_foreseen_end_is_tried_again_and_once(options, tmp_path):
    run = StandIns(options, tmp_path, "shots")
    assert sorted(run.failed()) == ["otherwise", "twice", "unforeseen"], run.process.stdout
    tries = {name: run.tries(name) for name in run.names}
    assert tries == {"never": 1, "once": 2, "otherwise": 1, "twice": 2, "unforeseen": 1}


def broken(case):
    """Returns the case with a progress point that is never visited, for as long as a few
    experiments take."""
    words = {"round_done": "main", "300s": "2s"}
    arguments = tuple(words.get(word, word) for word in case.arguments)
    return dataclasses.replace(case, arguments=arguments, during=None)


def named(name):
    return next(case for case in cases.CASES if case.name == name)


@pytest.mark.parametrize("name", ["attach_fixed", "attach_functions", "run_static_pie"])
def test_a_profile_that_counts_nothing_fails(options, name):
    """Tests a case of each command. attach_fixed would pass by its other checks."""
    options = dataclasses.replace(options, no_figures=True)
    problems, _, _ = world.run_case(options, broken(named(name)))
    assert any(problem.startswith("nothing was counted") for problem in problems)


def experiment(**visits):
    return {"type": "experiment", "latency": [],
            "throughput": [{"name": name, "visits": count} for name, count in visits.items()]}


def test_every_point_must_be_counted():
    lasts = experiment(a=0)
    lasts["latency"] = [{"name": "lasts", "ends": 0}]
    assert has_counted([experiment(a=0), experiment(a=3)])
    assert not has_counted([])
    assert not has_counted([experiment(a=3, b=0)])
    assert not has_counted([experiment(a=3), lasts])


@pytest.mark.parametrize("must_count, arguments, more", [
    (True, ("attach", "{pid}"), {}),
    (True, ("run", "--", "x"), {"exit": (0, 1)}),
    (True, ("attach",), {"exit": (-signal.SIGKILL,)}),
    (False, ("attach",), {"counts_nothing": "a reason"}),
    (False, ("attach",), {"exit": (2,)}),
    (False, ("attach", "--help"), {}),
    (False, ("report", "x"), {}),
    (False, (), {}),
])
def test_a_case_that_profiles_must_count(must_count, arguments, more):
    assert Case("", arguments, **more).must_count() == must_count


@pytest.mark.parametrize("count_by, arguments, command", [
    ("uprobe", ("attach", "1"), "c attach 1 GIVEN"),
    ("uprobe", ("run", "--", "x", "--"), "c run GIVEN -- x --"),
    ("uprobe", ("report", "x"), "c report x"),
    ("", ("attach", "1"), "c attach 1"),
])
def test_the_way_of_counting_is_handed_on(count_by, arguments, command):
    surroundings = world.World(world.Options(causalctl="c", count_by=count_by), None)
    surroundings.clean()
    given = '--set progress.count_by="uprobe"'
    assert surroundings.command(arguments) == command.replace("GIVEN", given).split()


def test_what_needs_a_breakpoint_is_skipped_where_none_fires(options, monkeypatch):
    needy = named("attach_as_ordinary_user")
    assert world.reason_to_skip(options, named("attach_text")) is None
    by_uprobes = dataclasses.replace(options, count_by="uprobe")
    assert world.reason_to_skip(by_uprobes, needy).startswith("counted by uprobes, and ")
    monkeypatch.setenv("CAUSALCTL_PRETEND_BROKEN", "breakpoint")
    world.no_breakpoint_fires.cache_clear()
    assert world.reason_to_skip(options, needy).startswith("no breakpoint fires here, and ")
    world.no_breakpoint_fires.cache_clear()


def test_the_quick_tier_has_every_command_and_channel():
    names = [case.name for case in cases.CASES]
    quick = [case.arguments for case in cases.CASES if not tiers.left_to_full(case.name)]
    assert all(fnmatch.filter(names, pattern) for pattern in tiers.LEFT_TO_FULL)
    commands = {words[0] for words in quick if words}
    assert {"attach", "run", "report", "ab", "doctor", "points"} <= commands
    channels = {words[words.index("--pause-channel") + 1] for words in quick
                if "--pause-channel" in words}
    assert "ptrace" in channels
    assert any("--end-to-end" in words for words in quick)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_limit_of_samples_is_set_back_however_its_process_ends(tmp_path, number):
    limit = tmp_path / "limit"
    limit.write_text("100000\n")
    process = os.fork()
    if process == 0:
        try:
            held = throttling_cases.LoweredLimit(limit)  # lasts until the name is deleted
            time.sleep(60)
        finally:
            os._exit(1)
    low = f"{throttling_cases.LOW}\n"
    lowered = fixture.wait_until(lambda: limit.read_text() == low, 10)
    os.kill(process, number)
    os.waitpid(process, 0)
    assert lowered
    assert fixture.wait_until(lambda: limit.read_text() == "100000\n", 10)
