"""Coroutines on small stacks, threads without the first one, and targets that a signal ends."""

import os
import signal

from attaching import A_LINE, ENDLESS, FIGURE1, SHORT, attach_json, halved, profiled
from case import Case, line_of, log_ends_with, patterns, warns, well_formed
from during import paused

FIBER_LINE = f"coroutines.c:{line_of('coroutines.c', 'y < count')}"


def coroutines(kind, *options):
    return ("{targets}/coroutines", "--kind", kind, *options)


def on_small_stacks(name, kind, broken="", text="threads on stacks that are not known"):
    return profiled(name, attach_json(*halved(FIBER_LINE)), coroutines(kind), pretend_broken=broken,
                    checks=(well_formed, paused, warns(text)))


def end_target_by_fault(world):
    world.wait_for_experiments(2)
    os.kill(world.target.pid, signal.SIGSEGV)


CASES = [
    on_small_stacks("coroutines_mapped", "mapped"),
    on_small_stacks("coroutines_on_heap", "heap"),
    on_small_stacks("coroutines_without_bpf", "mapped", "bpf", "ran on stacks that are not"),
    on_small_stacks("coroutines_on_heap_without_bpf", "heap", "bpf",
                    "ran on stacks that are not"),
    Case("run_first_thread_ends",
         ("run", "--progress", "round_done", "--duration", ENDLESS, *SHORT, "-o", "{log}", "--",
          "{targets}/leaderless"),
         exit=(1,), alone=True, timeout=30,
         stderr=patterns("the main thread of process \\d+ has ended while others go on")),
    Case("target_ended_by_signal", attach_json(*halved(A_LINE)), FIGURE1,
         during=end_target_by_fault, target_ends=True, target_status=(-signal.SIGSEGV,),
         target_output=(),
         checks=(well_formed, log_ends_with("target-exited"),
                 warns("ended by SIGSEGV(, [\\d.]+ ms after a pause of thread|; no pause was)"))),
    Case("run_ended_by_signal",
         ("run", "--progress", "syscall:write", "--duration", "20s", "-o", "{log}", "--", "sh", "-c",
          "sleep 1; kill -SEGV $$"),
         exit=(3,), alone=True, stderr=patterns("the target was ended by SIGSEGV")),
]
