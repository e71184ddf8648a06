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

EVENTS = 150000 * probe.LONG
CPU_BYTES = 1 << 20


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


def flight(tap, method, threads):
    """The last ones of each CPU; threads stay on theirs, so none may be missing in between."""
    trace, done = log(method, "flight", "-t", threads, "-n", EVENTS * 4, "-p", "-s", "-c",
                      HOLDUP_SIZE=str(CPU_BYTES))
    good, numbers, said = probe.check("-g", "counters", trace)
    # A packet may end early by the longest event; the one being written may be empty.
    tap.ok(good and done.returncode == 0 and numbers["least"] >= CPU_BYTES and
           numbers["events"] < 4 * EVENTS * threads,
           "%s: the flight recorder of %d threads keeps the last %d"
           % (method, threads, numbers.get("events", 0)), done.stdout, said)


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
    tap.end()


main()
