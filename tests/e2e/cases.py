"""The table of cases. Accuracy is judged elsewhere, and nothing here depends on how fast the machine
is: a bound is only ever how long to wait."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import ab_cases
import fixture
from case import (Case, ROUNDS, all_units, coz_format, digest_same, expect,
                  experiments_only, line_of, log_complete, log_ends_with, patterns, private_log,
                  units_are, units_include, visits, warns, well_formed)


def figure1(name="figure1", directory="{targets}"):
    """With rounds so short that seconds see many."""
    return (f"{directory}/{name}", "--round-ms", "15")


FIGURE1 = figure1()
A_LINE = f"figure1.c:{line_of('figure1.c', 'x < iterations')}"
LITTLE_LINE = f"blocking_calls.c:{line_of('blocking_calls.c', 'x < iterations')}"
BUSY_LINE = f"changes.c:{line_of('changes.c', 'x < iterations')}"
# The period is given, so no time goes into its calibration: accuracy is judged elsewhere.
SHORT = ("--experiment", "200ms", "--period", "4ms")
SAMPLES = tempfile.TemporaryDirectory(prefix="causalctl-e2e-sample-")


def attach(*options, point="round_done"):
    return ("attach", "{pid}", "--progress", point, *options)


def attach_json(*options, duration="3s", point="round_done"):
    return attach("--duration", duration, *SHORT, "--format", "json", *options, point=point)


def halved(line):
    """Every second experiment must pause the other threads."""
    return ("--fixed", line, "--speedup", "50")


# --- what must happen before or during a case ---

def make_log(world, name="sample"):
    """{sample}: the log of a short profile of figure1, made once for all cases."""
    path = pathlib.Path(SAMPLES.name, name + ".jsonl")
    if not path.exists():
        target = fixture.Target(world.fill(FIGURE1))
        try:
            subprocess.run([world.options.causalctl, "attach", str(target.pid), "--progress",
                            "round_done", "--duration", "4s", "--experiment", "100ms", "--period",
                            "4ms", "--fixed", A_LINE, "--speedup", "50", "-o", path],
                           check=True, capture_output=True, timeout=60)
        finally:
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


def write(name, text):
    def before(world):
        (world.directory / name).write_text(text)
    return before


def link_log(world):
    (world.directory / "elsewhere").write_text("")
    world.log.symlink_to(world.directory / "elsewhere")


def wait_for_handler(world):
    caught = 1 << (signal.SIGTRAP - 1)

    def installed():
        world.target.before = fixture.State(world.target.pid)
        return int(world.target.before.signals["SigCgt"], 16) & caught

    if not fixture.wait_until(installed, 10):
        raise RuntimeError("the target installs no handler")


def dead_pid(world):
    process = subprocess.Popen(["true"])
    process.wait()
    world.names["pid"] = process.pid


def copy_figure1(world):
    program = world.directory / "copy_of_figure1"
    program.write_bytes((world.options.targets / "figure1").read_bytes())
    program.chmod(0o755)


def delete_copy(world):
    (world.directory / "copy_of_figure1").unlink()


def stop_target(world):
    os.kill(world.target.pid, signal.SIGSTOP)
    fixture.wait_until(lambda: fixture.State(world.target.pid).stopped, 5)
    world.target.before = fixture.State(world.target.pid)


def trace_target(world):
    world.helpers.append(subprocess.Popen(
        ["strace", "-f", "-o", "/dev/null", "-p", str(world.target.pid)],
        stderr=subprocess.DEVNULL))

    def traced():
        world.target.before = fixture.State(world.target.pid)
        return world.target.before.tracer == str(world.helpers[0].pid)

    if not fixture.wait_until(traced, 10):
        raise RuntimeError("strace does not trace")


def build_go(world):
    subprocess.run(["go", "build", "-o", world.directory / "spin_go",
                    world.names["root"] / "tests/targets/spin.go"], check=True, timeout=120)


def interrupt(world):
    world.wait_for_experiments(2)
    world.process.send_signal(signal.SIGINT)


def interrupt_twice(world):
    interrupt(world)
    world.process.send_signal(signal.SIGINT)


def kill_controller(world):
    world.wait_for_experiments(3)
    world.process.kill()


# --- checks of single cases ---

def log_readable(outcome):
    """What a killed controller leaves is a readable log without an end."""
    records = outcome.log()
    return (expect(records[0]["type"] == "run", "no run record") +
            expect(records[-1]["type"] != "end", "an end record, of a killed run"))


def one_run_each(outcome):
    """End to end: every experiment is one run, in which only treatments delay."""
    experiments = [record for record in outcome.log()
                   if record["type"] == "experiment" and "discarded" not in record]
    problems = expect(len(experiments) >= 6, f"{len(experiments)} experiments that count")
    for record in experiments:
        counts = [(point["name"], point["visits"]) for point in record["throughput"]]
        problems += expect(counts == [("end-to-end", 1)], f"counted {counts}")
    speedups = {record["speedup"] for record in experiments}
    problems += expect(speedups == {0, 0.5}, f"speedups {speedups}")
    for record in experiments:
        problems += expect((record["delay_ns"] > 0) == (record["speedup"] > 0),
                           f"a delay of {record['delay_ns']} at speedup {record['speedup']}")
        problems += expect(record["wall_ns"] == record["effective_ns"] + record["delay_ns"],
                           "wall is not effective time and delay")
    return problems


def paused(outcome):
    """Without a pause, all else in a case may hold though nothing was tried."""
    pauses = sum(record["pauses"]["count"] for record in outcome.log()
                 if record["type"] == "experiment")
    return expect(pauses > 0, "the target was never paused")


def paused_to_the_end(outcome):
    """In the last third of the experiments, long after what the target did to itself."""
    experiments = [record for record in outcome.log() if record["type"] == "experiment"]
    late = experiments[-(len(experiments) // 3):]
    return expect(sum(record["pauses"]["count"] for record in late) > 0,
                  f"no pause in the last {len(late)} experiments")


def link_untouched(outcome):
    return expect((outcome.directory / "elsewhere").read_text() == "", "written through a link")


def never_visited(outcome):
    point = outcome.report()["progress"][0]
    return expect(point["visits"] == 0, f"{point['visits']} visits") + expect(
        all(unit["verdict"] == "not-enough-data" for unit in all_units(outcome)), "a verdict")


def sum_of_both(outcome):
    """The report of two logs has the visits of all their experiments."""
    wanted = 0
    for name in ("sample", "other"):
        for line in pathlib.Path(SAMPLES.name, name + ".jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["type"] == "experiment" and "discarded" not in record:
                wanted += record["throughput"][0]["visits"]
    found = outcome.report()["progress"][0]["visits"]
    return expect(found == wanted, f"{found} visits, not {wanted}")


def in_file(name):
    def check_files(outcome):
        wrong = [unit["unit"] for unit in all_units(outcome)
                 if not unit["file"].endswith("/" + name) and unit["file"] != name]
        return expect(not wrong, f"units of other files: {wrong}")
    return check_files


PROFILES = [
    Case("attach_json", attach_json("-o", "{log}", duration="10s"), FIGURE1,
         checks=(well_formed, digest_same, visits("round_done", 50), units_include(A_LINE),
                 units_are("line"), log_complete, log_ends_with("duration"), private_log)),
    Case("attach_text", attach("--duration", "3s", *SHORT), FIGURE1,
         stdout=patterns("round_done", r"figure1\.c:\d+", "95 ?%|interval|low")),
    Case("attach_coz", attach("--duration", "3s", *SHORT, "--format", "coz"), FIGURE1,
         checks=(coz_format,)),
    Case("attach_line_point",
         attach_json(point=f"figure1.c:{line_of('figure1.c', 'round_done();')}"), FIGURE1,
         checks=(well_formed, digest_same,
                 visits(f"figure1.c:{line_of('figure1.c', 'round_done();')}", 10))),
    Case("attach_sampled_point", attach_json(point=f"sampled:{A_LINE}"), FIGURE1,
         checks=(well_formed, digest_same, visits(f"sampled:{A_LINE}", 10))),
    # Not b(): its entry is in the cache line of its loop, which an armed breakpoint makes four times slower.
    Case("attach_two_points", attach_json("--progress", "count_round"), FIGURE1,
         checks=(well_formed, visits("round_done", 10), visits("count_round", 10))),
    Case("attach_functions", attach_json("--unit", "function"), FIGURE1,
         checks=(well_formed, units_are("function"), units_include("a"))),
    Case("attach_fixed", attach_json("--fixed", A_LINE, "--speedup", "50", "-o", "{log}"), FIGURE1,
         checks=(well_formed, experiments_only(A_LINE, (0, 0.5)))),
    Case("attach_scope_file", attach_json("--scope-file", "*figure1.c"), FIGURE1,
         checks=(well_formed, in_file("figure1.c"), units_include(A_LINE))),
    Case("attach_toml", ("attach", "{pid}", "--config", "{dir}/c.toml"), FIGURE1,
         before=write("c.toml", '[progress]\nthroughput = ["round_done"]\n[experiment]\n'
                      'duration = "200ms"\n[budget]\nduration = "4s"\n[output]\n'
                      'format = "json"\n'),
         checks=(well_formed, visits("round_done", 10), log_complete)),
    Case("attach_quiet", attach("--duration", "3s", *SHORT, "--quiet"), FIGURE1,
         stdout=patterns("round_done"), checks=(
             lambda outcome: expect(outcome.stderr == "", "something on stderr"),)),
    Case("attach_without_debug_information", attach_json(), figure1("figure1_nodebug"),
         checks=(well_formed, units_are("function"), visits("round_done", 10), digest_same,
                 warns("debug information|line information|no lines"))),
    Case("attach_stripped", attach_json(point="syscall:futex"), figure1("figure1_stripped"),
         checks=(well_formed, visits("syscall:futex", 5), digest_same)),
    Case("attach_static", attach_json(), figure1("figure1_static"),
         checks=(well_formed, visits("round_done", 10), units_include(A_LINE), digest_same)),
    Case("attach_deleted_executable", attach_json(), figure1("copy_of_figure1", "{dir}"),
         before=copy_figure1, with_target=delete_copy,
         checks=(well_formed, visits("round_done", 10), digest_same)),
    Case("attach_pipeline_mutex", attach_json(point="item_done"),
         ("{targets}/pipeline", "--via", "mutex"), target_output=ROUNDS + patterns(
             "^eintr 0$", "^wrong_items 0$", "^interrupted 0$"),
         checks=(well_formed, visits("item_done", 50), digest_same)),
    Case("attach_pipeline_futex", attach_json(point="item_done"),
         ("{targets}/pipeline", "--via", "futex"), target_output=ROUNDS + patterns(
             "^eintr 0$", "^wrong_items 0$", "^interrupted 0$"),
         checks=(well_formed, visits("item_done", 50), digest_same)),
    Case("attach_pipeline_pipe", attach_json(point="item_done"),
         ("{targets}/pipeline", "--via", "pipe"), target_output=ROUNDS + patterns(
             "^eintr 0$", "^wrong_items 0$", "^interrupted 0$"),
         checks=(well_formed, visits("item_done", 50), digest_same)),
    Case("attach_latency", ("attach", "{pid}", "--latency", "item=get_mutex,item_done",
                            "--duration", "4s", *SHORT, "--format", "json"),
         ("{targets}/pipeline",),
         checks=(well_formed, visits("item", 50, kind="latency"), digest_same)),
    Case("attach_lock", attach_json(), ("{targets}/lock",),
         checks=(well_formed, visits("round_done", 100), digest_same)),
    Case("attach_oversubscribed", attach_json(point="item_done"), ("{targets}/pool",),
         checks=(well_formed, visits("item_done", 100), digest_same)),
    Case("attach_blocking_calls", attach_json(duration="10s"), ("{targets}/blocking_calls",),
         checks=(well_formed, visits("round_done", 100), digest_same),
         target_output=ROUNDS + patterns("^eintr 0$", "^eintr_total 0$", "^short_total 0$",
                                         "^wrong_total 0$")),
    # Threads that end before the controller has heard of them: it must say what it did not see.
    Case("attach_threads_storm", attach_json(point="item_done"), ("{targets}/threads_storm",),
         absent=patterns("some threads are not profiled"),
         checks=(well_formed, digest_same, warns(r"\d+ threads ended before"))),
    Case("attach_threads_come_and_go", attach_json(point="item_done"),
         ("{targets}/threads_storm", "--rate", "30", "--work-us", "30000"),
         checks=(well_formed, visits("item_done", 5), digest_same)),
    Case("attach_many_threads", attach_json(), ("{targets}/many_threads",),
         checks=(well_formed, visits("round_done", 50), digest_same)),
    Case("attach_idle", attach_json(point="main"), ("{targets}/idle",),
         target_output=patterns("^rounds 0$", "^eintr 0$"), checks=(well_formed, digest_same)),
    Case("attach_target_forks_and_blocks_signals", attach_json(), ("{targets}/changes",),
         target_output=ROUNDS + patterns("^failed_children 0$", "^foreign_traps 0$"),
         checks=(well_formed, visits("round_done", 20), digest_same)),
    # A target with a handler of its own is paused in another way, and its handler sees nothing.
    Case("attach_target_has_sigtrap_handler", attach_json(*halved(BUSY_LINE), "-o", "{log}"),
         ("{targets}/changes", "--sigtrap", "1", "--blocked", "0"), with_target=wait_for_handler,
         target_output=ROUNDS + patterns("^failed_children 0$", "^foreign_traps 0$"),
         checks=(well_formed, visits("round_done", 20), digest_same, paused,
                 warns("pauses by ptrace.*SIGTRAP"))),
    # It is installed later: the target's own doing, which is said and no failure. At most one of
    # our signals for each of its four threads can be on its way then.
    Case("attach_target_installs_sigtrap_handler",
         attach_json(*halved(BUSY_LINE), "-o", "{log}", duration="7s"),
         ("{targets}/changes", "--sigtrap", "8", "--blocked", "0", "--seconds", "12"),
         target_ends=True,
         target_output=ROUNDS + patterns("^failed_children 0$", "^foreign_traps [0-4]$"),
         checks=(well_formed, digest_same, warns("changed its SIGTRAP handler"),
                 paused_to_the_end)),
    Case("attach_target_resets_sigtrap",
         attach_json(*halved(BUSY_LINE), "-o", "{log}", duration="8s"),
         ("{targets}/changes", "--reset-sigtrap", "6", "--blocked", "0", "--seconds", "13"),
         target_ends=True,
         target_output=ROUNDS + patterns("^failed_children 0$", "^foreign_traps [0-4]$"),
         checks=(well_formed, digest_same, warns("changed its SIGTRAP handler"),
                 paused_to_the_end)),
    Case("attach_ptrace_channel",
         attach_json("--pause-channel", "ptrace", *halved(LITTLE_LINE), "-o", "{log}"),
         ("{targets}/blocking_calls",),
         target_output=ROUNDS + patterns("^eintr 0$", "^eintr_total 0$", "^short_total 0$",
                                         "^wrong_total 0$"),
         checks=(well_formed, visits("round_done", 20), digest_same, paused)),
    Case("attach_as_ordinary_user", attach_json(*halved(A_LINE), "-o", "{log}"),
         ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *FIGURE1), user=65534,
         needs={"setpriv": "util-linux"},
         checks=(well_formed, visits("round_done", 10), digest_same, paused)),
    Case("attach_ends_by_budget", attach_json("--max-slowdown", "0.1", "-o", "{log}",
                                              "--fixed", A_LINE, "--speedup", "90", duration="40s"),
         FIGURE1, checks=(well_formed, log_ends_with("budget"), warns("max-slowdown"))),
    Case("attach_target_execs", attach_json("-o", "{log}", duration="30s"),
         ("{targets}/changes", "--exec", "20"), target_ends=True, texts_may_change=True,
         target_output=ROUNDS + patterns("^executing itself$", "^failed_children 0$"),
         checks=(well_formed, visits("round_done", 10), log_ends_with("target-exited"))),
    Case("attach_stopped_target", attach_json(duration="2s"), FIGURE1, with_target=stop_target,
         target_output=patterns(r"^rounds \d+$"),
         checks=(well_formed, digest_same, warns("no experiment"))),
    Case("attach_memcached", attach_json("--unit", "function", duration="12s",
                                         point="syscall:sendmsg"),
         ("{root}/scripts/load/memcached",), needs={"memcached": "memcached"},
         target_output=ROUNDS + patterns("^wrong_answers 0$", "^eintr 0$"),
         checks=(well_formed, visits("syscall:sendmsg", 1000), units_are("function"),
                 digest_same)),
    Case("attach_redis", attach_json(duration="4s", point="syscall:write"),
         ("{root}/scripts/load/redis",), needs={"redis-server": "redis-server",
                                                "redis-benchmark": "redis-tools"},
         target_output=ROUNDS, checks=(well_formed, visits("syscall:write", 100), digest_same)),
    Case("attach_sqlite", attach_json(duration="6s", point="transaction_done"),
         ("{root}/third_party/sqlite/sqlite_inserts",), timeout=120,
         target_output=ROUNDS + patterns("^eintr 0$", "^failed_statements 0$"),
         checks=(well_formed, visits("transaction_done", 1000), units_are("line"), digest_same)),
    Case("attach_python", attach_json("--unit", "function", point="syscall:futex"),
         ("/usr/bin/python3", "{root}/tests/targets/spin.py"), target_output=ROUNDS,
         checks=(well_formed, digest_same)),
    Case("attach_go", attach_json("--unit", "function", point="main.roundDone"),
         ("{dir}/spin_go",), before=build_go, needs={"go": "golang-go"}, target_output=ROUNDS,
         checks=(well_formed, visits("main.roundDone", 20), units_are("function"), digest_same)),
    Case("run_command", ("run", "--progress", "round_done", "--duration", "30s", *SHORT, "-o",
                         "{log}", "--", *FIGURE1, "--seconds", "8"),
         stdout=patterns(r"^rounds [1-9]\d*$", "^eintr 0$", r"figure1\.c:\d+"),
         checks=(log_complete, log_ends_with("target-exited"))),
    Case("run_ends_program", ("run", "--progress", "round_done", "--duration", "3s", *SHORT, "-o",
                              "{log}", "--", *FIGURE1),
         stdout=patterns(r"^rounds [1-9]\d*$", "^eintr 0$", r"figure1\.c:\d+"),
         checks=(log_complete, log_ends_with("duration"))),
    Case("run_end_to_end", ("run", "--end-to-end", "--duration", "8s", *halved(A_LINE), "-o",
                            "{log}", "--", *FIGURE1, "--rounds", "20", "--per-ms", "300000"),
         stdout=patterns(r"^end-to-end: \d+ visits", r"^rounds 2\d$", r"figure1\.c:\d+"),
         checks=(log_complete, log_ends_with("duration"), one_run_each)),
    Case("end_to_end_beside_a_point", ("run", "--end-to-end", "--progress", "main", "--", "true"),
         exit=(2,), stderr=patterns("end-to-end.*nothing else")),
    Case("end_to_end_killed", ("run", "--end-to-end", "--duration", "5s", "--", "sh", "-c",
                               "kill -9 $$"), exit=(1, 3), stderr=patterns("end-to-end|ended")),
    Case("end_to_end_executes_another", ("run", "--end-to-end", "--duration", "5s", "--", "env",
                                         "sleep", "0.2"),
         exit=(1,), stderr=patterns("executed another")),
    Case("end_to_end_without_program", ("run", "--end-to-end", "--", "{dir}/no_such_program"),
         exit=(2,), stderr=patterns("no_such_program")),
    Case("run_missing_program", ("run", "--progress", "main", "--", "{dir}/no_such_program"),
         exit=(2,), stderr=patterns("no_such_program")),
]

ENDS = [
    Case("target_vanishes", attach_json("-o", "{log}", duration="60s"),
         (*FIGURE1, "--seconds", "12"), target_ends=True,
         checks=(well_formed, visits("round_done", 10), log_ends_with("target-exited"))),
    Case("interrupt_prints_report", attach("--duration", "60s", *SHORT, "-o", "{log}"), FIGURE1,
         during=interrupt, stdout=patterns("round_done"),
         checks=(log_complete, log_ends_with("interrupted"))),
    # Its status says nothing: the report may be out before the second one comes.
    Case("interrupt_twice", attach("--duration", "60s", *SHORT, "-o", "{log}"), FIGURE1,
         during=interrupt_twice, exit=(0, 1, 130)),
    Case("controller_killed", attach("--duration", "60s", *SHORT, "-o", "{log}"), FIGURE1,
         during=kill_controller, exit=(-signal.SIGKILL,), checks=(log_readable,)),
    Case("controller_killed_blocking_calls",
         attach("--duration", "60s", *SHORT, "-o", "{log}"), ("{targets}/blocking_calls",),
         during=kill_controller, exit=(-signal.SIGKILL,),
         target_output=ROUNDS + patterns("^eintr_total 0$", "^short_total 0$", "^wrong_total 0$")),
    Case("controller_killed_many_threads",
         attach("--duration", "60s", *SHORT, "-o", "{log}"), ("{targets}/many_threads",),
         during=kill_controller, exit=(-signal.SIGKILL,)),
]

REPORTS = [
    Case("report_text", ("report", "{sample}"), before=make_log,
         stdout=patterns("round_done", r"figure1\.c:\d+")),
    Case("report_json", ("report", "{sample}", "--format", "json"), before=make_log,
         checks=(well_formed, visits("round_done", 20), units_include(A_LINE))),
    Case("report_coz", ("report", "{sample}", "--format", "coz"), before=make_log,
         checks=(coz_format,)),
    Case("report_output_file", ("report", "{sample}", "--format", "json", "-o", "{dir}/out.json"),
         before=make_log, checks=(
             lambda outcome: expect('"progress"' in (outcome.directory / "out.json").read_text(),
                                    "no report in the file"),)),
    Case("report_two_logs", ("report", "{sample}", "{other}", "--format", "json"),
         before=make_two_logs, checks=(well_formed, sum_of_both)),
    Case("report_same_log_twice", ("report", "{sample}", "{sample}", "--format", "json"),
         before=make_log, checks=(well_formed, warns("given twice"))),
    Case("report_cut_log", ("report", "{dir}/cut.jsonl", "--format", "json"), before=make_cut_log,
         checks=(well_formed, warns(r"cut\.jsonl:\d+|cut off"))),
    Case("report_csv_later", ("report", "{sample}", "--format", "csv"), before=make_log,
         exit=(2,), stderr=patterns("csv.*not available yet")),
    Case("report_html_later", ("report", "{sample}", "--format", "html"), before=make_log,
         exit=(2,), stderr=patterns("html.*not available yet")),
    Case("report_not_a_log", ("report", "{dir}/poem"), exit=(1,),
         before=write("poem", "Shall I compare thee\nto a summer's day?\n"),
         stderr=patterns("poem:1")),
    Case("report_missing_log", ("report", "{dir}/missing.jsonl"), exit=(1,),
         stderr=patterns("missing.jsonl")),
]

REFUSALS = [
    Case("no_such_pid", attach("--duration", "2s"), before=dead_pid, exit=(3,),
         stderr=patterns("no such process|does not exist|is gone")),
    Case("no_permission", attach("--duration", "2s"), FIGURE1, user=65534, exit=(1,),
         stderr=patterns("permi|root|CAP_SYS_PTRACE|same user")),
    Case("bits32_refused", attach("--duration", "2s", point="main"), ("{targets}/bits32",),
         exit=(1,), stderr=patterns("32-bit"), target_output=(), target_status=(-15,)),
    Case("traced_refused", attach("--duration", "2s"), FIGURE1, with_target=trace_target,
         needs={"strace": "strace"}, exit=(1,), stderr=patterns("traced.*strace|strace.*trac"),
         target_output=ROUNDS),
    Case("unknown_point", attach("--duration", "2s", point="round_don"), FIGURE1, exit=(2,),
         stderr=patterns("round_don", "round_done")),
    Case("unknown_point_line", attach("--duration", "2s", point="figure1.c:99999"), FIGURE1,
         exit=(2,), stderr=patterns("figure1.c:99999")),
    Case("unknown_point_file", attach("--duration", "2s", point="figure2.c:20"), FIGURE1,
         exit=(2,), stderr=patterns("figure2.c", "figure1.c")),
    Case("unknown_point_syscall", attach("--duration", "2s", point="syscall:sendtoo"), FIGURE1,
         exit=(2,), stderr=patterns("sendto")),
    Case("unknown_point_usdt", attach("--duration", "2s", point="usdt:no:such"), FIGURE1,
         exit=(2,), stderr=patterns("no:such")),
    Case("ambiguous_point", attach("--duration", "2s", point="same_name"),
         ("{targets}/ambiguous",), exit=(2,),
         stderr=patterns("ambiguous", r"ambiguous\.c", r"ambiguous_other\.c")),
    Case("point_never_hit", attach_json(point="main"), FIGURE1,
         checks=(well_formed, never_visited, warns("never|not (been )?(hit|visited)|no visit"))),
    Case("broken_toml", ("attach", "{pid}", "--config", "{dir}/broken.toml"), FIGURE1, exit=(2,),
         before=write("broken.toml", '[experiment]\nduration = "soon"\nmin_visits = "five"\n'
                      '[output]\nformat = "prose"\nlook = "nice"\n[nonsense]\n'),
         stderr=patterns(r"broken\.toml:2:\d+", r"broken\.toml:3:\d+", r"broken\.toml:5:\d+",
                         r"broken\.toml:6:\d+", r"broken\.toml:7:\d+")),
    Case("unreadable_toml", ("attach", "{pid}", "--config", "{dir}/b.toml"), FIGURE1, exit=(2,),
         before=write("b.toml", '[experiment\nduration = "1s"\n'), stderr=patterns(r"b\.toml:1:\d+")),
    Case("missing_toml", ("attach", "{pid}", "--config", "{dir}/missing.toml"), FIGURE1,
         exit=(1, 2), stderr=patterns("missing.toml")),
    Case("unwritable_output", attach("--duration", "2s", "-o", "{dir}/missing/p.jsonl"), FIGURE1,
         exit=(1,), stderr=patterns("missing/p.jsonl")),
    Case("linked_output", attach("--duration", "2s", "-o", "{log}"), FIGURE1, before=link_log,
         exit=(1,), stderr=patterns("profile.jsonl"), checks=(link_untouched,)),
    Case("full_output", attach("--duration", "3s", *SHORT, "-o", "/dev/full"), FIGURE1, exit=(1,),
         stderr=patterns("/dev/full.*no space")),
    Case("html_later", attach("--duration", "2s", "--format", "html"), FIGURE1, exit=(2,),
         stderr=patterns("html.*not available yet")),
]

COMMAND_LINE = [
    Case("help", ("--help",), stdout=patterns("attach", "run", "report")),
    Case("help_attach", ("attach", "--help"),
         stdout=patterns(*("--" + name for name in (
             "config", "progress", "latency", "duration", "scope-file", "scope-binary", "unit",
             "fixed", "speedup", "experiment", "cooloff", "min-visits", "period", "max-slowdown",
             "seed", "output", "format", "quiet", "verbose", "color")))),
    Case("help_run", ("run", "--help"), stdout=patterns("--progress", "--end-to-end")),
    Case("help_report", ("report", "--help"), stdout=patterns("--format")),
    Case("version", ("--version",), stdout=patterns(r"\d+\.\d+")),
    Case("no_subcommand", (), exit=(2,), stderr=patterns("no subcommand")),
    Case("unknown_subcommand", ("detach",), exit=(2,), stderr=patterns("detach")),
    Case("unknown_option", attach("--loud"), FIGURE1, exit=(2,), stderr=patterns("--loud")),
    Case("no_pid", ("attach", "--progress", "main"), exit=(2,),
         stderr=patterns("PID")),
    Case("pid_not_a_number", ("attach", "memcached", "--progress", "main"), exit=(2,),
         stderr=patterns("memcached is not a process id")),
    Case("no_progress_point", ("attach", "{pid}", "--duration", "1s"), FIGURE1, exit=(2,),
         stderr=patterns("progress")),
    Case("duration_nonsense", attach("--duration", "banana"), FIGURE1, exit=(2,),
         stderr=patterns("banana")),
    Case("speedup_out_of_range", attach("--fixed", A_LINE, "--speedup", "150"), FIGURE1, exit=(2,),
         stderr=patterns("150")),
    Case("fixed_unknown_unit", attach("--duration", "2s", "--fixed", "figure9.c:1", "--speedup",
                                      "50"), FIGURE1, exit=(1, 2), stderr=patterns("figure9.c:1")),
    Case("format_unknown", attach("--format", "xml"), FIGURE1, exit=(2,), stderr=patterns("xml")),
    Case("unit_line_without_lines", attach("--unit", "line"), figure1("figure1_nodebug"),
         exit=(2,), stderr=patterns("no line information in .*figure1_nodebug")),
    Case("unit_unknown", attach("--unit", "word"), FIGURE1, exit=(2,), stderr=patterns("word")),
    Case("latency_without_end", ("attach", "{pid}", "--latency", "item=round_done"), FIGURE1,
         exit=(2,), stderr=patterns("item=round_done|latency")),
    Case("doctor", ("doctor",), stdout=patterns("perf", "ptrace")),
    Case("doctor_pid", ("doctor", "{pid}"), FIGURE1,
         stdout=patterns("profile of process .* is possible")),
    Case("doctor_no_such_pid", ("doctor", "{pid}"), before=dead_pid, exit=(3,),
         output=patterns("no such process")),
    Case("points", ("points", "{pid}"), FIGURE1, stdout=patterns("^a +#", r"^figure1\.c:\d+ +#")),
]

AB, AB_REFUSALS, AB_HELP = ab_cases.make_cases()
REFUSALS += AB_REFUSALS
COMMAND_LINE += AB_HELP

# Every refusal names its cause and says what to do.
REFUSALS = [dataclasses.replace(case, stderr=(*case.stderr, *patterns("^causalctl: ", "^  hint: ")),
                                absent=(*case.absent, *patterns("causalctl: bug")))
            if case.exit != (0,) else case for case in REFUSALS]

CASES = PROFILES + ENDS + REPORTS + AB + REFUSALS + COMMAND_LINE
assert len({case.name for case in CASES}) == len(CASES)
