#!/usr/bin/env python3
"""libholdup on 64-bit ARM, under qemu-user: the sequences alone, and the library by brute force.

qemu-user has no restartable sequences: so the library takes the other way there. Needs
aarch64-linux-gnu-gcc and qemu-aarch64 (tools/setup ci).
"""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

CC = "aarch64-linux-gnu-gcc"
FLAGS = ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
         "-Wno-sign-compare", "-D_GNU_SOURCE", '-DHOLDUP_VERSION="test"', "-fno-strict-aliasing",
         "-static", "-pthread"]


def build(name, *sources):
    """A program of the other architecture."""
    done = subprocess.run([CC, *FLAGS, "-I" + probe.ROOT + "/src", "-I" + probe.ROOT + "/include",
                           "-o", name, os.path.join(probe.ROOT, "tests/runtime", name + ".c"),
                           *sources], stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


def loaded(tap, qemu, mode, *args):
    shutil.rmtree("traces", ignore_errors=True)
    if os.path.exists("counters"):
        os.unlink("counters")
    done = probe.run([qemu, "./load", "-f", "counters", "-n", "20000", "-c", *args],
                     probe.environment("cas", mode, os.path.abspath("traces"), HOLDUP_SIZE="1M"
                                       if mode == "flight" else "0"))
    trace = probe.trace_in("traces")
    good, numbers, said = probe.check(*(["-g"] if mode == "flight" else []), "counters", trace)
    tap.ok(done.returncode == 0 and good and numbers["events"],
           "%s: %d events" % (mode, numbers.get("events", 0)), done.returncode, done.stdout, said)
    said = probe.babeltrace(trace)
    tap.ok(not said, mode + ": babeltrace2 reads them", said[-800:])


def main():
    tap = kernel.Tap()
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if not qemu or not shutil.which(CC):
        kernel.absent("no %s, or no qemu-aarch64: tools/setup ci" % CC)
    with kernel.workdir():
        library = sorted(glob.glob(probe.ROOT + "/src/runtime/*.c"))
        for name, sources in (("words", []), ("load", library)):
            status, said = build(name, *sources)
            tap.ok(status == 0, name + ".c is built without a warning", said[-1500:])
        done = probe.run([qemu, "./words"], os.environ)
        tap.ok(done.returncode == 0 and "ok 15" in done.stdout, "the sequences alone", done.stdout)
        loaded(tap, qemu, "stream", "-t", "4", "-s")
        loaded(tap, qemu, "flight", "-t", str(os.cpu_count()), "-p")
    tap.end()


main()
