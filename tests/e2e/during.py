"""What cases wait for while causalctl runs, so that none depends on the speed of the machine. On an
overloaded one there is hardly ever a thread to be paused."""

import collections
import os
import signal

import fixture
from case import expect, experiments_of, has_counted, kept_experiments, records_in

PAUSES = 30  # with fewer pauses a case shows nothing
EXPERIMENTS = 6  # likewise; one of any three has a speedup
PATIENCE = 110  # seconds


def pauses_in(records):
    return sum(record["pauses"]["count"] for record in experiments_of(records))


def seconds_recorded(records):
    """Returns how often a log of call paths was written to, which is once a second."""
    return sum(record["type"] == "losses" for record in records)


def so_far(world):
    """Describes what is in the log, for the message that a case waited in vain."""
    records = records_in(world.log)
    discarded = collections.Counter(record["discarded"] for record in experiments_of(records)
                                  if "discarded" in record)
    ended = ""
    if world.process.poll() is not None:
        said = (world.directory / "stderr").read_text(errors="replace").strip()
        ended = f", causalctl has ended: {said[-500:]}"
    return (f"{pauses_in(records)} pauses, {len(experiments_of(records))} experiments, discarded: "
            f"{dict(discarded) or 'none'}{ended}")


def wait_for_pauses(world):
    """Waits for pauses, for as long as that takes on this machine; with `causalctl callpath`, which
    pauses nobody, until it has recorded for another second."""
    if world.case.arguments[0] == "callpath":
        seconds = seconds_recorded(records_in(world.log))
        if not world.wait_for_log(lambda records: seconds_recorded(records) > seconds, PATIENCE):
            raise RuntimeError("nothing was recorded")
        return
    wanted = pauses_in(records_in(world.log)) + PAUSES
    if not world.wait_for_log(lambda records: pauses_in(records) >= wanted, PATIENCE, every=0.1):
        raise RuntimeError(f"waited in vain for {wanted} pauses: {so_far(world)}")


def stop(world):
    os.kill(world.target.pid, signal.SIGSTOP)
    if not fixture.wait_until(lambda: fixture.State(world.target.pid).stopped, 5):
        raise RuntimeError("the target does not stop")


def end(world):
    world.process.send_signal(signal.SIGINT)


def interrupt(world, experiments=2):
    world.wait_for_experiments(experiments)
    end(world)


def until_paused(world):
    wait_for_pauses(world)
    end(world)


def until_enough(world):
    """Waits until the log has EXPERIMENTS experiments and all that the checks need."""
    wanted = [check.reached for check in world.case.checks if hasattr(check, "reached")]
    if world.case.must_count():
        wanted.append(has_counted)

    def enough(records):
        return (len(kept_experiments(records)) >= EXPERIMENTS and
                all(reached(records) for reached in wanted))

    if not world.wait_for_log(enough, PATIENCE, every=0.1):
        raise RuntimeError(f"waited in vain: {so_far(world)}")
    end(world)


def until_paused_after_change(world):
    """Waits for pauses before and after the target changes its handler. Then ends the target, too,
    because from then on its state is its own doing."""
    wait_for_pauses(world)
    def changed():
        return "SIGTRAP changed" in world.target.output()

    fixture.wait_until(lambda: changed() or not world.target.alive(), 30)
    if not changed():
        status = world.target.process.poll()
        raise RuntimeError("the target has not changed its SIGTRAP handler" +
                           (f": it ended with {status}" if status is not None else ""))
    until_paused(world)
    world.process.wait(timeout=30)
    world.target.process.send_signal(signal.SIGTERM)


def paused(outcome):
    pauses = pauses_in(outcome.log())
    return expect(pauses >= PAUSES, f"only {pauses} pauses")


paused.reached = lambda records: pauses_in(records) >= PAUSES
