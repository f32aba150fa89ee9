"""Cases of `causalctl run`, with --end-to-end and without."""

import os
import pathlib
import signal
import time

import fixture
from attaching import A_LINE, ENDLESS, FIGURE1, SHORT, figure1, halved, profiled
from case import (Case, expect, experiments_of, kept_experiments, line_of, log_complete,
                  log_ends_with, patterns, records_in)
from during import PATIENCE, end, interrupt, so_far
from end_cases import only_child
from silence_cases import said

STRLEN_LINE = f"in_library.c:{line_of('in_library.c', 'here it spends its time')}"

# This takes longer than any case may, so only the interrupt can end its runs.
SLOW = ("{targets}/figure1", "--seconds", "300", "--per-ms", "300000")
SPINS = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
ROUNDS = ("{targets}/figure1", "--round-ms", "15", "--rounds", "20", "--per-ms", "300000")


SIGNALS_LOADING = 3  # the number that tests/targets/loading_library.c expects
SIGNALS_SUSPENDED = 4


def watchers(world):
    """Returns the processes of single runs, which are causalctl's children."""
    pid = world.process.pid
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def interrupt_at_start_up(world):
    """Interrupts as soon as the process of the first run exists, long before it attaches."""
    deadline = time.monotonic() + 10
    while not watchers(world):
        if time.monotonic() > deadline:
            raise RuntimeError("no run was begun")
    end(world)


def kill_while_it_loads(world):
    """Kills causalctl while the program's libraries are loaded, because the program is traced then.
    Within a second no process may trace it."""
    def traced():
        fields = {pid: fixture.status_fields(f"/proc/{pid}") for pid in watchers(world)}
        return [pid for pid, each in fields.items() if each["Name"] == "slow_start" and
                each["State"].startswith("S") and each["TracerPid"] != "0"]

    if not fixture.wait_until(traced, 10):
        raise RuntimeError("the program was not begun")
    pid = traced()[0]
    world.process.kill()
    if not fixture.wait_until(
            lambda: fixture.status_fields(f"/proc/{pid}")["TracerPid"] == "0", 1):
        raise RuntimeError("it is traced still, a second after the end of causalctl")
    # The program may run for a moment, on its way back into its sleep.
    if not fixture.wait_until(
            lambda: fixture.status_fields(f"/proc/{pid}")["State"].startswith("S"), 1):
        raise RuntimeError("it does not go on loading")


def interrupt_none_behind(world):
    """Interrupts short runs. No thread of causalctl may have a lower priority than the
    program's."""
    behind = set()

    def two_experiments():
        for pid in world.left_over():
            for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
                try:
                    behind.add(int(stat.read_text().rpartition(")")[2].split()[16]) > 0)
                except (FileNotFoundError, ProcessLookupError):
                    continue
        return world.has_experiments(2, records_in(world.log))

    if not fixture.wait_until(two_experiments, 90):
        raise RuntimeError("waited in vain for 2 experiments in the log")
    if behind != {False}:
        raise RuntimeError("a thread of causalctl ran at a low priority")
    end(world)


def kill_guardian_of_a_run(world):
    """Each run has a process of its own, whose children are the guardian and the program."""
    world.wait_for_experiments(1)

    def killed():
        try:
            names = fixture.names(fixture.children(only_child(world.process.pid)))
            guardians = [pid for pid, name in names.items() if name == "causalctl-guard"]
            if len(names) < 2 or not guardians:
                return False
            os.kill(guardians[0], signal.SIGKILL)
        except (RuntimeError, ProcessLookupError):  # between two runs
            return False
        return True

    if not fixture.wait_until(killed, PATIENCE):
        raise RuntimeError("no run had a guardian")


def killed_runs(records):
    return [record for record in experiments_of(records)
            if record.get("discarded") == "the program was ended by SIGTERM"]


def until_one_was_killed(world):
    """Kills the second run, which is the first experiment. Other runs follow."""
    def reached(records):
        return killed_runs(records) and len(kept_experiments(records)) >= 2

    if not world.wait_for_log(reached, PATIENCE):
        raise RuntimeError(f"waited in vain: {so_far(world)}")
    end(world)


def one_was_killed(outcome):
    return expect(len(killed_runs(outcome.log())) == 1, "another number of runs was killed")


def write_script(world):
    script = world.directory / "script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)


def write_program_for_another_machine(world):
    program = world.directory / "foreign"
    header = bytearray(pathlib.Path("/bin/true").read_bytes())
    header[18:20] = (243).to_bytes(2, "little")  # EM_RISCV, as e_machine
    program.write_bytes(header)
    program.chmod(0o755)


