#!/usr/bin/env python3
"""CPUs that come and go: more, fewer or none told of than there are, and all threads moved from one
to another while they log, as the kernel does when it takes a CPU away.

That a CPU really goes is part of tests/vm, where there is one that can.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

EVENTS = 60000 * probe.LONG
CPUS = "/sys/devices/system/cpu"


def clear():
    shutil.rmtree("traces", ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink("counters")


def logged(tap, method, name, *before):
    """All events are there."""
    clear()
    done = probe.run([*before, probe.program("probe-load"), "-f", "counters", "-n", str(EVENTS), "-s",
                      "-m", "-c"], probe.environment(method, "stream", os.path.abspath("traces")))
    trace = probe.trace_in("traces")
    good, numbers, said = probe.check("counters", trace)
    lost = probe.number("lost", done.stdout)
    tap.ok(done.returncode == 0 and good and lost == 0 and numbers["events"] >= 8 * EVENTS,
           "%s, %s: %d events, %d lost" % (name, method, numbers.get("events", 0), lost),
           done.returncode, done.stdout, said)


def mounted(*words):
    return subprocess.run(["mount", *words], check=False, stderr=subprocess.DEVNULL).returncode == 0


def told(tap, method):
    """What /sys says of CPUs that are possible."""
    for name, text in (("more CPUs than there are", "0-63"), ("fewer CPUs than there are", "0"),
                       ("nonsense", "4294967295-99999999999999\n")):
        with open("possible", "w") as file:
            file.write(text)
        if not mounted("--bind", "possible", CPUS + "/possible"):
            tap.skipped("%s, %s" % (name, method), "cannot mount")
            continue
        logged(tap, method, name)
        # It begins on the first one alone, and knows of no other.
        if text == "0":
            logged(tap, method, "begun on one of them", "taskset", "-c", "0")
        subprocess.run(["umount", CPUS + "/possible"], check=False)
    if mounted("-t", "tmpfs", "none", "/sys"):
        logged(tap, method, "no /sys", "taskset", "-c", "0")
        subprocess.run(["umount", "/sys"], check=False)
    else:
        tap.skipped("no /sys, " + method, "cannot mount")


def move_all(process, cpu):
    with contextlib.suppress(OSError):
        for tid in os.listdir("/proc/%d/task" % process.pid):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(tid), {cpu})


def moved(tap, method):
    """All threads are driven from one CPU to the next; none may stay behind."""
    clear()
    cpus, moves = sorted(os.sched_getaffinity(0)), 0
    with kernel.running(probe.program("probe-load"), "-f", "counters", "-n", str(EVENTS * 4), "-s",
                        "-c", env=probe.environment(method, "stream", os.path.abspath("traces")),
                        stdout=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            move_all(process, cpus[moves % len(cpus)])
            moves += 1
            time.sleep(0.002)
        out, _ = process.communicate(timeout=60)
    good, numbers, said = probe.check("counters", probe.trace_in("traces"))
    tap.ok(process.returncode == 0 and good and "lost 0" in out and
           numbers["events"] >= 32 * EVENTS,
           "%s: driven from CPU to CPU %d times, %d events" % (method, moves,
                                                               numbers.get("events", 0)),
           process.returncode, out, said)


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            told(tap, method)
            moved(tap, method)
    tap.end()


if len(sys.argv) == 1 and os.geteuid() == 0 and shutil.which("unshare"):
    os.execvp("unshare", ["unshare", "-m", sys.executable, os.path.realpath(__file__), "inside"])
main()
