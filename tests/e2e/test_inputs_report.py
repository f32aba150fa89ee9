"""`causalctl report` for logs of input sizes: its formats, and what it refuses."""

import json
import subprocess

import pytest

import made_inputs_log
import schemas
from test_callpath_exports import LOG as CALLPATH_LOG


@pytest.fixture(name="log", scope="module")
def fixture_log(tmp_path_factory):
    return made_inputs_log.write(tmp_path_factory.mktemp("inputs") / "inputs.jsonl")


@pytest.fixture(name="report")
def fixture_report(options, log):
    def report(*words):
        return subprocess.run([options.causalctl, "report", log, *words], capture_output=True, text=True,
                              check=False, timeout=60)
    return report


def test_the_first_line_is_a_verdict(report):
    done = report()
    first, *rest = done.stdout.splitlines()
    assert first.startswith("sort_rows grows with n²"), done
    assert "if each call had ten times its input the program would execute" in first
    assert rest[-1].startswith("next: causalctl report ") and rest[-1].endswith("--function sort_rows")
    assert any(line.endswith(made_inputs_log.LONG) for line in rest), "a name is cut where there is no terminal"
    assert "select: by rms it grows with" in done.stdout


def test_the_next_command_works(report, options):
    command = report().stdout.splitlines()[-1].removeprefix("next: causalctl ")
    done = subprocess.run(f"{options.causalctl} {command}", shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sort_rows grows with n²")
    assert "Mean cost: n²" in done.stdout


def test_json_is_as_its_schema_says(report):
    document = json.loads(report("--format", "json").stdout)
    schemas.check(document, "inputs-schema.json")
    assert document["routines"][0]["name"] == "sort_rows" and document["routines"][0]["superlinear"]
    assert document["routines"][1]["superlinear"] is False
    one = json.loads(report("--format", "json", "--function", "select").stdout)
    assert [each["name"] for each in one["routines"]] == ["select"]
    assert one["total"] == document["total"]


def test_metric_and_cost_are_chosen(report):
    def superlinear(*words):
        routines = json.loads(report("--format", "json", *words).stdout)["routines"]
        return {each["name"] for each in routines if each["superlinear"]}

    assert superlinear() == {"sort_rows"}
    assert superlinear("--metric", "rms") == {"sort_rows", "select"}
    assert " instructions" in report("--cost", "instructions").stdout.splitlines()[0]


@pytest.mark.parametrize("words, error", [
    (("--metric", "cpu"), "--metric cpu: no such size of an input"),
    (("--cost", "ns"), "--cost ns: no such cost was counted"),
    (("--format", "pprof"), "--format pprof: no such format"),
    (("--function", "sort_row"), None),
    (("--function", "nothing_like_it"), "no such routine was called and returned"),
    (("--function", "sortrows"), "there is: sort_rows"),
    (("--by", "function"), "are for other logs"),
    (("--group", "1"), "are for other logs"),
    (("--kernel",), "are for other logs"),
    ((CALLPATH_LOG,), "are logs of different kinds"),
])
def test_what_does_not_fit_is_refused(report, words, error):
    done = report(*words)
    assert done.returncode == (2 if error else 0), done
    assert (error or "") in done.stderr


def test_options_of_input_sizes_fit_no_other_log(options):
    for words in (("--function", "f"), ("--cost", "blocks")):
        done = subprocess.run([options.causalctl, "report", CALLPATH_LOG, *words], capture_output=True, text=True,
                              check=False, timeout=60)
        assert done.returncode == 2 and "are for logs of input sizes" in done.stderr, done


def test_a_log_that_is_cut_or_given_twice(options, log, tmp_path):
    text = log.read_text()
    cut = tmp_path / "cut.jsonl"
    cut.write_text(text[:-40])
    done = subprocess.run([options.causalctl, "report", cut], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("sort_rows grows with n²") and "did not write their end" in done.stdout
    twice = subprocess.run([options.causalctl, "report", log, log], capture_output=True, text=True, check=False,
                           timeout=60)
    assert twice.returncode == 1 and "was read before" in twice.stderr
