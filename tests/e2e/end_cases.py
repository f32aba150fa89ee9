"""How a profile ends before its time: the target is gone, Ctrl-C, SIGKILL."""

import os
import pathlib
import signal

from attaching import A_LINE, FIGURE1, attach_json, attach_short, halved
from case import (Case, ROUNDS, digest_same, expect, log_complete, log_ends_with, patterns, visits,
                  warns, well_formed)
from during import end, interrupt, wait_for_pauses


def interrupt_twice(world):
    interrupt(world)
    end(world)


def hang_up(world):
    world.wait_for_experiments(2)
    world.process.send_signal(signal.SIGHUP)


def kill_controller(world):
    world.wait_for_experiments(3)
    world.process.kill()


def kill_amid_pauses(world):
    wait_for_pauses(world)
    world.process.kill()


def kill_guardian(world):
    """The child of causalctl, in the midst of the run."""
    wait_for_pauses(world)
    pid = world.process.pid
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    if len(children) != 1:
        raise RuntimeError(f"causalctl has the children {children}, not one guardian")
    os.kill(int(children[0]), signal.SIGKILL)


def guardian_killed(name, *options):
    """Ends the run, with a report, a target as it was before, and a status that tells."""
    return Case(name, attach_json(*halved(A_LINE), *options), FIGURE1, during=kill_guardian,
                exit=(1,), stderr=patterns("something killed the guardian process"),
                checks=(well_formed, digest_same, log_complete, visits("round_done", 1),
                        warns("something killed the guardian process")))


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
    Case("hangup_prints_report", attach_short(), FIGURE1,
         during=hang_up, stdout=patterns("round_done"),
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
    # The guardian's socket must not take the place of what is missing.
    Case("controller_killed_without_stderr", attach_short(*halved(A_LINE)), FIGURE1, closed=(0, 2),
         during=kill_amid_pauses, exit=(-signal.SIGKILL,), checks=(log_readable,)),
    guardian_killed("guardian_killed"),
    guardian_killed("guardian_killed_ptrace_channel", "--pause-channel", "ptrace"),
]
