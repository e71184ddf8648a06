#!/usr/bin/env python3
"""Time on a CPU and time in its queue agree with the kernel's own accounting.

A mixed load runs for 5 s. Each of its threads reads its own schedstat twice, with
the clock before and after; the window of the explanation lies between the two.

The kernel's numbers differ from a recording's for two reasons, and by how much can be
read from the recorded events, wait by wait; see lib/displaced.py. With that taken into
account they agree closely, on a busy machine and where interrupts are slow as well.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import displaced  # noqa: E402
import kernel  # noqa: E402

SECONDS = 5


def ours(thread):
    """On CPU and waiting for one, by the recording."""
    report, done = kernel.why("--tid", thread["tid"], "--from", kernel.seconds(thread["start_ns"]),
                              "--to", kernel.seconds(thread["end_ns"]), "run.holdup")
    if report is None:
        raise RuntimeError("why --tid %d: %s" % (thread["tid"], done.stderr))
    irq = kernel.irq_ns(report)  # on top of a thread: the kernel counts it as the thread's
    wib = report["wib"]
    return (wib["working_ns"] + irq, wib["interrupted_ns"] - irq), report


def check(tap, thread, shifts, stolen):
    name = "%s[%d]" % (thread["comm"], thread["tid"])
    times, report = ours(thread)
    uncertain = report["wib"]["uncertain_ns"]
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    tap.ok(uncertain < 0.001 * kernel.window_ns(report), name + ": under 0.1 % is uncertain",
           "%d ns are" % uncertain)
    shifts.check(tap, name, thread, times, stolen)


def main():
    kernel.need()
    tap = kernel.Tap()
    threads, stolen = displaced.record_undisturbed(SECONDS, "run.holdup")
    shifts = displaced.Displaced("run.holdup", threads)
    tap.ok(len(threads) == 8 and shifts.lost == 0, "the load is recorded, nothing is lost",
           threads, shifts.lost)
    for thread in threads:
        check(tap, thread, shifts, stolen)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
