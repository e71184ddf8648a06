#!/usr/bin/env python3
"""Time on a CPU and time in its queue agree with the kernel's own accounting.

A mixed load runs for 5 s. Each of its threads reads its own schedstat twice, with
the clock before and after; the window of the explanation lies between the two.

Two things differ by a few microseconds a wait, and are allowed for. The kernel counts
a wait for a CPU from the moment the thread is in its queue, a recording from the
moment it is woken. And a thread that is woken and preempts another at once is
accounted from the moment it was woken (the clock of the queue is not read again for
the switch), though in between it waited for the interrupt and the switch. So the sum of both
must agree closely, each of them a little less so.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SECONDS = 5
ATTEMPTS = 3
FLOOR_NS = 1_000_000  # reading the numbers takes time, too
QUEUE_NS = 8_000  # a wait, from the waking to the queue
SWITCH_NS = 20_000  # a wait, from the waking to the switch


def record(seconds):
    """Record the load. Returns what its threads read, and whether CPU time was stolen."""
    load = os.path.join(kernel.PROGRAMS, "mixed-load")
    stolen = kernel.steal_ns()
    with kernel.spinners():
        done = kernel.holdup("record", "-o", "run.holdup", "--", load, seconds, "load.json")
    stolen = kernel.steal_ns() - stolen
    if done.returncode != 0:
        return None, done
    with open("load.json") as file:
        return [json.loads(line) for line in file], stolen


def ours(thread):
    """On CPU and waiting for one, by the recording."""
    report, done = kernel.why("--tid", thread["tid"], "--from", kernel.seconds(thread["start_ns"]),
                              "--to", kernel.seconds(thread["end_ns"]), "run.holdup")
    if report is None:
        raise RuntimeError("why --tid %d: %s" % (thread["tid"], done.stderr))
    irq = kernel.irq_ns(report)  # on top of a thread: the kernel counts it as the thread's
    return (report["wib"]["working_ns"] + irq, report["wib"]["interrupted_ns"] - irq, report)


def check(tap, thread):
    name = "%s[%d]" % (thread["comm"], thread["tid"])
    on_cpu, queued, report = ours(thread)
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    tap.near(on_cpu + queued, thread["cpu_ns"] + thread["queued_ns"], name + ": runnable",
             floor=FLOOR_NS + thread["waits"] * QUEUE_NS)
    floor = FLOOR_NS + thread["waits"] * SWITCH_NS
    tap.near(on_cpu, thread["cpu_ns"], name + ": on a CPU", floor=floor)
    tap.near(queued, thread["queued_ns"], name + ": waiting for a CPU", floor=floor)


def main():
    kernel.need()
    tap = kernel.Tap()
    for attempt in range(ATTEMPTS):
        threads, stolen = record(SECONDS)
        if not threads or stolen == 0 or attempt == ATTEMPTS - 1:
            break
        kernel.note("%d ms of CPU time were stolen: again" % (stolen // kernel.MS))
        subprocess.run(["rm", "-rf", "run.holdup"], check=True)
    if tap.ok(threads, "the load is recorded", stolen):
        for thread in threads:
            check(tap, thread)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
