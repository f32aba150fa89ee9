"""Cases in which a profile ends early: the target is gone, Ctrl-C, SIGKILL."""

import os
import pathlib
import signal
import subprocess

import fixture
from attaching import A_LINE, FIGURE1, attach_json, attach_short, halved, profiled
from case import (Case, ROUNDS, digest_same, expect, log_complete, log_ends_with, patterns,
                  records_in, visits, warns, well_formed)
from during import PATIENCE, end, interrupt, pauses_in, wait_for_pauses

SYS_RECVFROM = 45


def interrupt_twice(world):
    interrupt(world)
    end(world)


def end_and_kill_target(world):
    wait_for_pauses(world)
    end(world)
    world.target.process.kill()


def hang_up(world):
    world.wait_for_experiments(2)
    world.process.send_signal(signal.SIGHUP)


def kill_controller(world):
    world.wait_for_experiments(3)
    world.process.kill()


def kill_amid_pauses(world):
    wait_for_pauses(world)
    world.process.kill()


def change_text(world):
    """Changes a byte behind the last function, like a uprobe that is left behind."""
    world.wait_for_experiments(1)
    pid = world.target.pid
    program = os.readlink(f"/proc/{pid}/exe")
    end_of_text = next(end for _, end, _, _, path in fixture.executable_mappings(pid)
                       if path == program)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(end_of_text - 1)
        memory.write(b"\x01")
    interrupt(world)


def only_child(pid):
    """Returns the child of a causalctl: its guardian."""
    children = fixture.children(pid)
    if len(children) != 1:
        raise RuntimeError(f"causalctl has the children {children}, not one")
    return children[0]


def kill_guardian(world):
    wait_for_pauses(world)
    os.kill(only_child(world.process.pid), signal.SIGKILL)


def kill_guardian_at_detach(world):
    """The guardian is stopped, so that it dies with the request to undo everything before it."""
    wait_for_pauses(world)
    guardian = only_child(world.process.pid)
    os.kill(guardian, signal.SIGSTOP)
    world.process.send_signal(signal.SIGINT)

    def asked():
        words = pathlib.Path(f"/proc/{world.process.pid}/syscall").read_text().split()
        return words[0] == str(SYS_RECVFROM)

    if not fixture.wait_until(asked, PATIENCE):
        raise RuntimeError("causalctl does not wait for its guardian")
    os.kill(guardian, signal.SIGKILL)


