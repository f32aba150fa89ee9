"""Holds what causalctl writes about call paths and input sizes to the JSON Schemas in docs/."""

import functools
import json
import pathlib

import jsonschema

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
LOG = "callpath-log-schema.json"
REPORTS = {  # by kind
    "callpath": "callpath-schema.json",
    "callpath-difference": "callpath-difference-schema.json",
    "callpath-gains": "callpath-gains-schema.json",
    "inputs": "inputs-schema.json",
}


@functools.cache
def validator(name):
    schema = json.loads((DOCS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(document, name):
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(document))
    assert error is None, f"{name}: {error.json_path}: {error.message}"


def check_report(text):
    report = json.loads(text)
    check(report, REPORTS[report["kind"]])


def check_log(path):
    """Checks each line of a log, but for one that is cut off at its end."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    assert lines, f"{path} has no line"
    for line in lines:
        check(json.loads(line), LOG)


def check_output(words, done, folder):
    """Checks what a command that has ended in `folder` wrote: the log of `callpath`, and a JSON report
    on standard output, before which a program may have printed something."""
    words = [str(word) for word in words]
    own = words[:words.index("--")] if "--" in words else words

    def value(option, default):
        return own[own.index(option) + 1] if option in own else default

    is_recording = own[0] == "callpath"
    if done.returncode != 0 or not (is_recording or own[0] == "report"):
        return
    if is_recording:
        check_log(folder / value("-o", "callpath.jsonl"))
    if value("--format", "text") == "json" and (is_recording or "-o" not in own):
        check_report(done.stdout[done.stdout.index("{"):])
