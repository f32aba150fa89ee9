"""The harmlessness fixture: it starts a target, remembers its state, and afterwards says what is
different. It reads the state from /proc only, which the target cannot notice."""

import argparse
import contextlib
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Reading the text of a huge program would only cost time.
LONGEST_TEXT = 64 << 20

LONGEST_LOOK = 0.5  # seconds of one poll and the sleep after it; a longer one is a stall

BUSY_LOOP = ("import os\n"
             "os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))\n"
             "parent = os.getppid()\n"
             "while os.getppid() == parent: pass\n")


def start_busy_loop():
    """Starts a busy loop, which has ordinary priority, whatever ours is, and ends with us. The
    caller must end it."""
    return subprocess.Popen([sys.executable, "-c", BUSY_LOOP])


def wait_until(condition, seconds, every=0.02):
    """Returns True as soon as `condition()` is true, and False if that does not happen within the
    bound. A condition that takes time is polled less often, because it takes that time from the
    process that we wait for. A stall of the machine counts as one long poll, whatever its length,
    because that process has stood still as well."""
    left = seconds
    while True:
        look = time.monotonic()
        if condition():
            return True
        if left <= 0:
            return False
        time.sleep(every)
        left -= min(time.monotonic() - look, LONGEST_LOOK)


def status_fields(path):
    fields = {}
    for line in pathlib.Path(path, "status").read_text().splitlines():
        name, _, value = line.partition(":")
        fields[name] = value.strip()
    return fields


def began(pid):
    """Returns when the process began, which together with its pid identifies it; None if it is
    gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None


def children(pid):
    """Returns the processes that the first thread of this one has started; none if it is gone."""
    try:
        return [int(each) for each in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def names(pids):
    """Returns the names of those processes that are there, by PID."""
    found = {}
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return found


def cpu_seconds(pid):
    """Returns the CPU time of all threads of the process so far, in user code and the kernel
    (proc(5))."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def executable_mappings(pid):
    """Returns (start, end, permissions, offset, path) of all mappings with permission x."""
    mappings = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        address, permissions, offset, _, _, *path = line.split(maxsplit=5)
        if "x" in permissions:
            start, end = (int(part, 16) for part in address.split("-"))
            name = path[0].removesuffix(" (deleted)") if path else ""
            mappings.append((start, end, permissions, offset, name))
    return mappings


def text_at(pid, start, size):
    """Returns the bytes; None if the target has unmapped them meanwhile (dlclose)."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for tries_left in reversed(range(10)):  # it may be mapped and unmapped there repeatedly
            memory.seek(start)
            try:
                return memory.read(size)
            except OSError:
                if not any(mapping[0] == start for mapping in executable_mappings(pid)):
                    return None
                if tries_left == 0:
                    raise


def digest_of_text(pid, mappings):
    """Returns a hash of each mapped file's code, which a breakpoint that is left behind changes."""
    digests = {}
    for start, end, _, _, path in mappings:
        if path.startswith("/") and end - start <= LONGEST_TEXT:
            text = text_at(pid, start, end - start)
            if text is not None:
                digests[path, start] = hashlib.sha256(text).hexdigest()
    return digests


# Only SIGTRAP is compared, because other bits of a mask come and go while a thread is in
# sigtimedwait or makes another thread.
TRAP = 1 << (signal.SIGTRAP - 1)

# glibc handles signals 32 and 33 itself as soon as a thread is made or cancelled.
OF_GLIBC = 3 << (32 - 1)


def blocks_trap(fields):
    return bool(int(fields["SigBlk"], 16) & TRAP)


def catches(pid, number):
    """Returns whether the process has a handler for the signal."""
    return bool(int(status_fields(f"/proc/{pid}")["SigCgt"], 16) & 1 << (number - 1))


class State:
    """The state that must be the same afterwards."""

    def __init__(self, pid):
        fields = status_fields(f"/proc/{pid}")
        self.tracer = fields["TracerPid"]
        self.stopped = fields["State"].startswith(("T", "t"))
        self.signals = {name: f"{int(fields[name], 16) & ~OF_GLIBC:016x}"
                        for name in ("SigIgn", "SigCgt")}
        self.traps_blocked = {}
        self.policies = {}
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                fields = status_fields(f"/proc/{pid}/task/{thread}")
                self.policies[thread] = os.sched_getscheduler(int(thread))
            except (FileNotFoundError, ProcessLookupError):
                continue  # the thread has ended
            self.traps_blocked[thread] = blocks_trap(fields)
        self.executable = executable_mappings(pid)
        self.text = digest_of_text(pid, self.executable)
        self.memory_files = memory_files(pid)


def memory_files(pid):
    text = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return sorted(set(re.findall(r"/memfd:\S*", text)))


# How the pause stub begins (controller/tracee/inject/stub.S): endbr64; cmpl $TRAP_PERF, 8(%rsi).
STUB = bytes.fromhex("f30f1efa837e0806")


