"""Measures the truth: a program and its twin, in which a unit is really faster, in the same minutes.

Both exist all the time, and one of them is stopped (SIGSTOP). Windows alternate: original, twin,
twin, original and so on, so that a drift of the machine affects both alike. A window has five
slices, of which the fastest and the slowest do not count, because a virtual machine stalls now and
then. Each pair of windows gives the logarithm of the ratio of their times per round; the truth is
the mean of all, with Student's 95 % interval."""

import dataclasses
import math
import mmap
import os
import pathlib
import signal
import statistics
import struct
import time
import uuid

import fixture

LONGEST_ROUND_S = 10
SLICES = 5
SETTLE_S = 0.1  # after a stop, in which queues fill again and threads spread over the cores

# Student's t, two-sided 95 %, by degrees of freedom (1 to 30).
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
           2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


@dataclasses.dataclass
class Estimate:
    """Effects are fractions: at 0.25 a round takes a quarter less time."""

    effect: float
    low: float
    high: float
    log_ratios: list = dataclasses.field(default_factory=list)


def truth_of(log_ratios):
    """REQUIRES: there are at least two pairs."""
    mean = statistics.fmean(log_ratios)
    freedom = len(log_ratios) - 1
    error = statistics.stdev(log_ratios) / math.sqrt(len(log_ratios))
    half = STUDENT[min(freedom, len(STUDENT)) - 1] * error
    return Estimate(*(1 - math.exp(mean + shift) for shift in (0, half, -half)), log_ratios)


class Counted:
    """A running target whose counter of rounds is mapped here. Until `go` it is stopped, together
    with the processes that it has started, so that requests do not pile up."""

    def __init__(self, directory, program, arguments):
        counter = pathlib.Path(directory, f"counter-{uuid.uuid4()}")
        self.target = fixture.Target([str(program), *arguments, "--counter", str(counter)])
        self.pid = self.target.pid
        self.children = [int(child) for tasks in pathlib.Path(f"/proc/{self.pid}/task").iterdir()
                         for child in (tasks / "children").read_text().split()]
        with open(counter, "rb") as file:
            self.rounds = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
        self.stop()

    def stop(self):
        for pid in (*self.children, self.pid):
            os.kill(pid, signal.SIGSTOP)
            if not fixture.wait_until(
                    lambda: fixture.status_fields(f"/proc/{pid}")["State"].startswith("T"), 10):
                raise RuntimeError(f"the target {self.pid}: its process {pid} did not stop")

    def go(self):
        for pid in (self.pid, *self.children):
            os.kill(pid, signal.SIGCONT)

    def period_s(self, window_s, settle_s):
        """Returns the time of a round, in a window of at least this length."""
        self.go()
        time.sleep(settle_s)
        periods = []
        start, first = self._next_round()
        for _ in range(SLICES):
            time.sleep(window_s / SLICES)
            end, last = self._next_round()
            periods.append((end - start) / (last - first))
            start, first = end, last
        self.stop()
        return statistics.fmean(sorted(periods)[1:-1])

    def rate(self, window_s):
        """Returns rounds per second over a window that begins and ends with a round. All of it
        counts, to show what makes parts of it slower. REQUIRES: it runs."""
        start, first = self._next_round()
        time.sleep(window_s)
        end, last = self._next_round()
        return (last - first) / (end - start)

    def _next_round(self):
        before = self._count()
        deadline = time.monotonic() + LONGEST_ROUND_S
        while self._count() == before:
            time.sleep(0.0001)
            if time.monotonic() > deadline:
                raise RuntimeError(f"no round of the target {self.pid} in {LONGEST_ROUND_S} s")
        return time.monotonic(), self._count()

    def _count(self):
        return struct.unpack("Q", self.rounds[:8])[0]

    def end(self):
        self.go()
        if self.target.end() is None:
            raise RuntimeError(f"the target {self.pid} had to be killed")


class Twins:
    """The original and its twin. `pairs` may be called any number of times."""

    def __init__(self, directory, program, original, twin, window_s, settle_s):
        self.window_s = window_s
        self.settle_s = settle_s
        self.original = Counted(directory, program, original)
        try:
            self.twin = Counted(directory, program, twin)
        except BaseException:
            self.original.end()
            raise

    def pairs(self, count):
        """Returns the logarithms of (time of a round of the twin / of the original)."""
        ratios = []
        for number in range(count):
            order = [self.original, self.twin]
            if number % 2 == 1:
                order.reverse()
            periods = {counted.pid: counted.period_s(self.window_s, self.settle_s)
                       for counted in order}
            ratios.append(math.log(periods[self.twin.pid] / periods[self.original.pid]))
        return ratios

    def pids(self):
        return [pid for counted in (self.original, self.twin)
                for pid in (counted.pid, *counted.children)]

    def end(self):
        try:
            self.original.end()
        finally:
            self.twin.end()


def calibrate(program):
    """Returns the loop iterations in a millisecond, measured by one target for all of them."""
    target = fixture.Target([str(program)])
    output = target.output()
    target.end()
    return max(float(line.split()[2]) for line in output.splitlines()
               if line.startswith("per_ms "))
