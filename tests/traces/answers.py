#!/usr/bin/env python3
"""Critical paths, delays and chains of waits that others computed, against holdup's own.

The folder is that of ctf.py. Of 05-critical-path, the answers of Trace Compass for sched_only,
simple_network_client and bug446190 are held against states and why, row for row.

Where definitions differ:

- Trace Compass's graph leaves a thread RUNNING while an interrupt or a softirq is on top of it;
  holdup takes that away from the thread ("interrupted"). It is given back before comparing.
- Its worker of a softirq ends at the packet; holdup's softirq, at softirq_exit.
- The text of simple_network_client says "d...." of every event, so that none was in a softirq. The
  flags of a text are believed: there the path goes through the thread below the softirq. The
  CTF has no flags, and leads to the packet, as the answer does.
- That the arrow of bug446190 leads to weston again "at the same instant" is about a view.
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
from ctf import kernel  # noqa: E402

S = 10**9
WIB = {"RUNNING": "working", "PREEMPTED": "interrupted", "BLOCKED": "blocked",
       "NETWORK": "blocked"}
# These are on top of a thread that is on a CPU.
ON_TOP = re.compile(r"irq |softirq |.* interrupt$")

Span = collections.namedtuple("Span", "start end wib state waker")


def rows(*path):
    with open(os.path.join(ctf.TRACES, *path), newline="") as file:
        return list(csv.DictReader(file))


def unpack(*path):
    """Unpacked here: a folder of that name, or a file."""
    archive = os.path.join(ctf.TRACES, *path)
    if archive.endswith(".tar.zst"):
        subprocess.run(["tar", "--zstd", "-xf", archive], check=True)
        return os.path.basename(archive).split(".")[0]
    name = os.path.basename(archive).removesuffix(".zst")
    subprocess.run(["zstd", "-dqf", archive, "-o", name], check=True)
    return name


def told(*words):
    status, out, message = ctf.run(*words)
    if status != 0:
        raise RuntimeError("%s: %s" % (words, message))
    return [json.loads(line) for line in out.splitlines()]


def spans_of(trace, tid):
    return [Span(one["start_ns"], one["end_ns"], one["wib"], one["state"], one.get("woken_by"))
            for one in told("states", "--json", str(tid), trace) if "wib" in one]


def within(spans, start, end):
    """What a thread was in from then to then: kinds that touch are one."""
    found = []
    for span in spans:
        a, b = max(span.start, start), min(span.end, end)
        wib = "working" if ON_TOP.match(span.state) else span.wib
        if a >= b:
            continue
        if found and found[-1][1] == a and found[-1][2] == wib:
            a = found.pop()[0]
        found.append((a, b, wib))
    return found


def why(trace, tid, *words):
    return told("why", "--json", "--tid", str(tid), *words, trace)[0]


# ------------------------------------------------------------------ 05: critical paths

def check_row(test, name, spans, row, at):
    start, end = at(row["from_t"]), at(row["to_t"])
    got = within(spans, start, end)
    test.check("%s: %s is %s from %s to %s" % (name, row["worker"], row["state"], row["from_t"],
                                               row["to_t"]),
               got == [(start, end, WIB[row["state"]])], got)


def check_graph(test, case, trace, at, has_flags):
    """Each state of each thread; wake-ups; and what a softirq did on top of a thread."""
    spans = collections.defaultdict(list)
    name = case + (", as text" if has_flags else "")
    for row in rows("05-critical-path", case + ".expected.csv"):
        if row["kind"] != "graph":
            continue
        if row["worker"].isdigit():
            tid = int(row["worker"])
            spans[tid] = spans[tid] or spans_of(trace, tid)
            check_row(test, name, spans[tid], row, at)
        elif "->" in row["worker"]:
            waker, woken = (int(tid) for tid in row["worker"].split("->"))
            got = [span.waker["tid"] for span in spans[woken]
                   if span.wib == "blocked" and span.end == at(row["to_t"])]
            test.check("%s: %s wakes it at %s" % (name, row["worker"], row["to_t"]),
                       got == [waker], got)
        elif row["worker"] == "kernel":
            got = [span for span in spans[201] if span.state == "softirq NET_RX"]
            test.check("%s: the softirq begins at %s, and is over after %s" % (
                name, row["from_t"], row["to_t"]), len(got) == 1 and
                got[0].start == at(row["from_t"]) and got[0].end >= at(row["to_t"]), got)
        if row["state"] == "NETWORK" and not has_flags:
            got = [span.waker for span in spans[200] if span.start == at(row["from_t"])]
            test.check(name + ": a packet ends that wait", [waker["kind"] for waker in got] ==
                       ["network"] and got[0]["state"].startswith("softirq NET_RX"), got)


def check_path_of_client(test, trace, at):
    """The path is a partition of the window: so is the verdict."""
    want = collections.Counter()
    path = [row for row in rows("05-critical-path", "simple_network_client.expected.csv")
            if row["kind"] == "critical_path of 200"]
    for row in path:
        want[row["state"]] += at(row["to_t"]) - at(row["from_t"])
    report = why(trace, 200, "--from", "%.9f" % (at(path[0]["from_t"]) / S),
                 "--to", "%.9f" % (at(path[-1]["to_t"]) / S))
    got = collections.Counter()
    for row in report["verdict"]:
        got[{"working": "RUNNING", "cpu_queue": "PREEMPTED", "network": "NETWORK"}.get(
            row["kind"], row["kind"])] += row["ns"]
    test.check(trace + ": the critical path of 200", got == want, got, want)
    test.check(trace + ": nobody else is on that path", all(
        row["who"]["tid"] == 200 for row in report["verdict"] if row["kind"] != "cpu_queue"),
        report["verdict"])


def check_small_graphs(test):
    for case in ("sched_only", "simple_network_client"):
        trace = unpack("05-critical-path", case + ".ctf.tar.zst")
        text = os.path.join(ctf.TRACES, "05-critical-path", case + ".ftrace.txt")
        check_graph(test, case, trace, lambda t: int(t) * 1000, False)
        check_graph(test, case, text, lambda t: 100 * S + int(t) * 10**6, True)
    check_path_of_client(test, trace, lambda t: int(t) * 1000)


FACT_TIMES = {"woken": r"is woken at \.\.\.(\d+)", "in": r"and switched in at \.\.\.(\d+)",
              "wakes": r"wakes weston at \.\.\.(\d+)",
              "on": r"weston is switched in at \.\.\.(\d+) on cpu 1"}


def check_weston(test):
    """One wait of a real program, through the kworker that ends it, to the ns."""
    facts = {row["fact"]: row["value"] for row in
             rows("05-critical-path", "bug446190.tracecompass-critical-path.csv")}
    trace = unpack("01-ctf-real", "bug446190.tar.zst")
    offset = ctf.offset_of(trace)
    first, blocks = (int(re.search(r"(\d{19}) ns", fact)[1]) for fact in facts if " ns" in fact)
    events = facts["raw events behind it"]
    # The last nine digits of the time are within the second of the others.
    second = first // S * S - offset
    at = {key: second + int(re.search(text, events)[1]) for key, text in FACT_TIMES.items()}
    first, blocks = first - offset, blocks - offset

    weston, worker = spans_of(trace, 338), spans_of(trace, 6)
    test.check("weston works until it blocks", within(weston, first, blocks) ==
               [(first, blocks, "working")], within(weston, first, blocks))
    wait = [span for span in weston if span.start == blocks]
    test.check("weston blocks in ioctl until kworker/u16:0 wakes it", len(wait) == 1 and
               wait[0][1:4] == (at["wakes"], "blocked", "ioctl") and
               (wait[0].waker["tid"], wait[0].waker["comm"]) == (6, "kworker/u16:0"), wait)
    test.check("then weston waits for cpu 1", within(weston, at["wakes"], at["on"] + 1) ==
               [(at["wakes"], at["on"], "interrupted"), (at["on"], at["on"] + 1, "working")],
               within(weston, at["wakes"], at["on"] + 1))
    want = [(blocks, at["woken"], "blocked"), (at["woken"], at["in"], "interrupted"),
            (at["in"], at["wakes"], "working")]
    got = within(worker, blocks, at["wakes"])
    test.check("kworker/u16:0 is woken, comes onto a CPU, and wakes weston", got == want, got, want)
    report = why(trace, 338, "--from", "%d.%09d" % divmod(blocks, S),
                 "--to", "%d.%09d" % divmod(at["wakes"], S))
    path = report["causality"]
    test.check("the path leaves weston for the kworker, and that for what woke it",
               len(path) == 1 and path[0]["woken_by"]["tid"] == 6 and
               [child["who"]["tid"] for child in path[0]["children"]] == [6] and
               path[0]["children"][0]["end_ns"] == at["woken"], path)
    test.check("a path can be asked for of weston-desktop-",
               why(trace, 340)["target"]["comm"] == "weston-desktop-")


# ------------------------------------------------------------------ all of it

def main():
    if not os.path.isdir(os.path.join(ctf.TRACES, "05-critical-path")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 05-critical-path")
    test = ctf.Test()
    with kernel.workdir("/var/tmp"):
        ctf.ENV["XDG_CACHE_HOME"] = os.path.join(os.getcwd(), "cache")
        check_small_graphs(test)
        check_weston(test)
    test.end()


if __name__ == "__main__":
    main()
