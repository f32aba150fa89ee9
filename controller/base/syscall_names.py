#!/usr/bin/env python3
"""Prints the numbers and names of this machine's system calls as rows of a C++ table. The arguments
are the compiler's command; it knows them as the macros __NR_NAME."""

import re
import subprocess
import sys

macros = subprocess.run([*sys.argv[1:], "-dM", "-E", "-x", "c", "-include", "asm/unistd_64.h",
                         "/dev/null"], check=True, capture_output=True, text=True).stdout
calls = {int(number): name
         for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", macros, re.MULTILINE)}
for number, name in sorted(calls.items()):
    print(f'{{{number}, "{name}"}},')
