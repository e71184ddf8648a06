#!/usr/bin/env python3
"""The index beside a trace: built once, by anyone, in any place, after anything.

Two commands at once, commands killed at any moment, a trace that must not be written
to, a full disk, a damaged and a stale index: the answers are those of the first build,
or a clear error. The trace is a recorded one, and a longer one recorded here.
"""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

DATA = os.path.join(kernel.ROOT, "tests", "data", "futex-convoy.tar.gz")
KILLS = int(os.environ.get("KILLS", "30"))
FLIPS = int(os.environ.get("DAMAGES", "60"))
SMALL = "futex-convoy.holdup"


def without_notes(text):
    """A function of the C library is called index(), too: it may be in a stack, and is left out as well."""
    return "\n".join(line for line in text.split("\n") if " index " not in line)


def answer(trace, **options):
    """What `why --all` prints of a trace, without notes on the index; None when it failed."""
    done = kernel.holdup("why", "--all", trace, **options)
    return without_notes(done.stdout) if done.returncode == 0 else None, done


def index_of(trace):
    return os.path.join(trace, "timeline", "index")


def remove_index(trace):
    shutil.rmtree(os.path.join(trace, "timeline"), ignore_errors=True)


@contextlib.contextmanager
def environment(**values):
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def mounted(*argv):
    """A mount that is gone afterwards; where this may not be done, the test is skipped."""
    os.makedirs("mnt", exist_ok=True)
    if subprocess.run(["mount", *argv, "mnt"], check=False).returncode != 0:
        yield None
        return
    try:
        yield "mnt"
    finally:
        subprocess.run(["umount", "mnt"], check=True)


def record_long():
    """A trace whose index takes long enough to be interrupted."""
    with kernel.spinners():
        done = kernel.holdup("record", "-e", "full", "-o", "long.holdup", "--", "perf", "bench",
                             "sched", "pipe", "-l", "60000")
    return done.returncode == 0, done


def at_once(tap, trace, expected):
    """Several commands that all need the index, and there is none."""
    for attempt in range(5):
        remove_index(trace)
        jobs = [subprocess.Popen([kernel.HOLDUP, "why", "--all", trace], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(4)]
        outs = [without_notes(job.communicate()[0]) for job in jobs]
        if any(out != expected for out in outs) or not os.path.exists(index_of(trace)):
            tap.ok(False, "four at once, attempt %d" % attempt, *outs)
            return
    tap.ok(sorted(os.listdir(os.path.join(trace, "timeline"))) == ["index", "lock"],
           "four at once: all get the answer, one index stays")


def killed(tap, trace, expected):
    start = time.monotonic()
    kernel.holdup("index", "--force", trace)
    took = time.monotonic() - start
    rng = random.Random(1)
    for number in range(KILLS):
        if number % 3 == 0:
            remove_index(trace)
        job = subprocess.Popen([kernel.HOLDUP, "index", "--force", trace],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, took))
        job.send_signal(signal.SIGKILL)
        job.wait()
        if number % 5 == 4:
            got, done = answer(trace)
            if got != expected:
                tap.ok(False, "after kill %d" % number, done.stderr)
                return
    got, done = answer(trace)
    tap.ok(got == expected, "%d builders killed: the answer stays" % KILLS, done.stderr)
    kernel.holdup("index", "--force", trace)
    left = sorted(os.listdir(os.path.join(trace, "timeline")))
    tap.ok(left == ["index", "lock"], "the next builder clears up", left)


def not_writable(tap, expected):
    remove_index(SMALL)
    with mounted("-o", "bind", SMALL) as place:
        if not place or subprocess.run(["mount", "-o", "remount,bind,ro", place],
                                       check=False).returncode != 0:
            tap.skipped("a trace that must not be written to", "no bind mounts here")
            return
        with environment(XDG_CACHE_HOME=os.path.abspath("cache")):
            got, done = answer(place)
            tap.ok(got == expected, "read-only: answered", done.stderr)
            kept = [name for _, _, names in os.walk("cache") for name in names]
            tap.ok("index" in kept, "read-only: the index is in the cache", kept)
            done = kernel.holdup("index", "--json", place)
            tap.ok(json.loads(done.stdout)["built"] is False, "read-only: and used from there",
                   done.stdout)
        with environment(XDG_CACHE_HOME="/proc/no-such-place"):
            got, done = answer(place)
            tap.ok(got == expected, "no place at all: answered", done.stderr)
            done = kernel.holdup("index", place)
            tap.ok(done.returncode == 3 and kernel.clear_error(done),
                   "no place at all: `index` says so", done.stdout, done.stderr)


