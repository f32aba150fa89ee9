"""Profiles of running programs of every kind, to their end. Nothing here depends on the speed of
the machine: bounds only say how long to wait."""

import os
import signal
import statistics
import subprocess

import fixture
from attaching import (A_LINE, ENDLESS, FIGURE1, FULL_RATE, NO_PACE_TEST, SHORT, attach, attach_json,
                       attach_short, figure1, halved, profiled, write)
from case import (Case, ROUNDS, all_units, coz_format, digest_same, expect, experiments_of,
                  experiments_only, follows, line_of, log_complete, log_ends_with, patterns, private_log,
                  units_are, units_include, visits, waits_for_others, warns, well_formed)
from during import paused, stop, until_enough, until_paused_after_change

LITTLE_LINE = f"blocking_calls.c:{line_of('blocking_calls.c', 'x < iterations')}"
PACED_LINE = f"paced.c:{line_of('paced.c', 'x < iterations')}"
ORDINARY_USER = "uprobes are for root"
BUSY_LINE = f"changes.c:{line_of('changes.c', 'x < iterations')}"


def paused_much(*options):
    """Returns options for blocking_calls, which has some thirty threads that hardly run and owe
    little in a short experiment."""
    return attach("--duration", ENDLESS, "--experiment", "500ms", "--period", "1ms",
                  "--format", "json", "--fixed", LITTLE_LINE, "--speedup", "90",
                  "--pause-cost", "150us", *NO_PACE_TEST, *FULL_RATE, *options)


def paused_case(name, arguments, target, *, checks=(), during=until_enough, **more):
    """A case that shows something only if the target was paused."""
    return Case(name, arguments, target, during=during,
                checks=(well_formed, digest_same, paused, *checks), **more)


def costs_known(outcome):
    """Checks that the costs of sampling, with its interval, and of a pause are known."""
    overhead = outcome.report()["overhead"]
    length_ns = outcome.log()[-1]["overhead"]["pause_cost_length_ns"]
    return expect(overhead["slowdown_low"] <= overhead["slowdown"] <= overhead["slowdown_high"] and
                  overhead["pause_cost_ns"] > 0 and overhead["pause_cost_error_ns"] > 0,
                  f"costs not measured: {overhead}") + expect(
                      length_ns > 500_000, f"a pause was measured that is {length_ns} ns long")


def own_pace(outcome):
    """Checks that the report says so, and that no code is worth optimising."""
    point = outcome.report()["progress"][0]
    worth = [unit["unit"] for unit in point["units"] if unit["verdict"] == "optimise"]
    pacing = [line for line in outcome.log() if line["type"] == "pacing"]
    return expect(point.get("pacing", {}).get("pace") == "own" and not worth and len(pacing) == 1,
                  f"pacing {point.get('pacing')}, {pacing} in the log, worth optimising: {worth}")


def no_pace_test(outcome):
    """Checks that there was no pace test although the threads wait for clocks and devices."""
    found = [line for line in outcome.log() if line["type"] == "pacing"]
    return expect(not found, f"a pace was looked for: {found}")


def given_cost(outcome):
    """Checks that the cost is that of --pause-cost, not a measured one."""
    found = outcome.report()["overhead"]["pause_cost_ns"]
    return expect(found == 150_000, f"a pause costs {found} ns, not what was given")


def called_by_often(outcome):
    """Checks the share of the samples of work() that often() calls it with, which is 3/4. The samples
    are independent: the check is six standard deviations wide."""
    units = {unit["unit"]: unit for unit in outcome.report()["progress"][0]["units"]}
    path = units["work < often"]
    samples, callee = path["samples"], path["callee"]
    deviation = (0.75 * 0.25 / max(1, callee["samples"])) ** 0.5
    share = samples / max(1, callee["samples"])
    return (expect(path["kind"] == "path" and path["function"] == "work", f"no path: {path}") +
            expect(callee["samples"] >= 40, f"only {callee['samples']} samples in work()") +
            expect(abs(share - 0.75) < 6 * deviation + 0.02, f"{share} of the samples by often()") +
            expect(callee["unknown_callers"] <= 2 + 0.02 * callee["samples"],
                   f"{callee['unknown_callers']} of {callee['samples']} callers are unknown"))


