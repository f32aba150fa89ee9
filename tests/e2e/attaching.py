"""How cases call `causalctl attach`. The period is given, so no time goes into its calibration:
accuracy is judged elsewhere."""

from case import line_of


def figure1(name="figure1", directory="{targets}"):
    """With rounds so short that seconds see many."""
    return (f"{directory}/{name}", "--round-ms", "15")


FIGURE1 = figure1()
A_LINE = f"figure1.c:{line_of('figure1.c', 'x < iterations')}"
SHORT = ("--experiment", "200ms", "--period", "4ms")


def attach(*options, point="round_done"):
    return ("attach", "{pid}", "--progress", point, *options)


def attach_json(*options, duration="3s", point="round_done"):
    return attach("--duration", duration, *SHORT, "--format", "json", *options, point=point)


def halved(line):
    """Every second experiment must pause the other threads."""
    return ("--fixed", line, "--speedup", "50")


def write(name, text):
    def before(world):
        (world.directory / name).write_text(text)
    return before
