"""Programs of Debian that do the same each time, and callgrind's counts of them."""

import os
import pathlib
import random
import subprocess

CALLGRIND = ("valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes", "--skip-plt=no")
# Valgrind's processor does not have these, so that libraries would choose other functions under it.
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-ERMS,-FSRM"}
LUA = """local t = {{}} for i = 1, {0} * 5000 do t[i] = tostring((i * 7919) % 10007) end table.sort(t)
local s = 0 for i = 1, {0} * 50000 do s = s + (i % 7) * #t[(i % 5000) + 1] end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
for i = 1, {0} do s = s + fib(18) end
print(s, #(("hello world "):rep({0} * 2000)):gsub("o", "0"))"""
PYTHON = """import json, re
words = {{str(i * 7919 % 10007): [i, i / 3] for i in range({0} * 4000)}}
print(len(json.dumps(words)), sum(map(len, re.findall("[1-3]+", json.dumps(words)))))
print(sum(i % 7 * (i & 3) for i in range({0} * 20000)))"""
SQL = """create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < {0} * 8000)
insert into t select x * 7919 % 10007, 'v' || x from c; create index i on t(a);
select count(*), sum(a) from t where a % 3 = 1; select b from t order by a desc limit 3;
select substr(b, 1, 3), count(*) from t group by 1 order by 2 desc limit 3;"""
PERL = """my %n; for my $i (1 .. {0} * 20000) {{ $n{{$i % 97}} .= chr(65 + $i % 26) if "x$i" =~ /[1-5]3/ }}
my @a = sort {{ $a <=> $b }} map {{ $_ * 7919 % 10007 }} 1 .. {0} * 5000; print scalar(%n), $a[5];"""
MAWK = """{ n[$1 % 97] += length($0); for (i = 1; i <= NF; i++) w[$i]++ } END { for (k in n) print k, n[k] }"""


def programs(size=1):
    """Returns their commands by name, for the folder of write_text(). Some 5 to 400 million instructions times `size`."""
    return {
        "xz": ("xz", "-k", "-c", "-6", "text"),
        "gzip": ("gzip", "-k", "-c", "-9", "text"),
        "bzip2": ("bzip2", "-k", "-c", "text"),
        "zstd": ("zstd", "-q", "-c", "-16", "--single-thread", "text"),
        "mawk": ("mawk", MAWK, "text"),
        "sort": ("sort", "text"),
        "lua5.4": ("lua5.4", "-e", LUA.format(size)),
        "python3": ("/usr/bin/python3", "-S", "-c", PYTHON.format(size)),
        "perl": ("perl", "-e", PERL.format(size)),
        "sqlite3": ("sqlite3", ":memory:", SQL.format(size)),
    }


def write_text(folder, size=1):
    chance = random.Random(3)
    words = ["".join(chance.choice("abcdefghijklmnop") for _ in range(chance.randint(2, 9))) for _ in range(3000)]
    lines = (" ".join([str(chance.randint(1, 10**6))] + chance.choices(words, k=9)) for _ in range(4000 * size))
    (folder / "text").write_text("\n".join(lines) + "\n")


def count(name, command, folder):
    """Returns the file of callgrind's counts of a run."""
    counts = pathlib.Path(folder) / f"{name}.callgrind"
    subprocess.run([*CALLGRIND, f"--callgrind-out-file={counts}", *command], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT})
    return counts
