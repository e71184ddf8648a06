#!/usr/bin/env python3
"""Each example, recorded and explained: the verdict must be what the example planted.

usage: live.py [NAME...]      all examples, or those whose line contains NAME; PART=K/N in the environment: a part
"""
import collections
import contextlib
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

# Of an example; not of this whole script.
ATTEMPTS = int(os.environ.get("HOLDUP_ATTEMPTS", "5"))
FOREIGN = 0.03  # share of all CPUs that others may use
# How far off a root may be: a share of it, and ns. An emulated machine needs more.
SHARE = float(os.environ.get("HOLDUP_TOLERANCE_SHARE", "0.02"))
FLOOR = int(os.environ.get("HOLDUP_TOLERANCE_NS", "200000"))
INTERRUPTS = ("irq", "softirq")
# An emulated CPU works so slowly that the target's own work may be the largest root: then the
# span that the example measured is asked about, and the first of the others must be the planted.
EMULATED = bool(os.environ.get("HOLDUP_EMULATED"))

EXAMPLES = """
wait-child
fork-chain
fork-chain --compute
slow-writer
slow-writer --sleep
futex-convoy
lock-then-disk
fifo-preempts
two-hogs
tcp-server-sleeps
three-stages
tcp-server-sleeps --compute
fault-storm
poll-loop
signal-wait
signal-wait --sleep
idle-server
fsync-kworker
cond-pingpong
unix-request
unix-request --sleep
cond-slices
eventfd-wait
terminal-read
grace-period
ring-polled
sysv-sem
flock-wait
lock-poll
flag-poll
mmap-lock
inode-lock
priority-inversion
vfork-exec
wait-many
join-workers
poll-timeout
poll-timeout --timerfd
yield-loop
nice-hogs
""".split("\n")[1:-1]

# These keep a CPU busy themselves; there, spinners would only get in the way.
BUSY = ["fifo-preempts", "two-hogs", "priority-inversion", "yield-loop", "nice-hogs"]

# With an idle machine, where some kernels do not record the switch out of idle.
IDLE_TOO = ["wait-child", "fork-chain", "slow-writer", "futex-convoy", "tcp-server-sleeps",
            "poll-loop", "idle-server"]

Run = collections.namedtuple("Run", "truth report done foreign")


def record(line, busy):
    """Record and explain one example once."""
    name, *args = line.split()
    command = [os.path.join(kernel.EXAMPLES, name), "--truth", "truth.json", *args]
    meter = kernel.ForeignMeter()
    with kernel.spinners(busy):
        report, done = kernel.why("-o", "example.holdup", "--", *command)
    foreign = meter.share()
    truth = None
    if os.path.exists("truth.json"):
        with open("truth.json") as file:
            truth = json.load(file)
        os.unlink("truth.json")
    if EMULATED and truth and report:
        report, done = kernel.why("--tid", truth["tid"], "--from", kernel.seconds(truth["start_ns"]),
                                  "--to", kernel.seconds(truth["end_ns"]), "example.holdup")
    return Run(truth, report, done, foreign)


def is_right(name, run):
    tap = kernel.Tap()
    with contextlib.redirect_stdout(io.StringIO()):
        check_run(tap, name, run)
    return tap.failed == 0


