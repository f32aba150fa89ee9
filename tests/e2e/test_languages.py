"""Names in programs of other languages, by their real compilers: what `points` prints and what
people write is accepted by `--progress`, and counts."""

import json
import re
import shlex
import shutil
import subprocess

import pytest

from test_modules import PROGRAMS, answer, running

SOURCES = PROGRAMS / "languages"

# Compilers of which one is needed, with the package that has the first; arguments, "OUT" stands for
# the program; the function that ends an item, as people write it; what `points` must name.
LANGUAGES = {
    "rust": (["rustc"], "rustc", ["-O", "-g", "spin.rs", "-o", "OUT"],
             ["item_done", "spin::item_done"], "spin::items::work"),
    "rust_v0": (["rustc"], "rustc",
                ["-O", "-g", "-C", "symbol-mangling-version=v0", "spin.rs", "-o", "OUT"],
                ["item_done", "spin::item_done"], "spin::items::work"),
    "go": (["go"], "golang-go", ["build", "-o", "OUT", "spin.go"],
           ["itemDone", "main.itemDone"], "main.work"),
    "go_stripped": (["go"], "golang-go", ["build", "-ldflags=-s -w", "-o", "OUT", "spin.go"],
                    ["itemDone", "main.itemDone"], "main.(*box).spin"),
    "fortran": (["gfortran"], "gfortran", ["-O1", "-g", "spin.f90", "-fno-inline", "-o", "OUT"],
                ["item_done", "stuff::item_done", "STUFF::Item_Done"], "stuff::work"),
    "d_ldc": (["ldc2"], "ldc", ["-O1", "-g", "spin.d", "-of=OUT"],
              ["itemDone", "spin.itemDone"], "spin.work"),
    "d_gdc": (["gdc"], "gdc", ["-O1", "-g", "spin.d", "-o", "OUT"],
              ["itemDone", "spin.itemDone"], "spin.work"),
    "ocaml": (["ocamlfind", "ocamlopt"], "ocaml-nox", ["-g", "spin.ml", "-o", "OUT"],
              ["item_done", "Spin.item_done"], "Spin.work"),
}


def built(folder, language):
    compilers, package, words, written, named = LANGUAGES[language]
    compiler = next((each for each in compilers if shutil.which(each)), None)
    if compiler is None:
        pytest.skip(f"{' and '.join(compilers)}: not installed (Debian: {package})")
    for source in SOURCES.iterdir():  # some compilers write beside the source
        shutil.copy(source, folder)
    more = ["ocamlopt"] if compiler == "ocamlfind" else []
    program = folder / f"program_{language}"
    subprocess.run([compiler, *more, *(word.replace("OUT", str(program)) for word in words)],
                   cwd=folder, check=True, timeout=300, stdout=subprocess.DEVNULL)
    return program, written, named


def functions_in(text):
    """Returns the SPECs of functions that `points` has printed, as a shell reads them."""
    part = re.search(r"# functions: .*?\n(.*?)(\n# lines|\Z)", text, re.DOTALL).group(1)
    return [shlex.split(line, comments=True)[0] for line in part.splitlines()
            if line and not line.startswith("causalctl:")]


def visits_of(options, pid, specs, folder):
    words = [word for spec in specs for word in ("--progress", spec)]
    for duration in ("2s", "10s"):  # the first experiment may be late beside a load
        done = subprocess.run(
            [options.causalctl, "attach", str(pid), *words, "--count-by", "uprobe", "--duration",
             duration, "--experiment", "100ms", "--pause-cost", "10us", "--format", "json",
             "-o", folder / f"profile_{duration}.jsonl"],
            capture_output=True, text=True, timeout=100, check=False)
        assert done.stdout, (specs, done.stderr)
        points = json.loads(done.stdout)["progress"]
        if points:
            break
    return {point["name"]: point["visits"] for point in points}


@pytest.mark.parametrize("language", LANGUAGES)
def test_names(options, tmp_path, language):
    program, written, named = built(tmp_path, language)
    with running(program, cwd=tmp_path) as pid:
        text = answer(options, "points", pid)
        printed = functions_in(text)
        assert any(spec == named or spec.startswith((named + "::<", named + "_"))
                   for spec in printed), text
        visits = visits_of(options, pid, [*written, *printed[:3]], tmp_path)
        assert all(visits[spec] > 20 for spec in written), visits
        assert max(visits[spec] for spec in written) < 1.2 * min(visits[spec] for spec in written)


PYTHON_LOOP = "print('ready', flush=True)\nwhile True: sum(i * i for i in range(1000))\n"
NODE_LOOP = "console.log('ready'); function crunchNumbers() { let s = 0; for (let i = 0; i < 1e7; i++) s += i; return s }\n" \
            "while (true) crunchNumbers();\n"


def test_reports_say_whose_functions_they_show(options, tmp_path):
    log = tmp_path / "paths.jsonl"
    with running("/usr/bin/python3", "-c", PYTHON_LOOP, cwd=tmp_path) as pid:
        for words in (("callpath", pid, "--duration", "1s", "-o", log), ("stacks", pid)):
            text = answer(options, *words)
            assert re.search(r"python3\.\d+ runs Python 3\.\d+: functions here are its own", text), text


@pytest.mark.parametrize("named", [False, True])
def test_functions_with_names_need_no_remark(options, tmp_path, named):
    if shutil.which("node") is None:
        pytest.skip("node: not installed (Debian: nodejs)")
    log = tmp_path / "paths.jsonl"
    more = ["--perf-basic-prof"] if named else []
    with running(shutil.which("node"), *more, "-e", NODE_LOOP, cwd=tmp_path) as pid:
        text = answer(options, "callpath", pid, "--duration", "2s", "-o", log)
        assert ("runs JavaScript: functions here are its own" in text) != named, text
        assert ("crunchNumbers" in text) == named, text
