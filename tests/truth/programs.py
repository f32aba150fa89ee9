"""The programs of the truth suite: their units, and the options that make a unit really faster."""

import dataclasses

import case

SPEEDUPS = (25, 50, 100)


@dataclasses.dataclass
class Unit:
    """A line of a target, which has the mark, or a call path. `factor` is the option that multiplies
    its work. `zero` says that by the program's construction nothing is gained there, and that a
    report must say `no effect`."""

    name: str
    mark: str
    factor: str
    zero: bool = False
    path: str = ""


@dataclasses.dataclass
class Program:
    name: str
    target: str
    point: str
    units: tuple
    arguments: tuple = ()
    # The factor by which its windows, and the time to settle before them, are longer than others: a
    # window of a second has few long rounds.
    longer: int = 1

    def source(self):
        return f"{self.target}.c"

    def line(self, unit):
        if unit.path:
            return unit.path
        return f"{self.source()}:{case.line_of(self.source(), unit.mark)}"


def first_line(name, factor, zero=False):
    return Unit(name, "x < iterations", factor, zero)


def second_line(name, factor, zero=False):
    return Unit(name, "y < iterations", factor, zero)


FIGURE1 = (first_line("a", "--a-factor"), second_line("b", "--b-factor", zero=True))
CHAIN = (first_line("first", "--first-factor"), second_line("second", "--second-factor"))
PIPELINE = (second_line("consumer", "--consumer-factor"),
            first_line("producer", "--producer-factor", zero=True))
HELD = first_line("held", "--held-factor")
POOL = (second_line("task", "--task-factor"), first_line("take", "--take-factor"))
DECOY = (CHAIN[1], Unit("decoy", "z < iterations", "--decoy-factor", zero=True))
SERVICE = (first_line("answer", "--answer-factor"), second_line("after", "--after-factor"))
PACED = (first_line("answer", "--answer-factor", zero=True),)
CALLERS = (Unit("often", "", "--often-factor", path="work < often"),
           Unit("rarely", "", "--rarely-factor", path="work < rarely"))
HIDDEN = (SERVICE[0], second_line("after", "--after-factor", zero=True))


def pair(name, *arguments, longer=1):
    return Program(name, "figure1", "round_done", FIGURE1, arguments, longer)


def queue(via):
    return Program(f"queue-{via}", "pipeline", "item_done", PIPELINE, ("--via", via))


# In `lock-…` the work under the lock outweighs the rest, so that two threads on two cores queue for
# it. If rounds are short, the work outside has a small effect: a thread that comes back at once
# finds the lock free and saves a wake-up, a tenth of such a round. In `service` the clients are
# another process, and four of each queue for the cores; in `service-1` the single worker runs on
# the other core while its client works. In `paced` requests come by a clock that does not wait for
# answers: every 2 ms, and each takes 1 ms; in `paced-8` every 0.8 ms, to eight workers that queue
# for the two cores. In `io` the thread of a() waits for a device as long as it works. Each thread
# is bound to a core, because the scheduler often puts both on one core for the 2 ms that the twin
# of b() takes. That loss is the kernel's, not the program's (docs/virtual-time.md, "What no virtual
# speedup can see").
PROGRAMS = (
    Program("serial", "chain", "round_done", CHAIN),
    Program("callers", "callers", "round_done", CALLERS),
    pair("barrier-2", "--round-ms", "2"),
    pair("barrier-5", "--round-ms", "5"),
    pair("barrier-25", "--round-ms", "25"),
    pair("barrier-90", "--round-ms", "90", longer=4),
    queue("mutex"),
    queue("futex"),
    queue("pipe"),
    Program("lock-short", "lock", "round_done",
            (HELD, second_line("outside", "--outside-factor")),
            ("--threads", "2", "--held-us", "300", "--outside-us", "200")),
    Program("lock-long", "lock", "round_done",
            (HELD, second_line("outside", "--outside-factor", zero=True)),
            ("--threads", "2", "--held-us", "12000", "--outside-us", "8000")),
    Program("decoy", "chain", "round_done", DECOY, ("--decoy-ms", "4")),
    Program("workers", "chain", "round_done", CHAIN, ("--threads", "2")),
    Program("pool", "pool", "item_done", POOL, ("--threads", "8")),
    Program("service", "service", "request_done", SERVICE),
    Program("service-1", "service", "request_done", HIDDEN,
            ("--workers", "1", "--after-us", "100")),
    Program("paced", "paced", "request_done", PACED, ("--random-gaps", "0")),
    Program("paced-8", "paced", "request_done", PACED,
            ("--random-gaps", "0", "--workers", "8", "--every-us", "800")),
    pair("io", "--round-ms", "5", "--wait-ms", "5", "--bound", "1"),
    pair("spin", "--round-ms", "10", "--spin", "1"),
)


@dataclasses.dataclass
class Task:
    """One row of the table: a unit of a program, and by how many percent it is faster."""

    program: Program
    unit: Unit
    speedup: int

    def name(self):
        return f"{self.program.name}/{self.unit.name}"

    def original(self, per_ms):
        return (*self.program.arguments, "--per-ms", f"{per_ms:.0f}")

    def twin(self, per_ms):
        return (*self.original(per_ms), self.unit.factor, str(1 - self.speedup / 100))


def tasks(patterns, speedups):
    return [Task(program, unit, speedup)
            for program in PROGRAMS for unit in program.units for speedup in speedups
            if not patterns or any(p in f"{program.name}/{unit.name}" for p in patterns)]


def without_zero(task):
    """Beside other programs all code takes cores from the rest, and is worth optimising."""
    return dataclasses.replace(task, unit=dataclasses.replace(task.unit, zero=False))
