#!/usr/bin/env python3
"""Wait, delay and run times per thread agree with `perf sched timehist`.

perf and holdup record the same load at the same time. timehist prints one line per
stay on a CPU: how long the thread was away before it (wait), how much of that it
had been woken but not running (delay), and how long it stayed (run). The window of
a thread goes from the end of its first stay to the end of its last one.

What differs, and is not an error: timehist rounds to 1 us, a line at a time; it
counts interrupts as run time; its delay begins at sched_waking or sched_wakeup,
whichever comes last; a thread that was preempted has wait but no delay. Where the
kernel does not record a switch, timehist lets the stay begin at an earlier event; we
place it by other events. Such stays are few; they are left out, and there must be no
more of them than switches that were placed.
"""
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
AT_ONCE = 200  # stays; a report lists the longest spans of a kind, so few are asked for
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
        done = kernel.holdup("record", "-e", "core", "-o", "run.holdup", "--", load, SECONDS,
                             "load.json")
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


def ours(report, stays):
    """Our times for each stay and the time before it, from the spans of the report."""
    spans = sorted((span["start_ns"], span["end_ns"], span["state"].lower())
                   for span in report["instances"].values())
    found = []
    at = 0
    for before, stay in zip(stays, stays[1:]):
        times = collections.Counter()
        while at < len(spans) and spans[at][1] <= before.end_ns:
            at += 1
        for start, end, state in spans[at:]:
            if start >= stay.end_ns:
                break
            times[what(state)] += min(end, stay.end_ns) - max(start, before.end_ns)
        found.append(times)
    return found


def what(state):
    """The kind of time, in timehist's eyes."""
    if state.startswith("blocked"):
        return "blocked"
    if state.startswith("interrupted > waiting for a cpu"):
        return "delay"
    if state.startswith("interrupted > preempted"):
        return "preempted"
    return "run"


def compare(thread, stays):
    """[(our times, perf's stay)] for all stays but the first, and the switches we placed."""
    pairs, placed = [], 0
    for at in range(0, len(stays) - 1, AT_ONCE):
        part = stays[at:at + AT_ONCE + 1]
        report, done = kernel.why("--tid", thread["tid"], "--from", kernel.seconds(part[0].end_ns),
                                  "--to", kernel.seconds(part[-1].end_ns), "run.holdup")
        if report is None:
            raise RuntimeError(done.stderr)
        pairs += zip(ours(report, part), part[1:])
        placed += report["repairs"]["count"]
    return pairs, placed


def same(times, stay):
    """Whether both saw the same switches."""
    return (abs(times["run"] - stay.run_ns) < 50_000 + 0.01 * stay.run_ns
            and abs(times["delay"] - stay.delay_ns) < 50_000 + 0.01 * stay.delay_ns)


def check(tap, thread, stays):
    name = "%s[%d], %d stays" % (thread["comm"], thread["tid"], len(stays))
    pairs, placed = compare(thread, stays)
    good = [(times, stay) for times, stay in pairs if same(times, stay)]
    left_out = [pair for pair in pairs if not same(*pair)]
    tap.ok(len(left_out) <= min(placed, 2 + 0.02 * len(pairs)),
           "%s: %d left out, not more than %d switches placed" % (name, len(left_out), placed),
           "\n".join("%s %s" % (dict(times), stay) for times, stay in left_out[:10]))
    floor = 3000 * len(good) + 20_000
    tap.near(sum(times["run"] for times, _ in good), sum(stay.run_ns for _, stay in good),
             name + ": run", floor=floor)
    tap.near(sum(times["blocked"] + times["delay"] + times["preempted"] for times, _ in good),
             sum(stay.wait_ns for _, stay in good), name + ": wait", floor=floor)
    tap.near(sum(times["delay"] for times, _ in good), sum(stay.delay_ns for _, stay in good),
             name + ": delay", floor=floor + 7000 * len(good))


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
