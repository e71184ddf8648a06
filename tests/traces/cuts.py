#!/usr/bin/env python3
"""Cuts of other people's traces say what the traces say.

Windows are drawn; another HOLDUP_SEED draws other ones. Of each trace, of every format, a window
becomes CTF. stats, why and states of the cut, and of windows in it, must be those of the same
windows of the trace, and check-trace must find nothing wrong. So must CTF made of the whole trace
list the same events. In text, times are in us: events of several CPUs at the same time have no
order in CTF, so there only what does not rest on that order is compared.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../library"))
import ctf  # noqa: E402
from ctf import kernel  # noqa: E402
from cut import different, holdup, parsed  # noqa: E402

# Archive or file, and whether its times are too coarse to order events. These (CUTLESS) lack switches, or
# CPUs are silent for seconds: only an event behind the window shows that a CPU had been idle since the
# trace began, or that a switch before it is missing and who ran is not known. A cut ends before
# that event. So windows of them are not compared, but all of them as CTF is.
CUTLESS = {"03-trace-dat/trappy-trace.dat.zst", "11-ftrace-text/trappy-trace_systrace.html",
           "13-recorded/xvfb.perf.data.zst"}
TRACES = [
    ("01-ctf-real/bug446190.tar.zst", False),
    ("03-trace-dat/trappy-trace.dat.zst", False),
    ("09-statistics/lttng-analyses-cputop.tar.zst", False),
    ("13-recorded/xvfb.trace.dat.zst", False),
    ("13-recorded/pipe.perf.data.zst", False),
    ("13-recorded/xvfb.perf.data.zst", False),
    ("13-recorded/dd_contention.trace.txt.zst", True),
    ("14-kernel-plus-ust/ust_sort.kernel.trace.dat.zst", False),
    ("11-ftrace-text/trappy-thermal-trace.txt.zst", True),
    ("11-ftrace-text/trappy-trace_systrace.html", True),
    ("07-io/io_syscall_read.ftrace.txt", True),
]
# Archives, and the traces within: who wakes a thread is born behind the window, holes lie across its
# ends. why of each of some threads, of the whole over the window and of the cut, is the same.
WAITERS = [
    ("vm/diskread-lttng-1cpu.tar.zst", "trace/kernel"),
    ("vm/tbench-lttng-lost.tar.zst", "trace/kernel"),
    ("vm/pair1-lttng.tar.zst", "a/trace/kernel"),
]
# Windows in which why of a thread differed once.
FOUND = {
    "vm/pair1-lttng.tar.zst": [(2341375823, 5636931395, 145)],  # sets of epoll that LTTng does not tell of
    "vm/tbench-lttng-lost.tar.zst": [(315884808, 1077095175, 163),
                                     (173960171, 2122950894, 166)],  # calls of waits before a hole  # a wait whose end is lost behind the window
}
# What a text file lacks of what its head tells is of the file, not of its events.
COARSE = re.compile(r'"counts":{[^}]*}|"(syscalls|damage)":\[[^\]]*\]')


def fetch(name, into):
    """The trace, unpacked."""
    path = os.path.join(ctf.TRACES, name)
    base = os.path.basename(name)
    if base.endswith(".tar.zst"):
        subprocess.run(["tar", "--zstd", "-xf", path, "-C", into], check=True)
        return os.path.join(into, base[:-len(".tar.zst")])
    if base.endswith(".zst"):
        out = os.path.join(into, base[:-len(".zst")])
        subprocess.run(["zstd", "-dqfo", out, path], check=True)
        return out
    return path


def without_counts(answer):
    return answer[0], COARSE.sub("", answer[1]), answer[2]


def compare(test, what, trace, into, windows, coarse):
    """'windows': options for the trace, and for the cut."""
    for ours, theirs in windows:
        for words in (["stats", "--json", "--by", "thread"], ["why", "--json"]):
            answers = holdup(*words, *ours, trace), holdup(*words, *theirs, into)
            if coarse:
                answers = [without_counts(answer) for answer in answers]
            wrong = different(*answers)
            test.check("%s %s: %s says the same" % (what, " ".join(ours), words[0]), not wrong,
                       wrong)
        rows = parsed("stats", "--json", "--by", "thread", *theirs, into)["rows"]
        tids = sorted({row["tid"] for row in rows if row["tid"]})
        for tid in random.sample(tids, min(4, len(tids))):
            answers = [holdup("states", "--json", tid, *words)
                       for words in ((*ours, trace), (*theirs, into))]
            if coarse:
                answers = [without_counts(answer) for answer in answers]
            wrong = different(*answers)
            test.check("%s %s: so does states of %d" % (what, " ".join(ours), tid), not wrong,
                       wrong)


def options(first, last):
    return ["--from", "+%dns" % first, "--to", "+%dns" % last]


def check_cut(test, name, trace, coarse, into):
    info = parsed("info", "--json", trace)
    span = info["window"]["end_ns"] - info["window"]["start_ns"]
    start, end = sorted(random.sample(range(1, span), 2))
    status, _, message = holdup("cut", "-o", into, *options(start, end), trace)
    test.check("%s: a cut from %d to %d ns" % (name, start, end), status == 0, message)
    if status:
        return
    status, out, _ = holdup("check-trace", into)
    test.check(name + ": all that must hold of the cut holds", status == 0, out[:3000])
    inside = sorted(random.sample(range(end - start), 2))
    windows = [(options(start, end - 1), options(0, end - 1 - start)),
               (options(start + inside[0], start + inside[1]), options(*inside))]
    compare(test, name, trace, into, windows, coarse)


def drawn_window(trace):
    info = parsed("info", "--json", trace)
    span = info["window"]["end_ns"] - info["window"]["start_ns"]
    start, end = sorted(random.sample(range(1, span), 2))
    return start, end, None


def check_waiters(test, name, trace, into, start, end, only):
    shutil.rmtree(into, ignore_errors=True)
    status, _, message = holdup("cut", "-o", into, *options(start, end), trace)
    test.check("%s: a cut from %d to %d ns for its threads" % (name, start, end), status == 0,
               message)
    window = options(start, end - 1)
    rows = parsed("stats", "--json", "--by", "thread", *window, trace)["rows"]
    tids = sorted({row["tid"] for row in rows if row["tid"]})
    for tid in [only] if only else random.sample(tids, min(8, len(tids))):
        wrong = different(holdup("why", "--json", "--tid", tid, *window, trace),
                          holdup("why", "--json", "--tid", tid, *options(0, end - 1 - start), into))
        test.check("%s %d to %d: why of %d says the same" % (name, start, end, tid), not wrong,
                   wrong)


def listed(trace, coarse):
    lines = [re.sub(r',"place":"[^"]*"', "", line)
             for line in holdup("list", "--json", trace)[1].splitlines()]
    if coarse:  # in the order of times, then of CPUs, as far as they have one
        lines = [re.sub(r'"(delta_ns|comm)":("[^"]*"|\d+),', "", line, count=2) for line in lines]
        lines.sort(key=lambda line: (json.loads(line)["time_ns"], json.loads(line)["cpu"]))
    return lines


def check_whole(test, name, trace, coarse, into):
    status, _, message = holdup("export", "--format", "ctf", "-o", into, trace)
    test.check(name + ": is written as CTF", status == 0, message)
    if status:
        return
    ours, theirs = listed(trace, coarse), listed(into, coarse)
    wrong = next(("%s, not %s" % (b, a) for a, b in zip(ours, theirs) if a != b),
                 "" if len(ours) == len(theirs) else "%d events, not %d" % (len(theirs), len(ours)))
    test.check(name + ": CTF of the whole lists the same", not wrong, wrong)
    compare(test, name + " as CTF", trace, into, [([], [])], coarse)


def main():
    if not os.path.isdir(os.path.join(ctf.TRACES, "13-recorded")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 13-recorded")
    if not shutil.which("zstd"):
        kernel.absent("zstd is not installed")
    seed = os.environ.get("HOLDUP_SEED", "5")
    random.seed(int(seed))
    print("# HOLDUP_SEED=" + seed)
    test = ctf.Test()
    with tempfile.TemporaryDirectory() as into:
        os.environ["XDG_CACHE_HOME"] = os.path.join(into, "cache")
        some = 3 if os.environ.get("HOLDUP_SANITIZED") else 1  # for the memory, some do
        for name, coarse in kernel.turn(TRACES[::some]):
            trace = fetch(name, into)
            base = os.path.basename(name)
            if name not in CUTLESS:
                check_cut(test, base, trace, coarse, os.path.join(into, base + ".cut"))
            check_whole(test, base, trace, coarse, os.path.join(into, base + ".ctf"))
        for name, inner in kernel.turn(WAITERS[::some]):
            trace = os.path.join(fetch(name, into), inner)
            windows = [drawn_window(trace) for _ in range(int(os.environ.get("HOLDUP_WINDOWS", "2")))]
            for window in windows + FOUND.get(name, []):
                check_waiters(test, os.path.basename(name), trace, os.path.join(into, "waiters"), *window)
    test.end()


if __name__ == "__main__":
    main()
