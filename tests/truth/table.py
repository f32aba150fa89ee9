"""The tables of the truth suite, and the judgement by the bounds of issue 3. Pure.

An interval *covers* the truth if both can be right: if they are no farther apart than their half
widths on the sides that face each other, added as independent errors are (the root of the sum of
squares). That is stricter than asking whether two intervals overlap, and does not blame a
prediction for the noise of the truth. Whether the mean of the truth is covered is printed, too."""

import dataclasses
import math
import statistics

MEAN_ERROR_AT_MOST = 2.0  # points, over the suite
PROGRAM_ERROR_AT_MOST = 5.0  # points, mean over the rows of the worst program
COVERAGE_AT_LEAST = 0.9
# A truth that is known less exactly than this proves nothing.
TRUTH_HALF_WIDTH_AT_MOST = 2.0
# By construction no unit with `zero` gains more; a larger truth is a fault of the target.
ZERO_AT_MOST = 1.0


@dataclasses.dataclass
class Row:
    """One line of the tables: the task, the truth, and what was predicted."""

    task: object
    truth: object
    ours: object
    coz: object = None
    arm: str = ""  # the name of one of several that predict the same; see scripts/truth


def by_arm(rows):
    """Returns {arm: rows}, in the order of the arms."""
    result = {}
    for row in rows:
        result.setdefault(row.arm, []).append(row)
    return result


def error_points(row, prediction):
    """Returns the signed error in points, or None without a prediction."""
    if prediction is None or prediction.effect is None:
        return None
    return 100 * (prediction.effect - row.truth.effect)


def covers(row):
    """Returns None if there is no prediction."""
    truth, ours = row.truth, row.ours
    if ours.effect is None:
        return None
    if ours.effect > truth.effect:
        halves = (ours.effect - ours.low, truth.high - truth.effect)
    else:
        halves = (ours.high - ours.effect, truth.effect - truth.low)
    return abs(ours.effect - truth.effect) <= math.hypot(*halves)


def covers_mean(row):
    return row.ours.effect is not None and row.ours.low <= row.truth.effect <= row.ours.high


def called_zero(row):
    """Returns None if the unit is not one whose true effect is 0."""
    return row.ours.verdict == "no-effect" if row.task.unit.zero else None


def percent(estimate):
    """Returns `4.5 ± 0.3`, or both ends if the interval is lopsided."""
    if estimate.low is None:
        return f"{100 * estimate.effect:.1f}"
    below, above = (100 * width for width in (estimate.effect - estimate.low,
                                              estimate.high - estimate.effect))
    if abs(below - above) < 0.1:
        return f"{100 * estimate.effect:.1f} ± {(below + above) / 2:.1f}"
    return f"{100 * estimate.effect:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def prediction_cells(row, prediction):
    error = error_points(row, prediction)
    if error is None:
        return [f"none: {prediction.problem}".replace("|", "/"), ""]
    return [percent(prediction), f"{error:+.1f}"]


def ours_line(row):
    answer = {True: "yes", False: "**no**", None: ""}
    program = row.task.program.name + (f" ({row.arm})" if row.arm else "")
    cells = [program, row.task.unit.name, f"{row.task.speedup} %",
             percent(row.truth), *prediction_cells(row, row.ours), answer[covers(row)],
             answer[called_zero(row)]]
    return f"| {' | '.join(cells)} |"


OURS_HEAD = ("| program | unit | faster by | truth, % | prediction, % | error | covers | "
             "zero called so |\n|---|---|---|---|---|---|---|---|")


