"""How causalctl ends: what scripts/end_table measures, and tests/e2e/test_ends.py checks."""

import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import time
import uuid

import fixture

F_SETPIPE_SZ = 1031
MS = 0.001

SPIN = """#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void item_done(void) { __asm__ volatile(""); }
int main(void) {
  printf("ready %d\\n", getpid());
  fflush(stdout);
  for (;;) {
    for (volatile int i = 0; i < 1000000; i++) continue;
    item_done();
  }
}
"""


def build_spin(folder, *flags, name="spin"):
    source = folder / f"{name}.c"
    source.write_text(SPIN)
    subprocess.run(["gcc", "-O1", "-g", *flags, source, "-o", folder / name], check=True)
    return folder / name


class StoppedReader:
    """A pipe whose reader has stopped: what is written to it waits."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, F_SETPIPE_SZ, 4096)
        self.fill()

    def fill(self):
        os.set_blocking(self.writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.writer, b"x" * 4096)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.writer, b"x")
        os.set_blocking(self.writer, True)

    def close(self):
        os.close(self.reader)
        os.close(self.writer)


def descriptors(pid):
    found = []
    with contextlib.suppress(OSError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
    return found


def waits_in_write(pid):
    """Whether its first thread is in write(2) to standard output."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[:2] == ["1", "0x1"]
    return False


class Ending:
    """A causalctl that is asked to end. SIGINT is ignored when it starts, as a script without job
    control lets it. `target` is a fixture.Target, or None."""

    def __init__(self, causalctl, words, target=None, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL, cwd=None):
        self.target = target
        self.marker = f"CAUSALCTL_END={uuid.uuid4()}"
        self.causalctl = os.path.realpath(causalctl)
        environment = dict(os.environ, **dict([self.marker.split("=", 1)]))
        self.process = subprocess.Popen(
            [causalctl, *map(str, words)], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            env=environment, cwd=cwd, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))

    @property
    def pid(self):
        return self.process.pid

    def runs(self):
        return self.process.poll() is None

    def has_begun(self):
        """Whether it is in main(), where signals are taken: it has a thread for them."""
        with contextlib.suppress(OSError):
            return len(os.listdir(f"/proc/{self.pid}/task")) > 1
        return False

    def has_events(self):
        """Whether it, or a process of its own, has perf events on the target open. One that it keeps
        open, of a tracepoint, is on no target (keep_one_open() in controller/perf/trials.cc)."""
        return any(sum("perf_event" in each for each in descriptors(pid)) > 1
                   for pid in self.processes())

    def has_handler(self):
        return self.target.alive() and fixture.catches(self.target.pid, signal.SIGTRAP)

    def processes(self):
        """Of causalctl, with its guardian, but not what it has started."""
        with_marker = fixture.processes_with(self.marker)
        return [pid for pid, program in with_marker.items() if program == self.causalctl]

    def started(self):
        """Programs that it has started and that run."""
        with_marker = fixture.processes_with(self.marker)
        return [pid for pid, program in with_marker.items() if program != self.causalctl]

    def is_free(self):
        """Whether nothing of ours is in the target, or has events on it."""
        if self.target and fixture.differences(self.target.pid, self.target.before):
            return False
        return not self.has_events()

    def ask(self, number=signal.SIGINT, within=30):
        """Sends the signal. Returns the seconds until the target was free and until causalctl had
        ended; None for what did not happen."""
        begin = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        free = ended = None
        while (free is None or ended is None) and time.monotonic() - begin < within:
            if ended is None and not self.runs():
                ended = time.monotonic() - begin
            if free is None and self.is_free():
                free = time.monotonic() - begin
            time.sleep(2 * MS)
        return free, ended

    def close(self):
        fixture.kill_processes_with(self.marker)
        self.process.wait()


@contextlib.contextmanager
def ending(*arguments, **more):
    one = Ending(*arguments, **more)
    try:
        yield one
    finally:
        one.close()


@contextlib.contextmanager
def target_of(command):
    target = fixture.Target(command)
    try:
        yield target
    finally:
        target.end()


def record(causalctl, target, log):
    """Makes a log of call paths. On a busy machine a short recording may have no sample."""
    for duration in ("300ms", "3s", "30s"):
        log.unlink(missing_ok=True)
        done = subprocess.run([causalctl, "callpath", str(target.pid), "--duration", duration, "-o", log],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    raise RuntimeError(f"no recording: {done.stderr}")


@contextlib.contextmanager
def small_disk(folder, size="64k", free=2048):
    """Mounts a disk of which only `free` bytes are left. REQUIRES: root."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    try:
        room = os.statvfs(folder)
        left = room.f_bavail * room.f_frsize - free
        (folder / "fill").write_bytes(bytes(max(0, left // 4096 * 4096)))
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
