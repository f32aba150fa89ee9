"""A Python program of real use: a pool of processes that hash, threads that compress and that keep a
database, all checking what they get. real_use.py COUNTER-FILE; ends at SIGTERM."""

import hashlib
import mmap
import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
import zlib

DATA = bytes(range(256)) * 512
HASH = hashlib.sha256(DATA).hexdigest()
stopping = threading.Event()
wrong = []
done = {"hash": 0, "compress": 0, "database": 0}


def hash_in_child(data):
    return hashlib.sha256(data).hexdigest()


def run_children(pool):
    while not stopping.is_set():
        results = pool.map(hash_in_child, [DATA] * 4)
        if results != [HASH] * 4:
            wrong.append(results)
        done["hash"] += len(results)


def run_compression():
    while not stopping.is_set():
        if zlib.decompress(zlib.compress(DATA, 9)) != DATA:
            wrong.append("compress")
        done["compress"] += 1


def run_database():
    base = sqlite3.connect(":memory:")
    base.execute("create table numbers (value integer)")
    rows = 0
    while not stopping.is_set():
        base.executemany("insert into numbers values (?)", [(i,) for i in range(100)])
        rows += 100
        total, = base.execute("select sum(value) from numbers").fetchone()
        if total != rows // 100 * 4950:
            wrong.append(total)
        if rows >= 10000:
            base.execute("delete from numbers")
            rows = 0
        done["database"] += 1


def run_interpreter(counter):
    rounds = 0
    while not stopping.is_set():
        value = 1
        for _ in range(20000):
            value = value * 3 % 1000003
        if value != pow(3, 20000, 1000003):
            wrong.append(value)
        rounds += 1
        counter[:] = rounds.to_bytes(8, "little")


def main():
    with open(sys.argv[1], "w+b") as file:
        file.truncate(8)
        counter = mmap.mmap(file.fileno(), 8)
    pool = multiprocessing.Pool(2)
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    threads = [threading.Thread(target=run_interpreter, args=(counter,)),
               threading.Thread(target=run_children, args=(pool,)),
               threading.Thread(target=run_compression), threading.Thread(target=run_database)]
    for thread in threads:
        thread.start()
    print(f"ready {os.getpid()}", flush=True)
    while not stopping.wait(0.1):
        pass
    for thread in threads:
        thread.join()
    pool.close()
    pool.join()
    print(f"rounds {int.from_bytes(counter[:], 'little')}\nwrong {len(wrong)}\n"
          f"done {min(done.values())}", flush=True)


if __name__ == "__main__":
    main()
