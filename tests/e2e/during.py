"""What cases wait for while causalctl runs, so that none depends on how fast the machine is: on an
overloaded one there is hardly ever anybody to be paused."""

import collections
import os
import signal

import fixture
from case import expect, experiments_of, has_counted, kept_experiments, records_in

PAUSES = 30  # fewer, and a case has shown nothing
EXPERIMENTS = 6  # the same; of any three one has a speedup
PATIENCE = 110  # seconds


def pauses_in(records):
    return sum(record["pauses"]["count"] for record in experiments_of(records))


def so_far(world):
    """What the log holds, for whoever reads that a case waited in vain."""
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
    """However long that takes on this machine."""
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
    """Until the log has as many experiments, and all that the checks want of it."""
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
    """Before and after the target has changed its handler; it is ended too, as its state is its own
    doing from then on."""
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
