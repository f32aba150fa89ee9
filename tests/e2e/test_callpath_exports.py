"""Every export of a log of call paths, loaded by the program that it is for."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = ROOT / "tests/fuzz/corpus/callpath/small.jsonl"


def test_exports_are_loaded_by_their_consumers_and_agree(options):
    result = subprocess.run([sys.executable, ROOT / "scripts/callpath_exports", "--causalctl",
                             options.causalctl, LOG],
                            capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    not_tried = [line for line in result.stdout.splitlines() if "not tried" in line]
    assert len(result.stdout.splitlines()) == 7
    if not_tried:
        pytest.skip("; ".join(not_tried))


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