def record_undisturbed(line, busy):
    """
    Record until it is right: others may use the CPUs, a hypervisor may take one away within an interrupt.
    What is wrong with the program fails every time. The last attempt counts.
    """
    for attempt in range(ATTEMPTS):
        run = record(line, busy)
        if run.truth is None or run.report is None or is_right(line, run):
            return run
        kernel.note("%s, attempt %d: %d ms of CPU time stolen, %.0f %% of the CPUs used by others"
                    % (line, attempt + 1, run.truth["steal_ns"] // kernel.MS, 100 * run.foreign))
    return run


def right_root(root, truth):
    """Whether a row of the verdict names what was planted."""
    planted = truth["root"]
    if root["kind"] not in (planted["kind"], planted.get("also")):
        return False
    who = root["who"]
    if planted["kind"] == "disk":  # whoever asked it to work: a thread, a kworker, nobody
        return True
    return who is not None and who["tid"] == planted["tid"] and who["comm"] == planted["comm"]


def check_uncertain(tap, name, report):
    """Nothing is uncertain without a reason, and then hardly anything."""
    uncertain = report["wib"]["uncertain_ns"]
    left_out = report.get("repairs", {}).get("count", 1)
    if report["lost_events"] == 0 and left_out == 0:
        tap.ok(uncertain == 0, name + ": nothing is uncertain", "%d ns are" % uncertain)
    elif report["lost_events"] == 0:
        window = kernel.window_ns(report)
        tap.ok(uncertain < 0.001 * window, name + ": under 0.1 % is uncertain",
               "%d ns of %d" % (uncertain, window))
    else:
        tap.ok(False, name + ": no events are lost", "%d are" % report["lost_events"])


def own_rows(run):
    """The verdict, without what strangers on the CPUs did to a run that was disturbed.

    Returns the rows and the time of those left out. Kinds of disk requests are one row. A CPU that the
    host took away within an interrupt reads as a long interrupt.
    """
    planted = run.truth["root"]
    rows, disk, strangers = [], None, 0
    for root in run.report["verdict"]:
        stranger = (root["who"] or {}).get("tid") != planted["tid"]
        if root["kind"] in INTERRUPTS and planted["kind"] not in INTERRUPTS:
            strangers += root["ns"]
            continue
        if run.foreign > FOREIGN and stranger and root["kind"] in ("preempted", "cpu_queue"):
            strangers += root["ns"]
        elif root["kind"] != "disk":
            rows.append(root)
        elif disk:
            disk["ns"] += root["ns"]
        else:
            disk = dict(root)
            rows.append(disk)
    return sorted(rows, key=lambda row: -row["ns"]), strangers


def check_verdict(tap, name, run):
    truth, report = run.truth, run.report
    rows, strangers = own_rows(run)
    # How long its own work takes is the machine's affair: a page fault of a guest may be dear.
    first = next(root for root in rows
                 if truth["root"]["kind"] == "working" or root["kind"] != "working")
    details = ["planted: %s" % truth["root"], "the verdict:", kernel.show_roots(report)]
    if not tap.ok(right_root(first, truth), name + ": the first root is the planted one", *details):
        return
    limit = (SHARE * truth["root"]["ns"] + FLOOR + truth["error_ns"] + truth["steal_ns"] +
             strangers)
    off = first["ns"] - truth["root"]["ns"]
    tap.ok(abs(off) <= limit, "%s: its time, %.3f ms, is right" % (name, first["ns"] / kernel.MS),
           "off by %.3f ms, allowed are %.3f" % (off / kernel.MS, limit / kernel.MS), *details)


def check_run(tap, name, run):
    report, truth = run.report, run.truth
    if truth is None and run.done.returncode == 77:
        tap.skipped(name, run.done.stderr.strip().split("\n")[0])
        return
    if not tap.ok(report is not None and truth is not None and run.done.returncode == 0,
                  name + ": is recorded and explained",
                  "exit status %d" % run.done.returncode, run.done.stderr):
        return
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    tap.ok(report["target"]["tid"] == truth["tid"], name + ": the target is right",
           report["target"], truth["tid"])
    window = report["window"]
    tap.ok(window["start_ns"] <= truth["start_ns"] and window["end_ns"] >= truth["end_ns"],
           name + ": the window holds the span, on the same clock", window, truth)
    check_uncertain(tap, name, report)
    check_verdict(tap, name, run)
    if name.startswith("lock-poll"):
        check_polls(tap, name, run)
    if name.startswith("flag-poll"):
        check_looks(tap, name, run)
    if name.startswith(("mmap-lock", "inode-lock")):
        check_kernel_lock(tap, name, run)


def check_kernel_lock(tap, name, run):
    """The lock by its name and object, and who had it, in why and in locks."""
    lock, _, holder = run.truth["note"].partition(" held by ")
    holder = int(holder or run.truth["root"]["tid"])
    chain = run.report["chain"]
    # The chain is that of the longest cause, which may be an interrupt while the host took the CPU away.
    if own_rows(run)[1] < run.truth["root"]["ns"]:
        hop = next((hop for hop in chain if hop["object"].startswith(lock)), None)
        tap.ok(hop and hop["who"]["tid"] == run.truth["tid"] and hop.get("holder", {}).get("tid") == holder,
               "%s: waits for the %s, held by %d" % (name, lock, holder), chain)
    done = kernel.holdup("locks", "--json", "example.holdup")
    rows = [row for row in json.loads(done.stdout)["kernel"]["locks"] if row["name"].startswith(lock)]
    longest = max((row["wait_ns"] for row in rows), default=0)
    tap.ok(longest > 0.8 * run.truth["root"]["ns"], "%s: locks shows it" % name, longest, rows)
    tap.ok(any(owner["tid"] == holder and owner["from"] == "lock" for row in rows for owner in row["owners"]),
           "%s: locks says who had it" % name, rows)


def check_polls(tap, name, run):
    """Sleeps between refusals: said to be known or inferred, and from what, and how many they are."""
    root, sleeps = run.report["verdict"][0], run.report["blocked"]["inferred_sleeps"]
    if root["kind"] == "lock":
        asked = run.report["chain"][0].get("asked", "")
        tap.ok(asked.startswith("flock() of fd ") and asked.endswith("] had the lock") and not sleeps,
               name + ": who had the lock is known", run.report["chain"][0], sleeps)
        return
    refusals = int(run.truth["note"].split()[0])
    words = root.get("inferred", "")
    tap.ok(words.startswith("flock() of fd ") and
           words.endswith(" failed with EAGAIN until it called flock()") and sleeps == refusals, "%s: inferred from flock() and %d sleeps" % (name, refusals),
           root, sleeps)


def check_looks(tap, name, run):
    """Sleeps between looks at memory: that who set it is inferred is said, and from what."""
    words = run.report["verdict"][0].get("inferred", "")
    tap.ok(words.startswith("it alone ended as ") and " equal sleeps in clock_nanosleep() ended" in words,
           name + ": inferred from its sleeps", run.report["verdict"][0], run.truth["note"])


def check_words(tap):
    """A server without work is idle, in words as well."""
    done = kernel.holdup("why", "--output", "report.txt", "--",
                         os.path.join(kernel.EXAMPLES, "idle-server"), "--truth", "truth.json")
    with open("report.txt") as file:
        text = file.read()
    tap.ok(done.returncode == 0 and "waiting for work" in text,
           "idle-server: the report says that it was idle", text)
    report, _ = kernel.why("--", os.path.join(kernel.EXAMPLES, "idle-server"), "--truth", "truth.json")
    tap.ok(report and report["verdict"][0].get("class") == "idle",
           "idle-server: the first root is of the class idle", report and report["verdict"][0])


def prepare():
    """The data file that examples read from a disk, made before anything is recorded."""
    subprocess.run([os.path.join(kernel.EXAMPLES, "fault-storm"), "--prepare"], check=False,
                   stderr=subprocess.DEVNULL)


def main():
    kernel.need()
    wanted = sys.argv[1:]
    tap = kernel.Tap()
    prepare()
    for lines, busy, suffix in ((EXAMPLES, True, ""), (IDLE_TOO, False, ", idle machine")):
        for line in lines if wanted else kernel.turn(lines):
            if wanted and not any(word in line + suffix for word in wanted):
                continue
            run = record_undisturbed(line, busy and line not in BUSY)
            check_run(tap, line + suffix, run)
    if not wanted or "words" in wanted:
        check_words(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
