#!/usr/bin/env python3
"""Says which cases `scripts/test` leaves to `scripts/test full`, and why. All others are in the
quick tier. As a program it prints the table."""

import fnmatch

# Pattern of names → reason.
LEFT_TO_FULL = {
    "matrix_*": "a row for each state of a target; its speed afterwards wants an idle machine",
    "attach_own_pace": "it looks at who has the cores, so nothing may run beside it",
    "attach_oversubscribed": "the same",
    "attach_beside_busy_loops": "the same",
    "attach_longest_pause": "the same",
    "attach_limit_of_samples_falls": "it lowers the limit of samples of the whole machine",
    "attach_threads_come_and_go": "how many threads begin, and so what is said, is up to the load",
    "attach_costs_measured": "it measures what sampling costs, for 20 seconds",
    "attach_target_installs_sigtrap_handler": "it waits half a minute for what the target does",
    "attach_target_resets_sigtrap": "the same",
    "attach_as_ordinary_user_signals_let_in": "attach_as_ordinary_user is quick, and nearly the same",
    "attach_memcached_and_client": "beside a load ksoftirqd makes the wake-ups, and nobody is followed",
    "attach_target_execs": "it needs 10 seconds; run_library_executes_another is quick",
    "attach_ends_by_budget": "it needs 10 seconds; budget_exceeded is quick",
    "attach_pipeline_mutex": "attach_pipeline_pipe is quick, and the same but for how threads wait",
    "attach_pipeline_futex": "the same",
    "attach_sqlite": "SQLite is fetched by npm and compiled for half a minute",
    "attach_go*": "they need Go, half a gigabyte",
    "budget_without_progress": "it needs 20 seconds; budget_exceeded is quick",
    "target_killed_at_the_end": "it needs 20 seconds of pauses",
    "target_vanishes": "it needs 12 seconds; run_command ends so, too",
    "controller_killed_*": "other targets and descriptors than those of controller_killed",
    "run_ends_program": "it needs 8 seconds; run_static_pie is quick",
    "run_unwinds_through_libraries": "it needs 10 seconds",
    "run_fixed_unknown": "it needs 10 seconds",
    "fixed_never_called_so": "it needs 12 seconds; attach_call_path is quick",
    "end_to_end_for_a_while": "it needs 8 seconds; end_to_end_interrupted is quick",
}


def left_to_full(name):
    """Returns the reason; None if the case is in the quick tier."""
    return next((reason for pattern, reason in LEFT_TO_FULL.items()
                 if fnmatch.fnmatchcase(name, pattern)), None)


if __name__ == "__main__":
    for each, why in LEFT_TO_FULL.items():
        print(f"  {each:{max(map(len, LEFT_TO_FULL))}}  {why}")
