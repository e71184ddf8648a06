#!/usr/bin/env python3
"""A thread stops in the middle of an event. With restartable sequences nothing of it is seen. With
compare-and-swap what others wrote before it is there, what they wrote behind it in that one packet is
hidden, and counted to the byte; and all of it is there when the thread goes on.
"""
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

PACKET, HEAD, STEP = 128 << 10, 108, 12 + 8
HALF = 12 + 4 + 8 + 4 + 4 + 600
WHOLE = {"before": 100, "behind": 1000, "fill": 20000, "later": 500}


def half_bytes(trace):
    """What the packets themselves say is given out and not published."""
    count = 0
    for name in os.listdir(trace):
        if not name.startswith("cpu"):
            continue
        with open(os.path.join(trace, name), "rb") as file:
            data = file.read()
        for at in range(0, len(data), PACKET):
            reserved, = struct.unpack_from("<Q", data, at + 32)
            content, = struct.unpack_from("<Q", data, at + 64)
            reserved &= (1 << 63) - 1
            count += reserved - content // 8 if reserved > HEAD else 0
    return count


def by_check(trace):
    _, _, said = probe.check(trace)
    return {name: int(count) for name, count in re.findall(r"^(\w+):step (\d+) \d+$", said, re.M)
            if int(count)}, said


def by_holdup(trace):
    done = kernel.holdup("list", "--count-by", "event", trace)
    return {name: int(count.replace(",", "")) for count, name
            in re.findall(r"% +([\d,]+) +(\w+):step$", done.stdout, re.M)}, done


def one(tap, method, what):
    shutil.rmtree("traces", ignore_errors=True)
    done = probe.run([probe.program("probe-half"), what],
                     probe.environment(method, "stream", os.path.abspath("traces")))
    name = "%s, %s" % (method, what)
    trace = probe.trace_in("traces")
    counts, said = by_check(trace)
    hides = method == "cas" and what != "resumed"
    filled = counts.get("fill", 0)
    want = {"before": 100, "fill": filled, "later": 500} if hides else WHOLE
    tap.ok(done.returncode == (0 if what == "alone" else -9) and " lost 0" in done.stdout and
           counts == want and "wrong" not in said, name + ": what is published",
           done.returncode, done.stdout, counts, said)
    expected = HALF + (1000 + 20000 - filled) * STEP if hides else 0
    tap.ok(half_bytes(trace) == expected, "%s: %d bytes are hidden" % (name, expected),
           half_bytes(trace))
    said = probe.babeltrace(trace)
    tap.ok(not said, name + ": babeltrace2 reads it", said[-800:])
    listed, done = by_holdup(trace)
    tap.ok(listed == want, name + ": holdup list counts the same", listed, want, done.stderr)
    shutil.rmtree("recovered", ignore_errors=True)
    done = kernel.holdup("recover", "-o", "recovered", "traces")
    counts, _ = by_check(probe.trace_in("recovered"))
    tap.ok(done.returncode == 0 and counts == want and
           ("incomplete" in done.stdout) == hides and half_bytes(probe.trace_in("recovered")) == 0,
           name + ": recover keeps what is whole, and tells of the rest", done.stdout, done.stderr,
           counts)


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            for what in ("stopped", "alone", "resumed"):
                one(tap, method, what)
    tap.end()


main()
