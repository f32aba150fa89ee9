"""The targets that scripts/kill_table watches: figure1, attached to or started by causalctl."""

import os
import re
import signal
import struct

import counting_target
import fixture

SLOT = struct.Struct("=32xQQ16x")  # entered and left of controller/tracee/inject/slot.h
SLOTS_READ = 16  # more than figure1 has threads
GUARDIAN = "causalctl-guard"
NOT_EXECUTED = 127  # exit status of the child that was to become the program (launch.cc)
PER_MS = "300000"  # iterations of figure1, given so that all are equal and none calibrates


class Watched:
    """REQUIRES: self.pid."""

    statuses = ()
    page = None

    def stub(self):
        """Returns the addresses of an executable anonymous mapping, which is the stub's page."""
        for start, end, _, _, path in fixture.executable_mappings(self.pid):
            if not path:
                return start, end
        return None

    def traced(self):
        """Returns whether a thread is traced. It must be quick, because that lasts less than a
        millisecond, so it polls only the threads that it found first."""
        if not self.statuses:
            self.statuses = [os.open(f"/proc/{self.pid}/task/{thread}/status", os.O_RDONLY)
                             for thread in os.listdir(f"/proc/{self.pid}/task")]
        return any(b"TracerPid:\t0" not in os.pread(status, 512, 0) for status in self.statuses)

    def paused(self):
        """A thread is in the stub, asleep or, where other programs want the cores, awake. Cheap, so
        that the watching takes no core. The stub stays where it is until the detach."""
        self.page = self.page or self.stub()
        if not self.page:
            return False
        try:
            with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
                memory.seek(self.page[1])
                slots = memory.read(SLOTS_READ * SLOT.size)
        except OSError:  # it has ended
            return False
        return any(entered != left for entered, left in SLOT.iter_unpack(slots))

    def left(self):
        return [f"process {pid} of causalctl is left"
                for pid in fixture.processes_with(self.marker) if pid != self.pid]

    def close(self):
        for status in self.statuses:
            os.close(status)


class Attached(Watched, counting_target.CountingTarget):
    """A target that runs before causalctl does, and must go on whatever happens."""

    def __init__(self, options, directory, marker):
        super().__init__(options.targets, directory)
        self.marker = marker
        self.begin = ["attach", str(self.pid)]
        self.program = []
        self.before_rate = self.rate(0.3)

    def seen(self):
        return True

    def injected(self):
        """Returns whether the guardian is at work in the target."""
        return self.traced()

    def alive(self):
        return self.target.alive()

    def differences(self):
        return fixture.differences(self.pid, self.target.before) + self.left()

    def verdict(self, goes_on, ends, killed):
        found = []

        def unharmed():
            found[:] = self.differences()
            return not found

        fixture.wait_until(unharmed, 1.0)
        if not self.alive():
            return [f"the target is dead: {self.target.process.returncode}"]
        return found + self.slower_than(self.before_rate)

    def end(self):
        self.close()
        super().end()


class Launched(Watched, counting_target.CountingTarget):
    """A target that `causalctl run` starts. REQUIRES: we are the subreaper of what causalctl leaves
    behind."""

    reference = None  # (state, rounds per CPU second) of one that is not profiled

    def __init__(self, options, directory, marker):
        self.marker = marker
        self.pid = None
        self.counter = directory / "counter"
        self.output = directory / "output"
        self.begin = ["run"]
        self.program = ["--", *self.command(options, self.counter)]
        if not Launched.reference:
            Launched.reference = self.measure(options, directory / "reference")

    @staticmethod
    def command(options, counter):
        return [options.targets / "figure1", "--round-ms", "5", "--per-ms", PER_MS,
                "--counter", counter]

    def measure(self, options, counter):
        alone = fixture.Target(self.command(options, counter))
        self.pid, mine, self.counter = alone.pid, self.counter, counter
        rate = self.rate(0.5)
        self.pid, self.counter = None, mine
        alone.end()
        return alone.before, rate

    def seen(self):
        """Returns whether the program has been executed."""
        for pid, executable in fixture.processes_with(self.marker).items():
            if executable.endswith("/figure1"):
                self.pid = pid
        return self.pid is not None

    def injected(self):
        """Returns whether the guardian is at work in the program: it has mapped the page, and
        traces it."""
        try:
            return self.seen() and self.stub() is not None and self.traced()
        except (FileNotFoundError, ProcessLookupError):
            return False

    def alive(self):
        return self.pid in fixture.processes_with(self.marker)

    def differences(self):
        return fixture.differences(self.pid, self.reference[0]) + self.left()

    def is_ready(self):
        return f"ready {self.pid}\n" in self.output.read_text()

    @staticmethod
    def reap(how=os.WNOHANG):
        """Returns {pid: wait status} of the processes that causalctl has left to us and that have
        ended."""
        ended = {}
        while True:
            try:
                pid, status = os.waitpid(-1, how)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            ended[pid] = status

    def verdict(self, goes_on, ends, killed):
        """Returns what is wrong. `goes_on` and `ends` say which of them the program may do,
        `killed` has the pids that we have killed. A program that is to end is ended by SIGTERM, which
        causalctl need not wait for."""
        found, ended = [], {}

        def settled():
            ended.update(self.reap())
            if not (self.seen() and self.alive()):
                found[:] = self.left()
            else:
                found[:] = self.differences() if goes_on else ["the program goes on"]
            return not found

        fixture.wait_until(settled, 1.0)
        for pid, status in ended.items():
            is_ended_program = ends and pid == self.pid and status == signal.SIGTERM
            if pid not in killed and not is_ended_program and status not in (0, NOT_EXECUTED << 8):
                found.append(f"process {pid}, left by causalctl, ended by wait status {status}")
        if self.pid in ended and not ends:
            found.append("the program has ended")
        if found or not self.pid:
            return found
        if self.alive():
            if not fixture.wait_until(self.is_ready, 20):
                return ["the program does not become ready"]
            return self.slower_than(self.reference[1])
        # On a full disk, the report before these lines is cut short.
        if self.is_ready() and not re.search(r"rounds \d+\nelapsed_ns \d+\neintr 0\n",
                                             self.output.read_text()):
            return ["the program did not end in its own way, undisturbed"]
        return [] if ends else ["the program has ended"]

    def end(self):
        """REQUIRES: everything with the marker has been killed."""
        self.close()
        self.reap(0)
