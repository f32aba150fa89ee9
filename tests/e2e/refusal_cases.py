"""Cases that cannot be done: the message names the cause and says what to do."""

import dataclasses
import os
import subprocess

import fixture
from attaching import FIGURE1, SHORT, attach, attach_json, write
from case import Case, ROUNDS, all_units, expect, patterns, warns, well_formed


def dead_pid(world):
    process = subprocess.Popen(["true"])
    process.wait()
    world.names["pid"] = process.pid


def link_log(world):
    (world.directory / "elsewhere").write_text("")
    world.log.symlink_to(world.directory / "elsewhere")


def trace_target(world):
    world.helpers.append(subprocess.Popen(
        ["strace", "-f", "-o", "/dev/null", "-p", str(world.target.pid)],
        stderr=subprocess.DEVNULL))

    def traced():
        world.target.before = fixture.State(world.target.pid)
        before = world.target.before  # since threads are stopped while strace attaches
        return before.tracer == str(world.helpers[0].pid) and not before.stopped

    if not fixture.wait_until(traced, 10):
        raise RuntimeError("strace does not trace")


def make_fifo(world):
    os.mkfifo(world.directory / "fifo")


def notes_untouched(outcome):
    return expect((outcome.directory / "notes").read_text() == "my notes\n", "the notes changed")


def link_untouched(outcome):
    return expect((outcome.directory / "elsewhere").read_text() == "", "written through a link")


def never_visited(outcome):
    point = outcome.report()["progress"][0]
    return expect(point["visits"] == 0, f"{point['visits']} visits") + expect(
        all(unit["verdict"] == "not-enough-data" for unit in all_units(outcome)), "a verdict")


def refused(case):
    """Every refusal names its cause and says what to do."""
    if case.exit == (0,):
        return case
    return dataclasses.replace(case, stderr=(*case.stderr, *patterns("^causalctl: ", "^  hint: ")),
                               absent=(*case.absent, *patterns("causalctl: bug")))


CASES = [
    Case("no_such_pid", attach("--duration", "2s"), before=dead_pid, exit=(3,),
         stderr=patterns("no such process|does not exist|is gone")),
    Case("no_permission", attach("--duration", "2s"), FIGURE1, user=65534, exit=(1,),
         stderr=patterns("permi|root|CAP_SYS_PTRACE|same user")),
    Case("bits32_refused", attach("--duration", "2s", point="main"), ("{targets}/bits32",),
         needs_32_bit=True, exit=(1,), stderr=patterns("32-bit"), target_output=(),
         target_status=(-15,)),
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
    Case("match_nothing", ("attach", "--config", "{dir}/c.toml", "--progress", "f"), exit=(2,),
         before=write("c.toml", '[target]\nmatch = "no_such_name"\n'),
         stderr=patterns("no_such_name")),
    Case("ambiguous_fixed_line", attach("--duration", "2s", "--fixed", "same.c:7", point="count_round"),
         ("{targets}/ambiguous",), exit=(2,),
         stderr=patterns("--fixed same.c:7 is ambiguous", r"first/same\.c:7", r"second/same\.c:7")),
    Case("file_without_function", attach("--duration", "2s", point="nofile.c:same_name"),
         ("{targets}/ambiguous",), exit=(2,), stderr=patterns("has no binary 'nofile.c'")),
    Case("ambiguous_point", attach("--duration", "2s", point="same_name"),
         ("{targets}/ambiguous",), exit=(2,),
         stderr=patterns("ambiguous", r"ambiguous\.c", r"ambiguous_other\.c")),
    Case("point_never_hit", attach_json(point="main", duration="3s"), FIGURE1, exit=(1,),
         counts_nothing="main was called before",
         stderr=patterns("no result: main was not visited"),
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
    # If the log cannot be written, nothing is attached to or started.
    Case("output_is_no_log", attach("--duration", "2s", "-o", "{dir}/notes"), FIGURE1,
         before=write("notes", "my notes\n"), exit=(2,), checks=(notes_untouched,),
         stderr=patterns("notes is not an experiment log")),
    Case("run_output_is_no_log", ("run", "--progress", "main", "-o", "{dir}/notes", "--", "sh", "-c",
                                  "touch {dir}/it_ran"),
         before=write("notes", "my notes\n"), exit=(2,), checks=(notes_untouched,),
         stderr=patterns("notes is not an experiment log"),
         after=lambda world: expect(not (world.directory / "it_ran").exists(), "the program ran")),
    Case("output_is_directory", attach("--duration", "2s", "-o", "{dir}"), FIGURE1, exit=(1,),
         stderr=patterns("is a directory")),
    Case("output_is_fifo", attach("--duration", "2s", "-o", "{dir}/fifo"), FIGURE1,
         before=make_fifo, exit=(1,), stderr=patterns("fifo is a pipe")),
    Case("fixed_function_of_lines", attach("--duration", "2s", "--fixed", "round_done"), FIGURE1,
         exit=(2,), stderr=patterns("lines are the units", "--unit function", r"figure1\.c:\d+")),
    Case("fixed_unknown_caller", attach("--duration", "2s", "--fixed", "a < rn_a"), FIGURE1,
         exit=(2,), stderr=patterns("--fixed a < rn_a: rn_a: no such function", "run_a")),
    Case("fixed_never_called_so", attach("--duration", "40s", "--fixed", "a < run_b"), FIGURE1,
         exit=(2,), stderr=patterns("no sample fell in the unit a < run_b within 10 s",
                                    r"samples fell in a, called by: run_a")),
    Case("fixed_unknown_function", attach("--duration", "2s", "--fixed", "round_don"), FIGURE1,
         exit=(2,), stderr=patterns("--fixed round_don: no such function", "round_done")),
    Case("full_output", attach("--duration", "3s", *SHORT, "-o", "/dev/full"), FIGURE1, exit=(1,),
         stderr=patterns("/dev/full.*no space")),
    Case("log_to_standard_output", attach("--duration", "2s", "-o", "-"), FIGURE1, exit=(2,),
         stderr=patterns("cannot go to standard output")),
    Case("scope_without_code", attach("--duration", "6s", *SHORT, "--scope-binary", "nosuch*", "-o",
                                      "{log}"), FIGURE1,
         exit=(2,), stderr=patterns(r"--scope-binary 'nosuch\*' matches no binary that is loaded",
                                    "nearest that are: .*figure1")),
    Case("html_later", attach("--duration", "2s", "--format", "html"), FIGURE1, exit=(2,),
         stderr=patterns("html.*not a format")),
]
