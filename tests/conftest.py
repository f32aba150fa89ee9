"""Options of the end-to-end tests, and the order of tests: `pytest -n 3` runs three tests at a
time, but none beside one that is marked `alone`."""

import fcntl
import os
import pathlib
import signal
import threading

import pytest

import world

DEFAULT = world.Options()


def pytest_addoption(parser):
    group = parser.getgroup("causalctl")
    group.addoption("--causalctl", type=pathlib.Path, default=DEFAULT.causalctl,
                    help="the program that the cases run (%(default)s)")
    group.addoption("--targets", type=pathlib.Path, default=DEFAULT.targets,
                    help="the folder of the target programs (%(default)s)")
    group.addoption("--count-by", choices=("breakpoint", "uprobe"), default="",
                    help="how every profile counts visits, where it is not left to causalctl")
    group.addoption("--no-figures", action="store_true",
                    help="no speeds are compared, as with a causalctl that sanitizers slow down")
    group.addoption("--pretend-broken", metavar="FACILITY,...",
                    help="facilities that causalctl must take for broken (base/facility.h)")
    group.addoption("--keep", action="store_true", help="keep the scratch directories of the cases")


def options_of(config):
    given = config.option
    return world.Options(given.causalctl.resolve(), given.targets.resolve(), given.count_by,
                         given.no_figures, given.keep)


def pytest_configure(config):
    # A process of xdist may run its tests beside its main thread if -v has first asked it for its
    # version; Python sets signals in the main thread only.
    if threading.current_thread() is threading.main_thread():
        # Signals that nohup and a shell's & ignore would be ignored in all that the tests start.
        for number in (signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        # The cases clean up whatever ends the run.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
    if config.option.pretend_broken:
        os.environ["CAUSALCTL_PRETEND_BROKEN"] = config.option.pretend_broken
    causalctl = options_of(config).causalctl
    if not causalctl.is_file() and not config.option.collectonly:
        raise pytest.UsageError(f"{causalctl} does not exist: run scripts/build")


def is_alone(item):
    return item.get_closest_marker("alone") is not None


def pytest_collection_modifyitems(items):
    items.sort(key=is_alone)  # the others need not wait for them


@pytest.fixture(scope="session")
def options(pytestconfig):
    return options_of(pytestconfig)


@pytest.fixture(autouse=True)
def turn(request, tmp_path_factory):
    """Shares the machine with the other tests of the run, or, for a test marked `alone`, has it
    alone. A test that waits holds the gate, so that no other begins before it."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # a process of xdist, whose folder is in the run's
        folder = folder.parent
    with open(folder / "gate", "w") as gate, open(folder / "machine", "w") as machine:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(machine, fcntl.LOCK_EX if is_alone(request.node) else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(machine, fcntl.LOCK_UN)  # a forked child would keep what is only closed
