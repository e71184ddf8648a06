#!/usr/bin/env python3
"""What holdup check measures in recordings, against what the single events add up to.

Windows begin and end at events that are drawn; HOLDUP_SEED draws other ones. Whatever the two say is a
range where the events leave it open: the ranges must have a value in common, and both be one value
where nothing is open. The recordings are those of tests/data, and, where $HOLDUP_CTF_TRACES or
../shared/traces beside the project is there, those of other tracers and kernels. Neither root nor a
kernel is needed.
"""
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../kernel/lib"))
sys.path.insert(0, HERE)
import ctf  # noqa: E402
import kernel  # noqa: E402
import twincheck  # noqa: E402

SANITIZED = bool(os.environ.get("HOLDUP_SANITIZED"))

# Archive, what of it is the trace; rounds, each with a model of its own.
OTHERS = (
    ("vm/diskread-lttng.tar.zst", "diskread-lttng/trace/kernel", 6),
    ("vm/diskread-lttng-1cpu.tar.zst", "diskread-lttng-1cpu/trace/kernel", 4),
    ("vm/diskread-tracecmd.tar.zst", "diskread-tracecmd/trace.dat", 6),
    ("vm/diskread-perf.tar.zst", "diskread-perf/perf.data", 6),
    ("vm/pipeline-lttng.tar.zst", "pipeline-lttng/trace/kernel", 4),
    ("vm/tbench-lttng-lost.tar.zst", "tbench-lttng-lost/trace/kernel", 4),
    ("01-ctf-real/bug446190.tar.zst", "bug446190", 4),
    ("13-recorded/pipe.trace.dat.zst", "pipe.trace.dat", 2),
    ("13-recorded/pipe.perf.data.zst", "pipe.perf.data", 4),
)
# These must come up in some window; others depend on what the traces here have.
SEEN = ("on_cpu", "user", "system", "in_irq", "in_softirq", "wait_cpu", "preempted", "blocked", "blocked(lock)",
        "blocked(time)", "blocked(thread)", "in_syscalls", "preemptions", "switches", "syscalls", "faults",
        "interrupts", "softirqs", "wakeups", "bytes_read", "bytes_written")


def recordings():
    """(trace, rounds); each is unpacked when it is its turn."""
    for archive in sorted(glob.glob(os.path.join(HERE, "../data/*.tar.gz"))):
        subprocess.run(["tar", "-xzf", archive], check=True)
        yield os.path.basename(archive).replace(".tar.gz", ".holdup"), 3
    for archive, trace, rounds in OTHERS:
        if ctf.unpack_one(archive, trace):
            yield trace, rounds


def every_kind(tap):
    """Whoever adds a metric is told here that nothing recomputes it."""
    with open(os.path.join(HERE, "../../src/model/metric.c"), encoding="utf-8") as file:
        names = re.findall(r'\[METRIC_\w+\] = \{ "(\w+)"', file.read())
    known = {metric.split("(")[0] for metric in twincheck.METRICS}
    tap.ok(len(names) > 20, "metrics are read from the source", names)
    for name in sorted(set(names) - known):
        tap.skipped("%s is worked out from events" % name, "nothing recomputes it yet")


def main():
    seed = os.environ.get("HOLDUP_SEED", "5")
    print("# HOLDUP_SEED=" + seed)
    tap = kernel.Tap()
    every_kind(tap)
    tally = twincheck.Tally()
    with kernel.workdir("/var/tmp"):
        os.environ["XDG_CACHE_HOME"] = os.getcwd()
        for i, (trace, rounds) in enumerate(recordings()):
            if not SANITIZED or i % 3 == 0:
                twincheck.run(trace, int(seed) + i, [(rounds, lambda event: True)], tally)
    twincheck.tell(tap, tally, () if SANITIZED else SEEN)
    tap.end()


main()
