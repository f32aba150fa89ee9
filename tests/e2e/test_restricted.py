"""causalctl where a filter or a namespace forbids what its user's rights allow."""

import os
import subprocess

import pytest

from test_modules import compiled, running

PERF_EVENT_OPEN = "298"  # as numbered on x86-64
PROCESS_VM = "310,311"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("restricted")
    path.chmod(0o777)
    compiled(path, "denies.c", "denies")
    compiled(path, "mapped_again.c")
    compiled(path, "standing.c", "standing", "-Wno-infinite-recursion")
    return path


def told(options, folder, *words, around=()):
    done = subprocess.run([*around, options.causalctl, *map(str, words)], cwd=folder,
                          capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr


def works_with(*around):
    return subprocess.run([*around, "true"], capture_output=True, check=False).returncode == 0


def test_filter_forbids_perf_events(options, folder):
    denied = (folder / "denies", PERF_EVENT_OPEN)
    with running(folder / "prog") as pid:
        for words in (("callpath", pid, "-o", "x.jsonl"),
                      ("attach", pid, "--progress", "work", "-o", "y.jsonl"), ("doctor", pid)):
            code, text = told(options, folder, *words, around=denied)
            assert code == 1
            assert text.count("a seccomp filter forbids perf_event_open") == 1, text
            assert "run as root" not in text, text


def test_filter_forbids_reads_of_memory(options, folder):
    with running(folder / "standing", "brrwd") as pid:
        code, text = told(options, folder, "stacks", pid, around=(folder / "denies", PROCESS_VM))
    assert code == 0, text
    assert " main at " in text, text
    with running(folder / "prog") as pid:
        code, text = told(options, folder, "attach", pid, "--progress", "item_done", "--duration",
                          "1s", "-o", "z.jsonl", around=(folder / "denies", PROCESS_VM))
        assert "the target afterwards: as it was before" in text, text


def test_user_namespace_has_capabilities_by_name(options, folder):
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "prlimit",
            f"--memlock={8 << 20}")
    if not works_with(*user, "unshare", "-Ur") or not works_with(*user, "test", "-x",
                                                                 options.causalctl):
        pytest.skip("no user namespaces for users, or the program is not readable for them")
    code, text = told(options, folder, "doctor", around=(*user, "unshare", "-Ur"))
    assert "no limit applies" not in text and "all events permitted" not in text, text
    assert "the capabilities of this user namespace do not count" in text, text


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user may have no user namespaces")
def test_user_namespace_has_no_bpf(options, folder):
    inside = ("unshare", "--user", "--map-root-user")
    if not works_with(*inside):
        pytest.skip("no user namespaces here")
    reason = "the capabilities of this user namespace do not count for BPF programs"
    code, text = told(options, folder, "record", "--db", "x", "--duration", "1s", around=inside)
    assert code == 1 and reason in text and "as root" not in text, text
    assert "causalctl callpath" in text, text
    _, text = told(options, folder, "doctor", around=inside)
    assert reason in text and text.count("do not count for events") == 1, text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide /sys")
def test_kernel_without_types_is_told(options, folder):
    hidden = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "-")
    code, text = told(options, folder, "record", "--db", "y", "--duration", "1s", around=hidden)
    assert code == 1 and "/sys/kernel/btf/vmlinux" in text and "hint: mount /sys" in text, text
    _, text = told(options, folder, "doctor", around=hidden)
    assert "/sys/kernel/btf/vmlinux" in text and "mount /sys" in text, text


def test_time_namespace_has_another_clock(options, folder):
    later = ("unshare", "--time", "--monotonic", "86400", "--fork")
    if os.geteuid() != 0 or not works_with(*later):
        pytest.skip("no time namespaces here")
    with running(*later, "--kill-child", folder / "prog") as outer:
        [pid] = map(int, open(f"/proc/{outer}/task/{outer}/children").read().split())
        inside = ("nsenter", f"--target={pid}", "--time")
        code, text = told(options, folder, "callpath", pid, "--duration", "1s", "-o", "t.jsonl",
                          around=inside)
    assert code == 0, text
    assert "samples in" in text, text