def full_disk(tap, expected):
    with mounted("-t", "tmpfs", "-o", "size=12M", "none") as place:
        if not place:
            tap.skipped("a full disk", "no tmpfs can be mounted here")
            return
        trace = os.path.join(place, "t.holdup")
        shutil.copytree(SMALL, trace)
        remove_index(trace)
        with contextlib.suppress(OSError), open(os.path.join(place, "filler"), "wb", 0) as file:
            while file.write(b"x" * 4096):
                pass
        with environment(XDG_CACHE_HOME=os.path.abspath(place + "/cache")):
            done = kernel.holdup("index", trace)
            tap.ok(done.returncode == 3 and "No space left" in done.stderr,
                   "full disk: `index` says so", done.returncode, done.stderr)
            got, done = answer(trace)
            tap.ok(got == expected, "full disk: `why` answers all the same", done.stderr)
            os.unlink(os.path.join(place, "filler"))
            done = kernel.holdup("index", trace)
            tap.ok(done.returncode == 0 and os.path.exists(index_of(trace)),
                   "and when there is room again, it is built", done.stderr)


def damaged(tap, expected):
    """One byte of the index is wrong: the answer is right, whichever it is."""
    rng = random.Random(2)
    kernel.holdup("index", "--force", SMALL)
    whole = open(index_of(SMALL), "rb").read()
    for number in range(FLIPS):
        at = rng.randrange(len(whole))
        bad = bytearray(whole)
        bad[at] ^= 1 << rng.randrange(8)
        with open(index_of(SMALL), "wb") as file:
            file.write(bad if number % 4 else whole[:at])
        got, done = answer(SMALL)
        if got != expected:
            tap.ok(False, "byte %d of the index is wrong" % at, done.stderr, done.stdout[:2000])
            return
    tap.ok(True, "%d damaged indexes: built again, the answer stays" % FLIPS)


def stale(tap, expected):
    """The trace changes under its index."""
    shutil.copytree(SMALL, "cut.holdup")
    ring = os.path.join("cut.holdup", "kernel", "cpu1.ring")
    os.truncate(ring, os.path.getsize(ring) // 2)
    got, done = answer("cut.holdup")
    tap.ok(got is not None and got != expected, "a trace that was cut has another answer",
           done.stderr)
    remove_index("cut.holdup")
    fresh, done = answer("cut.holdup")
    tap.ok(got == fresh, "and the old index played no part in it", done.stderr)
    shutil.copytree(SMALL, "copy.holdup")
    done = kernel.holdup("index", "--json", "copy.holdup")
    tap.ok(done.returncode == 0, "a copy is indexed", done.stderr)
    kernel.holdup("index", "copy.holdup")
    shutil.copytree(SMALL, "twice.holdup")
    kernel.holdup("index", "--force", "twice.holdup")
    kernel.holdup("index", "--force", SMALL)
    with open(index_of(SMALL), "rb") as one, open(index_of("twice.holdup"), "rb") as other:
        # All but the head, where the key of the trace and the checksum over it stand.
        tap.ok(one.read()[64:] == other.read()[64:], "the same trace gives the same bytes")


def main():
    kernel.need("perf")
    tap = kernel.Tap()
    with tarfile.open(DATA) as tar:
        names = tar.getnames()
        tar.extractall()
    os.rename(names[0].split("/")[0], SMALL)
    expected, done = answer(SMALL)
    if tap.ok(expected, "the trace is explained", done.stderr):
        at_once(tap, SMALL, expected)
        not_writable(tap, expected)
        full_disk(tap, expected)
        damaged(tap, expected)
        stale(tap, expected)
    good, done = record_long()
    if tap.ok(good, "a longer trace is recorded", done.stderr):
        expected, done = answer("long.holdup")
        at_once(tap, "long.holdup", expected)
        killed(tap, "long.holdup", expected)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir("/var/tmp"):
        main()
