"""What the tests on a real kernel share: running holdup, TAP lines, a quiet machine.

The environment says where things are: HOLDUP (the program), HOLDUP_EXAMPLES,
HOLDUP_PROGRAMS (helpers built from tests/kernel/*.c). Without it they are looked
for in build/. CI=... turns a skipped test into a failed one.
"""
import contextlib
import csv
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
TRACEFS = "/sys/kernel/tracing"
MS = 1_000_000
S = 1_000_000_000
# What a sanitizer says of its own search for leaks, where a thread was on its way out.
SANITIZER = re.compile(r"==\d+==Running thread \d+ was not suspended|^$")


def _place(variable, default):
    return os.path.realpath(os.environ.get(variable) or os.path.join(ROOT, default))


HOLDUP = _place("HOLDUP", "build/holdup")
EXAMPLES = _place("HOLDUP_EXAMPLES", "build/examples")
PROGRAMS = _place("HOLDUP_PROGRAMS", "build/tests")


def csv_rows(*path):
    """The rows of a CSV file with a head, each a dict."""
    with open(os.path.join(*path), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def skip(reason):
    """This machine cannot run the test. In CI that is a failure."""
    if os.environ.get("CI"):
        print("1..1\nnot ok 1 - cannot run here: " + reason)
        sys.exit(1)
    print("1..0 # SKIP " + reason)
    sys.exit(77)


def need(*programs):
    """End the test unless this kernel, user and machine can run it."""
    if os.geteuid() != 0:
        skip("not root")
    if not os.path.isdir(TRACEFS + "/instances"):
        skip("tracefs is not mounted on " + TRACEFS)
    if not os.access(HOLDUP, os.X_OK):
        skip("no program at " + HOLDUP)
    for program in programs:
        if not shutil.which(program):
            skip(program + " is not installed")


def absent(reason):
    """What the test reads is not part of the project, and not here: no failure anywhere."""
    print("1..0 # SKIP " + reason)
    sys.exit(0)


class Tap:
    """Counts and prints results, one line each."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, good, name, *details):
        self.count += 1
        self.failed += not good
        print("%sok %d - %s" % ("" if good else "not ", self.count, name))
        if not good:
            for detail in details:
                for line in str(detail).splitlines() or [""]:
                    print("#   " + line)
        sys.stdout.flush()
        return good

    def near(self, ours, theirs, name, share=0.01, floor=200_000):
        """Two times, ns, that must agree."""
        limit = share * theirs + floor
        return self.ok(abs(ours - theirs) <= limit, "%s: %.3f ms" % (name, ours / MS),
                       "ours %d, theirs %d, off by %d, allowed %d"
                       % (ours, theirs, ours - theirs, limit))

    def skipped(self, name, reason):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, reason))

    def end(self):
        print("1..%d" % self.count)
        sys.exit(1 if self.failed else 0)


def note(text):
    for line in text.splitlines():
        print("# " + line)
    sys.stdout.flush()


@contextlib.contextmanager
def workdir(where=None):
    """A temporary folder, entered; gone afterwards."""
    before = os.getcwd()
    path = tempfile.mkdtemp(prefix="holdup-test-", dir=where)
    os.chdir(path)
    try:
        yield path
    finally:
        os.chdir(before)
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def running(*argv, **options):
    """A program in the background; ended, with all of its group, on the way out.

    It stays in the session of the test: sessions share the CPUs among each other as
    equals, whatever is in them, and a spinner must not be anybody's equal.
    """
    process = subprocess.Popen(argv, process_group=0, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def spinners(wanted=True):
    """Keep idle away from every CPU with threads that yield to anything else."""
    if not wanted:
        yield
        return
    with running(os.path.join(PROGRAMS, "spinners"), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield


def tells_memory():
    """Whether events of this kernel tell how large the memory of a process is, and whose it is."""
    path = os.path.join(TRACEFS, "events/kmem/rss_stat/format")
    if not os.path.exists(path):
        return False
    with open(path, encoding="ascii") as file:
        return "mm_id" in file.read()


def steal_ns():
    """Time that the hypervisor took from all CPUs, ever."""
    with open("/proc/stat") as file:
        ticks = int(file.readline().split()[8])
    return ticks * S // os.sysconf("SC_CLK_TCK")


class ForeignMeter:
    """How much of all CPUs others used: all that was used, less our ended children's part."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:]]
        user, nice, system, _, _, irq, softirq, steal = ticks[:8]
        used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        ours = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
        return (time.monotonic(), used, sum(usage.ru_utime + usage.ru_stime for usage in ours))

    def share(self):
        wall, used, ours = (now - start for now, start in zip(self.now(), self.start))
        return max(0, used - ours) / (wall * os.cpu_count())


def turn(items):
    """With PART=K/N in the environment every N-th of them, from the K-th on; else all."""
    part, parts = map(int, os.environ.get("PART", "0/1").split("/"))
    return [item for i, item in enumerate(items) if i % parts == part]


def monotonic_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def holdup(*args, timeout=120, **options):
    """Run holdup to its end, with its output captured as text."""
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([HOLDUP, *map(str, args)], stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, errors="replace",
                          timeout=timeout, **options)


def why(*args, **options):
    """The JSON of `holdup why ARGS`, parsed, and the finished process."""
    out = tempfile.mktemp(prefix="why-", suffix=".json", dir=".")
    done = holdup("why", "--json", "--output", out, *args, **options)
    report = None
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        with open(out) as file:
            report = json.load(file)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(out)
    return report, done


def clear_error(done, lines=1):
    """Whether stderr is an error of ours, in so few lines."""
    said = [line for line in done.stderr.strip().split("\n") if not SANITIZER.match(line)]
    return bool(said) and bool(re.match(r"holdup( \w+)?: \S", said[0])) and len(said) <= lines


def seconds(ns):
    """A moment as --from and --to take it."""
    return "%d.%09d" % divmod(ns, S)


def instances():
    """The names of all tracing instances."""
    return set(os.listdir(TRACEFS + "/instances"))


def is_stale(name):
    """Whether an instance is one of holdup's whose recorder is gone; others may be at work."""
    match = re.match(r"holdup-(\d+)-", name)
    return bool(match) and not os.path.exists("/proc/" + match[1])


def window_ns(report):
    return report["window"]["end_ns"] - report["window"]["start_ns"]


def bad_sums(report):
    """What does not add up to the window, in words; empty when all is well."""
    window, of = window_ns(report), "window is"
    if report.get("process"): # all of its threads that were added up, each for as long as it lived
        threads, window = report["process"]["added"] * window, report["process"]["threads_ns"]
        of = "threads are there for"
        if window > threads:
            return "the threads are there for %d, in the window are %d" % (window, threads)
    wib = sum(report["wib"].values())
    verdict = sum(root["ns"] for root in report["verdict"])
    bad = []
    if wib != window:
        bad.append("states add up to %d, the %s %d" % (wib, of, window))
    if verdict != window:
        bad.append("the verdict adds up to %d, the %s %d" % (verdict, of, window))
    return ", ".join(bad)


def summary_ns(report, *path):
    """The time of one line of the summary tree, by the beginnings of names."""
    lines, ns = report["summary"], 0
    for word in path:
        found = [line for line in lines if line["name"].lower().startswith(word)]
        if not found:
            return 0
        lines, ns = found[0]["children"], found[0]["ns"]
    return ns


def irq_ns(report):
    """Time in interrupts of all kinds: what is interrupted but not in want of a CPU."""
    return (summary_ns(report, "interrupted") - summary_ns(report, "interrupted", "preempted")
            - summary_ns(report, "interrupted", "waiting for a cpu"))


def show_roots(report, count=5):
    """The first rows of a verdict, for failure messages."""
    rows = []
    for root in report["verdict"][:count]:
        who = root["who"] or {}
        rows.append("%10.3f ms %-12s %s[%s] %s %s" % (
            root["ns"] / MS, root["kind"], who.get("comm", "-"), who.get("tid", "-"),
            root["what"], root["object"]))
    return "\n".join(rows)