def program_named(world, name):
    found = [pid for pid, path in fixture.processes_with(world.marker).items()
             if path.endswith("/" + name)]
    return found[0] if found else None


def signals_while_it_loads(world):
    """Sends signals while the program's library is loaded, and while it is suspended at its entry
    point."""
    number = signal.SIGRTMIN  # these signals are queued

    def awaits():
        pid = program_named(world, "loading")
        return pid and int(fixture.status_fields(f"/proc/{pid}")["SigCgt"], 16) >> (number - 1) & 1

    if not fixture.wait_until(awaits, 10):
        raise RuntimeError("the program does not wait for signals")
    pid = program_named(world, "loading")
    for _ in range(SIGNALS_LOADING):
        os.kill(pid, number)

    def suspended():  # for longer than the moment that each signal takes
        states = []
        for _ in range(3):  # beside a load each sleep takes long, and the set-up does not
            states.append(fixture.status_fields(f"/proc/{pid}")["State"][0])
            time.sleep(0.002)
        return states == ["t"] * 3

    if not fixture.wait_until(suspended, 10, 0):
        raise RuntimeError("it was not suspended after its libraries were loaded")
    for _ in range(SIGNALS_SUSPENDED):
        os.kill(pid, number)
    end_when_profiled(world)


def end_when_profiled(world):
    world.wait_for_experiments(2)
    end(world)


def one_run_each(outcome):
    """Checks that every experiment is one run, and that only treatments delay it."""
    experiments = kept_experiments(outcome.log())
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


def most_samples_in(line):
    """Checks the log, because the program's output is mixed with the report of its run."""
    def check_share(outcome):
        counts = {record["unit"]: record["count"] for record in outcome.log()
                  if record["type"] == "samples"}
        share = counts.get(line, 0) / max(1, sum(counts.values()))
        return expect(share > 0.9, f"{line}: {share:.0%} of {counts}")
    return check_share


