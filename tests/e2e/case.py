"""What a case is, and the predicates that cases are made of. A check takes an Outcome (world.py) and
returns a list of problems."""

import dataclasses
import json
import math
import pathlib
import re
import signal

TARGET_SOURCES = pathlib.Path(__file__).resolve().parent.parent / "targets"


def patterns(*texts):
    return tuple(re.compile(text, re.IGNORECASE | re.MULTILINE) for text in texts)


# The last lines of every target of ours: it has counted, and no blocking call failed with EINTR.
FINE = patterns(r"^rounds [1-9]\d*$", r"^eintr 0$")
ROUNDS = patterns(r"^rounds [1-9]\d*$")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    # Words may contain {pid}, {dir} (scratch, the working directory), {log}, {targets}, {root}
    # and what `before` put into world.names.
    arguments: tuple
    target: tuple = ()  # command; () for none
    exit: tuple = (0,)
    stdout: tuple = ()  # each must match …
    stderr: tuple = ()
    output: tuple = ()  # … in stdout or stderr
    absent: tuple = ()  # must match in neither
    checks: tuple = ()
    before: object = None  # function of the World that is called before the target is started
    with_target: object = None  # … when the target is ready
    during: object = None  # … when causalctl is started
    after: object = None  # … when causalctl has ended; returns a list of problems
    user: object = None  # uid to run causalctl as
    pretend_broken: str = ""  # facilities that causalctl must take to never fire (base/facility.h)
    closed: tuple = ()  # descriptors that causalctl is started without
    environment: tuple = ()  # "NAME=VALUE" that causalctl is started with; like the words above
    ignored: tuple = ()  # signals that causalctl is started with as ignored
    descriptors: int = 0  # most descriptors that it may have open (the soft limit); 0: our limit
    needs: dict = dataclasses.field(default_factory=dict)  # program → Debian package
    target_output: tuple = FINE
    target_status: tuple = (0,)
    target_ends: bool = False  # the target ends by itself during the case
    texts_may_change: bool = False  # the target executes another program
    writes_code: bool = False  # the target compiles while it runs
    clean_within: float = 5  # seconds until nothing may be left behind
    alone: bool = False  # no process that causalctl has started may run on
    undisturbed: bool = False  # never runs beside another case, because it checks who has the cores
    measures: bool = False  # compares speeds, so it does not either, unless --no-figures is given
    # The target resets SIGTRAP while one of our signals may be on its way, which then ends it
    # (docs/safety.md, "A target that changes what SIGTRAP does": once in some hundred tries). Then
    # the case is tried again.
    may_meet_shot: bool = False
    # Why nothing may be counted. Otherwise a profile fails if one of its points has no visits.
    counts_nothing: str = ""
    # Why it needs a breakpoint register that fires. The case is skipped if none does.
    needs_breakpoint: str = ""
    needs_32_bit: bool = False  # runs a 32-bit program, which not every kernel can
    timeout: float = 60

    def profiles(self):
        """Returns whether it should make a profile, to its end or until it is killed."""
        return (self.arguments[:1] in (("attach",), ("run",)) and "--help" not in self.arguments
                and any(status in self.exit for status in (0, -signal.SIGKILL)))

    def must_count(self):
        return self.profiles() and not self.counts_nothing


def line_of(source, text):
    """Returns the number of the only line of a target's source that contains `text`."""
    lines = (TARGET_SOURCES / source).read_text().splitlines()
    numbers = [number for number, line in enumerate(lines, start=1) if text in line]
    assert len(numbers) == 1, (source, text, numbers)
    return numbers[0]


def expect(condition, text):
    return [] if condition else [text]


# --- the JSON report ---

