"""How a profile ends before its time: the target is gone, Ctrl-C, SIGKILL."""

import signal

from attaching import FIGURE1, attach_json, attach_short
from case import (Case, ROUNDS, expect, log_complete, log_ends_with, patterns, visits, well_formed)
from during import end, interrupt


def interrupt_twice(world):
    interrupt(world)
    end(world)


def kill_controller(world):
    world.wait_for_experiments(3)
    world.process.kill()


def log_readable(outcome):
    """What a killed controller leaves is a readable log without an end."""
    records = outcome.log()
    return (expect(records[0]["type"] == "run", "no run record") +
            expect(records[-1]["type"] != "end", "an end record, of a killed run"))


CASES = [
    Case("target_vanishes", attach_json(duration="40s"),
         (*FIGURE1, "--seconds", "12"), target_ends=True,
         checks=(well_formed, visits("round_done", 10), log_ends_with("target-exited"))),
    Case("interrupt_prints_report", attach_short(), FIGURE1,
         during=interrupt, stdout=patterns("round_done"),
         checks=(log_complete, log_ends_with("interrupted"))),
    # Its status says nothing: the report may be out before the second one comes.
    Case("interrupt_twice", attach_short(), FIGURE1,
         during=interrupt_twice, exit=(0, 1, 130)),
    Case("controller_killed", attach_short(), FIGURE1,
         during=kill_controller, exit=(-signal.SIGKILL,), checks=(log_readable,)),
    Case("controller_killed_blocking_calls",
         attach_short(), ("{targets}/blocking_calls",),
         during=kill_controller, exit=(-signal.SIGKILL,),
         target_output=ROUNDS + patterns("^eintr_total 0$", "^short_total 0$", "^wrong_total 0$")),
    Case("controller_killed_many_threads",
         attach_short(), ("{targets}/many_threads",),
         during=kill_controller, exit=(-signal.SIGKILL,)),
]
