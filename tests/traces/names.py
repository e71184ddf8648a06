#!/usr/bin/env python3
"""Threads have the names in a window of a list that they have in the list of the whole trace.

Windows are drawn; another HOLDUP_SEED draws other ones. A window begins where threads had their
CPUs already: whoever was named long before it must be named in it.
"""
import collections
import glob
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
from ctf import kernel  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
S = 1_000_000_000
WINDOWS = 3 if os.environ.get("HOLDUP_SANITIZED") else 12
# Archive, what of it is the trace.
OTHERS = (
    ("vm/diskread-lttng.tar.zst", "diskread-lttng/trace/kernel"),
    ("vm/diskread-tracecmd.tar.zst", "diskread-tracecmd/trace.dat"),
    ("vm/diskread-perf.tar.zst", "diskread-perf/perf.data"),
    ("13-recorded/pipe.trace.dat.zst", "pipe.trace.dat"),
    ("13-recorded/xvfb.perf.data.zst", "xvfb.perf.data"),
)


def listed(trace, *options):
    """((time, CPU, tid, event), name) of each event of a thread."""
    done = subprocess.run([kernel.HOLDUP, "list", "--fields", "time,cpu,tid,event,comm", "--json", *options, trace],
                          check=False, capture_output=True, text=True, errors="replace")
    rows = map(ctf.json.loads, done.stdout.splitlines())
    return [((row["time_ns"], row["cpu"], row["tid"], row["event"]), row["comm"]) for row in rows if row["tid"]]


def compare(tap, trace, chance):
    whole = listed(trace)
    names = collections.defaultdict(set)
    for event, name in whole:
        names[event].add(name)
    first, last = whole[0][0][0], whole[-1][0][0]
    wrong, seen = [], 0
    for _ in range(WINDOWS):
        start = chance.randrange(first, last)
        window = [event for event in listed(trace, "--from", "%d.%09d" % divmod(start, S), "--to",
                                            "%d.%09d" % divmod(start + (last - first) // 50, S))]
        seen += len(window)
        wrong += [(event, name, names[event]) for event, name in window if name not in names[event]]
    tap.ok(seen and not wrong, "%s: %d events of windows have their names" % (trace, seen), len(wrong), *wrong[:3])


def main():
    chance = random.Random(os.environ.get("HOLDUP_SEED", "7"))
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for archive in sorted(glob.glob(os.path.join(HERE, "../data/*.tar.gz"))):
            subprocess.run(["tar", "-xzf", archive], check=True)
            compare(tap, os.path.basename(archive).replace(".tar.gz", ".holdup"), chance)
        for archive, trace in OTHERS:
            if ctf.unpack_one(archive, trace):
                compare(tap, trace, chance)
    tap.end()


main()
