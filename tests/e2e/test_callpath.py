"""`causalctl callpath`: the paths and waits of a program whose paths are known, every way in which a
recording ends, and what is refused."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

import pytest

import schemas
from fixture import Target, wait_until
from test_modules import compiled, running
from world import runs_no_32_bit_programs

FORMATS = ("json", "folded", "speedscope", "firefox", "callgrind", "hatchet")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("paths"), "call_paths.c", "paths")


def run(options, *words, folder, env=None):
    """Runs causalctl. What it writes must be as its schema says."""
    done = subprocess.run([options.causalctl, *map(str, words)], capture_output=True, text=True,
                          timeout=100, check=False, cwd=folder, env=env)
    schemas.check_output(words, done, folder)
    return done


@contextlib.contextmanager
def running_target(options, name, *words):
    target = Target((options.targets / name, *words))
    try:
        yield target.pid
    finally:
        target.end()


def recorded(options, folder, *words):
    done = run(options, "callpath", "--format", "json", "--quiet", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("{"):])


@contextlib.contextmanager
def recording(options, folder, pid, *words):
    """Yields a recorder of the process once its log has samples, which are written each second. It does
    not outlive the block."""
    log = folder / "callpath.jsonl"
    with subprocess.Popen([options.causalctl, "callpath", str(pid), "--quiet", *words], cwd=folder,
                          stdout=subprocess.PIPE, text=True) as recorder:
        try:
            assert wait_until(lambda: log.exists() and '"metrics":["samples"' in log.read_text(), 20)
            yield recorder
        finally:
            recorder.kill()


def check_alive(pid):
    """A child that has ended takes signal 0, until its parent has waited for it."""
    state = pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2]
    assert state != "Z", f"process {pid} has ended"


def check_refused(options, folder, message, pid, *words):
    """Checks that a recording is refused as wrong usage, and leaves nothing behind."""
    done = run(options, "callpath", pid, *words, "--duration", "1s", folder=folder)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert list(folder.iterdir()) == []


class Tree:
    """A JSON report by paths of function names."""

    def __init__(self, report):
        self.columns = [column["name"] for column in report["columns"]]
        self.paths = []
        names = [()]
        for node in report["nodes"][1:]:
            names.append(names[node["parent"]] + (report["frames"][node["frame"]]["function"],))
            self.paths.append((names[-1], node["own"]))

    def sum(self, column, *wanted):
        """Returns the value of all paths on which these functions call each other."""
        index = self.columns.index(column)
        pairs = list(zip(wanted, wanted[1:]))
        return sum(own[index] for path, own in self.paths
                   if wanted[0] in path and all(pair in zip(path, path[1:]) for pair in pairs))


def check_paths(report, least_samples):
    tree = Tree(report)
    under_a, under_b = tree.sum("samples", "a", "c"), tree.sum("samples", "b", "c")
    samples = under_a + under_b
    assert samples >= least_samples, report["chains"]
    # Six standard errors.
    assert abs(under_a - samples / 2) < 3 * samples ** 0.5, (under_a, under_b)
    assert tree.sum("samples", "main", "a", "c") == under_a
    chains = report["chains"]
    assert chains["complete"] >= 0.99 * (chains["complete"] + chains["incomplete"]), chains
    return tree


def test_time_is_divided_as_in_figure_1(options, program, tmp_path):
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "3s")
    assert report["program"] == str(program) and report["pid"] == pid
    tree = check_paths(report, 50)
    waited = tree.sum("blocked", "rest", "waits_for_a_tick")
    assert waited > 0.5 * report["wall_ns"], (waited, report["wall_ns"])
    assert tree.sum("waits", "waits_for_a_tick") > 50


def test_a_recording_says_how_to_read_on(options, program, tmp_path):
    with running(program) as pid:
        done = run(options, "callpath", pid, "--duration", "1s", "-o", "my log.jsonl", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = re.search(r"to read on: causalctl (report .*), or (--format html -o page.html)$", done.stderr, re.M)
    assert told, done.stderr
    assert re.search(r" line$", run(options, *shlex.split(told[1]), folder=tmp_path).stdout, re.M)
    page = [*shlex.split(told[1])[:2], *shlex.split(told[2])]
    assert run(options, *page, folder=tmp_path).returncode == 0 and (tmp_path / "page.html").exists()


@pytest.fixture
def switches(tmp_path):
    """A program whose thread leaves its core thousands of times a second."""
    source = tmp_path / "switches.c"
    source.write_text("#include <stdio.h>\n#include <unistd.h>\n"
                      "int main(void) { puts(\"ready\"); fflush(stdout); for (;;) usleep(1); }\n")
    subprocess.run(["gcc", "-O2", "-g", "-o", tmp_path / "switches", source], check=True)
    return tmp_path / "switches"


def test_attach_samples_threads_that_switch_often_by_core(options, switches, tmp_path):
    """Or the report says why not; in any case the samples stand for the CPU time."""
    with running(switches) as pid:
        done = subprocess.run([options.causalctl, "attach", str(pid), "--progress", "syscall:clock_nanosleep",
                               "--duration", "6s", "--period", "1ms", "--format", "json", "--verbose"],
                              cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    log = [json.loads(line) for line in (tmp_path / "profile.jsonl").read_text().splitlines()]
    why_not = [each for each in log[-1]["warnings"] if "sampled by a clock of its own" in each]
    assert ("sampled by the clocks of the cores" in done.stderr) == (not why_not), done.stderr
    end = log[-1]
    assert end["type"] == "end" and end["losses"]["samples_total"] > 100, end
    sampled_s = end["losses"]["samples_total"] * end["overhead"]["period_ns"] / 1e9
    assert 0.5 * end["cores"]["cpu_ns"] / 1e9 < sampled_s < 2 * end["cores"]["cpu_ns"] / 1e9, end


def look_at_descriptors(process, links):
    """Adds what the process has open. Returns whether that has a BPF program, or the process has ended."""
    with contextlib.suppress(FileNotFoundError):  # one was closed, or it has ended
        for each in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            links.add(os.readlink(each))
    return "anon_inode:bpf-prog" in links or process.poll() is not None


def test_threads_that_switch_often_are_sampled_by_core(options, switches, tmp_path):
    """It then has a BPF program; or the report says why not."""
    with running(switches) as pid, subprocess.Popen(
            [options.causalctl, "callpath", str(pid), "--duration", "2s", "--quiet", "--format", "json"],
            cwd=tmp_path, stdout=subprocess.PIPE, text=True) as recorder:
        links = set()
        wait_until(lambda: look_at_descriptors(recorder, links), 60)
        output = recorder.communicate(timeout=60)[0]
    schemas.check_log(tmp_path / "callpath.jsonl")
    report = json.loads(output[output.index("{"):])
    why_not = [each for each in report["warnings"] if "sampled by a clock of its own" in each]
    assert ("anon_inode:bpf-prog" in links) == (not why_not), (links, report["warnings"])
    tree = Tree(report)
    assert sum(own[tree.columns.index("samples")] for _, own in tree.paths) > 20, report["chains"]


def test_a_launched_program_is_sampled_by_core_once_it_switches_often(options, switches, tmp_path):
    """It is stopped when it is looked at first. Or the report says why not."""
    done = run(options, "callpath", "--duration", "4s", "--verbose", "--", switches, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    why_not = "sampled by a clock of its own" in done.stdout
    assert ("sampled by the clocks of the cores" in done.stderr) == (not why_not), done.stderr


def test_times_of_threads_add_up(options, program, tmp_path):
    """What is not CPU time by samples is there exactly: blocked and runnable time by switches."""
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "3s", "--threads", "by-name")
    tree = Tree(report)
    resting = sum(tree.sum(column, "resting") for column in ("blocked", "runnable"))
    assert 0.9 * report["wall_ns"] < resting <= 1.01 * report["wall_ns"], (resting, report)
    busy = sum(tree.sum(column, "paths") for column in ("cpu", "blocked", "runnable"))
    assert 0.9 * report["wall_ns"] < busy < 1.1 * report["wall_ns"], (busy, report)
    assert {frame["function"] for frame in report["frames"] if frame["group"]} == {"resting", "paths"}


def test_threads_by_their_start(options, program, tmp_path):
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "1s", "--threads", "by-start")
    groups = {frame["function"] for frame in report["frames"] if frame["group"]}
    assert {"main", "rest"} <= groups <= {"main", "rest", "[start not known]"}, groups
    tree = Tree(report)
    assert tree.sum("samples", "main", "_start") == tree.sum("samples", "_start") > 0
    # What a thread waited before its first chain is a few ticks.
    assert tree.sum("blocked", "[start not known]") < 0.2 * report["wall_ns"]


def test_only_time_on_a_core(options, program, tmp_path):
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "1s", "--event", "cpu")
    assert [column["name"] for column in report["columns"]] == ["cpu", "samples", "new_min",
                                                                "new_max"]


def test_bounds_of_calls(options, program, tmp_path):
    """Samples of a long call say nothing new; each wait for a tick is a call of its own."""
    with running(program) as pid:
        report = recorded(options, tmp_path, pid, "--duration", "1s")
    tree = Tree(report)
    assert tree.sum("new_min", "waits_for_a_tick") <= tree.sum("new_max", "waits_for_a_tick")
    for name in ("new_min", "new_max"):
        index = tree.columns.index(name)
        mains = sum(own[index] for path, own in tree.paths if path[-1] == "main")
        assert mains == 1 if name == "new_min" else mains > 100, (name, mains)
    done = run(options, "report", "callpath.jsonl", "--by", "calls", folder=tmp_path)
    assert re.search(r"^ +\d+ +\d+  main → a$", done.stdout, re.M), (done.stdout, done.stderr)


def test_program_from_its_beginning(options, program, tmp_path):
    report = recorded(options, tmp_path, "--", program, "2000")
    tree = check_paths(report, 50)
    assert tree.sum("waits", "main") >= 1  # 50 ms before it begins
    done = run(options, "report", "callpath.jsonl", "--by", "function", folder=tmp_path)
    assert done.returncode == 0 and "c" in done.stdout, done.stderr


def test_every_format_of_one_recording(options, program, tmp_path):
    with running(program) as pid:
        recorded(options, tmp_path, pid, "--duration", "1s")
    for name in FORMATS:
        done = run(options, "report", "callpath.jsonl", "--format", name, folder=tmp_path)
        assert done.returncode == 0 and "main" in done.stdout, (name, done.stderr)
    done = run(options, "report", "callpath.jsonl", "--format", "pprof", "-o", "prof.gz",
               folder=tmp_path)
    assert done.returncode == 0 and (tmp_path / "prof.gz").stat().st_size > 100, done.stderr


def test_killed_recording_is_readable(options, program, tmp_path):
    with running(program) as pid:
        for _ in range(3):
            with recording(options, tmp_path, pid) as controller:
                time.sleep(0.3)
                controller.kill()
            check_alive(pid)
            log = tmp_path / "callpath.jsonl"
            schemas.check_log(log)
            done = run(options, "report", "callpath.jsonl", "--format", "json", folder=tmp_path)
            assert done.returncode == 0, done.stderr
            assert Tree(json.loads(done.stdout)).sum("samples", "main") > 0
            text = run(options, "report", "callpath.jsonl", folder=tmp_path).stdout
            assert re.match(r"[\d.]+ m?s of paths \(process \d+\)", text), text
            log.unlink()


def test_interrupt_ends_it_with_a_report(options, program, tmp_path):
    with running(program) as pid:
        with recording(options, tmp_path, pid) as controller:
            controller.send_signal(signal.SIGINT)
            text, _ = controller.communicate(timeout=30)
        assert controller.returncode == 0 and "CPU time" in text, text
        check_alive(pid)
    schemas.check_log(tmp_path / "callpath.jsonl")


def test_interrupt_of_the_report_tells_of_the_log(options, program, tmp_path):
    """The reader takes no output, so the report is never done."""
    log = tmp_path / "my log.jsonl"
    with running(program) as pid, subprocess.Popen(
            [options.causalctl, "callpath", str(pid), "--quiet", "--duration", "1s", "--format", "json",
             "-o", log.name], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True) as recorder:
        fcntl.fcntl(recorder.stdout, fcntl.F_SETPIPE_SZ, 4096)
        assert wait_until(lambda: log.exists() and '"type":"end"' in log.read_text(), 60)
        recorder.send_signal(signal.SIGINT)
        assert wait_until(lambda: recorder.poll() is not None, 30)
        assert recorder.returncode == -signal.SIGINT
        message = recorder.stderr.read()
    assert "ended before the report was printed" in message, message
    command = re.search(r"hint: causalctl (report '.*') prints it", message).group(1)
    done = run(options, *shlex.split(command), folder=tmp_path)
    assert done.returncode == 0 and "CPU time" in done.stdout, done.stderr


def test_target_that_ends(options, program, tmp_path):
    with running(program) as pid:
        with recording(options, tmp_path, pid) as controller:
            os.kill(pid, signal.SIGKILL)
            text, _ = controller.communicate(timeout=30)
        assert controller.returncode == 0 and "CPU time" in text, text
    schemas.check_log(tmp_path / "callpath.jsonl")
    assert '"reason":"target-exited"' in (tmp_path / "callpath.jsonl").read_text()


@pytest.mark.parametrize("words, status, message", [
    (("999999999",), 3, "no such process: 999999999"),
    ((), 2, "give a PID or a name, or a program after --"),
    (("1", "--period", "1us"), 2, "--period: must be from 100us to 1s"),
    (("1", "--event", "page"), 2, "--event page"),
    (("1", "--threads", "some"), 2, '--threads: "some" is not'),
    (("1", "--epoch", "10s"), 2, "--epoch 'every 10s'"),
    (("1", "--format", "svg"), 2, "svg"),
    (("--", "/nonexistent/program"), 2, "/nonexistent/program"),
])
def test_refused(options, tmp_path, words, status, message):
    done = run(options, "callpath", *words, folder=tmp_path)
    assert (done.returncode, message in done.stderr) == (status, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_settings_of_a_file(options, program, tmp_path):
    """The command line wins, also for what is recorded."""
    (tmp_path / "c.toml").write_text(
        '[target]\nmatch = "no such program"\n'
        '[callpath]\nduration = "1s"\nthreads = "by-name"\nevent = ["cpu"]\n')
    with running(program) as pid:
        report = recorded(options, tmp_path, "--config", "c.toml", pid)
    assert report["pid"] == pid and report["wall_ns"] < 5e9
    assert "blocked" not in [column["name"] for column in report["columns"]]
    done = run(options, "callpath", "--config", "c.toml", folder=tmp_path)
    assert done.returncode == 2 and "no process is called no such program" in done.stderr
    (tmp_path / "c.toml").write_text(
        f'[target]\ncommand = ["sh", "-c", "echo $WORD; exec {shlex.quote(str(program))}"]\n'
        'env = { WORD = "from the file" }\n[callpath]\nduration = "1s"\n')
    done = run(options, "callpath", "--config", "c.toml", folder=tmp_path)
    assert done.returncode == 0 and "from the file" in done.stdout, done.stdout + done.stderr
    done = run(options, "callpath", "--config", "c.toml", "--set", "target.pid=1", folder=tmp_path)
    assert done.returncode == 2 and "more than one target is named" in done.stderr, done.stderr


def test_a_log_of_which_only_a_part_of_a_line_is_left(options, program, tmp_path):
    with running(program) as pid:
        recorded(options, tmp_path, pid, "--duration", "1s")
    (tmp_path / "cut.jsonl").write_bytes((tmp_path / "callpath.jsonl").read_bytes()[:100])
    for words in ((), ("--causal", "callpath.jsonl")):
        done = run(options, "report", "cut.jsonl", *words, folder=tmp_path)
        assert done.returncode in (1, 2) and "there is no run in" in done.stderr, done.stderr


def test_threads_that_waited_before_have_their_paths(options, tmp_path):
    with running_target(options, "many_threads", "--blocked", "20", "--busy", "1") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "1s")
    tree = Tree(report)
    parked = tree.sum("blocked", "run_blocked")
    assert 0.95 < parked / (20 * report["wall_ns"]) < 1.05, (parked, report["wall_ns"])
    assert tree.sum("blocked", "[no call chain]") < 0.02 * parked


def test_full_disk_ends_it_with_a_report(options, program, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("it needs root, to mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], check=True)
    try:
        with running(program) as pid:
            done = run(options, "callpath", pid, "-o", disk / "c.jsonl", "--duration", "20s",
                       folder=tmp_path)
            check_alive(pid)
        assert done.returncode == 1 and "CPU time" in done.stdout, done.stdout
        assert "no space left on device" in done.stderr.lower(), done.stderr
        assert "log is not complete" in done.stderr, done.stderr
        schemas.check_log(disk / "c.jsonl")
        kept = run(options, "report", disk / "c.jsonl", "--format", "json", folder=tmp_path)
        assert kept.returncode == 0, kept.stderr
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_file_that_is_no_log_is_left_alone(options, program, tmp_path):
    (tmp_path / "notes.txt").write_text("mine\n")
    with running(program) as pid:
        done = run(options, "callpath", pid, "-o", "notes.txt", "--duration", "1s", folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine\n"


def test_refuses_a_program_of_32_bits(options, tmp_path):
    if reason := runs_no_32_bit_programs(options):
        pytest.skip(reason)
    target = Target([options.targets / "bits32"])
    try:
        done = run(options, "callpath", target.pid, folder=tmp_path)
    finally:
        target.end()
    assert (done.returncode, "is a 32-bit program" in done.stderr) == (1, True), done.stderr
    assert list(tmp_path.iterdir()) == []


DEEP = """
#include <stdio.h>
static unsigned x = 1;
static volatile unsigned sum;
static int other(int depth);
__attribute__((noinline)) static int one(int depth) {
  volatile char frame[1000];
  frame[depth] = 1;
  if (depth == 0) {
    for (int i = 0; i < 20000; ++i) sum += i;
    return 1;
  }
  return (x >> (28 + depth % 4) & 1 ? one(depth - 1) : other(depth - 1)) + frame[depth];
}
__attribute__((noinline)) static int other(int depth) { return one(depth) + 1; }
int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) {  // sixteen shapes of the stack: were each another one, the tree would be large
    x = x * 1664525 + 1013904223;
    sum += one(45);
  }
}
"""


def shares_complete(log):
    """Returns the shares of the chains that were complete in each second of the recording."""
    lines = map(json.loads, log.read_text().splitlines())
    chains = [line["chains"] for line in lines if line["type"] == "losses"]
    complete = [each["complete"] for each in chains]
    everything = [each["complete"] + each["incomplete"] for each in chains]
    return [(complete[i] - complete[i - 1]) / max(1, everything[i] - everything[i - 1])
            for i in range(1, len(chains))]


def test_stacks_deeper_than_the_copy_get_a_larger_one(options, tmp_path):
    """By the time that they could be read from outside they have changed. Without the right to lock
    memory copies stay as they are. Where the reader is late, they may become small again."""
    (tmp_path / "deep.c").write_text(DEEP)
    subprocess.run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-o", tmp_path / "deep",
                    tmp_path / "deep.c"], check=True)
    with running(tmp_path / "deep") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "8s", "--event", "cpu")
    chains = report["chains"]
    assert any("copy" in each["ended"] for each in chains["reasons"]), chains  # of the beginning
    if os.geteuid() == 0:
        shares = shares_complete(tmp_path / "callpath.jsonl")
        assert max(shares) > 0.9, shares  # at first a third
