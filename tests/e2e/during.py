"""What cases wait for while causalctl runs, so that none depends on how fast the machine is: on an
overloaded one there is hardly ever anybody to be paused."""

import json
import os
import signal

import fixture
from case import expect

PAUSES = 30  # fewer, and a case has shown nothing


def pauses_in(log):
    """Of whole lines: the last one may be on its way."""
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    return sum(record["pauses"]["count"] for record in records if record["type"] == "experiment")


def wait_for_pauses(world):
    """However long that takes on this machine."""
    wanted = pauses_in(world.log) + PAUSES
    if not fixture.wait_until(lambda: pauses_in(world.log) >= wanted or
                              world.process.poll() is not None, 110, every=0.1):
        raise RuntimeError(f"waited in vain for {wanted} pauses")


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


def until_paused_after_change(world):
    """Before and after the target has changed its handler; it is ended too, as its state is its own
    doing from then on."""
    wait_for_pauses(world)
    if not fixture.wait_until(lambda: "SIGTRAP changed" in world.target.output(), 30):
        raise RuntimeError("the target has not changed its SIGTRAP handler")
    until_paused(world)
    world.process.wait(timeout=30)
    world.target.process.send_signal(signal.SIGTERM)


def paused(outcome):
    pauses = pauses_in(outcome.directory / "profile.jsonl")
    return expect(pauses >= PAUSES, f"only {pauses} pauses")