CASES = [
    # The libraries are loaded only after causalctl has read the mappings.
    Case("run_unwinds_through_libraries",
         ("run", "--progress", "round_done", "--duration", "10s", *SHORT, "--format", "text", "-o",
          "{log}", "--", "{targets}/in_library", "--per-ms", "400"),
         checks=(log_complete, most_samples_in(STRLEN_LINE))),
    Case("run_command", ("run", "--progress", "round_done", "--duration", "30s", *SHORT, "-o",
                         "{log}", "--", *FIGURE1, "--seconds", "8"),
         stdout=patterns(r"^rounds [1-9]\d*$", "^eintr 0$", r"figure1\.c:\d+"),
         checks=(log_complete, log_ends_with("target-exited"))),
    Case("run_ends_program", ("run", "--progress", "round_done", "--duration", "8s", *SHORT, "-o",
                              "{log}", "--", *FIGURE1),
         stdout=patterns(r"^rounds [1-9]\d*$", "^eintr 0$", r"figure1\.c:\d+"),
         checks=(log_complete, log_ends_with("duration"))),
    profiled("run_end_to_end",
             ("run", "--end-to-end", "--duration", ENDLESS, *halved(A_LINE), "-o", "{log}", "--",
              *FIGURE1, "--rounds", "20", "--per-ms", "300000"),
             stdout=patterns(r"^end-to-end: \d+ visits", r"^rounds 2\d$", r"figure1\.c:\d+"),
             checks=(log_complete, log_ends_with("interrupted"), one_run_each)),
    Case("end_to_end_for_a_while", ("run", "--end-to-end", "--duration", "8s", "-o", "{log}", "--",
                                    *ROUNDS),
         stderr=patterns(r"to read on: causalctl report \S+; --fixed UNIT"),
         checks=(log_complete, log_ends_with("duration"))),
    Case("end_to_end_beside_a_point", ("run", "--end-to-end", "--progress", "main", "--", "true"),
         exit=(2,), stderr=patterns("end-to-end.*nothing else")),
    Case("end_to_end_killed", ("run", "--end-to-end", "--duration", "5s", "--", "sh", "-c",
                               "kill -9 $$"), exit=(1,),
         stderr=patterns("^causalctl: --end-to-end: the target was ended by SIGKILL; no pause was")),
    Case("end_to_end_second_run_killed",
         ("run", "--end-to-end", "--duration", ENDLESS, "-o", "{log}", "--", "sh", "-c",
          f"{SPINS}; if [ -e first ] && ! [ -e second ]; then : >second; kill -TERM $$; fi; : >first"),
         during=until_one_was_killed, stdout=patterns(
             r"1 of \d+ runs do not count, as signals ended them; in one of them the target was "
             "ended by SIGTERM"),
         absent=patterns("warning +the target was ended"), checks=(log_complete, one_was_killed)),
    # Early findings are said in the first run, which does not end here.
    Case("end_to_end_sleeps", ("run", "--end-to-end", "-o", "{log}", "--", "sleep", "300"),
         exit=(3,), alone=True,
         during=said(r"the program has not ended in \d+ s; the target used no CPU time( in the last "
                     r"\d+ s)?: it waits")),
    Case("end_to_end_sleeps_after_work", ("run", "--end-to-end", "-o", "{log}", "--", "/usr/bin/python3",
                                          "-c", "import time; sum(range(10**7)); time.sleep(300)"),
         exit=(3,), alone=True,
         during=said(r"the program has not ended in \d+ s; the target used no CPU time in the last "
                     r"\d+ s: it waits")),
    Case("end_to_end_out_of_scope", ("run", "--end-to-end", "--scope-binary", "nosuch*", "-o", "{log}",
                                     "--", *FIGURE1), exit=(3,), alone=True,
         during=said(r"none of \d+ samples has a frame in scope")),
    Case("end_to_end_executes_another", ("run", "--end-to-end", "--duration", "5s", "--", "env",
                                         "sleep", "0.2"),
         exit=(1,), stderr=patterns("executed another")),
    # What was started is ended, also if it is another program by then.
    Case("end_to_end_executes_one_that_lasts", ("run", "--end-to-end", "--duration", "5s", "--",
                                                "env", "sleep", "300"),
         exit=(1,), alone=True, stderr=patterns("executed another")),
    Case("end_to_end_guardian_killed", ("run", "--end-to-end", "--duration", "100s", "-o", "{log}",
                                        "--", *ROUNDS),
         during=kill_guardian_of_a_run, exit=(1,), alone=True,
         stderr=patterns("guardian process (was killed|.* ended unexpectedly)")),
    Case("end_to_end_without_program", ("run", "--end-to-end", "--", "{dir}/no_such_program"),
         exit=(2,), stderr=patterns("no_such_program")),
    Case("run_unknown_point", ("run", "--progress", "no_such_function", "--", "sh", "-c",
                               "touch {dir}/it_ran; sleep 9"), exit=(2,), alone=True,
         # The program has ended when the hint is read.
         stderr=patterns("no_such_function", "'causalctl points PID' lists"),
         after=lambda world: expect(not (world.directory / "it_ran").exists(), "the program ran")),
    # If a profile fails, the program that it started does not go on by itself.
    Case("run_fixed_unknown", ("run", "--progress", "round_done", "--fixed", "no_such_function",
                               *SHORT, "-o", "{log}", "--", *FIGURE1),
         exit=(2,), alone=True, stderr=patterns("--fixed no_such_function: no such function")),
    Case("run_executes_another", ("run", "--progress", "syscall:write", "--duration", "20s", "-o",
                                  "{log}", "--", "env", "VARIABLE=1", *FIGURE1),
         exit=(1,), alone=True, stderr=patterns("executed another program")),
    Case("run_32_bit", ("run", "--progress", "syscall:write", "--", "{targets}/bits32"),
         needs_32_bit=True, exit=(1,), alone=True, stderr=patterns("is a 32-bit program")),
    Case("run_for_another_machine", ("run", "--progress", "syscall:write", "--", "{dir}/foreign"),
         before=write_program_for_another_machine, exit=(2,), alone=True,
         stderr=patterns("cannot run '.*/foreign'.*xec format", "another kind of machine")),
    # The loader has loaded its libraries before the program begins.
    profiled("run_point_in_library",
             ("run", "--progress", "libc.so.6:pthread_barrier_wait", "--duration", ENDLESS,
              *SHORT, "-o", "{log}", "--", *FIGURE1),
             stdout=patterns(r"^libc.so.6:pthread_barrier_wait: [1-9]\d* visits"),
             checks=(log_complete,)),
    Case("run_point_not_loaded", ("run", "--progress", "libplugin.so:work", "--", *FIGURE1),
         exit=(2,), alone=True, stderr=patterns("not loaded yet", "attach")),
    Case("run_killed_while_it_loads", ("run", "--progress", "main", "--", "{targets}/slow_start"),
         exit=(-signal.SIGKILL,), during=kill_while_it_loads,
         counts_nothing="it is killed before a profile begins"),
    # It ends with a round, and once causalctl is interrupted it waits 300 ms for the program.
    Case("run_static_pie", ("run", "--progress", "round_done", "--duration", ENDLESS, *SHORT, "-o",
                            "{log}", "--", *figure1("figure1_static_pie")),
         during=end_when_profiled, alone=True,
         stdout=patterns(r"^round_done: [1-9]\d* visits", r"^rounds [1-9]\d*$", "^eintr 0$",
                         r"figure1\.c:\d+"),
         checks=(log_complete, log_ends_with("interrupted"))),
    Case("run_signals_while_it_loads",
         ("run", "--progress", "round_done", "--duration", ENDLESS, *SHORT, "-o", "{log}", "--",
          "{targets}/loading", "signals"),
         during=signals_while_it_loads, alone=True,
         stdout=patterns(f"^signals {SIGNALS_LOADING + SIGNALS_SUSPENDED}$", "^eintr 0$",
                         r"^round_done: [1-9]\d* visits"),
         checks=(log_complete,)),
    # The profile is of the program that is executed in its place, from the beginning of that one.
    Case("run_library_executes_another",
         ("run", "--progress", "round_done", "--duration", ENDLESS, *SHORT, "-o", "{log}", "--",
          "{targets}/loading", "exec"),
         during=end_when_profiled, alone=True,
         stdout=patterns("^eintr 0$", r"^round_done: [1-9]\d* visits"), checks=(log_complete,)),
    Case("run_library_blocks_sigtrap",
         ("run", "--progress", "round_done", "--duration", ENDLESS, *SHORT, "-o", "{log}", "--",
          "{targets}/loading", "block"),
         during=end_when_profiled, alone=True,
         stdout=patterns("^eintr 0$", r"^round_done: [1-9]\d* visits"), checks=(log_complete,)),
    Case("run_library_takes_its_time",
         ("run", "--progress", "round_done", "--duration", ENDLESS, *SHORT, "-o", "{log}", "--",
          "{targets}/loading", "wait"),
         during=end_when_profiled, alone=True, stderr=patterns("still loading its libraries"),
         stdout=patterns("^eintr 0$", r"^round_done: [1-9]\d* visits"), checks=(log_complete,)),
    # A trap would set the action of SIGTRAP to its default.
    Case("run_ignores_sigtrap",
         ("run", "--progress", "syscall:write", "--duration", "20s", "-o", "{log}", "--", "grep",
          "SigIgn", "/proc/self/status"),
         ignored=(signal.SIGTRAP,), exit=(0, 3), alone=True, counts_nothing="grep ends at once",
         stderr=patterns("not suspended at its entry point.*it ignores SIGTRAP"),
         stdout=patterns(r"^SigIgn:\s*0*10$")),
    # causalctl waits for the entry point of a script's interpreter, and for that of the loader
    # itself.
    Case("run_script", ("run", "--progress", "syscall:write", "--duration", "20s", "-o", "{log}",
                        "--", "{dir}/script"),
         exit=(0, 3), alone=True, stdout=patterns("^ran$"), counts_nothing="it ends at once",
         before=write_script),
    Case("run_loader", ("run", "--progress", "syscall:write", "--duration", "20s", "-o", "{log}",
                        "--", "/lib64/ld-linux-x86-64.so.2", "/bin/echo", "ran"),
         exit=(0, 3), alone=True, stdout=patterns("^ran$"), counts_nothing="it ends at once"),
    # systemd starts services with ignored signals, and so do parents that do not wait for children.
    Case("run_hands_on_ignored_signals",
         ("run", "--progress", "syscall:write", "--duration", "20s", "-o", "{log}", "--", "grep",
          "SigIgn", "/proc/self/status"),
         ignored=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD), exit=(0, 3), alone=True,
         stdout=patterns(r"^SigIgn:\s*0*1011000$"), counts_nothing="grep ends at once"),
    Case("end_to_end_children_ignored",
         ("run", "--end-to-end", "--duration", ENDLESS, "-o", "{log}", "--", *ROUNDS),
         ignored=(signal.SIGCHLD,), during=interrupt, timeout=30,
         checks=(log_complete, log_ends_with("interrupted"))),
    Case("run_missing_program", ("run", "--progress", "main", "--", "{dir}/no_such_program"),
         exit=(2,), stderr=patterns("no_such_program")),
    Case("end_to_end_interrupted_at_start_up",
         ("run", "--end-to-end", "--duration", "100s", "-o", "{log}", "--", *SLOW),
         during=interrupt_at_start_up, exit=(3,), timeout=15, clean_within=6, alone=True,
         stderr=patterns("ended before the first experiment")),
    Case("end_to_end_interrupted", ("run", "--end-to-end", "--duration", "100s", "-o", "{log}",
                                    "--", *ROUNDS),
         during=interrupt_none_behind, timeout=30, clean_within=6, alone=True,
         stdout=patterns("end-to-end"),
         checks=(log_complete, log_ends_with("interrupted"))),
]
