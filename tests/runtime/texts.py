#!/usr/bin/env python3
"""A string that another thread changes while it is logged: its length is decided once."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

EVENTS = 30000 * probe.LONG


def one(tap, method):
    shutil.rmtree("traces", ignore_errors=True)
    done = probe.run([probe.program("probe-texts"), str(EVENTS)],
                     probe.environment(method, "stream", os.path.abspath("traces")))
    trace = probe.trace_in("traces")
    said = kernel.holdup("list", trace)
    pairs = re.findall(r"before=(\d+) .*behind=(\d+)", said.stdout)
    wrong = [(i, pair) for i, pair in enumerate(pairs) if pair != (str(i), str(i))]
    # On several CPUs they may come in another order.
    if sorted(int(a) for a, _ in pairs) == list(range(EVENTS)) and all(a == b for a, b in pairs):
        wrong = []
    tap.ok(done.returncode == 0 and said.returncode == 0 and len(pairs) == EVENTS and not wrong,
           "%s: %d events with strings that change are whole" % (method, len(pairs)),
           done.returncode, said.stderr[-500:], wrong[:3])
    said = probe.babeltrace(trace)
    tap.ok(not said, "%s: babeltrace2 reads them" % method, said[-2000:])


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            one(tap, method)
    tap.end()


main()
