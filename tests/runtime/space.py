#!/usr/bin/env python3
"""No space, no folder, no right: no crash, and what is lost is counted, in the trace as well."""
import contextlib
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

EVENTS = 300000


def load(method, mode, folder, *before, **more):
    if os.path.exists("counters"):
        os.unlink("counters")
    return probe.run([*before, probe.program("probe-load"), "-f", "counters", "-n", str(EVENTS), "-c",
                      "-t", "4"], probe.environment(method, mode, folder, **more))


def lost_by(done):
    return probe.number("lost", done.stdout)


def partly(tap, method, name, folder, *before, **more):
    """Some events are there, the rest is counted."""
    done = load(method, "stream", os.path.abspath(folder), *before, **more)
    trace = probe.trace_in(folder) if os.path.isdir(folder) else None
    good, numbers, said = probe.check("counters", trace) if trace else (False, {}, "no trace")
    tap.ok(done.returncode == 0 and good and numbers["events"] and
           numbers["events"] + lost_by(done) == 4 * EVENTS and 0 < numbers["in-trace"],
           "%s, %s: %d events and %d lost ones, %d of those in the trace"
           % (name, method, numbers.get("events", 0), lost_by(done), numbers.get("in-trace", 0)),
           done.returncode, done.stdout, said)
    if trace:
        said = probe.babeltrace(trace)
        tap.ok(not said, "%s, %s: babeltrace2 reads it" % (name, method), said)
    return trace


def nothing(tap, method, name, folder):
    done = load(method, "stream", folder)
    tap.ok(done.returncode == 0 and lost_by(done) == 4 * EVENTS, "%s, %s" % (name, method),
           done.returncode, done.stdout)


def full_tmpfs(tap, method):
    os.makedirs("small", exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", "small"], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        tap.skipped("a full file system, " + method, "cannot mount")
        return
    try:
        partly(tap, method, "a full file system", "small/traces")
        # Not even one page: the folder can be made, but nothing in it.
        rest = os.open("small/rest", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while True:
                os.write(rest, bytes(4096))
        os.close(rest)
        nothing(tap, method, "a file system without a page", os.path.abspath("small/more"))
    finally:
        subprocess.run(["umount", "small"], check=False)


def vanishing(tap, method):
    """The folder goes while events are logged to it."""
    env = probe.environment(method, "stream", os.path.abspath("gone"))
    with kernel.running(probe.program("probe-load"), "-f", "counters", "-n", str(EVENTS * 8), "-t",
                        "4", env=env, stdout=subprocess.PIPE, text=True) as process:
        while not os.path.isdir("gone"):
            pass
        shutil.rmtree("gone", ignore_errors=True)
        out, _ = process.communicate(timeout=60)
    tap.ok(process.returncode == 0 and "lost" in out, "a folder that vanishes, " + method,
           process.returncode, out)


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            shutil.rmtree("limited", ignore_errors=True)
            partly(tap, method, "a limit", "limited", HOLDUP_SIZE="1M")
            full_tmpfs(tap, method)
            with open("file", "w"):
                nothing(tap, method, "no folder, but a file", os.path.abspath("file"))
            nothing(tap, method, "no rights", "/proc/1/nothing")
            vanishing(tap, method)
    tap.end()


if len(sys.argv) == 1 and os.geteuid() == 0 and shutil.which("unshare"):
    os.execvp("unshare", ["unshare", "-m", sys.executable, os.path.realpath(__file__), "inside"])
main()