def is_stub(pid, address):
    return text_at(pid, address, len(STUB)) == STUB


def differences(pid, before, texts_may_change=False, writes_code=False):
    """Returns what is not as it was before, as a list of sentences; an empty one means unharmed."""
    try:
        after = State(pid)
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return ["the target is gone"]
    problems = []
    for name, value in before.signals.items():
        if after.signals[name] != value:
            problems.append(f"{name} was {value}, is {after.signals[name]}")
    for thread, policy in before.policies.items():
        if after.policies.get(thread, policy) != policy:
            problems.append(f"thread {thread} had the scheduling policy {policy}, has "
                            f"{after.policies[thread]}")
    known = {(mapping[0], mapping[1], mapping[2]) for mapping in before.executable}
    for start, end, permissions, _, path in after.executable:
        # These are the kernel's own. They move at an exec, or appear when the kernel steps an
        # instruction under a uprobe (docs/safety.md).
        if path in ("[vdso]", "[vsyscall]", "[uprobes]"):
            continue
        if writes_code and not is_stub(pid, start):  # the target contains a compiler
            continue
        if not path.startswith("/") and (start, end, permissions) not in known:
            problems.append(f"left-over mapping {start:x}-{end:x} {permissions} {path}")
    if after.memory_files != before.memory_files:
        problems.append(f"left-over memory files {after.memory_files}")
    if not texts_may_change:
        for place, digest in before.text.items():
            # A mapping that is gone was unmapped by the target, which would not run without it
            # otherwise.
            if after.text.get(place, digest) != digest:
                problems.append(f"the text of {place[0]} has changed")
    for thread in threads:
        problems += thread_problems(pid, thread, before)
    return problems


def thread_problems(pid, thread, before):
    try:
        fields = status_fields(f"/proc/{pid}/task/{thread}")
    except (FileNotFoundError, ProcessLookupError):
        return []  # the thread has ended
    problems = []
    if fields["TracerPid"] != before.tracer:
        problems.append(f"thread {thread}: TracerPid is {fields['TracerPid']}")
    if fields["State"].startswith(("T", "t")) and not before.stopped:
        problems.append(f"thread {thread} is stopped: {fields['State']}")
    if before.stopped and not fields["State"].startswith(("T", "t")):
        problems.append(f"thread {thread} is not stopped any more: {fields['State']}")
    if blocks_trap(fields) and before.traps_blocked.get(thread) is False:
        problems.append(f"thread {thread} blocks SIGTRAP now")
    for name in ("SigPnd", "ShdPnd"):
        if int(fields[name], 16) & TRAP:
            problems.append(f"thread {thread}: a SIGTRAP is pending ({name})")
    return problems


class Target:
    """A running target. `pid` is what it printed after `ready`."""

    def __init__(self, command, seconds=30):
        self.lines = []
        self.pid = None
        self.began = None
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not wait_until(lambda: self.pid or self.process.poll() is not None, seconds):
            self.end()
            raise RuntimeError(f"{command[0]} did not become ready: {self.output()}")
        if not self.pid:
            raise RuntimeError(f"{command[0]} ended before it was ready: {self.output()}")
        self.began = began(self.pid)
        self.before = State(self.pid)

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            match = re.match(r"ready (\d+)", line)
            if match and not self.pid:
                self.pid = int(match[1])

    def output(self):
        return "".join(self.lines)

    def alive(self):
        return self.process.poll() is None

    def end(self):
        """Ends it by SIGTERM and returns its status; None if it had to be killed."""
        if self.alive():
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            # It may have started other processes than its children, such as a server.
            if self.pid and self.began and began(self.pid) == self.began:
                os.kill(self.pid, signal.SIGKILL)
            return None
        self.reader.join(timeout=5)
        return status


def processes_with(marker):
    """Returns the pids of all processes with `marker` in their environment, and what they
    execute."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if marker.encode() in pathlib.Path(f"/proc/{entry}/environ").read_bytes():
                found[int(entry)] = os.readlink(f"/proc/{entry}/exe")
        except OSError:
            continue  # it is not ours, or it is gone
    return found


def kill_processes_with(marker):
    """Kills what an interrupt at a bad moment has left running."""
    def none_left():
        found = processes_with(marker)
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not found

    wait_until(none_left, 10)


@contextlib.contextmanager
def leaving_nothing():
    """SIGTERM interrupts as Ctrl-C does, and what is started meanwhile is killed at the end."""
    marker = f"CAUSALCTL_SCRIPT={uuid.uuid4()}"
    os.environ.update([marker.split("=", 1)])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        kill_processes_with(marker)


def script_parser(description):
    """For the options of a script: --causalctl and --targets say what it runs."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--causalctl", default=ROOT / "build/causalctl", type=pathlib.Path)
    parser.add_argument("--targets", default=ROOT / "build/tests/targets", type=pathlib.Path)
    return parser
