#!/usr/bin/env python3
"""Proves that the harmlessness fixture finds harm: does each kind of it to a target and looks.

Usage: tests/e2e/test_fixture.py [DIRECTORY OF THE TARGETS]. The last line is `N passed, N failed`."""

import os
import pathlib
import signal
import subprocess
import sys

import fixture

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGETS = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/tests/targets"


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
    """A byte at the end of the last page of the program's code, where nothing is executed."""
    mapping = next(m for m in fixture.executable_mappings(target.pid) if m[4].endswith("/idle"))
    with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(mapping[1] - 1)
        memory.write(b"\xcc")
    return lambda: None


def end(target):
    target.process.terminate()
    target.process.wait()
    return lambda: None


# (what is done to the target, what the fixture must say)
HARM = [(nothing, None), (stop, "is stopped"), (trace, "TracerPid"),
        (write_text, "has changed"), (end, "gone")]


def looks_while_libraries_come_and_go():
    target = fixture.Target([str(TARGETS / "matrix_states"), "--state", "dlopen"])
    try:
        return [fixture.differences(target.pid, target.before) for _ in range(200)]
    except OSError as error:
        return [[str(error)]]
    finally:
        target.end()


def hot_and_other_work_differ():
    """Folded into one function by the compiler, a speedup of the one would be one of both."""
    symbols = subprocess.run(["nm", str(TARGETS / "matrix_states")], capture_output=True, text=True,
                             check=True).stdout.split()
    places = {symbols[symbols.index(name) - 2] for name in ("hot_work", "other_work")}
    return len(places) == 2


def main():
    passed = failed = 0
    for harm, expected in HARM:
        target = fixture.Target([str(TARGETS / "idle")])
        undo = harm(target)
        found = []

        def look():
            found[:] = fixture.differences(target.pid, target.before)
            return bool(found)

        fixture.wait_until(look, 5 if expected else 0.2)
        undo()
        target.end()
        good = not found if expected is None else any(expected in text for text in found)
        passed += good
        failed += not good
        if not good:
            print(f"FAILED {harm.__name__}: {found}")
    found = [look for look in looks_while_libraries_come_and_go() if look]
    passed += not found
    failed += bool(found)
    if found:
        print(f"FAILED libraries that come and go: {found[0]}")
    good = hot_and_other_work_differ()
    passed += good
    failed += not good
    if not good:
        print("FAILED hot_work and other_work are one function")
    marker = "CAUSALCTL_E2E=test-of-the-fixture"
    child = subprocess.Popen(["sleep", "60"], env=dict(os.environ, **dict([marker.split("=")])))
    good = fixture.wait_until(lambda: child.pid in fixture.processes_with(marker), 5)
    child.kill()
    child.wait()
    good = good and not fixture.processes_with(marker)
    passed += good
    failed += not good
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
