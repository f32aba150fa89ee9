"""causalctl says during the profile what it does not find, and why, and its status tells
scripts."""

import re
import signal
import subprocess
import time

import fixture
from attaching import FIGURE1, SHORT, attach_json, attach_short, profiled
from case import Case, expect, line_of, patterns, visits, warns, well_formed
from during import PATIENCE, end, stop, until_enough

SILENT = ("{targets}/silent",)
SILENT_LINE = f"silent.c:{line_of('silent.c', 'work(iterations);')}"
LAUNCHER = ("{targets}/launcher",)
IN_LIBRARY = r"\d+ % of the samples are in liblaunched\.so: --scope-binary 'liblaunched\*'"
# causalctl takes 5 s (or 8, while debug information is read). The rest is for an overloaded
# machine, on which the attach takes a while.
WITHIN = 20  # seconds


def said(pattern, within=WITHIN):
    """Waits until standard error has the pattern while the profile goes on, and then ends the
    profile."""
    def wait(world):
        begin = time.monotonic()
        found = fixture.wait_until(
            lambda: re.search(pattern, (world.directory / "stderr").read_text(errors="replace")),
            within, 0.1)
        if not found:
            raise RuntimeError(f"not said within {time.monotonic() - begin:.0f} s: {pattern!r}")
        if world.process.poll() is not None:
            raise RuntimeError("it was said only at the end")
        # What is said while the program is inspected comes before causalctl handles interrupts.
        fixture.wait_until(lambda: fixture.catches(world.process.pid, signal.SIGINT), within, 0.1)
        end(world)
    return wait


def silent(name, point, reason, target=SILENT, *options, **more):
    """A point without a single visit. It is named at once and in the report, and the status shows
    it."""
    text = rf"{re.escape(point)}: no visit in \d+ s; .*{reason}"
    return Case(name, attach_json(*options, point=point), target, exit=(1,), during=said(text),
                stderr=patterns("no result: "), checks=(well_formed, warns(text)), **more)


def idle_by_pipe(world):
    """Starts a process that waits for its standard input."""
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    world.helpers.append(process)
    world.names["pid"] = process.pid


def stop_target(world):
    stop(world)
    world.target.before = fixture.State(world.target.pid)


def directory_with_brackets(world):
    directory = world.directory / "[wip]"
    directory.mkdir()
    program = directory / "prog"
    program.write_bytes((world.options.targets / "figure1").read_bytes())
    program.chmod(0o755)
    symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, check=True, text=True).stdout
    world.names["offset"] = next(line.split()[0] for line in symbols.splitlines()
                                 if line.endswith(" t round_done"))


def silent_server(world):
    """Starts a debuginfod server that accepts requests and never answers."""
    server = subprocess.Popen(
        ["python3", "-c", "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
         "print(s.getsockname()[1], flush=True); time.sleep(300)"], stdout=subprocess.PIPE, text=True)
    world.helpers.append(server)
    world.names["port"] = server.stdout.readline().strip()


def not_the_headline(name):
    def check_headline(outcome):
        first = outcome.stdout.splitlines()[0]
        return expect(name not in first, f"the headline is {first!r}")
    return check_headline


CASES = [
    silent("silent_function_inlined", "inlined_done", r"inlined.*take .*silent\.c:\d+"),
    silent("silent_function_never_called", "never_called", "never_called was never sampled either"),
    silent("silent_function_endless", "endless", "of the (samples|stacks), but no visits.*take a line in its"),
    silent("silent_call", "syscall:mount", "no thread makes this system call"),
    silent("silent_target_idle", "syscall:write", "it waits.*give it load", ("{targets}/idle",),
           target_output=()),
    silent("silent_target_waits_for_input", "syscall:write", "input on descriptor 0", (),
           before=idle_by_pipe),
    silent("silent_target_stopped", "round_done", r"stopped by a signal \(SIGSTOP\)", FIGURE1,
           with_target=stop_target, target_output=()),
    # One point is visited and another one is not, which gives a warning and a result.
    profiled("silent_point_beside_another",
             attach_json("--progress", "never_called", point=SILENT_LINE), SILENT,
             counts_nothing="one of its two points is never called",
             checks=(well_formed, visits(SILENT_LINE, 20),
                     warns(r"never_called: no visit in \d+ s; never_called was never sampled"))),
    Case("silent_before_the_first_experiment", attach_json(duration="1s"), FIGURE1, exit=(1,),
         stderr=patterns("no result: it ended before the first experiment", "--duration 60s"),
         checks=(well_formed,)),
    Case("samples_all_unknown", attach_short("--scope-file", "figure9.c"), FIGURE1, exit=(1,),
         during=said(r"none of \d+ samples has a frame in scope .*no source file matches "
                     r"--scope-file 'figure9\.c' \(nearest: .*figure1\.c"),
         stderr=patterns(r"no result: none of \d+ samples fell in code in scope")),
    Case("scope_matches_nothing_yet",
         ("run", "--progress", "round_done", "--scope-binary", "libplugin*", "--duration", "300s",
          *SHORT, "-o", "{log}", "--", *FIGURE1), exit=(1,), alone=True,
         during=said("--scope-binary 'libplugin\\*' matches no binary that is loaded by now"),
         stderr=patterns("nearest that are:", "no result: ")),
    Case("program_in_a_library", attach_short(point="liblaunched.so:launched_round"), LAUNCHER,
         during=said(IN_LIBRARY, PATIENCE), exit=(0, 1), stdout=patterns(IN_LIBRARY), timeout=150,
         counts_nothing="it is ended once it has said where the samples are",
         checks=(not_the_headline("main"), not_the_headline("_start"))),
    Case("bracketed_directory", attach_json(point="prog+0x{offset}"), ("{dir}/[wip]/prog",
                                                                      "--round-ms", "15"),
         before=directory_with_brackets, during=until_enough, checks=(well_formed,)),
    Case("debuginfod_is_silent",
         ("attach", "{pid}", "--progress", "nosuch.c:1"), FIGURE1, before=silent_server, exit=(2,),
         environment=("DEBUGINFOD_URLS=http://127.0.0.1:{port}", "DEBUGINFOD_CACHE_PATH={dir}/cache"),
         stderr=patterns("did not answer within 5 s, and is not asked again"), timeout=30),
]
