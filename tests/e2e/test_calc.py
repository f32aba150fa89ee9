"""`causalctl calc`: where time goes within functions whose stalls are known, and how often their code runs."""

import json
import re
import shutil
import subprocess

import pytest

import browser
import schemas
import stalls

# Each function spends its time at the instruction that the label stall_* names: the multiplications wait for each
# other, and each load waits for the one before, which misses all caches.
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { kLines = 1 << 20, kStride = 16 };
static uint64_t* memory;
__attribute__((noinline)) void multiply(uint64_t times) {
  __asm__ volatile("1: add $1, %%rdx\\n .globl stall_multiply\\n stall_multiply: imul %%rax, %%rax\\n"
                   "imul %%rax, %%rax\\n imul %%rax, %%rax\\n sub $1, %0\\n jnz 1b\\n"
                   : "+r"(times) : : "rax", "rdx");
}
__attribute__((noinline)) uint64_t chase(uint64_t times) {
  uint64_t* at = memory;
  __asm__ volatile("1: add $1, %%rdx\\n .globl stall_chase\\n stall_chase: mov (%0), %0\\n nop\\n nop\\n sub $1, %1\\n"
                   "jnz 1b\\n" : "+r"(at), "+r"(times) : : "rdx", "memory");
  return (uint64_t)at;
}
__attribute__((noinline)) void pick(int first, uint64_t times) {
  if (first) {
    __asm__ volatile("1: imul %%rax, %%rax\\n sub $1, %0\\n jnz 1b" : "+r"(times) : : "rax");
  } else {
    __asm__ volatile("1: xor %%rax, %%rax\\n sub $1, %0\\n jnz 1b" : "+r"(times) : : "rax");
  }
}
__attribute__((noinline)) void round_done(void) { __asm__ volatile(""); }
int main(int argc, char** argv) {
  memory = malloc(sizeof(uint64_t) * kLines * kStride);
  uint64_t at = 0;  // a permutation with one cycle: a full-period generator
  for (uint64_t i = 0; i < kLines; i++) {
    const uint64_t next = (at * 1664525 + 1013904223) % kLines;
    memory[at * kStride] = (uint64_t)(memory + next * kStride);
    at = next;
  }
  puts("ready");
  fflush(stdout);
  for (long rounds = atol(argv[1]); rounds != 0; rounds--) {
    multiply(500000);
    chase(argc > 2 ? 10 : 20000);
    pick(argc == 2, 200000);
    round_done();
  }
}
"""


def run(*words, folder, check=True):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=250, check=False, cwd=folder)
    assert not check or done.returncode == 0, done.stderr
    return done


def calc(options, folder, function, *more):
    done = run(options.causalctl, "calc", "db", function, "--format", "json", *more, folder=folder)
    result = json.loads(done.stdout)
    schemas.check(result, "calc-schema.json")
    return result


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    run("gcc", "-O1", "-g", "-Wl,--build-id", "-o", "program", "program.c", folder=tmp_path)
    return tmp_path / "program"


@pytest.fixture
def recorded(options, program, tmp_path):
    """Records the program for a while, with the visits of a point."""
    with subprocess.Popen([program, "-1"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        run(options.causalctl, "record", "--db", "db", process.pid, "--duration", "4s", "--period", "2ms", "--progress",
            "round_done", folder=tmp_path)
        process.kill()
    return tmp_path


def symbol(folder, name):
    lines = run("nm", "program", folder=folder).stdout.splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == name)


def instructions(result):
    return [each for part in result["parts"] for block in part["blocks"] for each in block["instructions"]]


def test_time_is_charged_to_the_instruction_that_waits(options, recorded):
    chase = calc(options, recorded, "chase")
    stall = symbol(recorded, "stall_chase")
    share = {each["address"]: each["share"] for each in instructions(chase)}
    assert share[stall] > 0.95, share
    assert sum(share.values()) == pytest.approx(1, abs=0.01)
    multiply = calc(options, recorded, "program:multiply")
    begin = symbol(recorded, "stall_multiply")
    places = [each for each in instructions(multiply) if begin <= each["address"] < begin + 12]
    assert [each["text"] for each in places] == ["imul rax, rax"] * 3
    assert sum(each["share"] for each in places) > 0.95, places
    # Samples stand one instruction behind.
    assert sum(each["samples"] for each in places[1:]) > sum(each["samples"] for each in places[:1])
    assert multiply["samples"] == sum(each["samples"] for each in instructions(multiply))
    assert "counts" not in multiply and "executions" not in multiply["parts"][0]["blocks"][0]
    text = run(options.causalctl, "calc", "db", "chase", "--cutoff", "0", folder=recorded).stdout
    assert text.count("\nblock ") == len(chase["parts"][0]["blocks"]) > 1 and "left out" not in text, text
    text = run(options.causalctl, "calc", "db", "chase", "--source", folder=recorded).stdout
    assert text.count("\nblock ") == 1 and "left out: --cutoff 0 shows all" in text, text
    assert "no cycles" not in text and "db DIR import" in text, text
    assert re.search(r"program\.c:\d+  +__asm__ volatile", text), text
    assert re.search(r"\d+\.\d +\[\d+\.\d, \d+\.\d\] .*mov r\w+, qword ptr \[r\w+\]", text), text


def test_counts_tell_how_often_code_runs_and_how_long_it_takes(options, recorded):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not there")
    run("valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes", "--skip-plt=no",
        "--callgrind-out-file=counts", "./program", 3, "short", folder=recorded)
    run(options.causalctl, "db", "db", "import", "counts", folder=recorded)
    result = calc(options, recorded, "multiply")
    assert result["counts"]["command"].endswith("program 3 short") and not result["warnings"]
    # round_done was executed 3 times under callgrind, and counted while it was recorded.
    assert result["counts"]["runs_by"] == "visits of round_done"
    runs = result["counts"]["runs"]
    (part,) = result["parts"]
    assert part["calls"] == 3
    (loop,) = (block for block in part["blocks"] if block["executions"] == 1500000)
    assert loop["confidence"] == "high" and len(loop["instructions"]) == 6
    own = part["blocks"].index(loop)
    assert [edge["passes"] for edge in part["edges"] if edge["from"] == edge["to"] == own] == [1499997]
    assert loop["ns_each"] == pytest.approx(loop["time_ns"] / (1500000 * runs), rel=1e-3)
    assert loop["ns_each_low"] < loop["ns_each"] <= loop["ns_each_high"]
    # Three multiplications, of three cycles each; another guest's use of the core counts as time, too.
    assert 8.5 < loop["ns_each"] * result["ghz"] < 18, (loop["ns_each"], result["ghz"])
    told = calc(options, recorded, "multiply", "--runs", 2)
    assert told["counts"]["runs"] == 2 and told["counts"]["runs_by"] == "--runs"
    # What the counted run did not do is told.
    (warning,) = calc(options, recorded, "pick")["warnings"]
    assert re.match(r"(9\d|100)\.\d % of the time is in blocks that the counted run never executed", warning), warning
    text = run(options.causalctl, "calc", "db", "multiply", folder=recorded).stdout
    assert re.search(r"block \d+: .*, 500,000 × a call, \S+ cycles, CPI \S+, to ", text), text
    # The counted run chases less often, which does not matter within the function.
    assert calc(options, recorded, "chase")["parts"][0]["blocks"][0]["executions"] == 3


    # A point counts only if it was counted in all epochs.
    run(options.causalctl, "record", "--db", "db", "--", "./program", 30, folder=recorded)
    assert "runs" not in calc(options, recorded, "multiply", "--epoch", "all")["counts"]


def test_the_longest_stalls_of_all_code(options, recorded):
    done = run(options.causalctl, "stalls", "db", "--format", "json", folder=recorded)
    table = json.loads(done.stdout)
    schemas.check(table, "stalls-schema.json")
    top = table["rows"][0]
    assert (top["function"], top["culprits"][0]) == ("chase", "d") and top["text"].startswith("mov r"), top
    assert top["address"] == symbol(recorded, "stall_chase") and top["line"].startswith("program.c:")
    assert 0 < top["share_low"] < top["share"] < top["share_high"] < 1
    shares = [row["share"] for row in table["rows"]]
    assert shares == sorted(shares, reverse=True) and sum(shares) <= table["analysed"] + 0.01
    # The kernel's code is in no file. Beside a load it has a tenth of the time.
    images = json.loads(run(options.causalctl, "prof", "db", "--by", "image", "--limit", 0, "--format", "json",
                            folder=recorded).stdout)["rows"]
    in_kernel = sum(row["share"] for row in images if row["name"] == "[kernel]")
    assert table["analysed"] > 0.95 * (1 - in_kernel) > 0.7 and table["counted"] == 0, (table, images)
    functions = {row["function"] for row in table["rows"]}
    assert {"chase", "multiply"} <= functions, functions
    text = run(options.causalctl, "stalls", "db", "-n", 1, folder=recorded).stdout
    assert re.search(r"dD +mov r\w+, qword ptr \[r\w+\]  [0-9a-f]+ chase \(program\)", text) and "--limit 0" in text, text
    assert "why: d data cache, D data TLB\n" in text and "causalctl calc DIR FUNCTION" in text, text
    refused = run(options.causalctl, "stalls", "db", "--runs", "0", folder=recorded, check=False)
    assert refused.returncode == 2 and "--runs 0" in refused.stderr


def test_the_graph_is_for_graphviz(options, recorded):
    dot = run(options.causalctl, "calc", "db", "multiply", "--format", "dot", folder=recorded).stdout
    assert dot.startswith('digraph "multiply" {') and dot.rstrip().endswith("}")
    nodes = re.findall(r'^  (p0b\d+) \[label="block \d+: .*\\l", fillcolor="[\d. ]+"\];$', dot, re.MULTILINE)
    edges = re.findall(r"^  (p0b\d+) -> (p0b\d+);$", dot, re.MULTILINE)
    assert len(nodes) >= 2 and any(a == b for a, b in edges), dot
    assert {place for edge in edges for place in edge} <= set(nodes)
    page = run(options.causalctl, "calc", "db", "multiply", "--format", "html", folder=recorded).stdout
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    assert json.loads(data) == calc(options, recorded, "multiply")
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=dot, text=True, check=True, capture_output=True)


def test_the_code_is_kept_when_the_program_is_replaced(options, recorded):
    before = calc(options, recorded, "chase")
    (recorded / "program").unlink()
    after = calc(options, recorded, "chase")
    assert [each["text"] for each in instructions(after)] == [each["text"] for each in instructions(before)]


@pytest.mark.parametrize("words, message", [
    (("nosuch",), "no function of that name"), ((), "FUNCTION is missing"),
    (("multiply", "--runs", "x"), "--runs x: not a number"), (("multiply", "--cutoff", "-1"), "--cutoff"),
    (("multiply", "--format", "svg"), "--format svg"), (("multiply", "--epoch", "none"), "none"),
    (("multiply", "--label", "none"), "--label none"), (("multiply", "--runs", "nan"), "--runs nan")])
def test_what_is_wrong_is_told(options, program, tmp_path, words, message):
    run(options.causalctl, "record", "--db", "db", "--", program, "60", folder=tmp_path)
    done = run(options.causalctl, "calc", "db", *words, folder=tmp_path, check=False)
    assert done.returncode == 2 and message in done.stderr and "hint: " in done.stderr, done.stderr


def test_code_of_the_kernel_is_not_there(options, program, tmp_path):
    run(options.causalctl, "record", "--db", "db", "--", "sh", "-c", "for i in $(seq 300); do /bin/true; done",
        folder=tmp_path)
    table = json.loads(run(options.causalctl, "prof", "db", "--format", "json", folder=tmp_path).stdout)
    name = next(row["name"] for row in table["rows"] if row["image"] == "[kernel]")
    done = run(options.causalctl, "calc", "db", name, folder=tmp_path, check=False)
    assert done.returncode == 1 and "only the code of files is analysed" in done.stderr, done.stderr


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name.endswith("1") else pytest.mark.full) for name in stalls.NAMES])
def test_the_true_cause_of_a_stall_is_listed(options, tmp_path, name):
    result = stalls.measure(options.causalctl, options.targets / "stalls", name, tmp_path, 1.5, counted=False)
    schemas.check(result, "calc-schema.json")
    letter = stalls.CAUSES[name.rpartition("_")[0]][0]
    listed, _, others = stalls.score(result, letter)
    assert listed > 0.5 and others < 2.5, (listed, others, result["summary"])
    summary = result["summary"]
    cause = next(each for each in summary["causes"] if each["letter"] == letter)
    assert 0 < cause["most"] <= 1 and cause["least"] <= cause["most"]
    assert not summary["has_cycles"] and summary["stalls"] == pytest.approx(1, abs=1e-3)


def test_the_summary_adds_up(options, tmp_path):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not there")
    result = stalls.measure(options.causalctl, options.targets / "stalls", "divide_1", tmp_path, 1.5, counted=True)
    summary = result["summary"]
    assert summary["has_cycles"]
    assert sum(summary[key] for key in ("stalls", "latency", "execution")) == pytest.approx(1, abs=1e-3)
    assert summary["causes"][0]["letter"] == "v" and summary["causes"][0]["least"] > 0.3, summary
    text = run(options.causalctl, "calc", "db_divide_1", "stall_divide_1", "--summary", folder=tmp_path).stdout
    assert re.search(r"\d+\.\d  v divider\n", text) and "latency of instructions" in text and "block" not in text, text


@pytest.mark.full  # Chromium is 400 MB that nothing else needs
def test_the_page_shows_code_and_where_blocks_lead(options, recorded):
    if not browser.path():
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with_counts = shutil.which("valgrind") is not None
    if with_counts:
        run("valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes", "--skip-plt=no",
            "--callgrind-out-file=counts", "./program", 3, "short", folder=recorded)
        run(options.causalctl, "db", "db", "import", "counts", folder=recorded)
    file = recorded / "page.html"
    run(options.causalctl, "calc", "db", "multiply", "--source", "--format", "html", "-o", file, folder=recorded)
    data = calc(options, recorded, "multiply", "--source")
    blocks = [block for part in data["parts"] for block in part["blocks"]]
    listed = "[...document.querySelectorAll('.listing .block')].length"
    with browser.Browser(recorded / "browser") as page:
        page.load(file)
        assert page.complaints() == []
        assert page.run("document.title") == "multiply (program)"
        assert page.run(listed) == sum(block["share"] >= 0.005 for block in blocks) < len(blocks)
        assert page.run("document.querySelectorAll('#why tr').length") > 0
        rows = "[...document.querySelectorAll('.listing tr')].filter((row) => row.cells[5]?.textContent === 'imul rax, rax')"
        assert page.run(f"{rows}.length") == 3
        assert page.run("document.querySelectorAll('.listing .source').length") > 0
        page.click("document.getElementById('source')")
        assert page.run("document.querySelectorAll('.listing .source').length") == 0
        page.run("document.getElementById('cutoff').value = '0';"
                 "document.getElementById('cutoff').dispatchEvent(new Event('change'))")
        assert page.run(listed) == len(blocks)
        jumps = [edge for part in data["parts"] for edge in part["edges"]
                 if edge["from"] is not None and edge["to"] not in (None, edge["from"] + 1)]
        assert page.run("document.querySelectorAll('.code path').length") == len(jumps) > 0
        assert page.run("document.querySelectorAll('.code path.back').length") > 0, "the loop"
        page.hover("document.querySelector('.listing .block th')")
        assert page.run("document.querySelectorAll('.code path.on').length") > 0, "those of the block that is pointed at"
        page.key("n")
        hottest = max((one for block in blocks for one in block["instructions"]), key=lambda one: one["share"])
        assert page.run("document.querySelector('tr.found').cells[5].textContent") == hottest["text"]
        number = page.run("Number(document.querySelector('.listing .block button').textContent)")
        page.click("document.querySelector('.listing .block button')")
        assert page.run("document.querySelector('tr.found').textContent").startswith(f"block {number}:")
        page.size(400, 800)  # a phone: the listing scrolls, and not the page
        assert page.run("document.documentElement.scrollWidth") <= 400
        for theme in ("light", "dark"):
            page.theme(theme)
            assert page.picture()
        assert page.complaints() == []


def causal_log(folder, gains, build_id="", own_code=1.0):
    """Writes an experiment log in which a round takes so much less time if the function is twice as fast."""
    lines = [{"type": "run", "version": 1, "run": "r", "host": "h", "pid": 1, "executable": str(folder / "program"),
              "build_id": build_id, "started_ns": 1, "config": {"scope": {"unit": "function"}}, "seed": 1}]
    for number in range(40 * len(gains)):
        unit = list(gains)[number // 2 % len(gains)]
        speedup = 0.5 if number % 2 else 0
        period_ns = (1 - gains[unit] * 2 * speedup) * 1e6 + 1000 * (number // 4 % 5 - 2)  # a little noise
        lines.append({"type": "experiment", "run": "r", "unit": unit, "kind": "function", "function": unit,
                      "file": str(folder / "program.c"), "speedup": speedup, "start_ns": number * 10**9,
                      "wall_ns": 5 * 10**8, "delay_ns": 0, "effective_ns": 5 * 10**8, "samples": 100,
                      "throughput": [{"name": "round_done", "visits": 501, "first_ns": 0,
                                      "last_ns": int(500 * period_ns)}], "latency": []})
    for unit in gains:
        lines.append({"type": "samples", "run": "r", "unit": unit, "kind": "function", "function": unit,
                      "file": str(folder / "program.c"), "count": 4000 * len(gains), "baseline_count": 2000 * len(gains),
                      "inherited": 0, "in_own_code": int(4000 * len(gains) * own_code)})
    lines.append({"type": "end", "run": "r", "reason": "duration", "wall_ns": 10**11})
    (folder / "profile.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def test_stalls_by_what_the_program_would_gain(options, recorded):
    causal_log(recorded, {"chase": 0, "multiply": 0.25})
    stall = {name: symbol(recorded, f"stall_{name}") for name in ("chase", "multiply")}

    def table(*words):
        done = run(options.causalctl, "stalls", "db", "--format", "json", *words, folder=recorded)
        result = json.loads(done.stdout)
        schemas.check(result, "stalls-schema.json")
        return result

    longest = table()
    assert longest["rows"][0]["address"] == stall["chase"] and "effect" not in longest["rows"][0]
    ranked = table("--causal", "profile.jsonl")
    # Twice as fast: a quarter less time. The three multiplications are all there is of it.
    rows = [row for row in ranked["rows"] if stall["multiply"] <= row["address"] < stall["multiply"] + 12]
    assert rows == ranked["rows"][:len(rows)] and rows, ranked["rows"]
    assert all(row["effect"]["unit"] == "multiply" for row in rows)
    assert sum(row["effect"]["gain"] for row in rows) == pytest.approx(0.5, abs=0.05), rows
    assert sum(row["effect"]["of_unit"] for row in rows) == pytest.approx(1, abs=0.05), rows
    assert all(row["effect"]["gain_low"] < row["effect"]["gain"] < row["effect"]["gain_high"] for row in rows)
    (chase,) = (row for row in ranked["rows"] if row["address"] == stall["chase"])
    assert abs(chase["effect"]["gain"]) < 0.02 and chase["effect"]["of_unit"] > 0.95, chase
    head = ranked["effects"]
    assert head["point"] == "round_done" and head["uncertain"] == 0, head
    assert head["certain"] + head["elsewhere"] == pytest.approx(1) and head["certain"] > 0.8, head
    assert len(ranked["rows"]) < len(longest["rows"]), "those of pick() are left out"
    text = run(options.causalctl, "stalls", "db", "--by", "effect", "--causal", "profile.jsonl", folder=recorded).stdout
    assert "gain %" in text and "in units of which the causal profile is certain" in text, text
    assert re.search(r"imul rax, rax .* of multiply$", text, re.M), text
    assert head["notes"] == []
    causal_log(recorded, {"chase": 0, "multiply": 0.25}, "99")
    (note,) = table("--causal", "profile.jsonl")["effects"]["notes"]
    assert "another build" in note, note
    # A fifth of a unit's time is in its own code, and the rest in the kernel: so much less is gained.
    causal_log(recorded, {"chase": 0, "multiply": 0.25}, own_code=0.2)
    in_part = [row for row in table("--causal", "profile.jsonl")["rows"] if row["effect"]["unit"] == "multiply"]
    assert sum(row["effect"]["gain"] for row in in_part) == pytest.approx(0.1, abs=0.01), in_part
    # A log that does not tell.
    causal_log(recorded, {"chase": 0, "multiply": 0.25}, own_code=0)
    untold = table("--causal", "profile.jsonl")
    assert untold["rows"] == [] and untold["effects"]["certain"] == 0 and untold["effects"]["uncertain"] > 0.8, untold


REPEATED = """
#include <stdio.h>
static char from[1 << 16], to[1 << 16];
__attribute__((noinline)) void copy(void) {
  for (int i = 0; i < 200; i++) {
    void *a = from, *b = to;
    long n = sizeof to;
    __asm__ volatile(".globl stall_copy\\nstall_copy: rep movsb" : "+S"(a), "+D"(b), "+c"(n) : : "memory");
    __asm__ volatile("imul $3, %%eax, %%eax" : : : "eax");
  }
}
int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) copy();
}
"""


def test_a_stall_is_of_the_line_in_which_its_samples_stand(options, tmp_path):
    """An instruction that is repeated keeps its samples; those of others stand behind them."""
    (tmp_path / "program.c").write_text(REPEATED)
    run("gcc", "-O1", "-g", "-Wl,--build-id", "-o", "program", "program.c", folder=tmp_path)
    with subprocess.Popen([tmp_path / "program"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        run(options.causalctl, "record", "--db", "db", process.pid, "--duration", "3s", "--period", "1ms",
            folder=tmp_path)
        process.kill()
    line = next(number for number, text in enumerate(REPEATED.splitlines(), 1) if "rep movsb" in text)
    causal_log(tmp_path, {f"program.c:{line}": 0.25, f"program.c:{line + 1}": 0})
    log = (tmp_path / "profile.jsonl").read_text().replace('"kind":"function"', '"kind":"line"').replace(
        '{"scope":{"unit":"function"}}', "{}")
    for number in (line, line + 1):
        log = log.replace(f'"function":"program.c:{number}"', f'"function":"copy","line":{number}')
    (tmp_path / "profile.jsonl").write_text(log)
    done = run(options.causalctl, "stalls", "db", "--format", "json", "--causal", "profile.jsonl", folder=tmp_path)
    row = json.loads(done.stdout)["rows"][0]
    assert row["address"] == symbol(tmp_path, "stall_copy") and row["share"] > 0.8, row
    assert row["effect"]["unit"] == f"program.c:{line}" and row["effect"]["gain"] > 0.4, row


def test_nothing_was_recorded(options, program, tmp_path):
    causal_log(tmp_path, {"chase": 0.25})
    with subprocess.Popen(["sleep", "60"]) as process:
        run(options.causalctl, "record", "--db", "db", process.pid, "--duration", "0.3s", folder=tmp_path)
        process.kill()
    done = run(options.causalctl, "stalls", "db", "--causal", "profile.jsonl", folder=tmp_path, check=False)
    assert done.returncode == 2 and "has no samples of CPU time" in done.stderr, done.stderr


def test_stalls_by_effect_are_refused(options, recorded):
    causal_log(recorded, {"other": 0.25})
    for words, message in ((("--by", "effect"), "name a causal profile: --causal"),
                           (("--by", "size"), "--by size: not an order"),
                           (("--by", "cycles", "--causal", "none.jsonl"), "use --by effect"),
                           (("--group", "1"), "--group is for --causal"),
                           (("--causal", "none.jsonl"), "none.jsonl"),
                           (("--causal", "program.c"), "--causal program.c: it is no experiment log"),
                           (("--causal", "profile.jsonl"), "its units were looked for: other")):
        done = run(options.causalctl, "stalls", "db", *words, folder=recorded, check=False)
        assert done.returncode in (1, 2) and message in done.stderr and "hint: " in done.stderr, done.stderr
