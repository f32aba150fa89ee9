"""A plugin of pytest for test_harness.py. It replaces the table by cases that report when they run,
or that end badly. They run /bin/true as causalctl."""

import os
import pathlib
import signal
import time

import cases
from case import Case

FOLDER = pathlib.Path(os.environ["STAND_INS"])
SHOT = signal.SIGTRAP


def takes_a_while(world):
    start = time.monotonic()
    time.sleep(0.5)
    (FOLDER / world.case.name).write_text(f"{start} {time.monotonic()}")


def is_killed(_):
    os.kill(os.getpid(), signal.SIGKILL)


def ends_by(*signals):
    """The first signal ends the target of the first try, the second one that of the second try, and
    so on; later targets end by themselves."""
    def end_target(world):
        with open(FOLDER / world.case.name, "a", encoding="utf-8") as tries:
            tries.write("x")
            count = tries.tell()
        if count <= len(signals):
            os.kill(world.target.pid, signals[count - 1])
    return end_target


def told(name, before=takes_a_while, **more):
    return Case(name, ("x",), before=before, **more)


def shot(name, *signals, may_meet_shot=True):
    return Case(name, ("x",), ("{targets}/idle",), target_output=(), with_target=ends_by(*signals),
                may_meet_shot=may_meet_shot)


ORDINARY = [f"ordinary_{number}" for number in range(6)]
SETS = {
    "turns": [told("looks", undisturbed=True), *map(told, ORDINARY),
              told("compares", measures=True)],
    "killed": [told("killed", before=is_killed), told("first"), told("second"), told("third")],
    "shots": [shot("once", SHOT), shot("twice", SHOT, SHOT), shot("otherwise", signal.SIGSEGV),
              shot("unforeseen", SHOT, may_meet_shot=False), shot("never")],
}
cases.CASES[:] = SETS[os.environ["STAND_INS_SET"]]
