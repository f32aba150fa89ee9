"""Makes logs of input sizes (docs/inputs-format.md) of programs whose growth is known."""

import json

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "store::" + "deeply::nested::" * 8 + "insert_row(std::vector<std::string> const&)"


def row(size, cost, calls=1, external=0):
    """A row whose calls all cost the same, and call nothing. Instructions are four times the blocks."""
    numbers = [size, calls]
    for each in (cost, cost, 4 * cost, 4 * cost):
        numbers += [each, each, calls * each, float(calls * each * each)]
    return numbers + [calls * cost, 4 * calls * cost, external, 0]


def sizes(first=10, last=2000):
    size = first
    while size <= last:
        yield size
        size += max(1, size // 5)


# By routine: its cost, and its rms, by its trms.
ROUTINES = {
    "sort_rows": (lambda size: size * size // 4 + 20, lambda size: size),
    HOSTILE: (lambda size: 9 * size, lambda size: size),
    LONG: (lambda size: 30, lambda size: size),
    "select": (lambda size: 3 * size, lambda size: int(size ** 0.5)),
}


def lines(run="5f0c81d2", routines=None):
    routines = ROUTINES if routines is None else routines
    yield {"type": "run", "kind": "inputs", "version": 1, "run": run, "host": "h", "command": ["./program", "1"],
           "started_ns": 1764190000000000000, "cell_bytes": 4, "aprof_compatible": False}
    yield {"type": "modules", "run": run, "first": 0, "modules": [{"path": "/bin/program", "build_id": "9a"}]}
    yield {"type": "routines", "run": run, "first": 0,
           "routines": [{"module": 0, "offset": 16 * number, "function": name, "file": "/src/a.c", "line": 7}
                        for number, name in enumerate(routines)]}
    yield {"type": "threads", "run": run, "first": 0, "threads": [{"number": 1, "name": "program"}]}
    total = 0
    for number, (cost, rms) in enumerate(routines.values()):
        of = {"run": run, "routine": number, "thread": 0}
        by_rms = {}
        for size in sizes():
            total += cost(size)
            by_rms[rms(size)] = cost(size)  # the last one, as no size of rms needs another cost
        trms = [row(size, cost(size), external=size - rms(size)) for size in sizes()]
        yield {"type": "points", **of, "metric": "trms", "rows": trms}
        yield {"type": "points", **of, "metric": "rms", "rows": [row(*each) for each in sorted(by_rms.items())]}
    yield {"type": "end", "run": run, "reason": "exited", "status": 0, "total_blocks": total,
           "total_instructions": 4 * total, "events_lost": 0}


def write(path, **more):
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines(**more)))
    return path
