"""Bounds that the user or the disk sets: the run ends early with what it has, and says so."""

import os
import signal
import subprocess

import fixture
from attaching import A_LINE, FIGURE1
from case import (Case, ROUNDS, digest_same, expect, log_ends_with, patterns,
                  same_or_waits, visits, warns, well_formed)

SHORT = ("--experiment", "100ms", "--min-visits", "1", "--period", "4ms", "--fixed", A_LINE, "--speedup",
         "90")


def attach(*options, duration, point="round_done"):
    return ("attach", "{pid}", "--progress", point, "--duration", duration, *SHORT, "-o", "{log}",
            *options)


def lasted(low, high):
    """Checks the length of the run in seconds, by its own clock, which is in the log."""
    def check_length(outcome):
        wall = outcome.log()[-1]["wall_ns"] / 1e9
        return expect(low <= wall <= high, f"the run lasted {wall:.2f} s")
    return check_length


def has_experiments(outcome):
    """A curve needs a baseline beside a treatment, which a run that ends early may not reach."""
    return expect(outcome.report()["experiments"] > 0, "the report has no experiments")


def stall(world):
    """Stops the target in the middle of the run, until causalctl has ended."""
    world.wait_for_experiments(2)
    os.kill(world.target.pid, signal.SIGSTOP)
    world.process.wait(timeout=30)
    os.kill(world.target.pid, signal.SIGCONT)
    fixture.wait_until(lambda: not fixture.State(world.target.pid).stopped, 5)


class Mount:
    """A disk of 16 KiB with 4 KiB left. It is ended like the other helpers of a case."""

    def __init__(self, place):
        self.place = place
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", place], check=True)
        (place / "filler").write_bytes(bytes(12288))

    def kill(self):
        subprocess.run(["umount", "-l", self.place], check=True)

    def wait(self):
        pass


def small_disk(world):
    world.helpers.append(Mount(world.directory / "disk"))


def full_log_readable(outcome):
    """Checks that what fitted into the log is whole, and that the report is made of more than
    that."""
    records = outcome.log("disk/profile.jsonl")
    kinds = [record["type"] for record in records]
    return (expect(kinds[0] == "run" and "experiment" in kinds, f"in the log: {kinds}") +
            expect("end" not in kinds, "the disk was not full"))


CASES = [
    # Its rounds are short, because it ends in a second or two, in which a busy machine does few.
    Case("budget_exceeded",
         attach("--max-slowdown", "5", "--seed", "1", "--format", "json", duration="40s"),
         ("{targets}/figure1", "--round-ms", "5"),
         checks=(well_formed, digest_same, has_experiments, visits("round_done", 10),
                 log_ends_with("budget"), lasted(1, 30),
                 warns(r"ended early: the target ran \S+ % slower .*--max-slowdown is 5"))),
    # Half of the experiments speed up half of the time by 90 %, which costs some 20 %.
    Case("budget_kept", attach("--max-slowdown", "60", "--format", "json", duration="5s"), FIGURE1,
         checks=(well_formed, digest_same, log_ends_with("duration"), lasted(5, 20))),
    # Pauses alone must be enough. Without visits experiments grow, and the run ends in the one that
    # reaches ten seconds. (Nearly all have a speedup, because by chance the long ones may be
    # baselines.)
    Case("budget_without_progress",
         attach("--max-slowdown", "5", "--format", "json", "--set",
                "experiment.baseline_share=0.05", duration="40s", point="finish"),
         FIGURE1, exit=(1,), counts_nothing="finish is called at the end only",
         checks=(digest_same, log_ends_with("budget"), lasted(1, 30),
                 warns(r"ended early: .*by pauses"))),
    Case("duration_of_stalled_target", attach("--format", "json", duration="3s"), FIGURE1,
         during=stall, exit=(0, 1), target_output=ROUNDS,  # the stop itself may break a call
         checks=(same_or_waits, log_ends_with("duration"), lasted(3, 20))),
    Case("full_disk", ("attach", "{pid}", "--progress", "round_done", "--duration", "30s", *SHORT,
                       "-o", "{dir}/disk/profile.jsonl"), FIGURE1, before=small_disk, exit=(1,),
         stdout=patterns("round_done: \\d+ visits", "afterwards: as it was before"),
         stderr=patterns(r"disk/profile\.jsonl.*no space left on device.*log is not complete",
                         "hint: .*--output"),
         checks=(full_log_readable,)),
]
