"""`causalctl record`, `prof` and `db`: what a continuous profile has of programs whose time is known, that
nothing is put into them, and that a database outlives what happens to its recorder."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import schemas
from fixture import Target, wait_until


def run(options, *words, folder, check=True):
    done = subprocess.run([options.causalctl, *map(str, words)], capture_output=True, text=True, timeout=100,
                          check=False, cwd=folder)
    assert not check or done.returncode == 0, done.stderr
    return done


def profile(options, folder, *words):
    done = run(options, "prof", "db", "--format", "json", *words, folder=folder)
    table = json.loads(done.stdout)
    schemas.check(table, "prof-schema.json")
    return table


def share(table, name):
    return sum(row["share"] for row in table["rows"] if row["name"] == name)


@contextlib.contextmanager
def recorder(options, folder, *words):
    """Yields a recorder that has begun to record."""
    with subprocess.Popen([options.causalctl, "record", "--db", "db", *map(str, words)], cwd=folder,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            assert wait_until(lambda: process.poll() is not None or epochs(folder), 20)
            assert process.poll() is None, process.stderr.read()
            yield process
        finally:
            process.kill()


def database(folder):
    return next((folder / "db").glob("*.db"), None)


def epochs(folder):
    """Returns the numbers and the samples of the epochs."""
    if not (file := database(folder)):
        return []
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as connection:
        try:
            return connection.execute("SELECT id, (SELECT coalesce(sum(samples), 0) FROM fresh WHERE epoch = epoch.id)"
                                      " + (SELECT coalesce(sum(samples), 0) FROM profile WHERE epoch = epoch.id)"
                                      " FROM epoch").fetchall()
        except sqlite3.OperationalError:
            return []  # it has no tables yet


def recorded(folder):
    """Returns when the last epoch began, and when it was written for the last time."""
    with contextlib.closing(sqlite3.connect(f"file:{database(folder)}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT begin_ns, end_ns FROM epoch ORDER BY id DESC").fetchone()


def cpu_ns(target):
    """Returns the CPU time of all threads."""
    fields = pathlib.Path(f"/proc/{target.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def paths_recorder(target):
    """Returns whether a causalctl records the call paths of the target."""
    for command in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = command.read_bytes().split(b"\0")
            if b"callpath" in words and str(target.pid).encode() in words:
                return True
    return False


def end(process):
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    return errors


@pytest.fixture
def target(options):
    target = Target((options.targets / "chain", "--first-ms", "1", "--second-ms", "3"))
    yield target
    target.end()


def test_a_process_is_recorded_as_it_works(options, tmp_path, target):
    before = pathlib.Path(f"/proc/{target.pid}/status").read_text()
    begun_ns = cpu_ns(target)
    done = run(options, "record", "--db", "db", target.pid, "--duration", "4s", "--period", "1ms", folder=tmp_path)
    used_ns = cpu_ns(target) - begun_ns
    assert "samples in" in done.stderr and "causalctl prof db" in done.stderr, done.stderr
    table = profile(options, tmp_path)
    # The set-up, before it records, takes some of the time.
    assert 0.6 * used_ns < table["time_ns"] < 1.05 * used_ns, (used_ns, table)
    assert table["samples"] > 300 and not table["warnings"], table
    # Of each 4 ms, 1 ms in the one and 3 ms in the other.
    first, second = (share(table, name) for name in ("first_work", "second_work"))
    assert 0.2 < first / (first + second) < 0.3, table["rows"][:5]
    assert first + second > 0.9, table["rows"][:5]
    own = ("SigPnd", "SigBlk", "SigIgn", "SigCgt")  # SigQ is of all processes of the user
    signals = [line for line in before.splitlines() if line.startswith(own)]
    after = pathlib.Path(f"/proc/{target.pid}/status").read_text()
    assert len(signals) == len(own) and signals == [line for line in after.splitlines() if line.startswith(own)]
    lines = profile(options, tmp_path, "--by", "line")
    assert re.match(r"targets/(harness|chain)\.c:\d+$", lines["rows"][0]["name"]), lines
    text = run(options, "prof", "db", folder=tmp_path).stdout
    assert "second_work  (chain)" in text and "time %" in text, text


def test_the_machine_is_recorded_with_its_kernel(options, tmp_path, target):
    run(options, "record", "--db", "db", "--duration", "3s", "--period", "1ms", folder=tmp_path)
    images = profile(options, tmp_path, "--by", "image")
    names = [row["name"] for row in images["rows"]]
    assert str(options.targets / "chain") in names and "[kernel]" in names, names
    functions = profile(options, tmp_path)
    kernel = [row["name"] for row in functions["rows"] if row.get("image") == "[kernel]"]
    assert kernel and not any("+0x" in name for name in kernel), kernel


def test_processes_of_a_moment_are_known(options, tmp_path):
    (tmp_path / "unit.c").write_text("".join(f"int f{i}(int x) {{ return x * {i}; }}\n" for i in range(300)))
    # The shell prints what it and its children have used: "0m0.01s 0m0.00s" in two lines.
    command = "for i in $(seq 40); do gcc -O2 -c unit.c -o /dev/null; done; times"
    done = run(options, "record", "--db", "db", "--period", "0.5ms", "--", "sh", "-c", command, folder=tmp_path)
    used_s = sum(60 * float(minutes) + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", done.stdout))
    images = profile(options, tmp_path, "--by", "image")
    assert 0.75 * used_s < images["time_ns"] / 1e9 < 1.25 * used_s, (used_s, images["time_ns"])
    assert not images["warnings"], images["warnings"]
    assert any(row["name"].endswith("/cc1") for row in images["rows"]), images
    assert sum(row["share"] for row in images["rows"] if row["name"] == "[unknown file]") < 0.01, images


def test_an_epoch_is_begun_by_name(options, tmp_path, target):
    with recorder(options, tmp_path, target.pid, "--period", "1ms") as process:
        time.sleep(1)
        run(options, "db", "db", "epoch", "second try", folder=tmp_path)
        time.sleep(1)
        run(options, "db", "db", "flush", folder=tmp_path)
        assert len(epochs(tmp_path)) == 2 and all(samples > 100 for _, samples in epochs(tmp_path))
        status = run(options, "db", "db", "status", folder=tmp_path).stdout
        assert "is being recorded" in status and "2 epochs" in status, status
        end(process)
    named = profile(options, tmp_path, "--epoch", "second try")
    both = profile(options, tmp_path, "--epoch", "all")
    assert [epoch["name"] for epoch in named["epochs"]] == ["second try"]
    assert 0 < named["samples"] < both["samples"]
    assert "second try" in run(options, "db", "db", "list", folder=tmp_path).stdout
    refused = run(options, "prof", "db", "--epoch", "third", folder=tmp_path, check=False)
    assert refused.returncode == 2 and "second try" in refused.stderr, refused.stderr


def test_an_epoch_is_begun_beside_files_of_other_hosts(options, tmp_path, target):
    with recorder(options, tmp_path, target.pid) as process:
        run(options, "db", "db", "flush", folder=tmp_path)
        shutil.copy(database(tmp_path), tmp_path / "db" / "another-host.db")
        run(options, "db", "db", "epoch", "named", folder=tmp_path)
        listed = run(options, "db", "db", "list", folder=tmp_path).stdout
        assert listed.count("named") == 1 and "another-host.db" in listed, listed
        end(process)
    refused = run(options, "db", "db", "epoch", "late", folder=tmp_path, check=False)
    assert refused.returncode == 1 and "nobody records" in refused.stderr, refused.stderr


def test_a_damaged_row_is_told_and_the_rest_is_shown(options, tmp_path, target):
    run(options, "record", "--db", "db", target.pid, "--duration", "1s", "--period", "1ms", folder=tmp_path)
    whole = profile(options, tmp_path)
    with contextlib.closing(sqlite3.connect(database(tmp_path))) as connection:
        connection.execute("UPDATE profile SET counts = substr(counts, 1, 20)"
                           " WHERE image = (SELECT id FROM image WHERE path LIKE '%/chain')")
        connection.commit()
    left = profile(options, tmp_path)
    assert left["samples"] < whole["samples"] and any("chain" in text for text in left["warnings"]), left
    done = run(options, "db", "db", "check", folder=tmp_path, check=False)
    assert done.returncode == 1 and "chain" in done.stderr, done.stderr


def record_in_epochs(options, folder, target, point):
    """Records the target in six epochs or more, and ends it."""
    try:
        run(options, "record", "--db", "db", target.pid, "--duration", "3.2s", "--period", "1ms", "--epoch-every", "500ms",
            "--drain", "250ms", "--progress", point, folder=folder)
    finally:
        target.end()


def busy_loop(milliseconds):
    """Returns a target that calls getppid once in so much CPU time."""
    loop = f"while True:\n end = time.process_time() + {milliseconds / 1000}\n while time.process_time() < end: pass\n os.getppid()"
    return Target((sys.executable, "-c", f"import os, time\nprint('ready', os.getpid(), flush=True)\n{loop}"))


def test_time_is_told_per_visit_and_compared(options, tmp_path):
    for milliseconds in (1, 1.5):
        target = busy_loop(milliseconds)
        record_in_epochs(options, tmp_path, target, "syscall:getppid")
    count = len(epochs(tmp_path))
    first = max(number for number, _ in epochs(tmp_path)) // 2
    sides = (f"1..{first}", f"{first + 1}..{count}")
    for side, milliseconds in zip(sides, (1, 1.5)):
        table = profile(options, tmp_path, "--epoch", side, "--per", "syscall:getppid")
        spent = sum(row["ns_per_visit"] for row in table["rows"]) / 1e6
        assert 0.95 * milliseconds < spent < 1.1 * milliseconds, (side, spent)
    done = run(options, "diff", "db", "--from", sides[0], "--to", sides[1], "--per", "syscall:getppid", "--format", "json",
               folder=tmp_path)
    schemas.check_report(done.stdout)
    assert 0.4e6 < json.loads(done.stdout)["all"]["difference"] < 0.6e6, done.stdout[:2000]
    done = run(options, "stats", "db", "--epoch", sides[0], "--epoch", sides[1], "--per", "syscall:getppid", "--format",
               "json", folder=tmp_path)
    table = json.loads(done.stdout)
    schemas.check(table, "stats-schema.json")
    assert len(table["sets"]) == 2 and any(row["differs"] for row in table["rows"]), table["rows"][:3]
    refused = run(options, "prof", "db", "--per", "syscall:read", folder=tmp_path, check=False)
    assert refused.returncode == 2 and "syscall:getppid" in refused.stderr, refused.stderr


def test_a_point_that_is_passed_too_often_is_given_up(options, tmp_path):
    target = Target((options.targets / "callers", "--round-ms", "0.005"))
    try:
        done = run(options, "record", "--db", "db", target.pid, "--duration", "5s", "--period", "1ms", "--progress",
                   "round_done", folder=tmp_path)
    finally:
        target.end()
    assert done.stderr.count("round_done was passed") == 1 and "not counted any more" in done.stderr, done.stderr
    assert len(epochs(tmp_path)) == 2
    # It costs 5 µs, and its trap, while it is counted.
    first = profile(options, tmp_path, "--epoch", "1", "--per", "round_done")
    assert 4e3 < sum(row["ns_per_visit"] for row in first["rows"]) < 100e3, first["rows"][:4]
    refused = run(options, "prof", "db", "--epoch", "2", "--per", "round_done", folder=tmp_path, check=False)
    assert refused.returncode == 2 and "not counted in epoch 2" in refused.stderr, refused.stderr


def test_a_changed_share_is_found(options, tmp_path):
    for second in (3, 5):
        target = Target((options.targets / "chain", "--first-ms", "1", "--second-ms", str(second)))
        record_in_epochs(options, tmp_path, target, "first_work")
    count = len(epochs(tmp_path))
    done = run(options, "diff", "db", "--from", f"1..{count // 2}", "--to", f"{count // 2 + 1}..{count}", "--format", "json",
               folder=tmp_path)
    schemas.check_report(done.stdout)
    rows = {row["function"]: row["own"] for row in json.loads(done.stdout)["functions"]["rows"]}
    # From one in four to one in six.
    assert rows["first_work"]["verdict"] == "less", rows
    assert rows["first_work"]["low"] < 1 / 6 - 1 / 4 < rows["first_work"]["high"], rows
    per = profile(options, tmp_path, "--epoch", f"1..{count // 2}", "--per", "first_work")
    # 4 ms as it has calibrated its loops, at another speed perhaps.
    assert 3.6e6 < sum(row["ns_per_visit"] for row in per["rows"]) < 5.6e6, per["rows"]
    text = run(options, "diff", "db", "--from", "1", "--to", str(count - 1), folder=tmp_path).stdout
    assert "five epochs" in text, text
    page = run(options, "diff", "db", "--from", "1", "--to", str(count - 1), "--format", "html", "-o", "page.html", folder=tmp_path)
    assert page.returncode == 0 and (tmp_path / "page.html").stat().st_size > 10_000


def test_a_replaced_program_still_has_names(options, tmp_path):
    program = tmp_path / "program"
    shutil.copy(options.targets / "chain", program)
    target = Target((program, "--first-ms", "1", "--second-ms", "3"))
    try:
        run(options, "record", "--db", "db", target.pid, "--duration", "2s", "--period", "1ms", folder=tmp_path)
    finally:
        target.end()
    shutil.copy(options.targets / "idle", program)
    table = profile(options, tmp_path)
    assert share(table, "second_work") > 0.6, table["rows"]
    with contextlib.closing(sqlite3.connect(database(tmp_path))) as connection:
        connection.execute("DELETE FROM kept_file")
        connection.commit()
    assert any(row["name"].startswith("program+0x") for row in profile(options, tmp_path)["rows"])


def test_call_paths_are_recorded_besides(options, tmp_path, target):
    words = ("--period", "1ms", "--stacks", "--budget", "10")
    with recorder(options, tmp_path, target.pid, *words) as process:
        time.sleep(2.5)
        run(options, "db", "db", "epoch", "second", folder=tmp_path)
        time.sleep(1.5)
        end(process)
    text = run(options, "prof", "db", "--stacks", "--epoch", "all", folder=tmp_path).stdout
    assert "in 2 runs" in text and re.search(r"second_work\n\s+called by work (100|9\d)\.\d %", text), text
    folded = run(options, "prof", "db", "--stacks", "--epoch", "second", "--format", "folded", folder=tmp_path).stdout
    assert ";work;second_work " in folded, folded
    # A kill ends what records the paths as well, and the next recorder finds what they were.
    with recorder(options, tmp_path, target.pid, *words) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wait_until(lambda: not paths_recorder(target), 20)
    run(options, "record", "--db", "db", target.pid, "--duration", "3s", "--stacks", folder=tmp_path)
    with contextlib.closing(sqlite3.connect(database(tmp_path))) as connection:
        assert connection.execute("SELECT epoch FROM path ORDER BY epoch").fetchall() == [(1,), (2,), (3,), (4,)]
    # Whichever of the two files is left, and with both.
    log = sqlite3.connect(database(tmp_path)).execute("SELECT count(*) FROM path").fetchone()[0]
    one = run(options, "callpath", target.pid, "--event", "cpu", "--duration", "300ms", "-o", "one.jsonl", folder=tmp_path)
    for name in ("paths0", "paths1"):
        shutil.copy(tmp_path / "one.jsonl", f"{database(tmp_path)}.{name}")
    run(options, "record", "--db", "db", target.pid, "--duration", "3s", "--stacks", folder=tmp_path)
    assert one.returncode == 0
    with contextlib.closing(sqlite3.connect(database(tmp_path))) as connection:
        booked = connection.execute("SELECT epoch, count(*) FROM path GROUP BY epoch ORDER BY epoch").fetchall()
    assert sum(count for _, count in booked) == log + 3 and booked[-2:] == [(4, 3), (5, 1)], booked
    left = run(options, "prof", "db", "--stacks", folder=tmp_path).stdout
    assert "second_work" in left and "in 2 runs" not in left, left
    run(options, "prof", "db", "--stacks", "--format", "html", "-o", "paths.html", folder=tmp_path)
    assert not list((tmp_path / "db").glob("*.paths*"))
    none = run(options, "record", "--db", "other", target.pid, "--duration", "300ms", folder=tmp_path)
    assert none.returncode == 0
    refused = run(options, "prof", "other", "--stacks", folder=tmp_path, check=False)
    assert refused.returncode == 1 and "record --stacks" in refused.stderr, refused.stderr


def test_a_service_has_the_rights_that_it_needs(options, tmp_path):
    unit = (pathlib.Path(options.causalctl).parent / "scripts/service/causalctl-record.service").read_text()
    capabilities = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE)[1].split()
    kept = ",".join("+" + name.removeprefix("CAP_").lower() for name in capabilities)
    command = ["setpriv", f"--bounding-set=-all,{kept}", "--no-new-privs", options.causalctl, "record", "--db", "db",
               "--duration", "2s", "--period", "1ms", "--stacks"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "samples in" in done.stderr, done.stderr
    with contextlib.closing(sqlite3.connect(database(tmp_path))) as connection:
        assert connection.execute("SELECT count(*) FROM path").fetchone() == (1,), done.stderr
    if shutil.which("systemd-analyze"):
        path = tmp_path / "causalctl-record.service"
        path.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={options.causalctl}", unit, flags=re.MULTILINE))
        checked = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False)
        assert "causalctl-record" not in checked.stderr, checked.stderr


def test_one_file_that_cannot_be_read_hides_no_other(options, tmp_path, target):
    run(options, "record", "--db", "db", target.pid, "--duration", "1s", "--period", "1ms", folder=tmp_path)
    (tmp_path / "db" / "broken.db").write_bytes(b"x" * 5000)
    done = run(options, "prof", "db", folder=tmp_path)
    assert "second_work" in done.stdout and "broken.db" in done.stderr, (done.stdout, done.stderr)
    status = run(options, "db", "db", "status", folder=tmp_path).stdout
    assert "broken.db" in status and "is not being recorded" in status, status
    refused = run(options, "prof", "db", "--label", "none", folder=tmp_path, check=False)
    assert refused.returncode == 2 and "record --label" in refused.stderr, refused.stderr


def test_profiles_are_exported(options, tmp_path, target):
    run(options, "record", "--db", "db", target.pid, "--duration", "2s", "--period", "1ms", "--label", "some", folder=tmp_path)
    lines = run(options, "db", "db", "export", folder=tmp_path).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    table = profile(options, tmp_path)
    assert sum(row["samples"] for row in rows) == table["samples"]
    assert {row["label"] for row in rows} == {"some"} and all(row["begin"].endswith("Z") for row in rows)
    folded = run(options, "db", "db", "export", "--format", "folded", folder=tmp_path).stdout
    assert any(line.startswith("second_work ") for line in folded.splitlines()), folded
    for name in ("pprof", "callgrind", "speedscope", "firefox", "hatchet", "html"):
        run(options, "prof", "db", "--format", name, "-o", f"out.{name}", folder=tmp_path)
        assert (tmp_path / f"out.{name}").stat().st_size > 100
    none = run(options, "db", "db", "export", "--label", "other", folder=tmp_path, check=False)
    assert none.returncode == 2 and "some" in none.stderr, none.stderr


def test_a_killed_recorder_loses_one_drain(options, tmp_path, target):
    with recorder(options, tmp_path, target.pid, "--period", "1ms", "--drain", "300ms", "--merge", "700ms") as process:
        time.sleep(3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        begun_ns, written_ns = recorded(tmp_path)
        killed_ns = time.time_ns()
    # A drain is 0.3 s; it begins a tenth of a second late at most, and takes a moment beside others.
    assert killed_ns - written_ns < 1.5e9 and written_ns - begun_ns > 2e9, (begun_ns, written_ns, killed_ns)
    written = sum(samples for _, samples in epochs(tmp_path))
    assert "ok" in run(options, "db", "db", "check", folder=tmp_path).stdout
    assert profile(options, tmp_path)["samples"] >= written
    assert pathlib.Path(f"/proc/{target.pid}/stat").read_text().split()[2] in "RS"
    run(options, "record", "--db", "db", target.pid, "--duration", "500ms", folder=tmp_path)
    assert len(epochs(tmp_path)) == 2


def test_two_recorders_are_one_too_many(options, tmp_path, target):
    with recorder(options, tmp_path, target.pid):
        done = run(options, "record", "--db", "db", target.pid, "--duration", "1s", folder=tmp_path, check=False)
    assert done.returncode == 1 and "another recorder" in done.stderr, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_told_and_outlived(options, tmp_path, target):
    disk = tmp_path / "db"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], check=True)
    try:
        with recorder(options, tmp_path, target.pid, "--period", "1ms", "--drain", "200ms") as process:
            before_ns = cpu_ns(target)
            with open(disk / "other", "wb", buffering=0) as other, contextlib.suppress(OSError):
                while other.write(bytes(4096)):
                    pass
            time.sleep(1)
            (disk / "other").unlink()
            time.sleep(1)
            used_ns = cpu_ns(target) - before_ns
            errors = end(process)
        assert "disk is full" in errors and "kept in memory" in errors and "is written again" in errors, errors
        # One sample is a millisecond; nothing of the second in which there was no room is missing.
        assert sum(samples for _, samples in epochs(tmp_path)) > 0.9 * used_ns / 1e6
        assert "ok" in run(options, "db", "db", "check", folder=tmp_path).stdout
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("harm", ["rm -r db", "mv db moved", "rm db/*.db", "rm db/*-wal", "rm db/*.lock"])
def test_a_removed_database_is_made_anew(options, tmp_path, target, harm):
    with recorder(options, tmp_path, target.pid, "--period", "1ms") as process:
        time.sleep(1)
        subprocess.run(harm, shell=True, cwd=tmp_path, check=True)
        errors = end(process)
    assert errors.count("removed or replaced" if harm.endswith((".db", "db", "moved")) else "opened anew") == 1, errors
    # Nothing was written before, and what is told once has its names.
    table = profile(options, tmp_path)
    assert table["samples"] > 300 and share(table, "second_work") > 0.6, table
    assert "ok" in run(options, "db", "db", "check", folder=tmp_path).stdout


def test_what_cannot_be_written_at_the_path_any_more_is_told(options, tmp_path, target):
    with recorder(options, tmp_path, target.pid, "--period", "1ms", "--drain", "200ms") as process:
        shutil.rmtree(tmp_path / "db")
        (tmp_path / "db").write_text("no folder")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1 and errors.count("kept in memory") == 1, errors
    assert re.search(r"\d\d+ samples could not be written", errors), errors


FOREIGN = {"empty": "", "other": "CREATE TABLE other (key)",
           "alike": "CREATE TABLE meta (key, value); INSERT INTO meta VALUES ('version', 2)"}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_of_another_program_is_told_and_hides_no_other(options, tmp_path, target, kind):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "foreign.db").touch()
    with contextlib.closing(sqlite3.connect(tmp_path / "db" / "foreign.db")) as connection:
        connection.executescript(FOREIGN[kind])
    for words in (("prof", "db"), ("db", "db"), ("db", "db", "list"), ("db", "db", "check"), ("db", "db", "flush"),
                  ("stats", "db"), ("diff", "db", "--from", "1", "--to", "2"), ("prof", "db/foreign.db")):
        done = run(options, *words, folder=tmp_path, check=False)
        assert done.returncode == 1 and "is no database of causalctl" in done.stderr, (words, done.stderr)
        assert "hint: " in done.stderr, (words, done.stderr)
    run(options, "record", "--db", "db", target.pid, "--duration", "1s", "--period", "1ms", folder=tmp_path)
    for words, code in ((("prof", "db"), 0), (("db", "db"), 0), (("db", "db", "list"), 0), (("db", "db", "check"), 1),
                        (("db", "db", "flush"), 1)):
        done = run(options, *words, folder=tmp_path, check=False)
        assert done.returncode == code and "no database of causalctl" in done.stdout + done.stderr, (words, done)
    assert "second_work" in run(options, "prof", "db", folder=tmp_path).stdout


@pytest.mark.parametrize("words, text", [
    (("prof", "db", "--epoch", ""), "--epoch"), (("prof", "db", "--per", ""), "--per"), (("prof", "db", "--label", ""), "--label"),
    (("prof", ""), "DIR"), (("prof", "db", "-o", ""), "--output"), (("stats", "db", "--epoch", ""), "--epoch"),
    (("diff", "db", "--from", "", "--to", "2"), "--from"), (("db", "db", "export", "--label", ""), "--label"),
    (("db", "db", "epoch", ""), "epoch"), (("record", "--db", "db", "--duration", ""), "--duration"),
    (("record", "--db", "db", "--label", ""), "--label"), (("record", "--db", "db", "--match", ""), "--match"),
    (("callpath", "--children", ""), "--children"), (("report", "x.jsonl", "--epoch", ""), "--epoch"),
    (("callpath", "1", "--config", ""), "--config")])
def test_an_empty_name_is_refused(options, tmp_path, words, text):
    (tmp_path / "db").mkdir()
    done = run(options, *words, folder=tmp_path, check=False)
    assert done.returncode == 2 and text in done.stderr and "variable of the shell" in done.stderr, done.stderr


@pytest.mark.parametrize("limit", ["-3", "x", "99999999999999999999", ""])
def test_a_number_that_is_none_is_refused_in_plain_words(options, tmp_path, limit):
    for command in ("prof", "stats"):
        done = run(options, command, "db", "--limit", limit, folder=tmp_path, check=False)
        assert done.returncode == 2 and "--limit" in done.stderr and len(done.stderr) < 150, done.stderr
        assert "0 or more" in done.stderr, done.stderr


@pytest.mark.parametrize("words, text", [
    ((), "--db DIR"), (("--db", "db", "--budget", "0"), "--budget"), (("--db", "db", "--period", "1us"), "--period"),
    (("--db", "db", "--max-size", "lots"), "--max-size"), (("--db", "db", "--max-size", "9K"), "--max-size"),
    (("--db", "db", "--period", "2s"), "--period"), (("--db", "db", "--drain", "0s"), "--drain"),
    (("--db", "db", "--progress", "sampled:a.c:1"), "--progress"), (("--db", "db", "999999999"), "999999999")])
def test_what_cannot_be_recorded_is_refused(options, tmp_path, words, text):
    done = run(options, "record", *words, folder=tmp_path, check=False)
    assert done.returncode in (2, 3) and text in done.stderr, done.stderr


def test_a_folder_without_a_database_is_refused(options, tmp_path):
    for words in (("prof", "."), ("db", "."), ("prof", "none")):
        done = run(options, *words, folder=tmp_path, check=False)
        assert done.returncode == 1 and "record --db" in done.stderr, done.stderr
