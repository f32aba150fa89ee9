"""Proves that the harmlessness fixture finds harm, by doing each kind of it to a target."""

import os
import signal
import subprocess

import pytest

import fixture


def nothing(_):
    return lambda: None


def stop(target):
    os.kill(target.pid, signal.SIGSTOP)
    return lambda: os.kill(target.pid, signal.SIGCONT)


def trace(target):
    tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(target.pid)],
                              stderr=subprocess.DEVNULL)

    def undo():
        tracer.terminate()
        tracer.wait()
    return undo


def write_text(target):
    """Writes a byte at the end of the last page of the program's code, where nothing is
    executed."""
    mapping = next(m for m in fixture.executable_mappings(target.pid) if m[4].endswith("/idle"))
    with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(mapping[1] - 1)
        memory.write(b"\xcc")
    return lambda: None


def end(target):
    target.process.terminate()
    target.process.wait()
    return lambda: None


@pytest.mark.parametrize("harm, expected", [
    (nothing, None), (stop, "is stopped"), (trace, "TracerPid"), (write_text, "has changed"),
    (end, "gone")])
def test_harm_is_found(options, harm, expected):
    target = fixture.Target([options.targets / "idle"])
    undo = harm(target)
    found = []

    def look():
        found[:] = fixture.differences(target.pid, target.before)
        return bool(found)

    fixture.wait_until(look, 5 if expected else 0.2)
    undo()
    target.end()
    assert not found if expected is None else any(expected in text for text in found)


def test_libraries_that_come_and_go_are_no_harm(options):
    target = fixture.Target([options.targets / "matrix_states", "--state", "dlopen"])
    try:
        for _ in range(200):
            assert not fixture.differences(target.pid, target.before)
    finally:
        target.end()


def test_hot_and_other_work_differ(options):
    """If the compiler folded them into one function, a speedup of one would be a speedup of
    both."""
    symbols = subprocess.run(["nm", options.targets / "matrix_states"], capture_output=True,
                             text=True, check=True).stdout.split()
    places = {symbols[symbols.index(name) - 2] for name in ("hot_work", "other_work")}
    assert len(places) == 2


def test_processes_are_found_by_their_marker():
    marker = "CAUSALCTL_E2E=test-of-the-fixture"
    child = subprocess.Popen(["sleep", "60"], env=dict(os.environ, **dict([marker.split("=")])))
    found = fixture.wait_until(lambda: child.pid in fixture.processes_with(marker), 5)
    child.kill()
    child.wait()
    assert found
    assert not fixture.processes_with(marker)
