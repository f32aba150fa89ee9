#!/usr/bin/env python3
"""Adds up what the suites of scripts/test have left in a folder.

Usage: tests/tally.py FOLDER

Each suite has FOLDER/N.name, .status and .log, and .xml if it writes a JUnit report. One without a
report counts by the last line of its log, `N passed, N failed`. A suite that failed without a
failed case, because it died, is one failure. Prints why each case failed, or was skipped, and last
`N passed, N failed`; ends with 1 if anything failed."""

import pathlib
import re
import sys
import xml.etree.ElementTree

LONGEST = 40  # most lines of one failure, or of a suite without a report
SUMMARY = 15  # lines at the end of the log of a suite with a report


def said_by_catch(name, console):
    """Returns what Catch2's console reporter printed about a test case that failed. Its parts are
    between rules; a name, which may be wrapped, comes before the messages."""
    parts = re.split(r"^-{79}\n", console, flags=re.MULTILINE)
    return "\n".join(said for title, said in zip(parts, parts[1:])
                     if " ".join(title.split()).startswith(name) and "FAILED:" in said)


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.told = []  # (name, text) of cases that failed
        self.skipped = []  # (name, reason)

    def fail(self, name, text):
        self.failed += 1
        self.told.append((name, text))

    def add_report(self, file):
        for suite in xml.etree.ElementTree.parse(file).iter("testsuite"):
            for case in suite.findall("testcase"):
                name = re.sub(r"^\d+ ", "", case.get("name"))  # drops its number in TAP
                skipped = case.find("skipped")
                bad = [*case.findall("failure"), *case.findall("error")]
                if bad:
                    said = "\n".join(each.text or each.get("message", "") for each in bad)
                    console = suite.findtext("system-err", "")
                    self.fail(name, said or said_by_catch(name, console))
                elif skipped is not None:
                    # pytest says why in an attribute, meson in an element.
                    reason = skipped.get("message") or case.findtext("system-out", "")
                    self.skipped.append((name, reason))
                else:
                    self.passed += 1

    def add_last_line(self, log):
        found = re.search(r"(?:^|\n)(\d+) passed, (\d+) failed\n*$", log)
        if found:
            self.passed += int(found[1])
            self.failed += int(found[2])

    def add_suite(self, name_file):
        name = name_file.read_text().strip()
        report, log, status = (name_file.with_suffix(each) for each in (".xml", ".log", ".status"))
        said = log.read_text(errors="replace") if log.exists() else ""
        before = self.failed
        if report.exists():
            self.add_report(report)
        else:
            self.add_last_line(said)
        ended_with = status.read_text().strip() if status.exists() else "none: it was interrupted"
        if ended_with != "0":
            if self.failed == before:
                self.fail(name, f"it ended with status {ended_with}")
            print(f"== failed: {name} (status {ended_with})")
            print(*said.splitlines()[-(SUMMARY if report.exists() else LONGEST):], sep="\n")


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 2
    tally = Tally()
    for name_file in sorted(pathlib.Path(sys.argv[1]).glob("*.name")):
        tally.add_suite(name_file)
    for name, text in tally.told:
        print(f"FAILED {name}", *(f"  {line}" for line in text.splitlines()[:LONGEST]), sep="\n")
    for name, reason in tally.skipped:
        print(f"SKIPPED {name}: {reason}")
    if tally.skipped:
        print(f"{len(tally.skipped)} skipped, each with its reason in a line SKIPPED")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
