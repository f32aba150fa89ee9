"""`causalctl db DIR import` and `gc`: exact counts that callgrind has written of a program whose loops are known."""

import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess

import pytest

from fixture import wait_until

# `loop` is executed 1 + 3 * 40 + 1 instructions each time: sub, add and jnz 40 times.
PROGRAM = """
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void work(void) {
  __asm__ volatile("mov $40, %%ecx\\n .globl loop_begin\\n loop_begin: add $1, %%eax\\n sub $1, %%ecx\\n"
                   " .globl loop_jump\\n loop_jump: jnz loop_begin\\n .globl loop_end\\n loop_end: nop"
                   : : : "eax", "ecx");
}
int main(int argc, char** argv) {
  char target[500], source[500] = "";
  for (int i = atoi(argv[argc - 1]); i > 0; i--) work();
  void *to = target, *from = source;
  unsigned long size = sizeof source;
  __asm__ volatile(".globl repeated\\n repeated: rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return 0;
}
"""


def run(*words, folder, check=True):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=250, check=False, cwd=folder)
    assert not check or done.returncode == 0, done.stderr
    return done


def causalctl(options, folder, *words, check=True):
    return run(options.causalctl, "db", "db", *words, folder=folder, check=check)


def count(folder, rounds, *more):
    """Lets callgrind count the program, and returns the name of its file."""
    file = f"callgrind.{rounds}{''.join(more)}"
    run("valgrind", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes", "--skip-plt=no",
        f"--callgrind-out-file={file}", *more, "./program", rounds, folder=folder)
    return file


def database(folder):
    return next((folder / "db").glob("*.db"))


def unpacked(blob, magic):
    """Returns the numbers of a blob (docs/database-format.md)."""
    begin, _, size, is_packed = struct.unpack_from("<4sIII", blob)
    assert begin == magic
    rest = blob[16:]
    if is_packed:
        plain = ctypes.create_string_buffer(size)
        assert ctypes.CDLL("libzstd.so.1").ZSTD_decompress(plain, ctypes.c_size_t(size), rest,
                                                           ctypes.c_size_t(len(rest))) == size
        rest = plain.raw
    numbers, number, shift = [], 0, 0
    for byte in rest:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number, shift = 0, 0
    return numbers


def exact(folder, path):
    """Returns the executions by address, and the jumps by (from, to), that were imported of a file."""
    with contextlib.closing(sqlite3.connect(f"file:{database(folder)}?mode=ro", uri=True)) as connection:
        executions, jumps = connection.execute("SELECT executions, jumps FROM exact JOIN image ON image.id = image"
                                               " WHERE path = ?", [str(path)]).fetchone()
    numbers, address, counts = unpacked(executions, b"CCX1"), 0, {}
    for distance, number in zip(numbers[::2], numbers[1::2], strict=True):
        address += distance
        counts[address] = number
    numbers, address, taken = unpacked(jumps, b"CCJ1"), 0, {}
    for distance, length, number in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        address += distance
        taken[address, address + (length >> 1 ^ -(length & 1))] = number
    return counts, taken


def symbols(program):
    lines = run("nm", program, folder=program.parent).stdout.splitlines()
    return {words[2]: int(words[0], 16) for words in map(str.split, lines) if len(words) == 3}


def stub_of_atoi(program):
    """Returns where main() calls atoi(), or strtol(): in .plt."""
    code = run("objdump", "--disassemble=main", "--no-show-raw-insn", program, folder=program.parent).stdout
    return int(re.search(r"call +([0-9a-f]+) <(?:atoi|strtol|__isoc23_strtol)@plt>", code)[1], 16)


@pytest.fixture(params=["-pie", "-no-pie"])
def program(request, tmp_path):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not there")
    (tmp_path / "program.c").write_text(PROGRAM)
    run("gcc", "-O1", "-g", "-fPIE" if request.param == "-pie" else "-fno-pie", request.param, "-Wl,--build-id",
        "-o", "program", "program.c", folder=tmp_path)
    return tmp_path / "program"


