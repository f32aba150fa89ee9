"""Runs a program in pid and mount namespaces of its own, from a file that only its own mount
namespace has, and says its process id as it is outside: the target says the one inside, which is 1.

Usage: in_namespaces.py PROGRAM [ARGUMENT]..."""

import os
import pathlib
import re
import signal
import subprocess
import sys

INSIDE = 'mount -t tmpfs none /mnt && cp "$0" /mnt/program && exec /mnt/program "$@"'


def main():
    child = subprocess.Popen(["unshare", "--pid", "--fork", "--mount", "--kill-child", "sh", "-c",
                              INSIDE, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
    inner = None

    def end(number, _):
        os.kill(inner or child.pid, number)

    signal.signal(signal.SIGTERM, end)
    for line in child.stdout:
        if re.match("ready ", line):
            inner = int(pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text())
            line = f"ready {inner}\n"
        print(line, end="", flush=True)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
