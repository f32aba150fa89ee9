"""Debug files whose names lead to no regular file. The owner of a target chooses these names, and
may hold up or harm nobody by them."""

import contextlib
import os
import subprocess

import pytest

from test_modules import PROGRAMS, compiled, running

def linked_to(path, name, make):
    """Strips the program of its debug information, and gives it a debug link to what is made."""
    linked = path.with_name(name)
    subprocess.run(["objcopy", "--only-keep-debug", path, linked], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={linked}", path], check=True)
    linked.unlink()
    make(linked)


def zeros(path):
    path.symlink_to("/dev/zero")


def sparse(path):
    path.touch()
    os.truncate(path, 1 << 40)


def with_link(folder, make):
    program = compiled(folder, "mapped_again.c", "prog", "-Wl,--build-id=none")
    linked_to(program, "debug.file", make)
    return program


def with_split_unit(folder, make):
    subprocess.run(["gcc", "-O2", "-g", "-gsplit-dwarf", "-c", PROGRAMS / "mapped_again.c", "-o",
                    "unit.o"], cwd=folder, check=True)
    subprocess.run(["gcc", "unit.o", "-o", "prog"], cwd=folder, check=True)
    (folder / "unit.dwo").unlink()
    make(folder / "unit.dwo")
    return folder / "prog"


def outputs(options, folder, pid, *commands):
    """Runs the commands at once, but for attach, which may not find another tracer; returns what they say."""
    with contextlib.ExitStack() as stack:
        begun = []
        for words in commands:
            if words[0] == "attach":
                for process in begun:
                    process.wait(timeout=60)
            process = stack.enter_context(subprocess.Popen(
                [options.causalctl, *words, str(pid)], cwd=folder, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True))
            stack.callback(process.kill)
            begun.append(process)
        return [(process.communicate(timeout=60)[0], process.returncode) for process in begun]


COMMANDS = (("stacks",), ("points",), ("callpath", "--duration", "1s", "-o", "c.jsonl"),
            ("attach", "--progress", "work", "--duration", "1s", "-o", "a.jsonl"))


@pytest.mark.parametrize("make", [os.mkfifo, zeros, sparse], ids=["fifo", "zeros", "sparse"])
@pytest.mark.parametrize("build", [with_link, with_split_unit], ids=["link", "dwo"])
def test_name_leads_to_no_file(options, tmp_path, build, make):
    program = build(tmp_path, make)
    with running(program) as pid:
        for (text, code), words in zip(outputs(options, tmp_path, pid, *COMMANDS), COMMANDS):
            # So short a profile need not have a result.
            assert code == 0 or words[0] == "attach" and code == 1, text
            if build is with_link:
                why = "it is too large" if make is sparse else "it is no regular file"
                assert f"{tmp_path}/debug.file is not read: {why}" in text, text


def test_library_that_is_loaded_later(options, tmp_path):
    for name, words in (("first", 4), ("second", 40)):
        library = compiled(tmp_path, "reused_library.c", f"lib{name}.so", "-shared", "-fPIC",
                           f"-DNAME={name}", f"-DWORDS={words}", "-Wl,--build-id=none")
        linked_to(library, f"{name}.debug", os.mkfifo)
    program = compiled(tmp_path, "reuses_address.c")
    with running(program, cwd=tmp_path) as pid:
        [(text, code)] = outputs(options, tmp_path, pid, COMMANDS[2])
    assert code == 0, text
    assert "calls_first" in text, text
