"""A Python program to attach to: two threads that work in rounds until SIGTERM."""

import os
import signal
import threading

stopping = threading.Event()
rounds = [0, 0]


def round_done(worker):
    rounds[worker] += 1


def work(worker):
    value = 1
    while not stopping.is_set():
        for _ in range(20000):
            value = value * 3 % 1000003
        round_done(worker)


signal.signal(signal.SIGTERM, lambda *_: stopping.set())
threads = [threading.Thread(target=work, args=(worker,)) for worker in range(2)]
for thread in threads:
    thread.start()
print(f"ready {os.getpid()}", flush=True)
while not stopping.wait(0.1):
    pass
for thread in threads:
    thread.join()
print(f"rounds {sum(rounds)}", flush=True)
