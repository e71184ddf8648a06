#!/usr/bin/env python3
"""Planted stalls under load: does a trigger of the flight recorder take a snapshot of each, with the cause; writes bench/RESULTS.md.

usage: stalls.py [--stalls N] [--load tbench|pgbench|none] [--every SECONDS] [--holds SECONDS] [--print]

A thread "victim" waits for a lock that "culprit" holds for 200 ms, asleep, at random times. It passes two USDT points, shop:begin
and shop:end, and a trigger fires where these are more than 150 ms apart. Counted are the snapshots whose explanation of the victim
has the culprit in its first row, and those that hold the promised seconds.
"""
import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import record_cost as cost

STALL_MS, LIMIT_MS = 200, 150
PATIENCE_S = 90

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/sdt.h>
#include <time.h>

static pthread_mutex_t till_lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(long ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&pause, NULL);
}

static void *hold(void *unused)
{
	prctl(PR_SET_NAME, "culprit");
	pthread_mutex_lock(&till_lock);
	nap(STALL_MS + 20);
	pthread_mutex_unlock(&till_lock);
	return unused;
}

int main(void)
{
	char line[16];
	prctl(PR_SET_NAME, "victim");
	while (fgets(line, sizeof(line), stdin)) {
		pthread_t thread;
		pthread_create(&thread, NULL, hold, NULL);
		nap(20);
		DTRACE_PROBE(shop, begin);
		pthread_mutex_lock(&till_lock);
		pthread_mutex_unlock(&till_lock);
		DTRACE_PROBE(shop, end);
		pthread_join(thread, NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
"""


def flight(*words):
    return subprocess.run([cost.HOLDUP, "flight", *words], capture_output=True, text=True, check=False)


def status():
    return json.loads(flight("status", "--json").stdout)


def rows(folder):
    return json.loads(flight("list", "--json", "--dir", folder).stdout)["snapshots"]


def build():
    with open("shop.c", "w") as file:
        file.write(PROGRAM.replace("STALL_MS", str(STALL_MS)))
    subprocess.run(["cc", "-O1", "-g", "-o", "shop", "shop.c", "-lpthread"], check=True)
    return os.path.join(os.getcwd(), "shop")


@contextlib.contextmanager
def load(name):
    """Runs beside, until the end."""
    with contextlib.ExitStack() as stack:
        def run(*argv):
            process = subprocess.Popen(argv, **cost.QUIET)
            stack.callback(process.wait)
            stack.callback(process.kill)
        if name == "tbench":
            run("tbench_srv")
            time.sleep(0.5)
            run("tbench", "-t", "3600", "2")
        elif name == "pgbench": # of the server that PGHOST and PGPORT name, as its tables are made by "pgbench -i"
            run("pgbench", "-S", "-c", "2", "-T", "3600")
        yield


def is_explained(row):
    """Whether the verdict of the snapshot, its first row that is not the victim's own work, is the planted cause."""
    return row["verdict"].startswith("victim (") and ": culprit[" in row["verdict"]


def plant(process, folder, every_s):
    """One stall at a random time. Returns the snapshot of it, explained, or None."""
    before = len(rows(folder))
    time.sleep(random.uniform(0.5, 1.5) * every_s)
    process.stdin.write("go\n")
    process.stdin.flush()
    process.stdout.readline()
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = rows(folder)
        if len(found) > before and found[-1]["verdict"]:
            return found[-1]
        time.sleep(0.2)
    return None


def run(args, folder, program):
    pair = "pair:usdt:%s:shop:begin->usdt:%s:shop:end>%dms" % (program, program, LIMIT_MS)
    started = flight("start", "--dir", folder, "--pause", "1s", "--disk", "8G", "--on", pair)
    if started.returncode:
        sys.exit("stalls: " + started.stderr)
    taken = explained = long = 0
    try:
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with load(args.load):
            time.sleep(args.holds)
            for number in range(args.stalls):
                row = plant(process, folder, args.every)
                right = bool(row) and is_explained(row)
                held_s = (row["window"]["end_ns"] - row["window"]["start_ns"]) / 1e9 if row else 0
                taken, explained, long = taken + bool(row), explained + right, long + (held_s >= args.holds)
                print("stall %d: %s, %s, %.1f s%s" % (number + 1, "a snapshot" if row else "none", "explained" if right else "NOT explained", held_s,
                                                     ": " + row["verdict"] if row and not right else ""), file=sys.stderr, flush=True)
        process.stdin.close()
        process.wait()
        now = status()
    finally:
        flight("stop")
    return taken, explained, long, now


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stalls", type=int, default=100)
    parser.add_argument("--load", default="tbench", choices=["tbench", "pgbench", "none"])
    parser.add_argument("--every", type=float, default=6, help="seconds between two stalls, about")
    parser.add_argument("--holds", type=float, default=5, help="seconds that each snapshot must hold")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    taken, explained, long, now = run(args, os.path.join(os.getcwd(), "snapshots"), build())
    text = ("%s. `bench/stalls.py --stalls %d --load %s --holds %g`: %d stalls of %d ms, %d snapshots, %d of them with the planted cause "
            "in their first row, %d hold at least %g s. The recorder used %.1f %% of a CPU, in %.1f MiB." %
            (cost.machine(), args.stalls, args.load, args.holds, args.stalls, STALL_MS, taken, explained, long, args.holds,
             100 * now["cpu_ns"] / now["age_ns"], now["memory_bytes"] / 2**20))
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Stalls and the flight recorder, %s" % args.load, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder_of_bench:
        os.chdir(folder_of_bench)
        main()
