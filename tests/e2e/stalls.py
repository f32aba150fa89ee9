"""Functions that wait for one known cause each (tests/targets/stalls.c), and what calc says of them."""

import json
import os
import pathlib
import subprocess

import counted_programs

# By the name in the program: the letter of the cause, and what it is.
CAUSES = {
    "cache": ("d", "loads of a ring of lines: 256 KB, 8 MB, 128 MB"),
    "pages": ("D", "loads of a line of each page: 512, 4,096, 32,768 pages"),
    "code": ("I", "code of 128 KB, 512 KB, 2 MB, line by line in disorder"),
    "branch": ("p", "a branch that is taken in 10, 25, 50 % of the cases"),
    "stores": ("w", "stores to random lines of 8, 32, 256 MB"),
    "forward": ("f", "8 bytes are loaded behind a store of 1, 2, 4 of them"),
    "divide": ("v", "div of 32 and 64 bits; sqrtsd and divsd"),
    "lock": ("y", "lock add; xchg; mfence"),
    "string": ("u", "rep stosb, rep movsb, rep movsq"),
}
NAMES = [f"{cause}_{size}" for cause in CAUSES for size in (1, 2, 3)]


def run(*words, folder):
    subprocess.run(list(map(str, words)), cwd=folder, check=True, capture_output=True, timeout=250)


def measure(causalctl, program, name, folder, seconds, *, counted):
    """Returns what calc says of a stall that was recorded for so long, with its counts if that is wanted."""
    folder, function = pathlib.Path(folder), f"stall_{name}"
    with subprocess.Popen([program, name], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        progress = ("--progress", function) if counted else ()
        run(causalctl, "record", "--db", f"db_{name}", process.pid, "--duration", f"{seconds}s", "--period", "1ms",
            *progress, folder=folder)
        process.kill()
    if counted:
        counts = folder / f"{name}.counts"
        subprocess.run([*counted_programs.CALLGRIND, f"--callgrind-out-file={counts}", program, name, "1"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, **counted_programs.ENVIRONMENT})
        run(causalctl, "db", f"db_{name}", "import", counts, folder=folder)
    done = subprocess.run([causalctl, "calc", f"db_{name}", function, "--format", "json"], cwd=folder, check=True,
                          capture_output=True, text=True, timeout=100)
    return json.loads(done.stdout)


def score(result, letter):
    """Returns shares of the stalls' time: where the cause is listed, where it comes first, and how many others are
    listed on average."""
    listed = first = others = explained = 0
    for part in result["parts"]:
        for block in part["blocks"]:
            for each in block["instructions"]:
                if culprits := each.get("culprits", ""):
                    explained += each["share"]
                    listed += each["share"] * (letter in culprits)
                    first += each["share"] * (culprits[0] == letter)
                    others += each["share"] * len(culprits.replace(letter, ""))
    return [value / max(explained, 1e-9) for value in (listed, first, others)]