# --- what must happen before a case ---

def wait_for_handler(world):
    caught = 1 << (signal.SIGTRAP - 1)

    def installed():
        world.target.before = fixture.State(world.target.pid)
        return int(world.target.before.signals["SigCgt"], 16) & caught

    if not fixture.wait_until(installed, 10):
        raise RuntimeError("the target installs no handler")


def copy_figure1(world):
    program = world.directory / "copy_of_figure1"
    program.write_bytes((world.options.targets / "figure1").read_bytes())
    program.chmod(0o755)


def link_figure1(world):
    (world.directory / "another_name").symlink_to(world.options.targets / "figure1")


def copy_and_match(world):
    """Makes a program whose name no other process has, and a configuration that names it."""
    copy_figure1(world)
    (world.directory / "copy_of_figure1").rename(world.directory / "by_its_name")
    (world.directory / "c.toml").write_text(
        '[target]\nmatch = "by_its_name"\n[pause]\ncost = "150us"\n[sampling]\nperiod = "4ms"\n')


def delete_copy(world):
    (world.directory / "copy_of_figure1").unlink()


def occupy_cores(world):
    for _ in range(os.cpu_count()):
        world.helpers.append(fixture.start_busy_loop())


def stop_target(world):
    stop(world)
    world.target.before = fixture.State(world.target.pid)


def build_go(world, *options):
    subprocess.run(["go", "build", *options, "-o", world.directory / "spin_go",
                    world.names["root"] / "tests/targets/spin.go"], check=True, timeout=120)


def build_stripped_go(world):
    build_go(world, "-ldflags=-s -w")


# --- checks ---

def pauses_are_short(outcome):
    """Checks pauses with a limit of 1 ms. Without the limit they are ten times as long here, in
    every experiment. A stall makes those of one experiment longer."""
    totals = [record["pauses"] for record in experiments_of(outcome.log()) if record["speedup"] > 0]
    usual_ns = statistics.median(each["paid_ns"] / each["count"]
                                 for each in totals if each["count"])
    return expect(usual_ns < 3e6, f"a pause took {usual_ns / 1e6:.1f} ms")


def in_file(name):
    def check_files(outcome):
        wrong = [unit["unit"] for unit in all_units(outcome)
                 if not unit["file"].endswith("/" + name) and unit["file"] != name]
        return expect(not wrong, f"units of other files: {wrong}")
    return check_files


