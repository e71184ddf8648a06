#!/usr/bin/env python3
"""Files that the helper copies while the program logs: killed at every step, calls that fail, and
readers that have a file open, mapped or linked. Each event stays in one place, and what was opened
does not change.

PROBE_LONG=N kills at each step N times.
"""
import contextlib
import ctypes
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

STEPS = 30  # of the helper's calls: the first file that is copied, and some of the next one
PACKET = 128 << 10
EVENTS = 400000


def environment(method, **more):
    preload = os.path.join(probe.PROGRAMS, "probe-steps.so")
    return probe.environment(method, "stream", os.path.abspath("traces"), LD_PRELOAD=preload,
                             **{"HOLDUP_FILE": "256K", **more})


def clear():
    shutil.rmtree("traces", ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink("counters")


def load(events, *more):
    return [probe.program("probe-load"), "-f", "counters", "-n", str(events), "-s", "-c", "-t", "4",
            *more]


def killed_at(method, step):
    """What is wrong with the trace of a program that was killed there, or None; and its events."""
    clear()
    with kernel.running(*load(1 << 40), env=environment(method, STEPS_KILL=str(step)),
                        stdout=subprocess.PIPE) as process:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            return "it does not come to step %d" % step, 0
    trace = probe.trace_in("traces")
    options = ["-i"] if method == "cas" else []
    good, numbers, said = probe.check("-k", *options, "counters", trace)
    said = said if not good else probe.babeltrace(trace)
    return "step %d: %s" % (step, said) if said else None, numbers.get("events", 0)


def kill_at_each(tap, method):
    wrong, events = [], 0
    for step in list(range(STEPS)) * probe.LONG:
        said, count = killed_at(method, step)
        wrong += [said] if said else []
        events += count
    tap.ok(not wrong and events, "%s: killed at %d steps of copying, %d events are there"
           % (method, STEPS * probe.LONG, events), *wrong[:3])


def failing(tap, method, call):
    """A call fails, or must not be made: no event is lost, nothing stays hidden, files are not copied."""
    clear()
    done = probe.run(load(EVENTS), environment(method, STEPS_FAIL=call))
    trace = probe.trace_in("traces")
    good, numbers, said = probe.check("counters", trace)
    exchanged = probe.number("exchanged", done.stdout)
    hidden = [name for name in os.listdir(trace) if name.startswith(".next")]
    right = exchanged == 0 if call in ("exchange", "lease", "write", "overlay") else exchanged > 0
    tap.ok(done.returncode == 0 and good and numbers["missing"] == 0 and right and not hidden,
           "%s, %s: %d events, %d files copied" % (method, call or "nothing fails",
                                                    numbers.get("events", 0), exchanged),
           done.returncode, done.stdout, said, hidden)


# Python's own mapping keeps a descriptor, too.
LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Mapped:
    """A packet that is mapped, with no descriptor."""

    def __init__(self, at):
        self.at = at

    def close(self):
        LIBC.munmap(self.at, PACKET)


def head_of(data):
    """(number, published bytes) of a packet."""
    content, = struct.unpack_from("<Q", data, 64)
    number, = struct.unpack_from("<Q", data, 96)
    return number, content // 8


def grab(trace, how):
    """Have some file of packets in a way. Returns (what reads it, its state now) or None."""
    names = [name for name in os.listdir(trace) if name.startswith("cpu")]
    if not names:
        return None
    path = os.path.join(trace, random.choice(names))
    try:
        fd = os.open(path, os.O_RDONLY)
        if os.fstat(fd).st_ino != os.stat(path).st_ino:
            os.close(fd)
            return None
        if how == "linked":
            os.close(fd)
            os.link(path, "link")
            if not os.path.samefile(path, "link"):
                return None  # it was just about to get another name
            fd = os.open("link", os.O_RDONLY)
            return (lambda: os.pread(fd, PACKET, 0)), os.pread(fd, PACKET, 0), fd
        if how == "mapped":
            at = LIBC.mmap(None, PACKET, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
            os.close(fd)
            return (lambda: ctypes.string_at(at, PACKET)), ctypes.string_at(at, PACKET), Mapped(at)
        return (lambda: os.pread(fd, PACKET, 0)), os.pread(fd, PACKET, 0), fd
    except (OSError, ValueError):
        return None


def let_go(handle):
    if isinstance(handle, int):
        os.close(handle)
    else:
        handle.close()


def readers(tap, method, how):
    """What is open stays what it is: the same packet, with the same events in front."""
    clear()
    wrong, seen = [], 0
    with kernel.running(*load(1 << 40), env=environment(method), stdout=-1) as process:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            trace = os.path.isdir("traces") and probe.trace_in("traces")
            with contextlib.suppress(FileNotFoundError):
                os.unlink("link")
            got = grab(trace, how) if trace else None
            if not got:
                time.sleep(0.001)
                continue
            time.sleep(random.uniform(0, 0.02))
            now, before = got[0](), got[1]
            number, content = head_of(before)
            let_go(got[2])
            # One that has no event yet gets another number when a thread was in need meanwhile.
            if content <= 112:
                continue
            if number != head_of(now)[0] or before[112:content] != now[112:content]:
                wrong.append("packet %d of %d bytes became %d" % (number, content, head_of(now)[0]))
            seen += 1
        process.kill()
        process.wait()
    clear()
    tap.ok(seen > 10 and not wrong, "%s: %d files that were %s did not change" % (method, seen, how),
           *wrong[:5])


def full_size(tap, method):
    """On a disk are no large pages: files of the default size are copied, too."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", "."], check=True, capture_output=True, text=True).stdout
    if kind.strip() in ("tmpfs", "ramfs", "overlayfs"):
        tap.skipped("files on a disk", "there is none")
        return
    clear()
    done = probe.run(load(4 * EVENTS, "-t", "1"), environment(method, HOLDUP_FILE="4M"))
    good, numbers, said = probe.check("counters", probe.trace_in("traces"))
    exchanged = probe.number("exchanged", done.stdout)
    tap.ok(done.returncode == 0 and good and numbers["missing"] == 0 and exchanged > 0,
           "%s: %d files of 4 MiB copied on a disk" % (method, exchanged), done.stdout, said)


def overlay(tap):
    """The kernel cannot tell there who has mapped a file: so nothing is copied."""
    os.makedirs("over")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "none", "over"], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        tap.skipped("an overlay", "cannot mount")
        return
    for name in ("lower", "upper", "work", "all"):
        os.makedirs("over/" + name)
    options = "lowerdir=over/lower,upperdir=over/upper,workdir=over/work"
    done = subprocess.run(["mount", "-t", "overlay", "-o", options, "none", "over/all"], check=False,
                          stderr=subprocess.DEVNULL)
    if done.returncode == 0:
        before = os.getcwd()
        os.chdir("over/all")
        failing(tap, "rseq", "overlay")
        readers(tap, "rseq", "mapped")
        os.chdir(before)
        subprocess.run(["umount", "over/all"], check=False)
    else:
        tap.skipped("an overlay", "there is none")
    subprocess.run(["umount", "over"], check=False)


def main():
    tap = kernel.Tap()
    if os.cpu_count() < 2:
        kernel.absent("on one CPU there is no helper")
    with kernel.workdir():
        for method in probe.METHODS:
            for call in ("", "exchange", "lease", "write", "name", "munmap"):
                failing(tap, method, call)
            for how in ("open", "mapped", "linked"):
                readers(tap, method, how)
            kill_at_each(tap, method)
        overlay(tap)
    with kernel.workdir("/var/tmp"):
        for method in probe.METHODS:
            full_size(tap, method)
    tap.end()


if len(sys.argv) == 1 and os.geteuid() == 0 and shutil.which("unshare"):
    os.execvp("unshare", ["unshare", "-m", sys.executable, os.path.realpath(__file__), "inside"])
main()