def check_counts(folder, program, rounds, runs=1):
    counts, taken = exact(folder, program)
    places = symbols(program)
    begin, jump, end, repeated = (places[name] for name in ("loop_begin", "loop_jump", "loop_end", "repeated"))
    assert [counts[place] for place in (begin, jump, end)] == [40 * rounds, 40 * rounds, rounds]
    assert taken[jump, begin] == 39 * rounds
    # With `rep` each iteration counts, and the test that ends them.
    assert (counts[repeated], taken[repeated, repeated]) == (501 * runs, 500 * runs)
    # Code of .init and .plt, which callgrind does not take for the program's.
    assert counts[places["_init"]] == runs and stub_of_atoi(program) in counts, counts


def test_counts_are_those_of_the_loop(options, program, tmp_path):
    done = causalctl(options, tmp_path, "import", count(tmp_path, 1000))
    assert "imported exact counts of" in done.stderr and "without a file" not in done.stderr, done.stderr
    check_counts(tmp_path, program, 1000)
    listed = causalctl(options, tmp_path, "list").stdout
    assert f"{program}: ./program 1000\n" in listed, listed
    assert "  exact counts of " in causalctl(options, tmp_path, "status").stdout
    # Another import of the build replaces it; files of one import are summed, in whatever form.
    files = [count(tmp_path, 70), count(tmp_path, 5, "--compress-strings=no", "--compress-pos=no")]
    causalctl(options, tmp_path, "import", *files)
    check_counts(tmp_path, program, 75, runs=2)
    causalctl(options, tmp_path, "check")


def test_counts_of_a_file_that_is_gone_or_another_are_left_out(options, program, tmp_path):
    file = count(tmp_path, 10)
    later_ns = (tmp_path / file).stat().st_mtime_ns + 1  # now may be in the same tick of the kernel's clock
    os.utime(program, ns=(later_ns, later_ns))
    done = causalctl(options, tmp_path, "import", file)
    assert f"{program} was changed after {file} was written" in done.stderr, done.stderr
    program.unlink()
    done = causalctl(options, tmp_path, "import", file)
    assert f"{program}: its counts are left out, because it cannot be opened" in done.stderr, done.stderr
    text = (tmp_path / file).read_text()
    (tmp_path / file).write_text(text[:len(text) // 2])
    done = causalctl(options, tmp_path, "import", file, check=False)
    assert done.returncode == 1 and f"causalctl: {file}:" in done.stderr, done.stderr
    assert "hint: write one by: valgrind --tool=callgrind" in done.stderr, done.stderr
    assert max(exact(tmp_path, program)[0].values()) >= 400  # those of the first import


def test_garbage_is_what_no_epoch_has(options, program, tmp_path):
    causalctl(options, tmp_path, "import", count(tmp_path, 10))
    file = database(tmp_path)
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO epoch VALUES (1, '', 0, 0, 0)")
        connection.execute("INSERT INTO fresh SELECT 1, 1, id, 'cpu', '', 0, x'' FROM image WHERE path = ?",
                           [str(program)])
    size = file.stat().st_size
    told = causalctl(options, tmp_path, "gc").stdout
    assert told.strip() == f"{file.relative_to(tmp_path)}: {size - file.stat().st_size} bytes freed", told
    assert file.stat().st_size < size
    listed = causalctl(options, tmp_path, "list").stdout
    assert str(program) in listed and "libc.so" not in listed, listed


def test_an_import_beside_a_recorder(options, program, tmp_path):
    file = count(tmp_path, 10)
    with subprocess.Popen([options.causalctl, "record", "--db", "db", "--", "sleep", "60"], cwd=tmp_path,
                          stderr=subprocess.PIPE, text=True) as recorder:
        try:
            assert wait_until(lambda: recorder.poll() is not None or
                              "is being recorded" in causalctl(options, tmp_path, check=False).stdout, 20)
            assert recorder.poll() is None, recorder.stderr.read()
            causalctl(options, tmp_path, "import", file)
            check_counts(tmp_path, program, 10)
            done = causalctl(options, tmp_path, "gc", check=False)
            assert done.returncode == 1 and "is being recorded, and gc needs it alone" in done.stderr, done.stderr
        finally:
            recorder.terminate()
            recorder.communicate(timeout=30)
    check_counts(tmp_path, program, 10)


def test_without_a_file_it_says_how_to_write_one(options, tmp_path):
    done = causalctl(options, tmp_path, "import", check=False)
    assert done.returncode == 2 and "--dump-instr=yes --collect-jumps=yes --skip-plt=no" in done.stderr, done.stderr
    assert not pathlib.Path(tmp_path / "db").exists()
