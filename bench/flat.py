#!/usr/bin/env python3
"""Does the flight recorder stay as it is for a day: memory, descriptors and disk while much happens; writes bench/RESULTS.md.

usage: flat.py [--minutes N] [--every SECONDS] [--disk SIZE] [--print]

A day is made short by a higher rate: tbench, and beside it programs that begin, open files of new names and end, so that
what is kept of names and processes has to forget. A snapshot is taken now and then, so that the oldest have to go. Every
few seconds is looked at the recorder: its memory (VmRSS, and what it tells), its descriptors, its children, and what
lies in its folder. Told are the first tenth behind the first tenth, and the last tenth: what grows, differs.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import record_cost as cost

LOOK_S = 5
CHURN = "n=0; while :; do n=$((n+1)); : >f-$$-$n; cat f-$$-$n | wc -c; rm f-$$-$n; done"
KEYS = ("rss_kib", "told_kib", "descriptors", "children", "snapshots", "disk_mib")


def flight(*words):
    return subprocess.run([cost.HOLDUP, "flight", *words], capture_output=True, text=True, check=False)


def disk_bytes(folder):
    return sum(os.lstat(os.path.join(at, name)).st_blocks * 512 for at, _, names in os.walk(folder) for name in names)


def look(folder):
    now = json.loads(flight("status", "--json").stdout)
    with open("/proc/%d/status" % now["pid"]) as file:
        rss = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    with open("/proc/%d/task/%d/children" % (now["pid"], now["pid"])) as file:
        children = len(file.read().split())
    return now, {"rss_kib": rss, "told_kib": now["memory_bytes"] // 1024, "descriptors": len(os.listdir("/proc/%d/fd" % now["pid"])),
                 "children": children, "snapshots": sum(name.endswith(".flight") for name in os.listdir(folder)),
                 "disk_mib": disk_bytes(folder) // 2**20}


def run(args, folder):
    started = flight("start", "--dir", folder, "--disk", args.disk, "--keep", "5s")
    if started.returncode:
        sys.exit("flat: " + started.stderr)
    loads, looks, failed, taken = [], [], 0, 0
    try:
        for argv in (["tbench_srv"], ["tbench", "-t", "100000", "2"], ["sh", "-c", CHURN], ["sh", "-c", CHURN]):
            loads.append(subprocess.Popen(["nice", *argv], **cost.QUIET))  # what else runs here goes first
            time.sleep(0.5)
        end, next_snapshot = time.monotonic() + args.minutes * 60, time.monotonic() + args.every
        while time.monotonic() < end:
            time.sleep(LOOK_S)
            now, one = look(folder)
            looks.append(one)
            if time.monotonic() > next_snapshot:
                next_snapshot += args.every
                taken += 1
                failed += flight("snapshot", "number %d" % taken).returncode != 0
            if len(looks) % 12 == 1:
                print(" ".join("%s %d" % (key, one[key]) for key in KEYS), file=sys.stderr, flush=True)
    finally:
        for process in loads:
            process.kill()
            process.wait()
        flight("stop")
    return now, looks, taken, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--every", type=float, default=30, help="seconds from one snapshot to the next")
    parser.add_argument("--disk", default="256M")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    now, looks, taken, failed = run(args, os.path.join(os.getcwd(), "snapshots"))
    tenth = max(1, len(looks) // 10)
    lines = ["%s. `bench/flat.py --minutes %g`: %.0f M events, %.0f a second; %d snapshots, %d failed; %.1f %% of a CPU." %
             (cost.machine(), args.minutes, now["recorded_events"] / 1e6, now["recorded_events"] / (now["age_ns"] / 1e9), taken, failed,
              100 * now["cpu_ns"] / now["age_ns"]), "", "| | second tenth, median | last tenth, median | most |", "|---|---|---|---|"]
    for key in KEYS:
        values = [one[key] for one in looks]
        lines.append("| %s | %d | %d | %d |" % (key.replace("_", " "), statistics.median(values[tenth:2 * tenth] or values),
                                              statistics.median(values[-tenth:]), max(values)))
    print("\n".join(lines))
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "The flight recorder for a day", "\n".join(lines))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder_of_bench:
        os.chdir(folder_of_bench)
        main()
