#!/usr/bin/env python3
"""samples.py - what stacks of waits and samples of work cost a recording: side by side, in turns.

usage: HOLDUP=PROGRAM bench/samples.py [ROUNDS]

Each round runs each load once alone, and once recorded without stacks, with those of waits, and with
samples of work as well, in another order each time, so that a machine that is busy with something else
is so for all. Told is the median over the rounds of the ratio to the recording without, and that of the best runs.
"""
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = {"off": ["--stack-min", "off"], "waits": ["--stack-min", "1ms"], "both": ["--stack-min", "1ms", "--sample", "199"]}


def pipe(prefix):
    """Microseconds for a message there and back."""
    out = subprocess.run(prefix + ["perf", "bench", "sched", "pipe", "-l", "20000"],
                         capture_output=True, text=True, check=True).stdout
    return float(re.search(r"([0-9.]+) usecs/op", out).group(1))


def tbench(prefix):
    """Milliseconds for a thousand messages between two processes over loopback."""
    code = """
import os, socket, time
a, b = socket.socket(), socket.socket()
a.bind(("127.0.0.1", 0)); a.listen(1); b.connect(a.getsockname()); c, _ = a.accept()
if os.fork() == 0:
    b.close()
    while c.recv(64): c.send(b"x" * 64)
    os._exit(0)
c.close()
t = time.monotonic()
for _ in range(2000): b.send(b"y" * 64); b.recv(64)
print((time.monotonic() - t) * 500)
b.close()
"""
    out = subprocess.run(prefix + [sys.executable, "-c", code], capture_output=True, text=True,
                         check=True).stdout
    return float(out.split()[-1])


def forks(prefix):
    """Milliseconds for 200 programs, one after the other."""
    begin = time.monotonic()
    out = subprocess.run(prefix + ["sh", "-c", "date +%s%N; i=0; while [ $i -lt 200 ]; do "
                                   "/bin/true; i=$((i+1)); done; date +%s%N"],
                         capture_output=True, text=True, check=True).stdout.split()
    return (int(out[-1]) - int(out[0])) / 1e6 if len(out) > 1 else (time.monotonic() - begin) * 1e3


def compiles(prefix):
    """Milliseconds for a compiler with much to do."""
    code = "".join("int f%d(int a, int b) { for (int i = 0; i < b; i++) a = a * %d + (a >> 3) %% (i + 1); return a; }\n" % (i, i)
                   for i in range(120))
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(code)
        file.flush()
        out = subprocess.run(prefix + ["sh", "-c", "date +%s%N; gcc -O2 -c -o /dev/null " + file.name + "; date +%s%N"],
                             capture_output=True, text=True, check=True).stdout.split()
    return (int(out[-1]) - int(out[0])) / 1e6


WORK = {"compile": compiles, "sched pipe": pipe, "loopback": tbench, "forks": forks}


def measure(work, way, holdup):
    if way == "none":
        return work([])
    with tempfile.TemporaryDirectory() as folder:
        return work([holdup, "record", "-o", folder + "/t", *WAYS[way], "--"])


def main():
    holdup, rounds = os.environ["HOLDUP"], int(sys.argv[1]) if len(sys.argv) > 1 else 7
    for name, work in WORK.items():
        if name == "sched pipe" and not shutil.which("perf"):
            continue
        ways = ["none", *WAYS]
        times = {way: [] for way in ways}
        for _ in range(rounds):
            random.shuffle(ways)
            for way in ways:
                times[way].append(measure(work, way, holdup))
        print("%-10s  none %8.2f  off %8.2f" % (name, statistics.median(times["none"]), statistics.median(times["off"])), end="")
        for way in ("waits", "both"):
            ratios = [on / off for on, off in zip(times[way], times["off"])]
            print("  %s/off: median %.3f, best %.3f" % (way, statistics.median(ratios), min(times[way]) / min(times["off"])), end="")
        print(flush=True)


main()