def is_number(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def well_formed(outcome):
    """Checks that every field which docs/report-format.md names is there and has the right type."""
    report = outcome.report()
    problems = expect(report["version"] == 1, "version is not 1")
    for group, fields in (("selfcheck", ("delay_asked_ns", "delay_paid_ns")),
                          ("overhead", ("controller_cpu_share", "attach_stop_ns")),
                          ("losses", ("records_lost", "experiments_discarded",
                                      "stacks_truncated", "samples_unknown")),
                          ("target", ("oversubscribed_share", "outside_share"))):
        for field in fields:
            problems += expect(is_number(report[group][field]), f"{group}.{field}: not a number")
    problems += expect(isinstance(report["warnings"], list), "warnings: not a list")
    for point in report["progress"]:
        problems += expect(point["kind"] in ("throughput", "latency"), f"kind {point['kind']}")
        problems += expect(is_number(point["visits"]), "visits: not a number")
        for unit in point["units"]:
            problems += problems_of_unit(unit)
    return problems


def problems_of_unit(unit):
    name = unit["unit"]
    problems = expect(unit["kind"] in ("line", "function", "path"), f"{name}: kind {unit['kind']}")
    problems += expect(unit["verdict"] in ("optimise", "no-effect", "contention",
                                           "not-enough-data"), f"{name}: {unit['verdict']}")
    problems += expect(0 <= unit["sample_share"] <= 1, f"{name}: share {unit['sample_share']}")
    for point in unit["curve"]:
        problems += expect(0 <= point["speedup"] <= 1, f"{name}: speedup {point['speedup']}")
        ordered = point["low"] <= point["effect"] <= point["high"]
        problems += expect(ordered, f"{name}: effect outside of its interval: {point}")
    return problems


def digest_same(outcome):
    digest = outcome.report()["target"]["digest"]
    return expect(digest == "same", f"digest: {digest}")


def follows(name):
    """Checks that only this other process is followed."""
    def check_peers(outcome):
        peers = outcome.report()["target"]["peers"]
        return expect(len(peers) == 1 and peers[0].startswith(f"{name} (process "),
                      f"followed: {peers}, not {name} alone")
    return check_peers


def visits(name, at_least, kind="throughput"):
    """Checks visits in the report. until_enough (during.py) waits for them by checking the log."""
    def check_visits(outcome):
        points = {point["name"]: point for point in outcome.report()["progress"]}
        if name not in points:
            return [f"no progress point {name}, only {sorted(points)}"]
        point = points[name]
        return (expect(point["kind"] == kind, f"{name}: kind {point['kind']}") +
                expect(point["visits"] >= at_least,
                       f"{name}: {point['visits']} visits, fewer than {at_least}"))

    def reached(records):
        count = {"throughput": "visits", "latency": "ends"}[kind]
        return at_least <= sum(point[count] for record in kept_experiments(records)
                               for point in record[kind] if point["name"] == name)

    check_visits.reached = reached
    return check_visits


def all_units(outcome):
    return [unit for point in outcome.report()["progress"] for unit in point["units"]]


def units_include(name):
    def check_units(outcome):
        names = sorted({unit["unit"] for unit in all_units(outcome)})
        return expect(any(unit == name or unit.endswith("/" + name) for unit in names),
                      f"no unit {name}, only {names}")
    return check_units


def units_are(kind):
    def check_kinds(outcome):
        units = all_units(outcome)
        wrong = [unit["unit"] for unit in units if unit["kind"] != kind]
        return expect(units, "no units") + expect(not wrong, f"not a {kind}: {wrong}")
    return check_kinds


def warns(pattern):
    def check_warning(outcome):
        text = "\n".join(outcome.report()["warnings"]) + outcome.stderr
        return expect(re.search(pattern, text, re.IGNORECASE), f"no warning like {pattern!r}")
    return check_warning


def waits_for_others(least, most):
    """Checks the share of the waits for cores that other processes cause."""
    def check_waits(outcome):
        target = outcome.report()["target"]
        waits, others = target["oversubscribed_share"], target["outside_share"]
        return (expect(waits > 0.05, f"threads waited {waits} of the time") +
                expect(least * waits <= others <= most * waits,
                       f"of {waits} waited, {others} for other processes"))
    return check_waits


def same_or_waits(outcome):
    """Accepts a stub that is left because a thread was stopped in it, if the report says so."""
    if outcome.status == 0:
        return digest_same(outcome)
    waits = "is stopped: .* until it goes on, when the guardian removes them"
    return (warns(waits)(outcome) +
            expect("report it" not in outcome.stderr, "it asks to report what it explains"))


# --- the experiment log ---

def records_in(log):
    """Returns the records of whole lines, since the last line may be incomplete."""
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def experiments_of(records):
    return [record for record in records if record["type"] == "experiment"]


def kept_experiments(records):
    """Returns the experiments that count for the report."""
    return [record for record in experiments_of(records) if "discarded" not in record]


def counted(records):
    """Returns the visits of each progress point, by its name, in all experiments."""
    visits_of = {}
    for record in experiments_of(records):
        for kind, count in (("throughput", "visits"), ("latency", "ends")):
            for point in record[kind]:
                visits_of[point["name"]] = visits_of.get(point["name"], 0) + point[count]
    return visits_of


def has_counted(records):
    visits_of = counted(records)
    return bool(visits_of) and all(visits_of.values())


def something_counted(outcome):
    """Checks that a profile has counted something, as every one must (Case.must_count)."""
    records = outcome.log()
    return expect(has_counted(records),
                  f"nothing was counted: {counted(records) or 'there is no experiment'}")


def log_complete(outcome):
    records = outcome.log()
    types = [record["type"] for record in records]
    problems = []
    for name in ("run", "experiment", "samples", "end"):
        problems += expect(name in types, f"no {name} record in the log")
    problems += expect(types[0] == "run" and types[-1] == "end", f"order {types[0]}…{types[-1]}")
    return problems + expect(len({record["run"] for record in records}) == 1, "several runs")


def log_ends_with(reason):
    def check_reason(outcome):
        end = [record for record in outcome.log() if record["type"] == "end"]
        return expect(end and end[-1]["reason"] == reason, f"end of the log: {end}")
    return check_reason


def experiments_only(unit, speedups):
    def check_experiments(outcome):
        experiments = experiments_of(outcome.log())
        wrong = [(record["unit"], record["speedup"]) for record in experiments
                 if not record["unit"].endswith(unit) or record["speedup"] not in speedups]
        return expect(experiments, "no experiments") + expect(not wrong, f"other ones: {wrong}")
    return check_experiments


def private_log(outcome):
    mode = (outcome.directory / "profile.jsonl").stat().st_mode & 0o777
    return expect(mode == 0o600, f"the log has mode {mode:o}")


# --- the formats ---

COZ_LINE = re.compile(r"(startup\ttime=\d+"
                      r"|experiment\tselected=[^\t]+\tspeedup=[\d.]+\tduration=\d+"
                      r"\tselected-samples=\d+"
                      r"|(throughput|progress)-point\tname=[^\t]+\tdelta=\d+"
                      r"|latency-point\tname=[^\t]+\tarrivals=\d+\tdepartures=\d+\tdifference=-?\d+"
                      r"|samples\tlocation=[^\t]+\tcount=\d+"
                      r"|runtime\ttime=\d+)")


def coz_format(outcome):
    lines = outcome.stdout.splitlines()
    wrong = [line for line in lines if not COZ_LINE.fullmatch(line)]
    kinds = {line.split("\t")[0] for line in lines}
    wanted = {"startup", "experiment", "throughput-point", "samples", "runtime"}
    return (expect(not wrong, f"not a line of Coz: {wrong[:3]}") +
            expect(wanted <= kinds, f"missing: {wanted - kinds}"))
