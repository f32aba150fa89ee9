"""Reports of a log of several processes: make, and 42 of cc1 of which 40 share a row."""

import json
import re
import subprocess

import pytest

import schemas
from test_callpath_exports import LOG, check_exports

SET = LOG.with_name("set.jsonl")
PROCESSES = {"make (process 100)", "cc1 (process 101)", "cc1 (process 102)", "cc1 (others)"}


@pytest.fixture(name="report")
def fixture_report(options):
    def report(*words):
        return subprocess.run([options.causalctl, "report", SET, *words], capture_output=True, text=True,
                              check=False, timeout=60)
    return report


def test_the_log_is_as_its_schema_says():
    schemas.check_log(SET)


def test_programs_are_rows_and_have_a_table(report):
    text = report().stdout
    assert text.startswith("2.0 s of make and 42 other processes: 83 % blocked (83 % runs_jobs), 17 % on a core"), text
    assert re.search(r"^ +90.0 % +42 +90 ms +· +cc1$", text, re.M), text
    assert re.search(r"^ +10.0 % +1 +10 ms +500 ms +make$", text, re.M), text
    assert re.search(r" 90.0 % .* ├─ cc1$", text, re.M), text
    assert '40 further ones count together by program, as "cc1 (others)"' in " ".join(text.split()), text
    alone = report("--under", "cc1").stdout
    assert "runs_jobs" not in alone and "parses" in alone


def test_each_process_is_a_row_if_it_is_asked_for(report):
    text = report("--by", "process").stdout
    assert {name for name in PROCESSES if re.search(rf"[─ ] {re.escape(name)}$", text, re.M)} == PROCESSES, text
    document = json.loads(report("--by", "process", "--format", "json").stdout)
    schemas.check(document, "callpath-schema.json")
    assert {each["function"] for each in document["frames"] if each.get("stands_for") == "process"} == PROCESSES
    assert document["processes"] == 43 and document["pid"] == 0
    assert [each["program"] for each in document["programs"]] == ["cc1", "make"]


def test_exports_of_a_set_agree(options):
    check_exports(options, SET, 3)


def test_two_sets_are_compared_by_program(report):
    done = report("--diff", SET)
    assert done.returncode == 0 and "NEW: make and 42 other processes" in done.stdout, done.stderr
    by_path = report("--diff", SET, "--by", "path").stdout
    assert re.search(r"[─ ] cc1$", by_path, re.M), by_path
    refused = report("--diff", SET, "--by", "process")
    assert refused.returncode == 2 and "processes of two recordings cannot be compared" in refused.stderr


def test_a_recording_of_one_process_has_no_row_for_it(options):
    def report(*words):
        return subprocess.run([options.causalctl, "report", LOG, *words], capture_output=True, text=True,
                              check=True, timeout=60).stdout
    assert report("--by", "process") == report()
