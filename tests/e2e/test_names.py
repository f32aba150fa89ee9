"""Functions that share a name are told apart wherever they are shown, and a debug file of another
build is told of."""

import gzip
import json
import re
import shutil
import subprocess

import pytest

from test_callpath import run
from test_modules import PROGRAMS, running


def built(*command, folder):
    subprocess.run(list(map(str, command)), cwd=folder, check=True)


def namesakes(folder):
    """Builds programs/names.c. Returns its command."""
    source = PROGRAMS / "names_static.c"
    for name in ("s1", "s2", "la", "lb"):
        (folder / name).mkdir()
        shutil.copy(source, folder / name / "u.c")
    for name in ("la", "lb"):
        built("gcc", "-O1", "-g", "-fPIC", "-shared", "-DCALLER=work", f"{name}/u.c",
              "-o", f"{name}/libx.so", folder=folder)
    for name, caller in (("s1", "in_first"), ("s2", "in_second")):
        built("gcc", "-O1", "-g", f"-DCALLER={caller}", "-c", f"{name}/u.c", "-o", f"{name}/u.o",
              folder=folder)
    built("gcc", "-O1", "-g", PROGRAMS / "names.c", "s1/u.o", "s2/u.o", "-o", "names", folder=folder)
    return (folder / "names", folder / "la/libx.so", folder / "lb/libx.so")


def function_rows(text):
    """The names in the table of functions, without those of callers."""
    table = text[re.search(r" own  .*function\n", text).end():]
    lines = [line for line in table.splitlines() if re.match(r" +\d+\.\d %", line)]
    return {re.split(r"  +", line)[-1] for line in lines}


@pytest.fixture(scope="module")
def recorded_namesakes(options, tmp_path_factory):
    folder = tmp_path_factory.mktemp("namesakes")
    with running(*namesakes(folder)) as pid:
        done = run(options, "callpath", pid, "--duration", "1s", "--quiet", "-o", "c.jsonl",
                   folder=folder)
        assert done.returncode == 0, done.stderr
    return folder, done.stdout


HASHES = {f"{place}:hash" for place in ("s1/u.c", "s2/u.c", "la/libx.so", "lb/libx.so")}
WORKS = {"la/libx.so:work", "lb/libx.so:work"}


def test_functions_of_one_name_are_told_apart_in_text(options, recorded_namesakes):
    folder, text = recorded_namesakes
    assert HASHES <= function_rows(text), text
    paths = run(options, "report", "c.jsonl", "--by", "path", folder=folder).stdout
    lines = run(options, "report", "c.jsonl", "--by", "line", folder=folder).stdout
    for place in ("s1", "s2", "la", "lb"):
        assert re.search(rf"{place}/u.c:\d+ \S*hash\n", lines), lines
        assert re.search(rf"{place}/u.c:\d+ \S*hash\n", paths), paths
    same = run(options, "report", "c.jsonl", "--diff", "c.jsonl", "--by", "function", folder=folder)
    assert all(name in same.stdout for name in HASHES), same.stdout + same.stderr


def test_functions_of_one_name_are_told_apart_in_exports(options, recorded_namesakes):
    folder, _ = recorded_namesakes
    found = {}
    for name in ("json", "pprof", "callgrind", "folded", "speedscope", "firefox", "hatchet"):
        done = run(options, "report", "c.jsonl", "--format", name, "-o", f"c.{name}", folder=folder)
        assert done.returncode == 0, done.stderr
        content = (folder / f"c.{name}").read_bytes()
        found[name] = (gzip.decompress(content) if name == "pprof" else content).decode(
            errors="replace")
        missing = [each for each in HASHES | WORKS if each not in found[name]]
        assert not missing, (name, missing)
    report = json.loads(found["json"])
    files = {each["name"]: (each["function"], each["file"]) for each in report["functions"]}
    assert files["s1/u.c:hash"] == ("hash", f"{folder}/s1/u.c")
    assert files["s2/u.c:hash"] == ("hash", f"{folder}/s2/u.c")
    # Each function stands in its own file.
    names = dict(re.findall(r"c?fn=\((\d+)\) (.+)", found["callgrind"]))
    paths = dict(re.findall(r"(?:cfi|fl|fi)=\((\d+)\) (.+)", found["callgrind"]))
    places = {names[function]: paths[file] for file, function in
              re.findall(r"fl=\((\d+)\).*\nfn=\((\d+)\)", found["callgrind"])}
    assert places["s1/u.c:hash"] == f"{folder}/s1/u.c"
    assert places["s2/u.c:hash"] == f"{folder}/s2/u.c"


