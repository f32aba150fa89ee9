"""Help texts, wrong words, and the commands that only look."""

from attaching import A_LINE, FIGURE1, attach, figure1
from case import Case, patterns
from refusal_cases import dead_pid

CASES = [
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
    Case("doctor", ("doctor",), stdout=patterns("perf", "ptrace", "debuginfod")),
    Case("doctor_pid", ("doctor", "{pid}"), FIGURE1,
         stdout=patterns("profile of process .* is possible")),
    Case("doctor_no_such_pid", ("doctor", "{pid}"), before=dead_pid, exit=(3,),
         output=patterns("no such process")),
    Case("points", ("points", "{pid}"), FIGURE1, stdout=patterns("^a +#", r"^figure1\.c:\d+ +#")),
]