def leave_a_stub(world):
    """Leaves a stub, as a causalctl does that is killed together with its guardian during a run."""
    log = world.directory / "killed.jsonl"
    other = subprocess.Popen(world.command((*attach_short(*halved(A_LINE)), "--quiet",
                                            "-o", log)),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        if not fixture.wait_until(lambda: pauses_in(records_in(log)) > 0, PATIENCE):
            raise RuntimeError("the other causalctl makes no pauses")
        guardian = only_child(other.pid)
        other.send_signal(signal.SIGSTOP)  # otherwise it would start another guardian
        os.kill(guardian, signal.SIGKILL)
    finally:
        other.kill()
        other.wait()
    if not fixture.differences(world.target.pid, world.target.before):
        raise RuntimeError("nothing was left in the target")


def profile_by_ptrace(world):
    """Starts another causalctl, which pauses by ptrace and so leaves nothing to see in the
    target."""
    log = world.directory / "other.jsonl"
    other = subprocess.Popen(world.command((*attach_short(*halved(A_LINE)),
                                            "--pause-channel", "ptrace", "--quiet", "-o", log)),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    world.helpers.append(other)
    if not fixture.wait_until(lambda: pauses_in(records_in(log)) > 0, PATIENCE):
        raise RuntimeError("the other causalctl makes no pauses")


def end_other(world):
    (other,) = world.helpers
    other.send_signal(signal.SIGINT)
    return expect(other.wait(timeout=60) == 0, f"the other causalctl ended with {other.returncode}")


def guardian_killed(name, *options, during=kill_guardian, when="so the run was ended early"):
    """A case in which the guardian is killed. The run ends with a report, a target as it was
    before, and a status that shows it."""
    return Case(name, attach_json(*halved(A_LINE), *options), FIGURE1, during=during,
                exit=(1,), stderr=patterns("something killed the guardian process"),
                checks=(well_formed, digest_same, log_complete, visits("round_done", 1),
                        warns(f"something killed the guardian process,? {when}")))


def log_readable(outcome):
    """Checks that a killed controller leaves a readable log without an end."""
    records = outcome.log()
    return (expect(records[0]["type"] == "run", "no run record") +
            expect(records[-1]["type"] != "end", "an end record, of a killed run"))


CASES = [
    Case("target_vanishes", attach_json(duration="40s"),
         (*FIGURE1, "--seconds", "12"), target_ends=True,
         checks=(well_formed, visits("round_done", 10), log_ends_with("target-exited"))),
    # Then nothing can tell whether the target is as it was before.
    Case("target_killed_at_the_end", attach_json(*halved(A_LINE)), FIGURE1,
         during=end_and_kill_target, target_ends=True, target_status=(-signal.SIGKILL,),
         target_output=(), absent=patterns("report it"), exit=(0,),
         checks=(well_formed, lambda outcome: expect(
             outcome.report()["target"]["digest"] == "unknown", "the digest is not unknown"))),
    Case("target_text_changed", attach_json(), FIGURE1, during=change_text, texts_may_change=True,
         exit=(1,), checks=(well_formed, warns(r"target state: hash of text .*figure1.*: .* before"),
                            lambda outcome: expect(
                                outcome.report()["target"]["digest"] == "changed",
                                "a changed text is none in the digest"))),
    Case("interrupt_prints_report", attach_short(), FIGURE1,
         during=interrupt, stdout=patterns("round_done"),
         checks=(log_complete, log_ends_with("interrupted"))),
    Case("hangup_prints_report", attach_short(), FIGURE1,
         during=hang_up, stdout=patterns("round_done"),
         checks=(log_complete, log_ends_with("interrupted"))),
    # The status says nothing, because the report may be printed before the second interrupt comes.
    Case("interrupt_twice", attach_short(), FIGURE1,
         during=interrupt_twice, exit=(0, 1, -signal.SIGINT)),
    Case("controller_killed", attach_short(), FIGURE1,
         during=kill_controller, exit=(-signal.SIGKILL,), checks=(log_readable,)),
    Case("controller_killed_blocking_calls",
         attach_short(), ("{targets}/blocking_calls",),
         during=kill_controller, exit=(-signal.SIGKILL,),
         target_output=ROUNDS + patterns("^eintr_total 0$", "^short_total 0$", "^wrong_total 0$")),
    Case("controller_killed_many_threads",
         attach_short(), ("{targets}/many_threads",),
         during=kill_controller, exit=(-signal.SIGKILL,)),
    # The guardian's socket must not get the number of a missing descriptor.
    Case("controller_killed_without_stderr", attach_short(*halved(A_LINE)), FIGURE1, closed=(0, 2),
         during=kill_amid_pauses, exit=(-signal.SIGKILL,), checks=(log_readable,)),
    profiled("attach_after_both_were_killed", attach_json(*halved(A_LINE)),
             with_target=leave_a_stub,
             stderr=patterns("removed the pause stub that a killed causalctl had left in process"),
             checks=(well_formed, digest_same, visits("round_done", 20))),
    Case("attach_beside_another", attach_short("--pause-channel", "ptrace"), FIGURE1,
         with_target=profile_by_ptrace, after=end_other, exit=(1,),
         stderr=patterns(r"is being profiled by causalctl, process \d+", "wait for its end")),
    Case("doctor_beside_another", ("doctor", "{pid}"), FIGURE1,
         with_target=profile_by_ptrace, after=end_other, exit=(1,),
         stdout=patterns(r"it is being profiled by causalctl, process \d+")),
    guardian_killed("guardian_killed"),
    guardian_killed("guardian_killed_ptrace_channel", "--pause-channel", "ptrace"),
    guardian_killed("guardian_killed_at_detach", during=kill_guardian_at_detach,
                    when="while it undid"),
]
