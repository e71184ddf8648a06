#!/usr/bin/env python3
"""samples.py - what stacks of waits and samples of work cost a recording: side by side, in turns.

usage: HOLDUP=PROGRAM bench/samples.py [ROUNDS [LOAD...]]

Each round runs each load alone, recorded without stacks (twice: their ratio is the noise), with those of waits, and
with samples of work as well, in another order each time. A ratio is to the recording without stacks of the
same round; told are the median and the quartiles. The loads are those of the target: a compiler,
redis-benchmark, pgbench that only selects, and `perf bench sched pipe` on one CPU (two CPUs of a virtual
machine that wake each other take twice as long in one run as in the next).
"""
import contextlib
import glob
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

OFF = ["--stack-min", "off", "--sample", "off"]
WAYS = {"off": OFF, "off again": OFF, "waits": ["--stack-min", "1ms", "--sample", "off"],
        "both": ["--stack-min", "1ms", "--sample", "199"]}
NOBODY = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


def run(words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def pipe(_):
    """Microseconds for a message there and back."""
    yield lambda prefix: float(re.search(r"([0-9.]+) usecs/op", run(
        prefix + ["taskset", "-c", "0", "perf", "bench", "sched", "pipe", "-l", "150000"])).group(1))


@contextlib.contextmanager
def compiles(folder):
    """Milliseconds for a compiler with much to do."""
    source = os.path.join(folder, "much.c")
    with open(source, "w") as file:
        file.writelines("int f%d(int a, int b) { for (int i = 0; i < b; i++) a = a * %d + (a >> 3) %% (i + 1); return a; }\n" % (i, i)
                        for i in range(500))

    def compile_it(prefix):
        out = run(prefix + ["sh", "-c", "date +%s%N; gcc -O2 -c -o /dev/null " + source + "; date +%s%N"]).split()
        return (int(out[-1]) - int(out[0])) / 1e6
    yield compile_it


@contextlib.contextmanager
def redis(folder):
    """Milliseconds for 1,000 questions of 20 clients."""
    socket = folder + "/redis"
    with ended(subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder],
                                stdout=subprocess.DEVNULL)):
        while not os.path.exists(socket):
            time.sleep(0.05)
        yield lambda prefix: 1e6 / float(re.search(r'"GET","([0-9.]+)"', run(
            prefix + ["redis-benchmark", "-s", socket, "-t", "get", "-n", "100000", "-c", "20", "--csv"])).group(1))


@contextlib.contextmanager
def pgbench(folder):
    """Milliseconds for 1,000 transactions of 4 clients."""
    programs, data = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1], folder + "/data"
    os.mkdir(data)
    os.chmod(folder, 0o755)
    if NOBODY:
        shutil.chown(data, "postgres")
    run([*NOBODY, programs + "/initdb", "-A", "trust", "-U", "bench", "-N", "-D", data])
    tell = ["-h", data, "-U", "bench", "postgres"]
    with ended(subprocess.Popen([*NOBODY, programs + "/postgres", "-D", data, "-k", data, "-h", "", "-F"], cwd="/",
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)):
        while subprocess.run([programs + "/pg_isready", "-q", *tell[:2]], check=False).returncode != 0:
            time.sleep(0.1)
        run([programs + "/pgbench", "-i", "-q", *tell])
        yield lambda prefix: 1e6 / float(re.search(r"tps = ([0-9.]+)", run(
            prefix + [programs + "/pgbench", "-S", "-n", "-c", "4", "-t", "4000", *tell])).group(1))


WORK = {"compile": compiles, "redis-benchmark": redis, "pgbench": pgbench, "sched pipe": pipe}
NEEDS = {"redis-benchmark": "redis-server", "pgbench": "pg_lsclusters", "sched pipe": "perf"}


def measure(work, way, holdup):
    if way == "none":
        return work([])
    with tempfile.TemporaryDirectory() as folder:
        return work([holdup, "record", "-o", folder + "/t", *WAYS[way], "--"])


def shown(times, way):
    ratios = [on / off for on, off in zip(times[way], times["off"])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return "%.3f (%.3f to %.3f)" % (middle, low, high)


def main():
    holdup, rounds = os.environ["HOLDUP"], max(3, int(sys.argv[1]) if len(sys.argv) > 1 else 7)
    print("load average %.1f, %d rounds\n" % (os.getloadavg()[0], rounds))
    print("| load | alone | recorded without | without again / without | waits / without | both / without |\n|---|---|---|---|---|---|")
    for name in sys.argv[2:] or WORK:
        if not shutil.which(NEEDS.get(name, "sh")):
            continue
        ways = ["none", *WAYS]
        times = {way: [] for way in ways}
        with tempfile.TemporaryDirectory() as folder, WORK[name](folder) as work:
            for _ in range(rounds):
                for way in random.sample(ways, len(ways)):
                    times[way].append(measure(work, way, holdup))
        print("| %s | %.2f | %.2f | %s |" % (name, statistics.median(times["none"]), statistics.median(times["off"]),
                                             " | ".join(shown(times, way) for way in ("off again", "waits", "both"))), flush=True)


if __name__ == "__main__":
    main()
