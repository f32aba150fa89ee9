"""What counts a point is chosen by what that costs the target, not only its visits."""

import json
import subprocess

from counting_target import read_counter
from fixture import Target, cpu_seconds, wait_until

# Of the speed of before, per CPU second. A breakpoint in the hot loop's cache line leaves 0.2 to 0.45
# on processors that mind.
KEPT = 0.6


def test_a_breakpoint_does_not_slow_the_loop_beside_it(options, tmp_path):
    counter, log = tmp_path / "counter", tmp_path / "log"
    target = Target([options.targets / "hot_line", "--counter", counter])

    def passes_per_cpu_second(seconds):
        passes, cpu = read_counter(counter), cpu_seconds(target.pid)
        assert wait_until(lambda: cpu_seconds(target.pid) - cpu >= seconds, 60)
        return (read_counter(counter) - passes) / (cpu_seconds(target.pid) - cpu)

    try:
        before = passes_per_cpu_second(0.3)
        with subprocess.Popen([options.causalctl, "attach", str(target.pid), "--progress", "pass",
                               "--output", log, "--format", "json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as profiler:
            try:
                assert wait_until(
                    lambda: log.exists() and '"type":"experiment"' in log.read_text(), 60)
                during = passes_per_cpu_second(0.3)
            finally:
                profiler.terminate()
                out, errors = profiler.communicate(timeout=30)
        assert profiler.returncode in (0, 1), errors
        [point] = json.loads(out)["progress"]
        assert during > KEPT * before, (during, before, point["counted_by"], errors)
        if point["counted_by"].startswith("uprobe"):
            assert "64 bytes" in point["counted_by"], point["counted_by"]
            assert "counted by uprobes from now on" in errors, errors
    finally:
        target.end()


def test_a_run_ends_whose_counting_alone_costs_too_much(options, tmp_path):
    """No option but --max-slowdown ends it."""
    target = Target([options.targets / "hot_line", "--pass-us", "20"])
    try:
        done = subprocess.run([options.causalctl, "attach", str(target.pid), "--progress", "pass",
                               "--max-slowdown", "1", "--output", tmp_path / "log", "--format", "json"],
                              capture_output=True, text=True, timeout=120, check=False)
        report = json.loads(done.stdout)
        assert report["experiments"] == 0, report
        assert any("slower while nothing was paused" in warning for warning in report["warnings"]), report
    finally:
        target.end()