def coz_table(rows):
    lines = ["| program | unit | faster by | truth, % | Coz, % | error | causalctl, % | error |",
             "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row.task.program.name, row.task.unit.name, f"{row.task.speedup} %",
                 percent(row.truth), *prediction_cells(row, row.coz),
                 *prediction_cells(row, row.ours)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def errors(rows, of):
    found = [error_points(row, of(row)) for row in rows]
    return [abs(error) for error in found if error is not None]


def by_program(rows, of):
    """Returns (mean absolute error, name) of each program with a prediction, the worst first."""
    names = {row.task.program.name for row in rows}
    means = [(statistics.fmean(found), name) for name in names
             if (found := errors([r for r in rows if r.task.program.name == name], of))]
    return sorted(means, reverse=True)


def summary(rows):
    """Returns {name: value}: the numbers that have bounds; ours, and Coz's if it was run."""
    result = {}
    for who, of in (("ours", lambda row: row.ours), ("coz", lambda row: row.coz)):
        found = errors(rows, of)
        if found:
            worst, name = by_program(rows, of)[0]
            result[who] = {"predictions": len(found), "mean_error": statistics.fmean(found),
                           "max_error": max(found), "worst_program": name,
                           "worst_program_error": worst}
    zeros = [row for row in rows if row.task.unit.zero]
    result["rows"] = len(rows)
    result["covered"] = sum(covers(row) is True for row in rows)
    result["covered_mean"] = sum(covers_mean(row) for row in rows)
    result["zeros"] = len(zeros)
    result["zeros_called"] = sum(called_zero(row) for row in zeros)
    return result


def summary_text(rows):
    numbers = summary(rows)
    lines = []
    for who, name in (("ours", "causalctl"), ("coz", "Coz")):
        if who in numbers:
            of = numbers[who]
            lines.append(
                f"{name}: mean absolute error {of['mean_error']:.1f} points, largest "
                f"{of['max_error']:.1f}, worst program {of['worst_program']} with "
                f"{of['worst_program_error']:.1f} on average, {of['predictions']} predictions.")
    lines.append(f"Intervals: {numbers['covered']} of {numbers['rows']} cover the truth "
                 f"({numbers['covered_mean']} cover its mean as if it were exact).")
    lines.append(f"Units whose true effect is 0: {numbers['zeros_called']} of {numbers['zeros']} "
                 "called so.")
    return "\n".join(lines)


def misses(rows):
    """Returns a sentence for each bound that is missed; empty if all are kept."""
    if not rows:
        return ["nothing was measured"]
    numbers = summary(rows)
    found = [f"no prediction for {row.task.name()} at {row.task.speedup} %: {row.ours.problem}"
             for row in rows if row.ours.effect is None]
    if "ours" in numbers:
        ours = numbers["ours"]
        if ours["mean_error"] > MEAN_ERROR_AT_MOST:
            found.append(f"mean absolute error {ours['mean_error']:.1f} points, at most "
                         f"{MEAN_ERROR_AT_MOST:g} wanted")
        found += [f"{name}: mean absolute error {error:.1f} points, at most "
                  f"{PROGRAM_ERROR_AT_MOST:g} wanted"
                  for error, name in by_program(rows, lambda row: row.ours)
                  if error > PROGRAM_ERROR_AT_MOST]
    if numbers["covered"] < COVERAGE_AT_LEAST * numbers["rows"]:
        found.append(f"{numbers['covered']} of {numbers['rows']} intervals cover the truth, "
                     f"{COVERAGE_AT_LEAST:.0%} wanted")
    found += [f"{row.task.name()} at {row.task.speedup} %: the true effect is 0, the verdict "
              f"is {row.ours.verdict or 'missing'}" for row in rows if called_zero(row) is False]
    return found + doubts(rows)


def doubts(rows):
    """Returns the rows in which the truth itself is in doubt."""
    found = []
    for row in rows:
        where = f"{row.task.name()} at {row.task.speedup} %"
        half = 100 * (row.truth.high - row.truth.low) / 2
        if half > TRUTH_HALF_WIDTH_AT_MOST:
            found.append(f"{where}: the truth is known to ± {half:.1f} points only; use more "
                         "--pairs, or a quieter machine")
        elif row.task.unit.zero and 100 * abs(row.truth.effect) > ZERO_AT_MOST + half:
            found.append(f"{where}: the target is wrong, its true effect is "
                         f"{100 * row.truth.effect:.1f} % instead of 0")
    return found
