"""Limits CPU time by a cgroup of our own with a quota, of version 1 or 2, whichever has the cpu
controller here."""

import os
import pathlib
import uuid

import fixture

PERIOD_US = 100_000  # the kernel's default


def cpu_hierarchy():
    """Returns (root, version). REQUIRES: one is mounted with the cpu controller."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, root, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            return pathlib.Path(root), 1
        controllers = pathlib.Path(root, "cgroup.controllers")
        if kind == "cgroup2" and "cpu" in controllers.read_text().split():
            return pathlib.Path(root), 2
    raise RuntimeError("no cgroup hierarchy with the cpu controller is mounted")


class Quota:
    """Processes in it share the time of `cores` cores in each period of 100 ms."""

    def __init__(self, cores):
        root, version = cpu_hierarchy()
        self.directory = root / f"causalctl-truth-{uuid.uuid4()}"
        self.home = root / "cgroup.procs"
        if version == 2:
            (root / "cgroup.subtree_control").write_text("+cpu")
        self.directory.mkdir()
        quota_us = int(cores * PERIOD_US)
        if version == 2:
            (self.directory / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        else:
            (self.directory / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.directory / "cpu.cfs_quota_us").write_text(str(quota_us))

    def add(self, pid):
        (self.directory / "cgroup.procs").write_text(str(pid))

    def throttled(self):
        """Returns how many periods ended early, with the quota used up."""
        fields = dict(line.split() for line in
                      (self.directory / "cpu.stat").read_text().splitlines())
        return int(fields["nr_throttled"])

    def end(self):
        """Moves processes that are still in it back to the root, and removes it."""
        for pid in (self.directory / "cgroup.procs").read_text().split():
            try:
                self.home.write_text(pid)
            except ProcessLookupError:
                pass
        fixture.wait_until(lambda: not (self.directory / "cgroup.procs").read_text(), 5)
        os.rmdir(self.directory)
