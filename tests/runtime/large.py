#!/usr/bin/env python3
"""Files of large pages, which the helper makes on tmpfs, or a thread that logs, where the helper is
late or there is none: where the kernel has none, or only some, where space ends, and killed at every
step. Each event is there, or is counted.

PROBE_LONG=N kills at each step N times.
"""
import ctypes
import mmap
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

STEPS = 16  # of the helper's calls: the first file of large pages, and some of the next ones
EVENTS = 400000
THREADS = 4
LARGE = 2 << 20
COLLAPSE = 25  # MADV_COLLAPSE
TRIES = 5
TRACES = "tmpfs/traces"
REAL_TIME = ["chrt", "-f", "1"]  # the kernel's workers might never come to their turn

LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
FIXED, SHARED, PRIVATE = 0x10, mmap.MAP_SHARED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def mounted(name, *options):
    """A tmpfs of the test's own that has no large pages by itself, as most."""
    os.makedirs(name, exist_ok=True)
    for more in (("huge=never", *options), options):  # a kernel may not know the first one
        if subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(more), "none", name], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            return True
    return False


def kernel_has_them(path):
    """Does it make one for the test itself?"""
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.truncate(fd, LARGE)
    os.posix_fallocate(fd, 0, 1)
    os.truncate(fd, LARGE)
    at = LIBC.mmap(None, 2 * LARGE, 0, PRIVATE, -1, 0)
    aligned = -(-at // LARGE) * LARGE
    LIBC.mmap(aligned, LARGE, mmap.PROT_READ | mmap.PROT_WRITE, SHARED | FIXED, fd, 0)
    made = LIBC.madvise(aligned, LARGE, COLLAPSE) == 0
    made = made and os.fstat(fd).st_blocks * 512 == LARGE
    LIBC.munmap(at, 2 * LARGE)
    os.close(fd)
    os.unlink(path)
    return made


def environment(method, **more):
    return probe.environment(method, "stream", os.path.abspath(TRACES),
                             LD_PRELOAD=os.path.join(probe.PROGRAMS, "probe-steps.so"), **more)


def clear():
    shutil.rmtree(TRACES, ignore_errors=True)
    if os.path.exists("counters"):
        os.unlink("counters")


def load(events):
    return [probe.program("probe-load"), "-f", "counters", "-n", str(events), "-s", "-c", "-t",
            str(THREADS)]


def logged(method, call, before=(), **more):
    """Log all. Returns whether all events are there, how many files are of large pages, and what was said."""
    clear()
    done = probe.run([*before, *load(EVENTS)], environment(method, STEPS_FAIL=call, **more))
    trace = probe.trace_in(TRACES)
    good, numbers, said = probe.check("counters", trace)
    said += probe.babeltrace(trace)
    hidden = [name for name in os.listdir(trace) if name.startswith(".next")]
    good = good and done.returncode == 0 and numbers["missing"] == 0 and not hidden
    if more.get("HOLDUP_HELPER") == "0":
        good = good and probe.number("by_others", done.stdout) == probe.number("large", done.stdout)
    return good, probe.number("large", done.stdout), (numbers.get("events", 0), done.returncode, done.stdout, said, hidden)


def log_all(tap, method, call, expected, before=(), **more):
    """All events are there, whatever pages the kernel has."""
    for _ in range(TRIES):
        good, files, said = logged(method, call, before, **more)
        # Where the first one takes long, as on a busy machine, no other is asked for while it logs.
        if not good or files or expected(files):
            break
    tap.ok(good and expected(files), "%s, %s: %d events, %d files of large pages"
           % (method, " ".join([call, *before, *more]).strip() or "nothing fails", said[0], files), *said[1:])


def killed_at(method, step, more):
    """What is wrong with the trace of a program that was killed there, or None; and its events."""
    clear()
    with kernel.running(*load(1 << 40), env=environment(method, STEPS_KILL=str(step), **more),
                        stdout=subprocess.PIPE) as process:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            return "it does not come to step %d" % step, 0
    trace = probe.trace_in(TRACES)
    good, numbers, said = probe.check("-k", *(["-i"] if method == "cas" else []), "counters", trace)
    said = said if not good else probe.babeltrace(trace)
    return "step %d: %s" % (step, said) if said else None, numbers.get("events", 0)


def kill_at_each(tap, method, **more):
    wrong, events = [], 0
    for step in list(range(STEPS)) * probe.LONG:
        said, count = killed_at(method, step, more)
        wrong += [said] if said else []
        events += count
    tap.ok(not wrong and events, "%s: killed at %d steps, %d events are there"
           % (" ".join([method, *more]), STEPS * probe.LONG, events), *wrong[:3])


def without_space(tap, method, size, **more):
    """What finds no room is counted, and nobody is killed for it."""
    subprocess.run(["umount", "tmpfs"], check=True)
    mounted("tmpfs", "size=" + size)
    clear()
    done = probe.run(load(EVENTS), environment(method, **more))
    good, numbers, said = probe.check("counters", probe.trace_in(TRACES))
    lost = probe.number("lost", done.stdout)
    tap.ok(done.returncode == 0 and good and lost > 0 and
           numbers["events"] + lost >= THREADS * EVENTS,
           "%s, in %s: %d events and %d lost ones"
           % (" ".join([method, *more]), size, numbers.get("events", 0), lost),
           done.returncode, done.stdout, said)


def main():
    tap = kernel.Tap()
    if os.cpu_count() < 2:
        kernel.absent("on one CPU there is no helper")
    with kernel.workdir():
        if not mounted("tmpfs", "size=512m"):
            kernel.absent("cannot mount a file system in memory")
        if not kernel_has_them("tmpfs/try"):
            kernel.absent("the kernel makes no large pages of files in memory (Linux 6.1)")
        for method in probe.METHODS:
            for more in ({}, {"HOLDUP_HELPER": "0"}):
                log_all(tap, method, "", lambda files: files > 0, **more)
                log_all(tap, method, "large", lambda files: files == 0, **more)
                log_all(tap, method, "half", lambda files: files == 0, **more)
                kill_at_each(tap, method, **more)
            log_all(tap, method, "", lambda files: files == 0, HOLDUP_LARGE="0")
            log_all(tap, method, "", lambda files: files == 0, REAL_TIME)
        for method in probe.METHODS:
            for more in ({}, {"HOLDUP_HELPER": "0"}):
                without_space(tap, method, "7m", **more)
        subprocess.run(["umount", "tmpfs"], check=False)
    tap.end()


if len(sys.argv) == 1 and os.geteuid() == 0 and shutil.which("unshare"):
    os.execvp("unshare", ["unshare", "-m", sys.executable, os.path.realpath(__file__), "inside"])
main()
