"""The JSON Schemas of call path logs and reports describe everything that these may have, and refuse
what has a field too few or too many. (What other tests record is held to them by `run` in
test_callpath.py.)"""

import copy
import json
import pathlib

import pytest

import schemas

TESTS = pathlib.Path(__file__).resolve().parents[1]

FILES = {
    "callpath-schema.json": ["golden/callpath/report.json", "golden/callpath/set.json"],
    "callpath-difference-schema.json": ["golden/callpath/difference.json"],
    "callpath-gains-schema.json": ["golden/callpath/gains.json"],
    "inputs-schema.json": ["golden/inputs/report.json"],
    schemas.LOG: ["schemas/callpath-log.jsonl"],
}
# By schema: what the file lacks.
MORE = {
    "callpath-schema.json": {
        "set": "--match server",
        "counts": [{
            "function": "parse", "column": "count:parse", "calls": 90000, "exact": True, "too_dear": False,
            "per_second": 45000.0, "most_per_second": 45000.0, "counted_share": 1.0, "cost_ns": 900,
            "cost_share": 0.01, "missing": ""}],
        "time": [{"run": 0, "what": "stopped", "column": "stopped", "ns": 1200000000, "of_ns": 2500000000,
                  "text": "The process was stopped for 1.2 s of the 2.5 s."}],
    },
    "callpath-difference-schema.json": {
        "old": {"set": "--match server"},
        "new": {"set": "--match server"},
        "all": {"old": 1.5, "new": 2.0, "difference": 0.5, "low": 0.4, "high": 0.6, "p_value": 0.001},
    },
    "inputs-schema.json": {"forecast": {"routine": "sort_rows"}},
}
# All fields of the account may be absent: what did not happen is not written.
ACCOUNT = {"code_merged", "cpu_ns", "frozen_ns", "halted_at_end", "held_back_ns", "kernel_parts_cut", "names_merged", "paths_cut", "processes",
           "processes_merged", "quota_cores", "stacks_not_read", "stopped_ns", "switches", "threads_at_start", "threads_begun", "threads_missed",
           "tracer", "unreadable_program", "unseen_ns"}
# By schema and place: the fields that may be absent. A place of the log begins with the line's type.
MAY_BE_ABSENT = {
    "callpath-schema.json": {"": {"set"}, "functions[]": {"own_share", "total_share"}, "frames[]": {"stands_for"}},
    "callpath-difference-schema.json": {"old": {"set"}, "new": {"set"}},
    "inputs-schema.json": {
        "forecast": {"routine"},
        "routines[]": {"disagreement", "file", "line"},
        "routines[].growth[]": {"exponent", "line", "shape"},
    },
    schemas.LOG: {
        "run": {"counting", "events", "set"},
        "groups": {"process_of"},
        "losses": {"counts", "programs"},
        "losses.chains": {"searched", "too_deep", "unreadable"},
        "losses.account": ACCOUNT,
        "losses.counts[]": {"missing", "in_gaps", "least_in_gaps", "most_in_gaps"},
        "end": {"counts", "after_pause_ns", "paused", "programs"},
        "end.chains": {"searched", "too_deep", "unreadable"},
        "end.account": ACCOUNT,
        "end.counts[]": {"missing", "in_gaps", "least_in_gaps", "most_in_gaps"},
    },
}
NAMES_AS_KEYS = {"run.facilities"}


def documents(name):
    """Returns documents that have every field together."""
    texts = [(TESTS / file).read_text(encoding="utf-8") for file in FILES[name]]
    if name == schemas.LOG:
        return [json.loads(line) for text in texts for line in text.splitlines()]
    return [joined(json.loads(text), copy.deepcopy(MORE.get(name, {}))) for text in texts]


def joined(document, more):
    """Returns the document with more fields, in its objects as well."""
    both = document.keys() & more.keys()
    objects_of_both = {key: {**document[key], **more[key]} for key in both if isinstance(document[key], dict)}
    return {**document, **more, **objects_of_both}


def below(place, key):
    return f"{place}.{key}" if place else key


def objects(value, place):
    """Yields each object with its place, in which all items of a list have one name."""
    if isinstance(value, dict):
        yield place, value
        for key, each in value.items():
            yield from objects(each, below(place, key))
    elif isinstance(value, list):
        for each in value:
            yield from objects(each, place + "[]")


def described(schema, root, place):
    """Yields each place at which the schema describes an object, with its fields."""
    if schema is True:
        return
    if "$ref" in schema:
        yield from described(root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
    for branch in schema.get("allOf", ()):  # a kind of line
        yield from described(branch["then"], root, branch["if"]["properties"]["type"]["const"])
    for branch in schema.get("anyOf", ()):
        yield from described(branch, root, place)
    if "properties" in schema and "allOf" not in schema:
        yield place, set(schema["properties"])
        for key, each in schema["properties"].items():
            yield from described(each, root, below(place, key))
    if "items" in schema:
        yield from described(schema["items"], root, place + "[]")


def all_objects(name):
    """Yields each object of the documents: its document, its place, and itself."""
    for document in documents(name):
        for place, each in objects(document, document["type"] if name == schemas.LOG else ""):
            yield document, place, each


@pytest.mark.parametrize("name", FILES)
def test_documents_fit_and_have_every_field(name):
    for document in documents(name):
        schemas.check(document, name)
    seen = {}
    for _, place, each in all_objects(name):
        if place not in NAMES_AS_KEYS:
            seen.setdefault(place, set()).update(each)
    schema = schemas.validator(name).schema
    assert seen == dict(described(schema, schema, ""))


@pytest.mark.parametrize("name", FILES)
def test_a_field_too_few_or_too_many_is_refused(name):
    fits = schemas.validator(name).is_valid
    tried = set()
    for document, place, each in all_objects(name):
        if place in NAMES_AS_KEYS:
            continue
        before = copy.copy(each)
        if place not in tried:
            tried.add(place)
            each["frost"] = 1
            assert not fits(document), f"{place} may have an unknown field"
            del each["frost"]
        for key in before:
            if (place, key) in tried or (place, key) == ("end", "signal"):
                continue
            tried.add((place, key))
            del each[key]
            may_be_absent = key in MAY_BE_ABSENT.get(name, {}).get(place, ())
            assert fits(document) == may_be_absent, f"{below(place, key)}: {may_be_absent=}"
            each.clear()
            each.update(before)


@pytest.mark.parametrize("line, change", [
    ("end", {"reason": "boredom"}),
    ("end", {"signal": "SIGKILL"}),
    ("run", {"version": 2}),
    ("run", {"facilities": {"sample": "perhaps"}}),
    ("locations", {"locations": [[0, 16, 2]]}),
    ("locations", {"locations": [[0, 16]]}),
    ("tails", {"tails": [[0, 2, 0]]}),
    ("tails", {"tails": [[0, 2, 1, 4]]}),
    ("frames", {"frames": [[0]]}),
    ("cells", {"metrics": ["frost"]}),
    ("cells", {"cells": [1, -1]}),
    ("nodes", {"nodes": [1.5, 0]}),
    ("nodes", {"n": 0}),
    ("nodes", {"type": "frost"}),
])
def test_wrong_values_in_a_log_are_refused(line, change):
    document = next(each for each in documents(schemas.LOG) if each["type"] == line)
    assert schemas.validator(schemas.LOG).is_valid(document)
    assert not schemas.validator(schemas.LOG).is_valid({**document, **change})
