"""Programs whose code is mapped in other ways than a linker's output usually is. Each is compiled
here, and asked what `causalctl points` or `doctor` says of it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from world import no_breakpoint_fires

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
LOADER = "/lib64/ld-linux-x86-64.so.2"


def compiled(folder, source, name="prog", *flags):
    path = folder / name
    subprocess.run(["gcc", "-O2", "-g", "-pthread", PROGRAMS / source, "-o", path, *flags],
                   check=True)
    return path


@contextlib.contextmanager
def running(*command, **more):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def skip_without_breakpoints(options):
    if reason := no_breakpoint_fires(options):
        pytest.skip(reason)


def answer(options, *words):
    done = subprocess.run([options.causalctl, *map(str, words)], capture_output=True, text=True,
                          timeout=100, check=False)
    return done.stdout + done.stderr


def check_points(options, pid):
    text = answer(options, "points", pid)
    assert "\nwork  " in text, text
    assert "no functions" not in text, text
    assert ".c:" in text, text


@pytest.mark.parametrize("flags", [(), ("-no-pie",)], ids=["pie", "fixed"])
def test_file_is_mapped_again_as_data(options, tmp_path, flags):
    program = compiled(tmp_path, "mapped_again.c", "prog", *flags)
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(running(program, way)) for way in ("below", "xbelow")]
        for pid in pids:
            check_points(options, pid)


def test_text_is_moved_to_anonymous_memory(options, tmp_path):
    program = compiled(tmp_path, "moved_text.c")
    with running(program) as pid:
        check_points(options, pid)
        text = answer(options, "attach", pid, "--progress", "item_done", "--count-by", "uprobe",
                      "--duration", "1s")
        assert "no uprobe can stand there" in text, text


@pytest.mark.parametrize("name", ["a\nb", "[wip] a", "a (deleted)", "a\\012b", "b\xffc"])
def test_bytes_in_the_path(options, tmp_path, name):
    folder = tmp_path / "x"
    folder.mkdir()
    program = compiled(tmp_path, "mapped_again.c").rename(folder / name)
    with running(program) as pid:
        check_points(options, pid)


def test_file_is_replaced_by_another_build(options, tmp_path):
    program = compiled(tmp_path, "mapped_again.c")
    with running(program) as pid:
        compiled(tmp_path, "moved_text.c", "new", "-O0").rename(program)
        text = answer(options, "points", pid)
        assert "mapped_again.c:" in text or "work" not in text, text
        assert "moved_text" not in text, text


def test_run_through_the_loader(options, tmp_path):
    program = compiled(tmp_path, "mapped_again.c")
    text = answer(options, "run", "--progress", "item_done", "--duration", "6s", "--pause-cost",
                  "150us", "--", LOADER, program)
    assert "no such function" not in text, text
    assert "item_done:" in text and "item_done: 0 visits" not in text, text
    assert "the target afterwards: as it was before" in text, text


@contextlib.contextmanager
def without_first_thread(folder):
    with running(compiled(folder, "without_first_thread.c")) as pid:
        deadline = time.monotonic() + 10
        while pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield pid


def test_first_thread_has_ended(options, tmp_path):
    with without_first_thread(tmp_path) as pid:
        for words in (("points", pid), ("doctor", pid), ("attach", pid, "--progress", "work")):
            text = answer(options, *words)
            assert f"the main thread of process {pid}" in text, text
            assert "has ended while others go on" in text, text


def test_a_process_is_watched_without_its_first_thread(options, tmp_path):
    """What puts nothing into a process needs no first thread of it."""
    with without_first_thread(tmp_path) as pid:
        def run(*words):
            done = subprocess.run([options.causalctl, *map(str, words)], capture_output=True, text=True,
                                  timeout=100, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        report = json.loads(run("callpath", pid, "--duration", "1s", "--quiet", "--format", "json",
                                "-o", tmp_path / "paths.jsonl"))
        own = {each["name"]: each["own"][0] for each in report["functions"]}
        assert max(own, key=own.get) == "work", own
        assert report["program"].endswith("/prog"), report["program"]
        run("record", pid, "--db", tmp_path / "db", "--duration", "1s", "--quiet")
        assert re.search(r"\bwork  \(prog\)", run("prof", tmp_path / "db"))
        assert " work at " in run("stacks", pid)


@pytest.mark.parametrize("count_by", ["breakpoint", "uprobe"])
def test_two_copies_of_a_library(options, tmp_path, count_by):
    """A uprobe counts in both by itself."""
    if count_by == "breakpoint":
        skip_without_breakpoints(options)
    program = compiled(tmp_path, "two_copies.c")
    compiled(tmp_path, "two_copies_library.c", "libcopied.so", "-shared", "-fPIC", "-s")
    with running(program, tmp_path / "libcopied.so", cwd=tmp_path) as pid:
        done = subprocess.run(
            [options.causalctl, "attach", str(pid), "--progress", "libcopied.so:item_done",
             "--progress", "round_done", "--count-by", count_by, "--duration", "4s",
             "--format", "json", "--pause-cost", "150us"],
            capture_output=True, text=True, timeout=100, check=False)
        assert "ambiguous" not in done.stderr, done.stderr
        visits = {point["name"]: point["visits"]
                  for point in json.loads(done.stdout)["progress"]}
        ratio = visits["libcopied.so:item_done"] / visits["round_done"]
        assert 1.8 < ratio < 2.2, (count_by, visits)


@pytest.mark.parametrize("flags", [("-s",), ()], ids=["stripped", "debuggable"])
def test_points_of_two_copies_are_one(options, tmp_path, flags):
    program = compiled(tmp_path, "two_copies.c")
    compiled(tmp_path, "two_copies_library.c", "libcopied.so", "-shared", "-fPIC", *flags)
    with running(program, tmp_path / "libcopied.so", cwd=tmp_path) as pid:
        text = answer(options, "points", pid)
    functions = [line for line in text.splitlines() if line.startswith("libcopied.so:")]
    specs = [line.split()[0] for line in functions]
    assert "libcopied.so:run" in specs, text
    assert len(specs) == len(set(specs)), text
    assert all("at 2 places, all counted" in line for line in functions), text
    shares = [float(share) for share in re.findall(r"([0-9.]+) %", functions[0])]
    assert 80 < max(shares) <= 100, text


def test_caller_that_no_table_tells(options, tmp_path):
    library = compiled(tmp_path, "without_caller.S", "libspin.so", "-shared")
    program = compiled(tmp_path, "calls_library.c", "prog", library)
    with running(program) as pid:
        text = answer(options, "attach", pid, "--progress", "syscall:write", "--duration", "3s",
                      "--pause-cost", "10us", "-o", tmp_path / "profile.jsonl")
        paths = answer(options, "callpath", pid, "--duration", "2s", "-o", tmp_path / "paths.jsonl")
    assert re.search(r"belong to nobody: they are in libspin\.so", text), text
    share = re.search(r"libspin\.so: no unwind table tells who calls its code, which ([0-9.]+) %",
                      " ".join(paths.split()))
    assert share and float(share[1]) > 50, paths


def test_zstd_is_named(options, tmp_path):
    try:
        program = compiled(tmp_path, "mapped_again.c", "prog", "-Wl,--compress-debug-sections=zstd")
    except subprocess.CalledProcessError:
        pytest.skip("the linker has no zstd")
    with running(program) as pid:
        for words in (("doctor", pid), ("points", pid),
                      ("attach", pid, "--progress", "nosuch.c:1")):
            text = answer(options, *words)
            if words[0] == "doctor" and "lines: --unit line is possible" in text:
                pytest.skip("libelf reads zstd")
            assert f"the debug sections of {program} are compressed with zstd" in text, text
            assert f"objcopy --decompress-debug-sections {program}" in text, text


# In a mount namespace of its own, so that nobody can open /dev/fuse only there.
MOUNT_AND_RUN = """
mknod {0}/fuse c 10 229 && chmod 666 {0}/fuse && mount --bind {0}/fuse /dev/fuse || exit 1
exec setpriv --reuid nobody --regid nogroup --clear-groups sh -c '
  bindfs -f --no-allow-other {0}/source {0}/mount & echo $!
  for i in $(seq 100); do [ -e {0}/mount/prog ] && break; sleep 0.05; done
  exec {0}/mount/prog'
