#!/usr/bin/env python3
"""SIGKILL at any moment: what the program knew to be logged is there, and every reader reads it.

Without restartable sequences a thread that dies in the middle of an event hides what is behind it
in its packet: there, only what is read must be right. PROBE_KILLS=N kills so often.
"""
import os
import random
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

KILLS = int(os.environ.get("PROBE_KILLS", "120"))
BATCH = 30


def has_events(folder):
    """Is there a file of packets?"""
    return any(name.startswith("cpu") for _, _, names in os.walk(folder) for name in names)


def killed(method, mode, folder):
    """Log and be killed. Returns whether anything was logged."""
    args = ["-p", "-t", str(os.cpu_count())] if mode == "flight" else []
    env = probe.environment(method, mode, os.path.abspath(folder), HOLDUP_SIZE="512K"
                            if mode == "flight" else "0",
                            HOLDUP_FILE=random.choice(["256K", "512K", "4M"]))
    if os.path.exists(folder + ".counters"):
        os.unlink(folder + ".counters")
    with kernel.running(probe.program("probe-load"), "-f", folder + ".counters", "-n", str(1 << 40),
                        "-s", "-c", *args, env=env) as process:
        # One in ten while it begins, the others while it logs, however busy the machine is.
        end = time.monotonic() + (0 if random.random() < 0.1 else 20)
        while not has_events(folder) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.0005)
        time.sleep(random.uniform(0, 0.04))
        process.kill()
        process.wait()
    trace = os.path.isdir(folder) and probe.trace_in(folder)
    return bool(trace) and os.path.exists(trace + "/metadata")


def batch(tap, method, mode, count):
    wrong, events, traces, hidden = [], 0, [], 0
    for number in range(count):
        folder = "k%d" % number
        if not killed(method, mode, folder):
            shutil.rmtree(folder, ignore_errors=True)  # else the next one finds two traces
            continue
        options = (["-i"] if method == "cas" else []) + (["-g"] if mode == "flight" else [])
        trace = probe.trace_in(folder)
        traces.append(folder)
        good, numbers, said = probe.check("-k", *options, folder + ".counters", trace)
        events += numbers.get("events", 0)
        hidden += numbers.get("missing", 0)
        if not good:
            wrong.append(said)
    tap.ok(not wrong and events, "%s, %s: killed %d times, %d events are there, %d hidden"
           % (method, mode, len(traces), events, hidden), *wrong[:3])
    said = probe.babeltrace(*traces)
    tap.ok(not said, "%s, %s: babeltrace2 reads all of them" % (method, mode), said[-2000:])
    said = ""
    for folder in traces[:3]:
        done = kernel.holdup("list", "--count-by", "event", probe.trace_in(folder))
        said += done.stderr if done.returncode else ""
    tap.ok(not said, "%s, %s: holdup reads some of them" % (method, mode), said)
    for folder in traces:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    tap = kernel.Tap()
    kinds = [(method, mode) for method in probe.METHODS for mode in ["stream", "flight"]]
    with kernel.workdir():
        for _ in range(max(1, KILLS // BATCH // len(kinds))):
            for method, mode in kinds:
                batch(tap, method, mode, min(BATCH, KILLS))
    tap.end()


main()
