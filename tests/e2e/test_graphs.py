"""Control-flow graphs of programs without symbols hold what they do (scripts/graph_check)."""

import json
import shutil
import subprocess
import sys

import pytest

import world

PROGRAMS = ["gzip", "mawk", "perl", "python3"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_counts_flow_along_the_graphs(program):
    if not shutil.which("valgrind") or not shutil.which(program):
        pytest.skip(f"valgrind or {program} is not installed (Debian: valgrind, gzip, mawk, perl, python3)")
    done = subprocess.run([sys.executable, world.ROOT / "scripts/graph_check", "-k", program, "--json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(each["executions"] for each in objects) > 1e6, done.stdout
    for each in objects:
        assert each["outside_functions"] + each["outside_blocks"] <= 0.001 * each["executions"], each
        assert each["uneven"] <= 0.001 * each["executions"], each
        assert each["missing_jumps"] <= 0.001 * each["jumps"], each
        assert each["imbalance"] <= 0.01 * each["block_executions"], each
