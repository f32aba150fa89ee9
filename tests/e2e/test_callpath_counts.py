"""`callpath --count FUNCTION`: the number of calls is that which the program prints, and that which
callgrind counts; what is told where they are too many; and what is refused."""

import json
import os
import re
import shutil
import subprocess

import pytest

from test_callpath import Tree, check_refused, recorded, run, running_target
from test_modules import compiled, running

# Counting may cost as much as it likes.
ALL = ("--max-event-cost", "1000")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("counts"), "counted_calls.c", "counts")


def counted(options, folder, functions, *command, env=None):
    """Returns the output of the program, the report as text, and as JSON."""
    words = [word for function in functions for word in ("--count", function)]
    done = run(options, "callpath", *words, *ALL, "--quiet", "--", *command, folder=folder, env=env)
    assert done.returncode == 0, done.stderr
    report = run(options, "report", "callpath.jsonl", "--format", "json", folder=folder)
    return done.stdout, json.loads(report.stdout)


def by_name(report):
    return {count["function"]: count for count in report["counts"]}


def calls_by_callgrind(folder, names, *command):
    """Returns how often functions are called, by valgrind."""
    subprocess.run(["valgrind", "--tool=callgrind", "--compress-strings=no", "--callgrind-out-file=out",
                    *map(str, command)], capture_output=True, timeout=100, check=True, cwd=folder)
    calls, callee = {}, None
    for line in (folder / "out").read_text().splitlines():
        if line.startswith("cfn="):
            callee = line.removeprefix("cfn=").split("'")[0]  # f'2 is f in a recursion
        elif line.startswith("calls="):
            calls[callee] = calls.get(callee, 0) + int(line.removeprefix("calls=").split()[0])
    return [calls.get(name, 0) for name in names]


def printed(output):
    return int(re.search(r"^calls: (\d+)$", output, re.MULTILINE)[1])


def test_counts_are_those_of_the_program_and_of_callgrind(options, program, tmp_path):
    output, report = counted(options, tmp_path, ["counted", "never", "much"], program, "once")
    counts = by_name(report)
    assert printed(output) == counts["counted"]["calls"] == 10000
    assert (counts["never"]["calls"], counts["much"]["calls"]) == (0, 2500)
    assert all(count["exact"] for count in counts.values()), counts
    assert "\ncalls of counted: 10,000 (exact), " in output, output
    assert "\ncalls of never: 0 (exact)\n" in output, output
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not there; the program's own count was compared")
    assert calls_by_callgrind(tmp_path, ["counted", "much"], program, "once") == [10000, 2500]


def test_paths_add_up_to_the_count(options, program, tmp_path):
    _, report = counted(options, tmp_path, ["counted"], program, "once")
    assert by_name(report)["counted"]["column"] == "count:counted"
    tree = Tree(report)
    little, much = (tree.sum("count:counted", "main", name, "counted")
                    for name in ("little", "much"))
    assert little + much == tree.sum("count:counted", "counted") == 10000
    totals = {column["name"]: column["total"] for column in report["columns"]}
    assert totals["count:counted"] == 10000
    callgrind = run(options, "report", "callpath.jsonl", "--format", "callgrind", folder=tmp_path).stdout
    number = re.search(r"cfn=\((\d+)\) counted\n", callgrind)[1]
    calls = re.findall(rf"cfn=\({number}\)[^\n]*\ncalls=(\d+) ", callgrind)
    assert sum(map(int, calls)) == 10000, calls


def test_a_program_as_shipped(options, tmp_path):
    """liblzma's compressor has no symbols but the dynamic ones."""
    if None in (shutil.which("valgrind"), shutil.which("xz")):
        pytest.skip("valgrind and xz are not both there")
    (tmp_path / "data").write_bytes(bytes(range(256)) * 400)
    command = ("xz", "--keep", "--force", "--threads=1", "data")
    _, report = counted(options, tmp_path, ["lzma_code", "lzma_crc32"], *command)
    counts = [by_name(report)[name]["calls"] for name in ("lzma_code", "lzma_crc32")]
    assert min(counts) > 0
    assert counts == calls_by_callgrind(tmp_path, ["lzma_code", "lzma_crc32"], *command)


def test_threads_that_begin_and_end_meanwhile(options, program, tmp_path):
    output, report = counted(options, tmp_path, ["counted"], program, "threads")
    count = by_name(report)["counted"]
    assert printed(output) == count["calls"] == 2400 and count["exact"], count


