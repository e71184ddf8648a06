#!/usr/bin/env python3
"""Time on a CPU and time in its queue agree with the kernel's own accounting.

A mixed load runs for 5 s. Each of its threads reads its own schedstat twice, with
the clock before and after; the window of the explanation lies between the two.
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
    irq = interrupted_by_irq(report)
    return (report["wib"]["working_ns"] + irq, report["wib"]["interrupted_ns"] - irq, report)


def interrupted_by_irq(report):
    """Interrupts run on top of a thread: the kernel counts them as its time on a CPU."""
    total = 0
    for line in report["summary"]:
        if line["name"].lower() == "interrupted":
            for child in line["children"]:
                if "irq" in child["name"].lower():
                    total += child["ns"]
    return total


def check(tap, thread):
    name = "%s[%d]" % (thread["comm"], thread["tid"])
    on_cpu, queued, report = ours(thread)
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    tap.near(on_cpu, thread["cpu_ns"], name + ": on a CPU", floor=FLOOR_NS)
    tap.near(queued, thread["queued_ns"], name + ": waiting for a CPU",
             floor=FLOOR_NS + thread["waits"] * 8000)


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
