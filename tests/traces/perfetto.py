#!/usr/bin/env python3
"""Perfetto's own reader opens what holdup export --format perfetto makes of other people's traces.

See ../kernel/lib/reader.py; the folder is that of ctf.py. Traces of kernels by LTTng (one with many
lost events), perf and trace-cmd, and of programs by LTTng-UST. Skipped when the folder or the reader
is not there.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
from ctf import kernel  # noqa: E402
import reader  # noqa: E402

# Archive, the trace in it, and whether events were lost.
TRACES = [
    ("vm/pipeline-lttng", "pipeline-lttng/trace", False),
    ("vm/tbench-lttng-lost", "tbench-lttng-lost/trace", True),
    ("vm/diskread-perf", "diskread-perf/perf.data", False),
    ("vm/pipeline-tracecmd", "pipeline-tracecmd/trace.dat", False),
    ("01-ctf-real/bug446190", "bug446190", False),
    ("01-ctf-real/context-switches-ust", "context-switches-ust", False),
    ("14-kernel-plus-ust/ust_xz.ust-ctf", "ust_xz-ust", False),
]


def main():
    if not os.path.isdir(os.path.join(ctf.TRACES, "01-ctf-real")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 01-ctf-real")
    if not reader.is_there():
        kernel.absent("no node, or no Perfetto in build-perfetto (tools/get-perfetto fetches it)")
    tap = kernel.Tap()
    with kernel.workdir():
        some = 4 if os.environ.get("HOLDUP_SANITIZED") else 1  # for the memory, some do
        for archive, trace, lossy in TRACES[::some]:
            path = os.path.join(ctf.TRACES, archive + ".tar.zst")
            if os.path.exists(path):
                subprocess.run(["tar", "--zstd", "-xf", path], check=True)
                reader.check(tap, trace, trace, loss=lossy)
    tap.end()


main()
