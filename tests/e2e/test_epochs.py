"""`causalctl callpath --epoch`, `report --epoch`, and code at an address that is used again."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from test_callpath import recorded, recording, run
from test_modules import compiled, running
from test_modules import swapping_program  # pylint: disable=unused-import

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(SCRIPTS / name))
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("epochs"), "call_paths.c", "paths")


def reasons(report):
    return [epoch["reason"] for epoch in report["epochs"]]


def test_epochs_of_a_time(options, program, tmp_path):
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "2s", "--epoch", "every 500ms")
    assert reasons(report)[:4] == ["start"] + ["every 500ms"] * 3, report["epochs"]
    text = run(options, "report", "callpath.jsonl", folder=tmp_path).stdout
    assert "every 500ms" in text, text
    done = run(options, "report", "callpath.jsonl", "--epoch", "1-2", "--format", "json",
               folder=tmp_path)
    assert '"number": 2' in done.stdout and '"number": 3' not in done.stdout, done.stderr
    done = run(options, "report", "callpath.jsonl", "--epoch", "dlopen", folder=tmp_path)
    assert done.returncode == 2 and "1 (every 500ms)" in done.stderr, done.stderr


def test_epochs_at_visits_of_a_point(options, program, tmp_path):
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "2s", "--epoch",
                          "on waits_for_a_tick")
    # It is visited 200 times a second, and begins an epoch 10 times a second at most.
    assert 10 <= len(report["epochs"]) <= report["wall_ns"] / 100e6 + 2, report["epochs"]
    assert set(reasons(report)[1:]) == {"visit of waits_for_a_tick"}
    assert any("visits began none" in warning for warning in report["warnings"]), report["warnings"]
    starts = [epoch["start_ns"] for epoch in report["epochs"]]
    assert starts == sorted(starts)
    # Not by function: where no breakpoint fires, the point is a uprobe, and the kernel executes the
    # instruction that it replaces in memory of its own, which is no function's.
    samples = next(column for column in report["columns"] if column["name"] == "samples")
    assert sum(epoch["samples"] for epoch in report["epochs"]) == samples["total"] > 100


def test_epochs_of_libraries(options, swapping, tmp_path):
    with running(swapping, "600", cwd=swapping.parent) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "3s", "--epoch", "dlopen")
    assert {"dlopen of libfirst.so", "dlopen of libsecond.so"} <= set(reasons(report)), report
    done = run(options, "report", "callpath.jsonl", "--epoch", "dlopen of libfirst.so",
               "--format", "folded", folder=tmp_path)
    assert "first_part" in done.stdout and "second_part" not in done.stdout, done.stdout


def test_library_that_is_unloaded_begins_an_epoch(options, tmp_path):
    source = tmp_path / "unloads.c"
    source.write_text("""
        #include <dlfcn.h>
        #include <signal.h>
        #include <stdio.h>
        static volatile sig_atomic_t told = 0;
        static void tell(int number) { told = number; }
        int main(void) {
          signal(SIGUSR1, tell);
          void* library = dlopen("./libfirst.so", RTLD_NOW);
          puts("ready");
          fflush(stdout);
          while (!told) continue;
          dlclose(library);
          for (volatile long i = 0;; ++i) continue;
        }""")
    compiled(tmp_path, "swapped_library.c", "libfirst.so", "-shared", "-fPIC", "-DPART=first_part")
    compiled(tmp_path, source, "unloads")
    with running(tmp_path / "unloads", cwd=tmp_path) as pid:
        with recording(options, tmp_path, pid, "--epoch", "dlopen", "--format", "json") as controller:
            told = time.monotonic_ns()
            os.kill(pid, signal.SIGUSR1)
            time.sleep(1)
            controller.send_signal(signal.SIGINT)
            text, _ = controller.communicate(timeout=30)
            ended = time.monotonic_ns()
    report = json.loads(text)
    assert reasons(report) == ["start", "dlclose of libfirst.so"], report["epochs"]
    # It begins after the library was unloaded, and at most 0.2 s late.
    assert 0.5e9 < report["wall_ns"] - report["epochs"][1]["start_ns"] < ended - told, report["epochs"]
    assert report["epochs"][1]["samples"] > 0, report["epochs"]


@pytest.mark.parametrize("epoch, message", [
    ("every 1ms", "shorter than 100ms"),
    ("on", "unknown"),
    ("on nosuch_function", "nosuch_function"),
    ("sometimes", "--epoch dlopen"),
])
def test_refused(options, program, tmp_path, epoch, message):
    with running(program) as pid:
        done = run(options, "callpath", pid, "--epoch", epoch, folder=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def functions_of(library):
    """Returns where each function of the file begins and ends, and its name."""
    done = subprocess.run(["nm", "-S", "--defined-only", library], capture_output=True, text=True,
                          check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(int(words[0], 16), int(words[0], 16) + int(words[1], 16), words[3])
            for words in lines if len(words) == 4 and words[2] in "tT"]


def test_library_of_lld_that_is_loaded_later_is_named(options, tmp_path):
    """Its code begins within a page of the file, which is mapped from the page's beginning."""
    if shutil.which("ld.lld") is None:
        pytest.skip("it needs lld")
    for which in ("first", "second"):
        compiled(tmp_path, "swapped_library.c", f"lib{which}.so", "-shared", "-fPIC",
                 "-fuse-ld=lld", f"-DPART={which}_part")
    with running(compiled(tmp_path, "swaps_libraries.c"), "200", cwd=tmp_path) as pid:
        report = recorded(options, tmp_path, pid, "--event", "cpu", "--duration", "2s")
    names = {frame["function"] for frame in report["frames"]}
    assert {"first_part", "second_part"} <= names, names
    for library in (tmp_path / "libfirst.so", tmp_path / "libsecond.so"):
        unnamed = [frame["offset"] for frame in report["frames"]
                   if frame["function"] == f"[{library.name}]"]
        # Entries of the procedure linkage table have no names.
        inside = [(at, name) for at in unnamed for begin, end, name in functions_of(library)
                  if begin <= at < end]
        assert not inside, inside


def test_nothing_is_misnamed_where_an_address_is_used_again(options, tmp_path):
    """scripts/callpath_reused_address does the same with 100,000 samples."""
    reused = script("callpath_reused_address")
    program = reused.compiled(tmp_path)
    with running(program, "2000", cwd=tmp_path) as pid:
        report = recorded(options, tmp_path, pid, "--event", "cpu", "--period", "200us",
                          "--duration", "2s")
    inside, wrong = reused.check(report)
    assert inside > 300 and not wrong, (inside, wrong)
    chains = report["chains"]
    assert chains["incomplete"] <= 0.01 * (chains["complete"] + inside), chains


def test_a_causal_profile_charges_what_was_mapped_then(options, tmp_path):
    """Without mappings in step with the samples the error is nine standard deviations or more, and a
    sixth of the samples have no unit."""
    reused = script("causal_reused_address")
    truth, log = reused.profile(options.causalctl, reused.compiled(tmp_path), 8, 1000)
    share, inside, error, unknown = reused.shares(truth, log)
    assert inside > 300 and abs(error) < 6, (truth, share, inside)
    assert unknown < 0.1, (unknown, log[-1])
