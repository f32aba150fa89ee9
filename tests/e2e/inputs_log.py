"""Reads logs of input sizes (docs/inputs-format.md)."""

import collections
import json

Row = collections.namedtuple("Row", "size calls blocks external thread")
SIZE, CALLS, SUM_OF_BLOCKS, EXTERNAL, THREAD = 0, 1, 4, 20, 21


class Log:
    """What a log of one run has, its lines added up."""

    def __init__(self, path):
        self.head, self.end, self.types = None, None, []
        self.modules, self.routines, self.threads = [], [], []
        self._rows = {}  # numbers of routine and thread, and metric → size → the numbers of a row
        self._lines = collections.Counter()  # by the same keys
        for text in path.read_text().splitlines():
            self._take(json.loads(text))

    def _take(self, line):
        self.types.append(line["type"])
        if line["type"] == "run":
            self.head = line
        elif line["type"] == "points":
            key = (line["routine"], line["thread"], line["metric"])
            self._lines[key] += 1
            of = self._rows.setdefault(key, {})
            for row in line["rows"]:
                before = of.get(row[SIZE], [0] * len(row))
                of[row[SIZE]] = [row[SIZE]] + [a + b for a, b in zip(before[1:], row[1:])]
        elif line["type"] == "end":
            self.end = line
        else:
            items = getattr(self, line["type"])
            assert line["first"] == len(items)
            items += line[line["type"]]

    def rows(self, function, metric):
        """Returns the rows of a function of the main program, of all threads, by ascending size."""
        found = []
        for (routine, _, of), rows in self._rows.items():
            if of == metric and self.routines[routine].get("function") == function:
                found += [Row(row[SIZE], row[CALLS], row[SUM_OF_BLOCKS], row[EXTERNAL], row[THREAD])
                          for row in rows.values()]
        return sorted(found)

    def lines(self, function, metric):
        """Returns how many lines have rows of the function."""
        return sum(count for (routine, _, of), count in self._lines.items()
                   if of == metric and self.routines[routine].get("function") == function)

    def sizes(self, function, metric):
        """Returns how many activations had which size."""
        counted = collections.Counter()
        for row in self.rows(function, metric):
            counted[row.size] += row.calls
        return dict(counted)