"""


@contextlib.contextmanager
def running_in_fuse(folder):
    with subprocess.Popen(["unshare", "-m", "sh", "-c", MOUNT_AND_RUN.format(folder)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        daemon = process.stdout.readline().strip()
        try:
            if not daemon or process.stdout.readline() != "ready\n":
                pytest.skip("bindfs cannot mount here")
            yield process.pid
        finally:
            process.kill()
            if daemon:
                os.kill(int(daemon), signal.SIGTERM)


def test_fuse_of_another_user(options):
    for program in ("bindfs", "unshare", "setpriv"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian: bindfs, util-linux)")
    if os.geteuid() != 0:
        pytest.skip("it needs root")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "source").mkdir()
        (folder / "mount").mkdir()
        shutil.chown(folder / "mount", "nobody")
        compiled(folder / "source", "mapped_again.c")
        with running_in_fuse(folder) as pid:
            for command in ("doctor", "points"):
                text = answer(options, command, pid)
                assert (f"{folder}/mount/prog cannot be read: Permission denied "
                        "(a FUSE file system of user nobody)") in text, text
                assert "run causalctl as nobody, or mount with allow_other" in text, text


def attach_to_changed(options, pid, *words):
    text = answer(options, "attach", pid, "--duration", "1s", "--pause-cost", "150us", *words)
    assert pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] in "RS", text
    return text


def test_no_uprobe_stands_in_patched_code(options, tmp_path):
    """The kernel would execute the instruction of the file there."""
    program = compiled(tmp_path, "patched_entries.c", "prog", "-fcf-protection=none")
    steps = [word for i in range(1, 6) for word in ("--progress", f"step{i}")]
    with running(program) as pid:
        for words in (("--count-by", "uprobe", "--progress", "step1"), steps):
            text = attach_to_changed(options, pid, *words)
            assert re.search(r"'step[15]': the code at prog\+0x\w+ \(0x\w+\) is not that of its "
                             "file", text), text
            assert "--count-by breakpoint" in text, text


def test_patched_code_is_counted_by_breakpoints(options, tmp_path):
    """The four registers go to the functions that only they can count."""
    skip_without_breakpoints(options)
    program = compiled(tmp_path, "patched_entries.c", "prog", "-fcf-protection=none")
    steps = [word for i in range(1, 5) for word in ("--progress", f"step{i}")]
    with running(program) as pid:
        text = attach_to_changed(options, pid, "--progress", "work", *steps, "--verbose")
        assert "work: counted by uprobe" in text, text
        assert "step4: counted by hardware breakpoint" in text, text
        assert "the target afterwards: as it was before" in text, text


def test_no_uprobe_stands_in_relocated_text(options, tmp_path):
    program = compiled(tmp_path, "relocated_text.S", "prog", "-pie", "-Wl,-z,notext")
    with running(program) as pid:
        text = attach_to_changed(options, pid, "--count-by", "uprobe", "--progress", "item_done")
        assert "is not that of its file" in text, text


def test_relocated_text_is_counted_by_breakpoints(options, tmp_path):
    skip_without_breakpoints(options)
    program = compiled(tmp_path, "relocated_text.S", "prog", "-pie", "-Wl,-z,notext")
    with running(program) as pid:
        text = attach_to_changed(options, pid, "--progress", "item_done")
        assert "the target afterwards: as it was before" in text, text
        assert "try --count-by uprobe" not in text, text


def test_program_that_copies_its_code(options, tmp_path):
    program = compiled(tmp_path, "copies_itself.c")
    with running(program) as pid:
        text = answer(options, "attach", pid, "--duration", "2s", "--pause-cost", "150us",
                      "--count-by", "uprobe", "--progress", "item_done")
        assert "SIGTRAP" in text, text
        assert "'item_done' was counted by uprobe: a program that copies" in text, text


@pytest.fixture(name="swapping")
def swapping_program(tmp_path):
    for which in ("first", "second"):
        compiled(tmp_path, "swapped_library.c", f"lib{which}.so", "-shared", "-fPIC",
                 f"-DPART={which}_part")
    return compiled(tmp_path, "swaps_libraries.c")


def test_another_library_is_mapped_at_the_address(options, swapping):
    """A uprobe goes with its file, and samples are named by the file that is there."""
    # The first library must still be there when the points are looked up, and be back for a while once there
    # are experiments, which follow a set-up of some seconds.
    with running(swapping, "3000", cwd=swapping.parent) as pid:
        done = subprocess.run(
            [options.causalctl, "attach", str(pid), "--progress", "libfirst.so:first_part",
             "--progress", "first_done", "--duration", "16s", "--format", "json", "--pause-cost",
             "150us", "--scope-binary", "lib*", "--unit", "function"],
            capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    visits = {point["name"]: point["visits"] for point in report["progress"]}
    assert visits["first_done"] > 0, done.stderr
    assert 0.9 < visits["libfirst.so:first_part"] / visits["first_done"] < 1.1, visits
    assert "second_part" in done.stdout, done.stdout


def test_unloaded_library_ends_a_run_by_breakpoints(options, swapping):
    skip_without_breakpoints(options)
    with running(swapping, "2000", cwd=swapping.parent) as pid:
        text = answer(options, "attach", pid, "--progress", "libfirst.so:first_part",
                      "--count-by", "breakpoint", "--duration", "20s", "--pause-cost", "150us")
    assert re.search(r"libfirst\.so was unloaded, or loaded again elsewhere", text), text
    assert "use --count-by uprobe" in text, text


SPLIT_SOURCES = {
    "a.c": """
volatile long items;
void item_done(void) { ++items; }
void two(void) { item_done(); item_done(); }
""",
    "m.c": """
#include <stdio.h>
#include <unistd.h>
void item_done(void);
void two(void);
void (*volatile pointer)(void) = item_done;
int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) {
    for (volatile int i = 0; i < 100000; ++i) continue;
    item_done();
    two();
    pointer();
    usleep(100);
  }
}
""",
}


def test_split_units_without_a_table_of_files(options, tmp_path):
    """libdw asserts that a unit has one."""
    for program in ("clang", "ld.lld"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian: clang, lld)")
    for name, text in SPLIT_SOURCES.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["clang", "-O2", "-g", "-gsplit-dwarf", "-flto", "-fuse-ld=lld",
                    *SPLIT_SOURCES, "-o", "prog"], cwd=tmp_path, check=True)
    with running(tmp_path / "prog") as pid:
        text = answer(options, "attach", pid, "--progress", "item_done", "--duration", "1s",
                      "--pause-cost", "150us")
    assert "Assertion" not in text, text
    assert "the target afterwards: as it was before" in text, text
