"""The man pages (docs/man): they have all options of their commands, and are set without a warning."""

import pathlib
import re
import subprocess

import pytest

COMMANDS = ("", "attach", "run", "ab", "report", "callpath", "record", "prof", "calc", "stalls", "stats", "diff", "db", "points", "stacks", "doctor")


@pytest.mark.parametrize("command", COMMANDS)
def test_page(options, command):
    name = f"causalctl-{command}".rstrip("-")
    page = pathlib.Path(options.causalctl).parent / f"docs/man/{name}.1"
    done = subprocess.run(["groff", "-Kutf8", "-Tutf8", "-man", "-ww", "-P-cbou", page],
                          capture_output=True, text=True, check=True)
    assert done.stderr == ""
    help_text = subprocess.run([options.causalctl, *command.split(), "--help"], capture_output=True,
                               text=True, check=True).stdout
    asked = set(re.findall(r"--[a-z][a-z-]+", help_text))
    assert len(asked) > 0 and asked <= set(re.findall(r"--[a-z][a-z-]+", done.stdout))
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"):
        assert f"\n{section}\n" in done.stdout, section
