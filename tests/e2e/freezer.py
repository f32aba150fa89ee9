"""The cgroup freezer, for one target of a case."""

import contextlib
import os
import pathlib
import subprocess

import fixture


class Freezer:
    """A cgroup of its own, of version 1 or 2, with the process `pid` in it, and others. A hierarchy that
    is not mounted is mounted below the directory `scratch`, which no other case uses."""

    def __init__(self, version, pid, scratch, *others):
        mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        roots = [mount[1] for mount in mounts
                 if "causalctl-e2e-" not in mount[1] and
                 (mount[2] == "cgroup2" if version == 2 else
                     mount[2] == "cgroup" and "freezer" in mount[3].split(","))]
        self.mounted = None
        if not roots:
            self.mounted = scratch / "cgroup"
            self.mounted.mkdir()
            kind = ["cgroup2"] if version == 2 else ["cgroup", "-o", "freezer"]
            subprocess.run(["mount", "-t", *kind, "none", self.mounted], check=True)
            roots = [self.mounted]
        root = pathlib.Path(roots[0])
        self.directory = root / f"causalctl-{os.getpid()}-{pid}"
        self.directory.mkdir()
        self.home = root / "cgroup.procs"
        self.version = version
        self.pids = (pid, *others)
        for each in self.pids:
            (self.directory / "cgroup.procs").write_text(str(each))

    def set(self, frozen):
        if self.version == 1:
            path, wanted = self.directory / "freezer.state", "FROZEN" if frozen else "THAWED"
            path.write_text(wanted)
            done = fixture.wait_until(lambda: path.read_text().strip() == wanted, 5)
        else:
            (self.directory / "cgroup.freeze").write_text(str(int(frozen)))
            events = self.directory / "cgroup.events"
            done = fixture.wait_until(lambda: f"frozen {int(frozen)}" in events.read_text(), 5)
        if not done:
            raise RuntimeError(f"the freezer does not {'freeze' if frozen else 'thaw'}")

    def end(self):
        self.set(False)
        for each in self.pids:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                self.home.write_text(str(each))
        fixture.wait_until(lambda: not (self.directory / "cgroup.procs").read_text(), 5)
        self.directory.rmdir()
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=True)
