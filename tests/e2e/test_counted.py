"""A point that counts less than its name says is told of, in the report as well."""

import json
import subprocess

from test_modules import compiled, running


def test_calls_that_are_inlined(options, tmp_path):
    program = compiled(tmp_path, "also_inlined.c")
    with running(program) as pid:
        done = subprocess.run(
            [options.causalctl, "attach", str(pid), "--progress", "item_done", "--duration", "1s",
             "--pause-cost", "10us", "--format", "json", "-o", tmp_path / "profile.jsonl"],
            capture_output=True, text=True, timeout=100, check=False)
    expected = "item_done is also inlined, at also_inlined.c:19. Those calls are not counted"
    assert expected in done.stderr, done.stderr
    assert any(expected in warning for warning in json.loads(done.stdout)["warnings"]), done.stdout
