"""Cases of `causalctl report`."""

import json
import pathlib
import signal
import subprocess
import tempfile

import fixture
from attaching import A_LINE, ENDLESS, FIGURE1, SHORT, write
from case import (Case, coz_format, expect, experiments_of, kept_experiments, patterns, records_in,
                  units_include, visits, warns, well_formed)
from during import EXPERIMENTS, PATIENCE

# Each process of the run makes its own.
SAMPLES = tempfile.TemporaryDirectory(prefix="causalctl-e2e-sample-")


def sample(name):
    return pathlib.Path(SAMPLES.name, f"{name}.jsonl")


SOME_VISITS = visits("round_done", 20)


def is_enough(records):
    return len(kept_experiments(records)) >= EXPERIMENTS and SOME_VISITS.reached(records)


def make_log(world, name="sample"):
    """Makes {sample}, the log of a short profile of figure1, once for all cases of a process."""
    path = sample(name)
    if not path.exists():
        target = fixture.Target(world.fill(FIGURE1))
        profile = None
        try:
            profile = subprocess.Popen(
                world.command(("attach", target.pid, "--progress", "round_done", "--duration",
                               ENDLESS, *SHORT, "--fixed", A_LINE, "--speedup", "50", "-o", path)),
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            fixture.wait_until(lambda: is_enough(records_in(path)) or profile.poll() is not None,
                               PATIENCE, 0.1)
            profile.send_signal(signal.SIGINT)
            _, said = profile.communicate(timeout=60)
            if profile.returncode != 0 or not is_enough(records_in(path)):
                path.unlink(missing_ok=True)
                raise RuntimeError(f"no profile to report: it ended with {profile.returncode}: {said}")
        finally:
            if profile and profile.poll() is None:
                profile.kill()
                profile.wait()
            target.end()
    world.names[name] = path


def make_two_logs(world):
    make_log(world)
    make_log(world, "other")


def make_cut_log(world):
    make_log(world)
    text = world.names["sample"].read_text()
    lines = text.splitlines(keepends=True)
    experiments = [number for number, line in enumerate(lines) if '"type":"experiment"' in line]
    cut = "".join(lines[:experiments[-1]]) + lines[experiments[-1]][:40]
    (world.directory / "cut.jsonl").write_text(cut)


def make_strangers(world):
    """Makes logs that must not be averaged with {sample}: {rebuilt}, {functions}, {scoped}."""
    make_log(world)
    text = world.names["sample"].read_text()
    run = records_in(sample("sample"))[0]
    changes = {
        "rebuilt": text.replace(run["build_id"], "0123456789abcdef"),
        "functions": text.replace('"kind":"line"', '"kind":"function"'),
        "scoped": text.replace('"binary":["MAIN"]', '"binary":["MAIN","libc*"]'),
    }
    for name, changed in changes.items():
        path = world.directory / f"{name}.jsonl"
        path.write_text(changed.replace(run["run"], name))
        world.names[name] = path
    alone = subprocess.run([world.options.causalctl, "report", world.names["sample"], "--format",
                            "json"], check=True, capture_output=True, timeout=60)
    (world.directory / "alone.json").write_bytes(alone.stdout)


def same_as_alone(outcome):
    """Checks that the first group has what a report of its log alone has."""
    alone = json.loads((outcome.directory / "alone.json").read_text())["progress"]
    found = outcome.report()["progress"]
    return expect(found == alone, f"{found}, not {alone}")


def sum_of_both(outcome):
    """Checks that the report of two logs has the visits of all their experiments."""
    wanted = 0
    for name in ("sample", "other"):
        for record in kept_experiments(records_in(sample(name))):
            wanted += record["throughput"][0]["visits"]
    found = outcome.report()["progress"][0]["visits"]
    return expect(found == wanted, f"{found} visits, not {wanted}")


def sample_is_whole(outcome):
    return expect(experiments_of(records_in(sample("sample"))),
                  "the log has no experiments any more")


CASES = [
    Case("report_text", ("report", "{sample}"), before=make_log,
         stdout=patterns("round_done", r"figure1\.c:\d+")),
    Case("report_json", ("report", "{sample}", "--format", "json"), before=make_log,
         checks=(well_formed, SOME_VISITS, units_include(A_LINE))),
    Case("report_coz", ("report", "{sample}", "--format", "coz"), before=make_log,
         checks=(coz_format,)),
    Case("report_output_file", ("report", "{sample}", "--format", "json", "-o", "{dir}/out.json"),
         before=make_log, checks=(
             lambda outcome: expect('"progress"' in (outcome.directory / "out.json").read_text(),
                                    "no report in the file"),)),
    # A mistaken -o must not destroy hours of measurements.
    Case("report_into_its_log", ("report", "{sample}", "-o", "{sample}"), before=make_log,
         exit=(2,), stderr=patterns("is a log, which"), checks=(sample_is_whole,)),
    Case("report_two_logs", ("report", "{sample}", "{other}", "--format", "json"),
         before=make_two_logs, checks=(well_formed, sum_of_both)),
    Case("report_same_log_twice", ("report", "{sample}", "{sample}", "--format", "json"),
         before=make_log, checks=(well_formed, warns("given twice"))),
    Case("report_of_strangers", ("report", "{sample}", "{rebuilt}", "{functions}", "{scoped}"),
         before=make_strangers, stdout=patterns(
             "4 groups of runs, which differ in build, kind of unit, scope; they are not averaged",
             "causalctl ab compares builds", "== group 1 of 4: figure1, build ",
             "== group 2 of 4: figure1, build 0123456789ab, by line, scope MAIN ==",
             "== group 3 of 4: .* by function, scope MAIN ==",
             r"== group 4 of 4: .*scope MAIN libc\*", "figure1: 1 run, ")),
    Case("report_json_of_strangers", ("report", "{sample}", "{functions}", "--format", "json"),
         before=make_strangers, exit=(2,), stderr=patterns(
             "2 groups of runs, which cannot be averaged; json holds one", "1  figure1, by line",
             "2  figure1, by function", "--group N")),
    Case("report_coz_of_strangers", ("report", "{sample}", "{rebuilt}", "--format", "coz"),
         before=make_strangers, exit=(2,), stderr=patterns("coz holds one")),
    Case("report_one_of_strangers", ("report", "{sample}", "{functions}", "{rebuilt}", "--format",
                                     "json", "--group", "1"),
         before=make_strangers, checks=(well_formed, same_as_alone)),
    Case("report_no_such_group", ("report", "{sample}", "--group", "2"), before=make_log,
         exit=(2,), stderr=patterns("--group 2: the logs have no such group", "1  figure1: 1 run")),
    Case("report_cut_log", ("report", "{dir}/cut.jsonl", "--format", "json"), before=make_cut_log,
         checks=(well_formed, warns(r"cut\.jsonl:\d+|cut off"))),
    Case("report_csv_later", ("report", "{sample}", "--format", "csv"), before=make_log,
         exit=(2,), stderr=patterns("csv.*not a format")),
    Case("report_html_later", ("report", "{sample}", "--format", "html"), before=make_log,
         exit=(2,), stderr=patterns("html.*not a format")),
    Case("report_not_a_log", ("report", "{dir}/poem"), exit=(1,),
         before=write("poem", "Shall I compare thee\nto a summer's day?\n"),
         stderr=patterns("poem:1")),
    Case("report_of_other_json", ("report", "{dir}/data.json"), exit=(1,),
         before=write("data.json", '{"answer":42}\n'),
         stderr=patterns("data.json:1: not a line of an experiment log")),
    Case("report_missing_log", ("report", "{dir}/missing.jsonl"), exit=(1,),
         stderr=patterns("missing.jsonl")),
]
