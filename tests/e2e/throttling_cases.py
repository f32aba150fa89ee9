"""A profile during which kernel.perf_event_max_sample_rate falls. The kernel lowers that itself if
samples take it too long. The limit is that of the whole machine."""

import json
import pathlib
import subprocess

from attaching import ENDLESS, NO_PACE_TEST, attach
from case import (Case, ROUNDS, digest_same, experiments_of, kept_experiments, line_of, log_ends_with,
                  patterns, records_in, warns, well_formed)
from during import PATIENCE, end, so_far

LIMIT = pathlib.Path("/proc/sys/kernel/perf_event_max_sample_rate")
LOW = 250  # samples a second, which is one a tick if HZ is 250

# The producer takes half as long as the consumer, so all of a speedup below 50 % is gained.
CONSUMER = f"pipeline.c:{line_of('pipeline.c', 'y < iterations')}"
SPEEDUP = TRUTH = 0.4
EXPERIMENTS = 40  # under the low limit

# Sets the limit back when its standard input ends, as it does in every end of the runner.
GUARD = ("trap '' HUP INT TERM; echo \"$2\" >\"$1\" && echo lowered && cat >/dev/null; "
         "echo \"$3\" >\"$1\"")


class LoweredLimit:
    def __init__(self, path=LIMIT):
        self.path = path
        self.usual = path.read_text()
        self.guard = subprocess.Popen(["sh", "-c", GUARD, "guard", path, str(LOW), self.usual.strip()],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      start_new_session=True)
        if self.guard.stdout.readline() != "lowered\n":
            self.undo()
            raise RuntimeError(f"{path} could not be lowered")

    def undo(self):
        self.guard.communicate()  # closes the guard's standard input and waits for its end
        if self.path.read_text() != self.usual:
            raise RuntimeError(f"{self.path} is {self.path.read_text().strip()}, not "
                               f"{self.usual.strip()} as before")


def lower_after_the_first_experiment(world):
    world.wait_for_experiments(1)
    begun = len(experiments_of(records_in(world.log))) + 1  # one is under way
    world.at_end.append(LoweredLimit().undo)

    def enough(records):
        return len(kept_experiments(records)) >= begun + EXPERIMENTS

    if not world.wait_for_log(enough, PATIENCE, every=0.1):
        raise RuntimeError(f"waited in vain: {so_far(world)}")
    end(world)


def problems_of_effect(report):
    """Checks the effect by a 99.9 % interval, which is 3.29/1.96 times as wide as the 95 % interval
    of the same estimate and misses the truth once in a thousand times instead of once in twenty."""
    unit = next(unit for unit in report["progress"][0]["units"] if unit["unit"] == CONSUMER)
    found = next(point for point in unit["curve"] if point["speedup"] == SPEEDUP)
    wider = 3.29 / 1.96
    low = found["effect"] - wider * (found["effect"] - found["low"])
    high = found["effect"] + wider * (found["high"] - found["effect"])
    if low <= TRUTH <= high:
        return []
    others = report["target"]["outside_share"]
    return [f"the effect is {found['effect']:.3f} [{low:.3f}, {high:.3f}], the truth {TRUTH}; its threads "
            f"waited {others:.0%} of the time because of other processes"]


def covers_the_truth(world):
    if world.options.no_figures:
        return []
    return problems_of_effect(json.loads((world.directory / "stdout").read_text()))


CASES = [
    Case("attach_limit_of_samples_falls",
         attach("--duration", ENDLESS, "--experiment", "400ms", "--period", "1ms", "--pause-cost",
                "150us", *NO_PACE_TEST, "--fixed", CONSUMER, "--speedup", str(round(100 * SPEEDUP)),
                "--format", "json", point="item_done"),
         ("{targets}/pipeline",), during=lower_after_the_first_experiment, after=covers_the_truth,
         undisturbed=True, timeout=150, absent=patterns("unit's own time allows for"),
         target_output=ROUNDS + patterns("^eintr 0$", "^wrong_items 0$", "^interrupted 0$"),
         checks=(well_formed, digest_same, log_ends_with("interrupted"),
                 warns(rf"perf_event_max_sample_rate has fallen from \d+ to {LOW} during the run"))),
]
