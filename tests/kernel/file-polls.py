#!/usr/bin/env python3
"""Polls of files that somebody changes in each way there is: who did is held up for, as inferred, and nobody else.

One recording of file-changes, whose pairs poll and change at once. What is written through a mapping, or into another
process's memory, leaves no call about the file: there the doer is inferred from what it did then.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

PROGRAM = os.path.join(kernel.PROGRAMS, "file-changes")
BY = {"opens-empty": "openat", "replaces": "rename", "io_uring": "io_uring_enter", "mapping": "woke up",
      "shared-memory": "woke up"}
HELD_NS = 300 * kernel.MS


def check_pair(tap, way, asker, doer):
    report, done = kernel.why("--tid", asker, "--unfold", "polls.holdup")
    if not tap.ok(report is not None, way + ": a report", done.stderr):
        return
    told = [(wait["end_ns"] - wait["start_ns"], (wait.get("answerer") or {}).get("tid"), wait["inferred"])
            for wait in report["causality"] if wait.get("inferred")]
    if not doer:
        tap.ok(not told, way + ": nobody is told", told)
        return
    tap.ok(sum(row[0] for row in told) > HELD_NS and all(row[1] == doer for row in told),
           way + ": the sleeps are for who changed it, as inferred", doer, told, kernel.show_roots(report))
    words = BY.get(way, way)
    tap.ok(all(words in row[2] for row in told), way + ": and how it did is told", words, told)


def main():
    kernel.need()
    tap = kernel.Tap()
    os.mkdir("files")
    done = holdup("record", "--stack-min", "off", "--sample", "off", "-o", "polls.holdup", "--", PROGRAM, "files")
    pairs = [line.split() for line in done.stdout.splitlines() if len(line.split()) == 3]
    tap.ok(len(pairs) >= 15, "all pairs were recorded", done.stdout, done.stderr)
    for way, asker, doer in pairs:
        check_pair(tap, way, int(asker), int(doer))
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
