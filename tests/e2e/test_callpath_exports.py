"""Every export of a log of call paths, loaded by the program that it is for."""

import pathlib
import subprocess
import sys

import pytest

from test_callpath import run
from test_modules import running

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = ROOT / "tests/fuzz/corpus/callpath/small.jsonl"


# A program with some hundred functions.
PYTHON = """
import hashlib, json, re, zlib
print("ready", flush=True)
while True:
    text = json.dumps([{"key%d" % i: [i / 7, str(i), None]} for i in range(2000)])
    words = sorted(re.findall(r"[a-z]+[0-9]*", text), key=lambda word: word[::-1])
    json.loads(text)
    hashlib.sha256(zlib.compress(" ".join(words).encode())).hexdigest()
"""


def check_exports(options, log, functions):
    """Checks that all exports agree on so many functions, those with the most time."""
    result = subprocess.run([sys.executable, ROOT / "scripts/callpath_exports", "--causalctl",
                             options.causalctl, log],
                            capture_output=True, text=True, check=False, timeout=240)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    not_tried = [line for line in lines if "not tried" in line]
    agree = [line for line in lines if line.endswith(f": loaded, and agrees on {functions} functions")]
    assert len(lines) == len(agree) + len(not_tried) == 7, result.stdout
    if not_tried:
        pytest.skip("; ".join(not_tried))


def test_exports_are_loaded_by_their_consumers_and_agree(options):
    check_exports(options, LOG, 3)


def test_exports_of_a_real_program_agree_on_the_top_20(options, tmp_path):
    with running(sys.executable, "-c", PYTHON) as pid:
        done = run(options, "callpath", pid, "--duration", "3s", "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    check_exports(options, tmp_path / "callpath.jsonl", 20)


def test_a_log_of_call_paths_is_told_from_an_experiment_log(options, tmp_path):
    causal = tmp_path / "profile.jsonl"
    causal.write_text('{"type":"run","version":1,"run":"a"}\n')

    def report(*arguments):
        return subprocess.run([options.causalctl, "report", *arguments], text=True,
                              capture_output=True, check=False, timeout=60)
    assert "call chains are complete" in report(LOG).stdout
    mixed = report(LOG, causal)
    assert mixed.returncode == 2 and "logs of different kinds" in mixed.stderr
    foreign = report(causal, "--by", "function")
    assert foreign.returncode == 2 and "for logs of call paths" in foreign.stderr
    nobody = report(LOG, "--under", "mian")
    assert nobody.returncode == 2 and "the nearest are: main" in nobody.stderr
    assert report(LOG, "--format", "coz").returncode == 2
    # Filters nest in the order of the command line.
    assert report(LOG, "--through", "main", "--through", "f", "--format", "folded").returncode == 0
    assert "no path fits" in report(LOG, "--through", "f", "--through", "main").stderr