def test_name_that_is_shown_can_be_asked_for(options, recorded_namesakes):
    folder, _ = recorded_namesakes
    done = run(options, "report", "c.jsonl", "--through", "s1/u.c:hash", "--format", "folded",
               folder=folder)
    assert done.returncode == 0, done.stderr
    assert "in_first" in done.stdout and "in_second" not in done.stdout, done.stdout


def test_instances_of_a_template_are_told_apart(options, tmp_path):
    built("g++", "-O1", "-g", PROGRAMS / "instances.cc", "-o", "instances", folder=tmp_path)
    with running(tmp_path / "instances") as pid:
        done = run(options, "callpath", pid, "--duration", "0.5s", "--quiet", "-o", "c.jsonl",
                   folder=tmp_path)
        assert done.returncode == 0, done.stderr
    for by in ((), ("--by", "function"), ("--by", "line"), ("--by", "path")):
        text = run(options, "report", "c.jsonl", *by, folder=tmp_path).stdout
        text = text[text.index("CPU time:"):]  # the first line has names as well
        for shop in ("ShopA", "ShopB"):
            rows = re.findall(rf"process<.*{shop}.*\n", text)
            assert len(rows) == (2 if not by else 1), text


def relinked(folder, *flags):
    """Builds a stripped program whose debug link leads to the debug file of another build."""
    for level in ("-O1", "-O2"):
        built("gcc", level, "-g", *flags, PROGRAMS / "mapped_again.c", "-o", f"prog{level}",
              folder=folder)
        built("objcopy", "--only-keep-debug", f"prog{level}", f"{level[1:]}.debug", folder=folder)
    shutil.copy(folder / "O1.debug", folder / "prog.debug")
    built("strip", "-o", "prog", "prog-O1", folder=folder)
    built("objcopy", "--add-gnu-debuglink=prog.debug", "prog", folder=folder)
    shutil.copy(folder / "O2.debug", folder / "prog.debug")
    return folder / "prog"


COMMANDS = (("stacks",), ("doctor",), ("callpath", "--duration", "0.3s", "-o", "c.jsonl"))


@pytest.mark.parametrize("flag, why", [("-Wl,--build-id=sha1", "its build-id is"),
                                       ("-Wl,--build-id=none", "its CRC is")], ids=["id", "crc"])
def test_debug_file_of_another_build_is_told_of(options, tmp_path, flag, why):
    with running(relinked(tmp_path, flag)) as pid:
        told = (f"{tmp_path}/prog.debug is debug information of another build of {tmp_path}/prog "
                f"({why} ")
        for words in COMMANDS if why == "its build-id is" else COMMANDS[:1]:
            done = run(options, *words, pid, folder=tmp_path)
            assert done.stderr.count(told) == 1, done.stderr
            assert "so it is not used\n  hint: install the debug file" in done.stderr, done.stderr
    # The right file is used, and nothing is said.
    shutil.copy(tmp_path / "O1.debug", tmp_path / "prog.debug")
    with running(tmp_path / "prog") as pid:
        done = run(options, "stacks", pid, folder=tmp_path)
        assert "another build" not in done.stderr and ".c:" in done.stdout, done.stdout