def paused_to_the_end(outcome):
    """Checks for pauses in the last third of the experiments, long after what the target did to
    itself."""
    experiments = experiments_of(outcome.log())
    late = experiments[-max(3, len(experiments) // 3):]  # one of any three has a speedup
    return expect(sum(record["pauses"]["count"] for record in late) > 0,
                  f"no pause in the last {len(late)} experiments")


def sigtrap_changes(name, *options):
    """A case in which the target itself changes SIGTRAP, which the report says and which is no
    failure. At most one of our signals for each of its four threads can be on its way then."""
    return paused_case(name, attach_json(*halved(BUSY_LINE)),
                       ("{targets}/changes", "--blocked", "0", *options), target_ends=True,
                       during=until_paused_after_change, may_meet_shot=True,
                       target_output=ROUNDS + patterns("^failed_children 0$",
                                                       "^foreign_traps [0-4]$"),
                       checks=(warns("changed its SIGTRAP handler"), paused_to_the_end))


def counted_by_uprobes(outcome):
    """Breakpoints would miss what each new thread passes first."""
    facilities = outcome.report()["facilities"]
    return expect(facilities.get("uprobe") == "seen", f"facilities: {facilities}")


CASES = [
    profiled("attach_json", attach_json(), FIGURE1,
             checks=(well_formed, digest_same, visits("round_done", 50), units_include(A_LINE),
                     units_are("line"), log_complete, log_ends_with("interrupted"), private_log,
                     given_cost)),
    Case("attach_ends_by_duration", attach_json(duration="4s"), FIGURE1,
         checks=(well_formed, digest_same, log_complete, log_ends_with("duration"))),
    profiled("attach_text", attach_short(), FIGURE1,
             stdout=patterns("round_done", r"figure1\.c:\d+", "95 ?%|interval|low")),
    profiled("attach_costs_measured", attach("--duration", ENDLESS, "--format", "json", "--verbose"),
             FIGURE1, stderr=patterns(r"sampling period .*cost -?\d", "besides, measured"),
             checks=(well_formed, costs_known)),
    profiled("attach_own_pace",
             attach("--duration", ENDLESS, "--experiment", "200ms", "--format", "json", "--verbose",
                    "--fixed", PACED_LINE, "--speedup", "50", point="request_done"),
             ("{targets}/paced", "--random-gaps", "0", "--answer-us", "500"), undisturbed=True,
             stderr=patterns(r"cores idle \d+ %"),
             checks=(well_formed, digest_same, own_pace, warns("comes at its own pace"))),
    profiled("attach_coz", attach_short("--format", "coz"), FIGURE1, checks=(coz_format,)),
    profiled("attach_line_point",
             attach_json(point=f"figure1.c:{line_of('figure1.c', 'round_done();')}"), FIGURE1,
             checks=(well_formed, digest_same,
                     visits(f"figure1.c:{line_of('figure1.c', 'round_done();')}", 10))),
    profiled("attach_sampled_point", attach_json(point=f"sampled:{A_LINE}"), FIGURE1,
             checks=(well_formed, digest_same, visits(f"sampled:{A_LINE}", 10))),
    # b() will not do: its entry is in the cache line of its loop, which an armed breakpoint makes
    # four times slower.
    profiled("attach_two_points", attach_json("--progress", "count_round"), FIGURE1,
             checks=(well_formed, visits("round_done", 10), visits("count_round", 10))),
    profiled("attach_functions", attach_json("--unit", "function"), FIGURE1,
             checks=(well_formed, units_are("function"), units_include("a"))),
    profiled("attach_fixed", attach_json("--fixed", A_LINE, "--speedup", "50"), FIGURE1,
             checks=(well_formed, experiments_only(A_LINE, (0, 0.5)))),
    profiled("attach_call_path",
             attach_json("--fixed", "work < often", "--speedup", "50"),
             ("{targets}/callers", "--round-ms", "10"),
             checks=(well_formed, digest_same, experiments_only("work < often", (0, 0.5)),
                     called_by_often)),
    profiled("attach_scope_file", attach_json("--scope-file", "*figure1.c"), FIGURE1,
             checks=(well_formed, in_file("figure1.c"), units_include(A_LINE))),
    profiled("attach_toml", ("attach", "{pid}", "--config", "{dir}/c.toml"), FIGURE1,
             before=write("c.toml", '[progress]\nthroughput = ["round_done"]\n[experiment]\n'
                          f'duration = "200ms"\npace_test = false\n[budget]\nduration = "{ENDLESS}"\n'
                          '[pause]\ncost = "150us"\n[sampling]\nperiod = "4ms"\n[output]\n'
                          'format = "json"\n'),
             checks=(well_formed, visits("round_done", 10), log_complete,
                     log_ends_with("interrupted"))),
    Case("attach_toml_duration", ("attach", "{pid}", "--config", "{dir}/c.toml", *SHORT), FIGURE1,
         stderr=patterns(r"to read on: causalctl report \S+; --fixed UNIT"),
         before=write("c.toml", '[progress]\nthroughput = ["round_done"]\n[budget]\n'
                      'duration = "4s"\n'), checks=(log_complete, log_ends_with("duration"))),
    profiled("attach_match", ("attach", "--config", "{dir}/c.toml", "--progress", "round_done",
                              "--duration", ENDLESS, "--experiment", "200ms", "--format", "json"),
             ("{dir}/by_its_name", "--round-ms", "15"), before=copy_and_match,
             checks=(well_formed, visits("round_done", 10), digest_same)),
    paused_case("attach_longest_pause", attach_json(*halved(A_LINE), "--config", "{dir}/c.toml"),
                FIGURE1, before=write("c.toml", '[pause]\nlongest = "1ms"\n'),
                checks=(pauses_are_short,), undisturbed=True),
    profiled("attach_quiet", attach_short("--quiet"), FIGURE1,
             stdout=patterns("round_done"), checks=(
                 lambda outcome: expect(outcome.stderr == "", "something on stderr"),)),
    profiled("attach_without_debug_information", attach_json(), figure1("figure1_nodebug"),
             checks=(well_formed, units_are("function"), visits("round_done", 10), digest_same,
                     warns("debug information|line information|no lines"))),
    profiled("attach_stripped", attach_json(point="syscall:futex"), figure1("figure1_stripped"),
             checks=(well_formed, visits("syscall:futex", 5), digest_same)),
    profiled("attach_static", attach_json(), figure1("figure1_static"),
             checks=(well_formed, visits("round_done", 10), units_include(A_LINE), digest_same)),
    profiled("attach_deleted_executable", attach_json(), figure1("copy_of_figure1", "{dir}"),
             before=copy_figure1, with_target=delete_copy,
             checks=(well_formed, visits("round_done", 10), digest_same)),
    profiled("attach_started_by_a_link", attach_short(), ("{dir}/another_name", "--round-ms", "15"),
             before=link_figure1, stdout=patterns(r"^another_name \(/.*/figure1\): 1 run, ")),
    profiled("attach_pipeline_mutex", attach_json(point="item_done"),
             ("{targets}/pipeline", "--via", "mutex"), target_output=ROUNDS + patterns(
                 "^eintr 0$", "^wrong_items 0$", "^interrupted 0$"),
             checks=(well_formed, visits("item_done", 50), digest_same)),
    profiled("attach_pipeline_futex", attach_json(point="item_done"),
             ("{targets}/pipeline", "--via", "futex"), target_output=ROUNDS + patterns(
                 "^eintr 0$", "^wrong_items 0$", "^interrupted 0$"),
             checks=(well_formed, visits("item_done", 50), digest_same)),
    profiled("attach_pipeline_pipe", attach_json(point="item_done"),
             ("{targets}/pipeline", "--via", "pipe"), target_output=ROUNDS + patterns(
                 "^eintr 0$", "^wrong_items 0$", "^interrupted 0$"),
             checks=(well_formed, visits("item_done", 50), digest_same)),
    profiled("attach_latency", ("attach", "{pid}", "--latency", "item=get_mutex,item_done",
                                "--duration", ENDLESS, *SHORT, "--format", "json"),
             ("{targets}/pipeline",),
             checks=(well_formed, visits("item", 50, kind="latency"), digest_same)),
    # A latency has no pace, so there is no uniform pause to test it.
    profiled("attach_latency_at_any_pace",
             ("attach", "{pid}", "--latency", "answer=answer_work,request_done", "--duration",
              ENDLESS, "--experiment", "200ms", "--period", "4ms", "--pause-cost", "150us",
              "--format", "json", "--verbose"),
             ("{targets}/paced", "--random-gaps", "0", "--answer-us", "500"),
             absent=patterns(r"cores idle \d+ %"),
             checks=(well_formed, visits("answer", 50, kind="latency"), digest_same)),
    profiled("attach_lock", attach_json(), ("{targets}/lock",),
             checks=(well_formed, visits("round_done", 100), digest_same)),
    profiled("attach_oversubscribed", attach_json(point="item_done"), ("{targets}/pool",),
             checks=(well_formed, visits("item_done", 100), digest_same, waits_for_others(0, 0.5)),
             undisturbed=True),
    profiled("attach_beside_busy_loops", attach_json(), FIGURE1, with_target=occupy_cores,
             checks=(well_formed, digest_same, waits_for_others(0.5, 1)), undisturbed=True),
    profiled("attach_blocking_calls", attach_json(), ("{targets}/blocking_calls",),
             checks=(well_formed, visits("round_done", 100), digest_same, no_pace_test),
             target_output=ROUNDS + patterns("^eintr 0$", "^eintr_total 0$", "^short_total 0$",
                                             "^wrong_total 0$")),
    # Where each thread has events of its own, threads end before the controller knows of them, and
    # it must say what it did not see. They are hardly ever sampled, so there may be no unit for
    # experiments.
    Case("attach_threads_storm", attach_json(point="item_done", duration="4s"),
         ("{targets}/threads_storm",), counts_nothing="there may be no experiment", exit=(0, 1),
         pretend_broken="scheduler",
         absent=patterns("some threads are not profiled"),
         checks=(well_formed, digest_same, warns(r"\d+ threads ended before"))),
    profiled("attach_threads_come_and_go", attach_json(point="item_done"),
             ("{targets}/threads_storm", "--rate", "30", "--work-us", "30000"),
             checks=(well_formed, visits("item_done", 5), digest_same, counted_by_uprobes)),
    # With a thousand threads the attach must not take the whole run of 3 s.
    profiled("attach_many_threads", attach_json(), ("{targets}/many_threads",),
             checks=(well_formed, visits("round_done", 50), digest_same)),
    Case("attach_idle", attach_json(point="main", duration="3s"), ("{targets}/idle",), exit=(1,),
         counts_nothing="the target does nothing", stderr=patterns("no result"),
         target_output=patterns("^rounds 0$", "^eintr 0$"), checks=(well_formed, digest_same)),
    profiled("attach_target_forks_and_blocks_signals", attach_json(), ("{targets}/changes",),
             target_output=ROUNDS + patterns("^failed_children 0$", "^foreign_traps 0$"),
             checks=(well_formed, visits("round_done", 20), digest_same)),
    # A target with a SIGTRAP handler of its own is paused in another way, and its handler sees
    # nothing.
    paused_case("attach_target_has_sigtrap_handler",
                attach_json(*halved(BUSY_LINE)),
                ("{targets}/changes", "--sigtrap", "1", "--blocked", "0"),
                with_target=wait_for_handler,
                target_output=ROUNDS + patterns("^failed_children 0$", "^foreign_traps 0$"),
                checks=(visits("round_done", 20), warns("pauses by ptrace.*SIGTRAP"))),
    sigtrap_changes("attach_target_installs_sigtrap_handler", "--sigtrap", "20"),
    sigtrap_changes("attach_target_resets_sigtrap", "--reset-sigtrap", "20"),
    paused_case("attach_ptrace_channel", paused_much("--pause-channel", "ptrace"),
                ("{targets}/blocking_calls",),
                target_output=ROUNDS + patterns("^eintr 0$", "^eintr_total 0$", "^short_total 0$",
                                                "^wrong_total 0$"),
                checks=(visits("round_done", 20),)),
    # The end of a child is a SIGCHLD that no thread handles, and no system call may see it.
    paused_case("attach_blocking_calls_children", paused_much(),
                ("{targets}/blocking_calls", "--children", "20"),
                target_output=ROUNDS + patterns("^eintr 0$", "^eintr_total 0$", "^short_total 0$",
                                                "^wrong_total 0$"),
                checks=(visits("round_done", 20),)),
    paused_case("attach_as_ordinary_user", attach_json(*halved(A_LINE)),
                ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *FIGURE1),
                user=65534, needs_breakpoint=ORDINARY_USER, needs={"setpriv": "util-linux"}, checks=(visits("round_done", 10),)),
    # Without the filter on the shot causalctl reads a thread's signal mask, which differs in
    # ppoll().
    paused_case("attach_as_ordinary_user_signals_let_in",
                attach_json(*halved("hot_work"), "--unit", "function"),
                ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                 "{targets}/matrix_states", "--state", "waits_for_signals"),
                user=65534, needs_breakpoint=ORDINARY_USER, needs={"setpriv": "util-linux"},
                target_output=ROUNDS + patterns("^failed 0$", "^wrong 0$", "^eintr 0$"),
                checks=(visits("round_done", 10),)),
    # Samples alone cost more.
    Case("attach_ends_by_budget", attach_json("--max-slowdown", "0.1", "-o", "{log}",
                                              "--fixed", A_LINE, "--speedup", "90", duration="40s"),
         FIGURE1, exit=(1,), counts_nothing="it ends before anything is paused",
         checks=(log_ends_with("budget"),
                 warns(r"ended early: .* while nothing was paused .*--max-slowdown is 0\.1"))),
    Case("attach_target_execs", attach_json("-o", "{log}", duration="30s"),
         ("{targets}/changes", "--exec", "20"), target_ends=True, texts_may_change=True,
         target_output=ROUNDS + patterns("^executing itself$", "^failed_children 0$"),
         checks=(well_formed, visits("round_done", 10), log_ends_with("target-exited"))),
    Case("attach_stopped_target", attach_json(duration="2s"), FIGURE1, with_target=stop_target,
         counts_nothing="the target is stopped",
         exit=(1,), stderr=patterns("no result: the target used no CPU time"),
         target_output=patterns(r"^rounds \d+$"),
         checks=(well_formed, digest_same, warns("no experiment"),
                 warns("round_done: no visit in .* stopped by a signal"))),
    profiled("attach_memcached", attach_json("--unit", "function", point="syscall:sendmsg"),
             ("{root}/scripts/load/memcached",), needs={"memcached": "memcached"},
             target_output=ROUNDS + patterns("^wrong_answers 0$", "^eintr 0$"),
             checks=(well_formed, visits("syscall:sendmsg", 1000), units_are("function"),
                     digest_same)),
    profiled("attach_memcached_and_client", attach_json(point="syscall:sendmsg"),
             ("{root}/scripts/load/memcached",), needs={"memcached": "memcached"},
             target_output=ROUNDS, checks=(well_formed, follows("memcached_load"))),
    profiled("attach_redis", attach_json(point="syscall:write"), ("{root}/scripts/load/redis",),
             needs={"redis-server": "redis-server", "redis-benchmark": "redis-tools"},
             target_output=ROUNDS,
             checks=(well_formed, visits("syscall:write", 100), follows("redis-benchmark"),
                     digest_same,
                     lambda outcome: expect(outcome.report()["started_as"] in ("redis-server", ""),
                                            "its name is not redis-server"))),
    profiled("attach_sqlite", attach_json(point="transaction_done"),
             ("{root}/third_party/sqlite/sqlite_inserts",), timeout=120,
             target_output=ROUNDS + patterns("^eintr 0$", "^failed_statements 0$"),
             checks=(well_formed, visits("transaction_done", 1000), units_are("line"),
                     digest_same)),
    profiled("attach_python", attach_json("--unit", "function", point="syscall:futex"),
             ("/usr/bin/python3", "{root}/tests/targets/spin.py"), target_output=ROUNDS,
             checks=(well_formed, digest_same)),
    profiled("attach_go", attach_json("--unit", "function", point="main.roundDone"),
             ("{dir}/spin_go",), before=build_go, needs={"go": "golang-go"}, target_output=ROUNDS,
             checks=(well_formed, visits("main.roundDone", 20), units_are("function"),
                     digest_same)),
    profiled("attach_go_stripped", attach_json(point="main.roundDone"),
             ("{dir}/spin_go",), before=build_stripped_go, needs={"go": "golang-go"},
             target_output=ROUNDS,
             checks=(well_formed, visits("main.roundDone", 20), units_are("line"), digest_same)),
]
