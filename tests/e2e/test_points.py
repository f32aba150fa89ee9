"""`points` lists what a process does, by how often it does so."""

import re

from test_modules import answer, running

# About a hundred writes a second, and a thousand other calls.
WRITER = """
import os, time
print("ready", flush=True)
sink = os.open("/dev/null", os.O_WRONLY)
while True:
    for _ in range(10): os.getppid()
    os.write(sink, b"x")
    time.sleep(0.01)
"""


def test_system_calls_are_listed_by_their_rates(options, tmp_path):
    with running("/usr/bin/python3", "-c", WRITER, cwd=tmp_path) as pid:
        text = answer(options, "points", pid)
    if "# not counted" in text:  # where BPF is not permitted, it says so
        assert "BPF" in text or "bpf" in text, text
        return
    outputs, others = text.split("# other system calls", 1)
    rate = {name: float(value.replace(",", ""))
            for name, value in re.findall(r"^syscall:(\w+) +# ([\d.,]+) a second$", text, re.MULTILINE)}
    assert 40 < rate["write"] < 101, text  # beside a load it sleeps longer
    assert 9 < rate["getppid"] / rate["write"] < 11, text
    assert "syscall:write" in outputs and "syscall:getppid" in others, text


def test_calls_that_cannot_be_counted_are_told(options, tmp_path, monkeypatch):
    monkeypatch.setenv("CAUSALCTL_PRETEND_BROKEN", "bpf")
    with running("/usr/bin/python3", "-c", WRITER, cwd=tmp_path) as pid:
        text = answer(options, "points", pid)
    assert "# not counted: CAUSALCTL_PRETEND_BROKEN has bpf" in text and "# functions" in text, text
