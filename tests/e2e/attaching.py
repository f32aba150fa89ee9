"""How cases call `causalctl attach`. The sampling period and the cost of a pause are given, so that
no time goes into measuring them. Accuracy is tested elsewhere (tests/truth)."""

from case import Case, line_of
from during import until_enough


def figure1(name="figure1", directory="{targets}"):
    """Returns the command of figure1, with rounds so short that there are many in a second."""
    return (f"{directory}/{name}", "--round-ms", "15")


FIGURE1 = figure1()
A_LINE = f"figure1.c:{line_of('figure1.c', 'x < iterations')}"
NO_PACE_TEST = ("--closed-loop",)
SHORT = ("--experiment", "200ms", "--period", "4ms", "--pause-cost", "150us", *NO_PACE_TEST)

# Until something else ends it, which on an overloaded machine may take as long as during.PATIENCE.
ENDLESS = "300s"


def attach(*options, point="round_done"):
    return ("attach", "{pid}", "--progress", point, *options)


def attach_short(*options, duration=ENDLESS, point="round_done"):
    return attach("--duration", duration, *SHORT, *options, point=point)


def attach_json(*options, duration=ENDLESS, point="round_done"):
    return attach_short("--format", "json", *options, duration=duration, point=point)


def profiled(name, arguments, target=FIGURE1, **more):
    """A profile that Ctrl-C ends once its log has all that its checks need, whatever time that
    takes."""
    return Case(name, arguments, target, during=until_enough, **more)


# If threads queue for cores, as all do on a busy machine, hardly any pauses are needed.
FULL_RATE = ("--set", 'pause.threshold="1ms"')


def halved(line):
    """Returns options with which every second experiment must pause the other threads."""
    return ("--fixed", line, "--speedup", "50", *FULL_RATE)


def write(name, text):
    def before(world):
        (world.directory / name).write_text(text)
    return before
