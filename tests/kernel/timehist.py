#!/usr/bin/env python3
"""Wait, delay and run times per thread agree with `perf sched timehist`.

perf and holdup record the same load at the same time. timehist prints one line per
stay on a CPU: how long the thread was away before it (wait), how much of that it
had been woken but not running (delay), and how long it stayed (run). The window of
a thread goes from the end of its first stay to the end of its last one.

What differs, and is not an error: timehist rounds to 1 us, a line at a time; it
counts interrupts as run time; its delay begins at sched_waking or sched_wakeup,
whichever comes last; a thread that was preempted has wait but no delay. Now and then
it has no delay where the thread was woken; only stays with one are compared.
"""
import bisect
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SECONDS = 3
LINE = re.compile(r"\s*(\d+)\.(\d{6}) \[\d+\]\s+.*\[(\d+)(?:/\d+)?\]\s+"
                  r"(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)")
Stay = collections.namedtuple("Stay", "end_ns wait_ns delay_ns run_ns")


def record():
    """Run the load under both. Returns the tids of its threads."""
    load = os.path.join(kernel.PROGRAMS, "mixed-load")
    with kernel.spinners():
        perf = subprocess.Popen(["perf", "sched", "record", "-k", "CLOCK_MONOTONIC", "-m", "16M", "-o",
                                 "perf.data"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        done = kernel.holdup("record", "-o", "run.holdup", "--", load, SECONDS, "load.json")
        perf.send_signal(signal.SIGINT)
        perf.communicate()
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    with open("load.json") as file:
        return [json.loads(line) for line in file]


def timehist():
    """{tid: [Stay]} by perf."""
    text = subprocess.run(["perf", "sched", "timehist", "-i", "perf.data"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    stays = collections.defaultdict(list)
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            wait, delay, run = (round(float(match[i]) * kernel.MS) for i in (4, 5, 6))
            end_ns = int(match[1]) * kernel.S + int(match[2]) * 1000
            stays[int(match[3])].append(Stay(end_ns, wait, delay, run))
    return stays


def delay_ns(report, stays):
    """Time waiting for a CPU before those stays for which perf knows of a delay."""
    ends = [stay.end_ns for stay in stays]
    total = 0
    for instance in report["instances"].values():
        if "waiting for a cpu" in instance["state"].lower():
            after = bisect.bisect_right(ends, instance["start_ns"] + 3000)
            if after == len(stays) or stays[after].delay_ns > 0:
                total += instance["end_ns"] - instance["start_ns"]
    return total


def check(tap, thread, stays):
    name = "%s[%d], %d stays" % (thread["comm"], thread["tid"], len(stays))
    report, done = kernel.why("--tid", thread["tid"], "--from", kernel.seconds(stays[0].end_ns),
                              "--to", kernel.seconds(stays[-1].end_ns), "run.holdup")
    if not tap.ok(report, name + ": explained", done.stderr):
        return
    irq = kernel.irq_ns(report)
    wib = report["wib"]
    delay = delay_ns(report, stays)
    rounding = 3000 * len(stays) + 20_000
    tap.near(wib["working_ns"] + irq, sum(s.run_ns for s in stays[1:]), name + ": run",
             floor=rounding)
    tap.near(wib["blocked_ns"] + wib["interrupted_ns"] - irq, sum(s.wait_ns for s in stays[1:]),
             name + ": wait", floor=rounding)
    tap.near(delay, sum(s.delay_ns for s in stays[1:]), name + ": delay",
             floor=rounding + 7000 * len(stays))


def main():
    kernel.need("perf")
    tap = kernel.Tap()
    threads = record()
    by_tid = timehist()
    for thread in threads:
        stays = by_tid.get(thread["tid"], [])
        if tap.ok(len(stays) > 2, "%s: perf has seen it" % thread["comm"]):
            check(tap, thread, stays)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
