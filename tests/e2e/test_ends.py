"""causalctl always ends, and lets go of the target first: whatever reads its output, whatever disk
it writes to. Bounds are generous, as the machine may be busy: each of these cases hung, or lost what
was measured. scripts/end_table measures the times."""

import os
import signal
import subprocess

import pytest

import ends
from fixture import wait_until

LONG = 60  # seconds; for what takes less than one


@pytest.fixture(scope="module")
def spin(tmp_path_factory):
    return ends.build_spin(tmp_path_factory.mktemp("spin"))


def attach(target, log, *more):
    return ["attach", target.pid, "--progress", "item_done", "--closed-loop",
            "--pause-cost", "100us", "-o", log, *more]


def test_target_is_let_go_though_nobody_reads(options, spin, tmp_path):
    """`attach … | less`: the target is free when the duration is over, and one Ctrl-C ends it."""
    reader = ends.StoppedReader()
    with ends.target_of([spin]) as target, ends.ending(
            options.causalctl, attach(target, tmp_path / "log", "--duration", "1s", "--verbose"),
            target=target, stdout=reader.writer, stderr=reader.writer) as one:
        assert wait_until(one.has_handler, LONG)
        assert wait_until(one.is_free, LONG)  # without being asked
        assert one.runs()  # since its report waits
        free, ended = one.ask()
        assert free is not None and ended is not None
        assert one.process.returncode == -signal.SIGINT
    assert '"type":"end"' in (tmp_path / "log").read_text()
    reader.close()


@pytest.mark.parametrize("command", ["attach", "callpath"])
def test_one_ctrl_c_in_the_work_is_enough(options, spin, tmp_path, command):
    reader = ends.StoppedReader()
    with ends.target_of([spin]) as target:
        words = (attach(target, tmp_path / "log") if command == "attach" else
                 ["callpath", target.pid, "-o", tmp_path / "log"])
        with ends.ending(options.causalctl, words, target=target, stdout=reader.writer,
                         stderr=reader.writer) as one:
            assert wait_until(one.has_handler if command == "attach" else one.has_events, LONG)
            free, ended = one.ask()
            assert free is not None and ended is not None
    reader.close()


@pytest.mark.parametrize("command", ["points", "stacks", "report", "doctor"])
def test_one_ctrl_c_ends_what_writes(options, spin, tmp_path, command):
    reader = ends.StoppedReader()
    with ends.target_of([spin]) as target:
        words = [command, target.pid]
        if command == "report":
            ends.record(options.causalctl, target, tmp_path / "log")
            words = [command, tmp_path / "log"]
        with ends.ending(options.causalctl, words, target=target, stdout=reader.writer) as one:
            assert wait_until(lambda: ends.waits_in_write(one.pid) or not one.runs(), LONG)
            assert one.runs()
            free, ended = one.ask()
            assert free is not None and ended is not None
            assert one.process.returncode == -signal.SIGINT
    reader.close()


@pytest.mark.parametrize("words", [("points",), ("callpath",), ("attach", "--progress", "item_done")])
def test_signal_at_the_start(options, spin, tmp_path, words):
    """A script's `causalctl … & kill -INT $!`: the signal is ignored when causalctl starts."""
    with ends.target_of([spin]) as target, ends.ending(
            options.causalctl, [*words, target.pid], target=target, cwd=tmp_path) as one:
        assert wait_until(one.has_begun, LONG, every=0.001)
        free, ended = one.ask()
        assert free is not None and ended is not None
        # 1: it was at work, without a result; 0: a recording had its first samples.
        assert one.process.returncode in (-signal.SIGINT, 1, *([0] if words == ("callpath",) else []))


def test_comparison_leaves_a_stubborn_program_to_its_supervisor(options):
    """A program of a comparison that ignores SIGTERM is seen to by its supervisor."""
    stubborn = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]
    with ends.ending(options.causalctl,
                     ["ab", "--a", " ".join(map(quoted, stubborn)), "--b", "sleep 9"]) as one:
        assert wait_until(one.started, LONG)
        _, ended = one.ask()
        assert ended is not None
        assert wait_until(lambda: not one.started() and not one.processes(), LONG)


def quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_full_disk_loses_nothing(options, spin, tmp_path):
    with ends.small_disk(tmp_path / "disk") as disk:
        # More runs make a longer result than there is room for.
        done = subprocess.run([options.causalctl, "ab", "--a", "true", "--b", "true", "--rounds", "30",
                               "--format", "json", "-o", disk / "ab.json"], capture_output=True,
                              text=True, timeout=LONG, check=False)
        assert done.returncode == 1
        assert '"pairs"' in done.stdout and "No space left on device" in done.stderr
        assert "standard output" in done.stderr
        assert sorted(path.name for path in disk.iterdir()) == ["fill"]
        (disk / "old.html").write_text("an old report")
        with ends.target_of([spin]) as target:
            ends.record(options.causalctl, target, tmp_path / "log")
        done = subprocess.run([options.causalctl, "report", tmp_path / "log", "--format", "html", "-o",
                               disk / "old.html"], capture_output=True, text=True, timeout=LONG,
                              check=False)
        assert done.returncode == 1
        assert done.stdout.startswith("<!")
        assert (disk / "old.html").read_text() == "an old report"
        assert sorted(path.name for path in disk.iterdir()) == ["fill", "old.html"]


@pytest.mark.parametrize("command", ["stacks", "report", "ab", "callpath"])
def test_pipe_is_no_output_file(options, spin, tmp_path, command):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    log = tmp_path / "log"
    log.write_text('{"type":"run","version":1,"run":"r"}\n')
    words = {"stacks": ["stacks", os.getpid(), "-o", pipe], "report": ["report", log, "-o", pipe],
             "ab": ["ab", "--a", "true", "--b", "true", "-o", pipe],
             "callpath": ["callpath", os.getpid(), "-o", pipe]}[command]
    done = subprocess.run([options.causalctl, *map(str, words)], capture_output=True, text=True,
                          timeout=LONG, check=False)
    assert done.returncode in (1, 2) and "is a pipe" in done.stderr
