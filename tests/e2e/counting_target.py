"""figure1 with its counter in a file of ours, which shows whether the target is as fast as
before."""

import struct
import time

import fixture

LONGEST = 10  # seconds that a busy machine may take for one CPU second
SLOWER = 0.6  # share of the rate of before that is still normal on a shared machine
# Seconds until the rate of before must be back. A neighbour on the same core takes its share only
# for some seconds, but what causalctl leaves behind stays.
PASSING = 60


def read_counter(path):
    """Returns the rounds, as --counter of tests/targets/harness.h keeps them."""
    content = bytearray()

    def whole():  # the file is not whole for a moment when the target executes itself
        content[:] = path.read_bytes()
        return len(content) == 8

    fixture.wait_until(whole, 5)
    return struct.unpack("q", content)[0]


class CountingTarget:
    def __init__(self, targets, directory):
        self.counter = directory / "counter"
        self.target = fixture.Target([targets / "figure1", "--round-ms", "5",
                                      "--counter", self.counter])
        self.pid = self.target.pid

    def rounds(self):
        return read_counter(self.counter)

    def rate(self, seconds):
        """Returns rounds per CPU second, over at least `seconds` of CPU time; 0 if there is no
        progress."""
        rounds, cpu = self.rounds(), fixture.cpu_seconds(self.pid)
        fixture.wait_until(lambda: fixture.cpu_seconds(self.pid) - cpu >= seconds, LONGEST)
        return (self.rounds() - rounds) / max(fixture.cpu_seconds(self.pid) - cpu, 0.01)

    def slower_than(self, rate):
        """Returns a list of at most one sentence, like fixture.differences()."""
        deadline = time.monotonic() + PASSING
        after = self.rate(0.3)
        while after < SLOWER * rate and time.monotonic() < deadline:
            after = self.rate(1.0)
        return [f"{after:.0f} rounds a CPU second, {rate:.0f} before"] if after < SLOWER * rate else []

    def end(self):
        self.target.end()