def test_without_bpf_it_says_what_is_missing(options, program, tmp_path):
    output, report = counted(options, tmp_path, ["counted"], program, "threads",
                             env={**os.environ, "CAUSALCTL_PRETEND_BROKEN": "bpf"})
    count = by_name(report)["counted"]
    assert count["calls"] < 2400 and not count["exact"], count
    assert "no BPF program can count here" in count["missing"]
    assert "\ncalls of counted: at least " in output, output
    output, report = counted(options, tmp_path, ["counted"], program, "once",
                             env={**os.environ, "CAUSALCTL_PRETEND_BROKEN": "bpf"})
    assert "\ncalls of counted: 10,000 (exact)" in output, output


def test_too_many_threads_without_bpf_are_refused(options, tmp_path):
    """There would be neither a BPF program that counts, nor an event in each thread."""
    with running_target(options, "many_threads", "--blocked", "80", "--busy", "1") as pid:
        done = run(options, "callpath", pid, "--count", "round_done", "--duration", "1s", folder=tmp_path,
                   env={**os.environ, "CAUSALCTL_PRETEND_BROKEN": "bpf"})
    assert done.returncode == 1 and "perf events, of which each takes" in done.stderr, done.stderr


def test_a_running_process(options, program, tmp_path):
    with running(program, "rest", "2000") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "4s", "--count", "counted",
                          "--count", "counted", *ALL)
    [count] = report["counts"]
    # Four in each round, which takes 2 ms or, beside others, a few more.
    assert count["exact"] and 400 < count["per_second"] < 2100, count
    assert count["calls"] == pytest.approx(count["per_second"] * report["wall_ns"] / 1e9, rel=0.05)
    tree = Tree(report)
    little, much = (tree.sum("count:counted", "main", name, "counted") for name in ("little", "much"))
    assert little + much == count["calls"] and 0.70 < much / count["calls"] < 0.80, (little, much)
    assert "blocked" in [column["name"] for column in report["columns"]]
    done = run(options, "report", "callpath.jsonl", "--diff", "callpath.jsonl", "--metric", "count:counted",
               folder=tmp_path)
    assert done.returncode == 2 and "counted calls cannot be compared" in done.stderr, done.stderr


def test_several_functions_share_what_they_may_cost(options, program, tmp_path):
    """Each may be over its part by a burst of 10 ms."""
    with running(program, "rest", "0") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "5s", "--count", "counted",
                          "--count", "much", "--max-event-cost", "4")
    costs = [count["counted_share"] * count["cost_share"] for count in report["counts"]]
    assert len(costs) == 2 and min(costs) > 0.005 and sum(costs) < 0.04 + 2 * 0.01, report["counts"]


def test_the_range_of_a_rate_holds_the_truth(options, program, tmp_path):
    """Another function is called exactly a fiftieth as often, and counted exactly; calls come in 0.3 s of
    each second."""
    with running(program, "fiftieth") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "8s", "--count", "counted",
                          "--count", "rarely", "--max-event-cost", "4")
    counts = by_name(report)
    assert counts["rarely"]["exact"], report["counts"]
    truth = 50 * counts["rarely"]["per_second"]
    least, most = (counts["counted"][key] for key in ("per_second", "most_per_second"))
    # A 95 % interval, which chance may miss, but hardly by half of its width; or exact.
    slack = max((most - least) / 2, 0.01 * truth)
    assert least - slack <= truth <= most + slack, (truth, report["counts"])
    # Some 20 pieces with calls tell the number to a fifth. The range is some eight times that, as it has
    # in it that calls come in a part of the time, and more where the machine leaves few pieces.
    assert most - least < 6 * truth, (truth, report["counts"])


def test_too_many_calls_say_what_they_cost(options, program, tmp_path):
    with running(program, "rest", "0") as pid:
        report = recorded(options, tmp_path, pid, "--duration", "3s", "--count", "counted",
                          "--max-event-cost", "0.1")
    [count] = report["counts"]
    assert not count["exact"] and count["counted_share"] < 1, count
    assert count["cost_ns"] > 0 and count["per_second"] > 0
    text = run(options, "report", "callpath.jsonl", folder=tmp_path).stdout
    assert re.search(r"\ncalls of counted: (at least|about) [0-9,]+, .* a second\.", text), text
    assert "% of a thread's time while they are" in " ".join(text.split()), text
    assert not [text for text in report["warnings"] if "bursts" in text], report["warnings"]


@pytest.mark.parametrize("function, message", [
    ("", "--count: the value is empty"),
    ("countde", "no such function; nearest: counted"),
    ("usdt:a:b", "USDT"),
    ("syscall:write", "--count syscall:write: not a place in code"),
])
def test_refused(options, program, tmp_path, function, message):
    with running(program, "rest", "2000") as pid:
        check_refused(options, tmp_path, message, pid, "--count", function)
