#!/usr/bin/env python3
"""Threads, their signal handlers and moves among CPUs: every event once, whole and in order.

PROBE_LONG=N logs N times as many.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

EVENTS = 150000 * probe.LONG // (3 if os.environ.get("HOLDUP_SANITIZED") else 1)  # which is slow
CPU_BYTES = 1 << 20
LARGE_CPU_BYTES = 8 << 20  # in files of large pages
SPACE = 1 << 30  # in memory
EVENT = 28  # bytes, at least


def log(method, mode, *args, name="probe-load", **more):
    """Log to a new trace. Returns the trace, the numbers, and what the program said."""
    shutil.rmtree("traces", ignore_errors=True)
    if os.path.exists("counters"):
        os.unlink("counters")
    done = probe.run([probe.program(name), "-f", "counters", *map(str, args)],
                     probe.environment(method, mode, os.path.abspath("traces"), **more), 600)
    return probe.trace_in("traces"), done


def all_events(tap, method, name):
    trace, done = log(method, "stream", "-n", EVENTS, "-s", "-m", "-c", name=name)
    good, numbers, said = probe.check("counters", trace)
    tap.ok(good and done.returncode == 0 and "method " + method in done.stdout and
           numbers["events"] >= 8 * EVENTS and numbers["stuck"] == 0,
           "%s, %s: %d events, each once" % (name, method, numbers.get("events", 0)),
           done.stdout, said)
    said = probe.babeltrace(trace)
    tap.ok(not said, "%s, %s: babeltrace2 reads them" % (name, method), said)


def in_memory(tap, method, threads, **more):
    """Where files are of large pages: threads that find none ahead make theirs at the same time."""
    trace, done = log(method, "stream", "-t", threads, "-n", EVENTS, "-s", **more)
    good, numbers, said = probe.check("counters", trace)
    tap.ok(good and done.returncode == 0 and numbers["missing"] == 0 and
           numbers["events"] >= threads * EVENTS,
           "%s: %d threads, %d events in memory, each once" % (
               " ".join([method, *more]), threads, numbers.get("events", 0)), done.stdout, said)


def flight(tap, method, threads, size=CPU_BYTES):
    """The last ones of each CPU; threads stay on theirs, so none may be missing in between."""
    events = 4 * max(EVENTS, size // EVENT)
    trace, done = log(method, "flight", "-t", threads, "-n", events, "-p", "-s", "-c",
                      HOLDUP_SIZE=str(size))
    good, numbers, said = probe.check("-g", "counters", trace)
    # A packet may end early by the longest event; the one being written may be empty.
    tap.ok(good and done.returncode == 0 and numbers["least"] >= size and
           numbers["events"] < events * threads,
           "%s: the flight recorder of %d threads and %d KiB a CPU keeps the last %d"
           % (method, threads, size >> 10, numbers.get("events", 0)), done.stdout, said)


def ends(tap, method, how, status):
    """The process ends while its threads log: what they had logged is there."""
    trace, done = log(method, "stream", "-n", 1 << 40, "-c", "-x", how)
    good, numbers, said = probe.check("-k", *(["-i"] if method == "cas" else []), "counters", trace)
    tap.ok(good and done.returncode == status and numbers["events"],
           "%s: %s while %d events are logged" % (method, how, numbers.get("events", 0)),
           done.returncode, done.stdout, said)


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            for name in ["probe-load", "probe-load-static"]:
                all_events(tap, method, name)
            for threads in [os.cpu_count(), 4 * os.cpu_count()]:
                flight(tap, method, threads)
            for how, status in [("_exit", 0), ("abort", -6), ("crash", -11)]:
                ends(tap, method, how, status)
    with kernel.workdir(probe.memory(SPACE * probe.LONG)):
        for method in probe.METHODS:
            for more in ({}, {"HOLDUP_HELPER": "0"}):
                for threads in [os.cpu_count(), 4 * os.cpu_count(), 16 * os.cpu_count()]:
                    in_memory(tap, method, threads, **more)
            flight(tap, method, os.cpu_count(), LARGE_CPU_BYTES)
    tap.end()


main()
