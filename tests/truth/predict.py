"""Gets predictions from causalctl for a running target, and from Coz for a program."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import uuid

START_AND_END_S = 60  # seconds in addition to the duration


@dataclasses.dataclass
class Prediction:
    """`effect` is None if there is no prediction, and then `problem` says why. Coz has no interval
    and no verdict."""

    effect: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    problem: str = ""
    report: dict | None = None


@dataclasses.dataclass
class Arm:
    """A causalctl, with options in addition to those that every prediction has."""

    name: str
    causalctl: pathlib.Path
    options: list = dataclasses.field(default_factory=list)


def run(command, seconds, **arguments):
    """Returns (status, stdout, stderr) of a command. If we are ended, it is ended as by Ctrl-C."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, **arguments)
    try:
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err
    except BaseException:
        # The whole session is ended, because the program is a child of `coz run`.
        try:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(timeout=10)
        except ProcessLookupError:
            pass
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def by_causalctl(arm, directory, task, pid, seconds):
    line = task.program.line(task.unit)
    command = [arm.causalctl, "attach", pid, "--progress", task.program.point, "--fixed", line,
               "--speedup", task.speedup, "--duration", f"{seconds:g}s", "--format", "json",
               "--quiet", "-o", f"{directory}/{uuid.uuid4()}.jsonl", *arm.options]
    try:
        status, out, err = run(command, seconds + START_AND_END_S)
    except subprocess.TimeoutExpired:
        return Prediction(problem="causalctl did not end")
    if status != 0:
        last = err.strip().splitlines()[-1:] or ["without a word"]
        return Prediction(problem=f"causalctl ended with {status}: {last[0]}")
    return of_report(json.loads(out), line, task.speedup)


def of_report(report, line, speedup):
    for unit in report["progress"][0]["units"]:
        if unit["unit"] != line:
            continue
        for point in unit["curve"]:
            if abs(point["speedup"] - speedup / 100) < 0.005:
                told = {key: report[key] for key in ("selfcheck", "overhead", "losses", "warnings")
                        if key in report}
                told["pacing"] = report["progress"][0].get("pacing")
                return Prediction(point["effect"], point["low"], point["high"], unit["verdict"],
                                  report=told)
    return Prediction(problem=f"the report has no effect of {line} at {speedup} %")


# Runs with the speedup and without it alternate: Coz makes no baselines at a fixed speedup.
COZ_TURNS = 2


def by_coz(programs, directory, task, arguments, seconds):
    """Returns the effect as Coz's viewer computes it (profile.ts): a period is the sum of durations
    over the sum of visits, and the effect 1 - period / period without speedup."""
    totals = {speedup: [0, 0] for speedup in (0, task.speedup)}
    each_s = seconds / (2 * COZ_TURNS)
    for _ in range(COZ_TURNS):
        for speedup in totals:
            profile = f"{directory}/{uuid.uuid4()}.coz"
            command = ["coz", "run", "--output", profile, "--fixed-line",
                       task.program.line(task.unit), "--fixed-speedup", speedup, "---",
                       f"{programs}/{task.program.target}", *arguments, "--seconds", each_s]
            try:
                status, out, err = run(command, each_s + START_AND_END_S)
            except subprocess.TimeoutExpired:
                return Prediction(problem="the program under Coz did not end")
            if status != 0 or not os.path.exists(profile):
                last = (err + out).strip().splitlines()[-1:] or ["without a word"]
                return Prediction(problem=f"coz ended with {status}: {last[0][-200:]}")
            with open(profile, encoding="utf-8") as file:
                add_profile(totals, file)
    if any(visits <= 0 or duration_ns <= 0 for duration_ns, visits in totals.values()):
        return Prediction(problem="Coz's profile has no experiments with visits")
    without, treated = (duration_ns / visits for duration_ns, visits in totals.values())
    return Prediction(1 - treated / without)


def add_profile(totals, lines):
    """Adds a run without its end, in Coz's favour: the program ends within an experiment, and
    sometimes Coz begins another one after that."""
    experiments = []  # of (duration, speedup, visits)
    for line in lines:
        kind, *fields = line.rstrip("\n").split("\t")
        values = dict(field.split("=", 1) for field in fields)
        if kind == "experiment":
            experiments.append([int(values["duration"]), round(100 * float(values["speedup"])), 0])
        elif kind == "throughput-point" and experiments:
            experiments[-1][2] += int(values["delta"])
    while experiments and experiments[-1][2] == 0:
        experiments.pop()
    for duration_ns, speedup, visits in experiments[:-1]:
        totals[speedup][0] += duration_ns
        totals[speedup][1] += visits
