#!/usr/bin/env python3
"""Critical paths, delays and chains of waits that others computed, against holdup's own.

The folder is that of ctf.py. Of 05-critical-path, the answers of Trace Compass for sched_only,
simple_network_client and bug446190 are held against states and why, row for row.

Where definitions differ:

- Trace Compass's graph leaves a thread RUNNING while an interrupt or a softirq is on top of it;
  holdup takes that away from the thread ("interrupted"). It is given back before comparing.
- Its worker of a softirq ends at the packet; holdup's softirq, at softirq_exit.
- That the arrow of bug446190 leads to weston again "at the same instant" is about a view.

Of 13-recorded, the kernel's delay accounting of tasks (taskstats), the longest waits (blocking),
xvfb.facts and pipe.measured; and perf sched timehist of the perf.data. A plain rule over the
kernel's text, written here a second time, gives the answers of the files to the us, and what holdup
must say where it knows more:

- A wait ends for holdup when its waker acts (sched_waking); in the files, when the task is in the
  queue of a CPU (sched_wakeup). What is between is waiting for a CPU in holdup's sums. A task is
  born when it is forked, not when it is first woken.
- Where a switch was not recorded, the files leave the run out, and count it as a wait; holdup has
  it from the first event of the task on, and the time from the last one of the task before it is
  uncertain.
- The kernel's own times are of other clocks and moments: they are held to what README.md says of the
  distance between both. Its page faults (kernel_majflt) are those that read; the trace has all.
- perf sched timehist gives a CPU's time since the last switch to the task that was switched out,
  and nothing before the first switch of a CPU and after the last. Its rule is written here, too,
  and gives its figures. Where a switch is missing, holdup gives less, and where it says that a
  task ran from the first event on or until the last, more: by no more than these spans.
- A waker in a softirq or interrupt is not the task below it: holdup names the disk or timer.

Of vm, the chains that the workloads wrote down (groundtruth.txt), but those which vm.py has:

- A shell waits for any of its children; holdup follows the one that ended the wait, so that it may
  leave out some of the chain, never its end.
- The two hosts of pair1 have a trace each, and no analysis goes from one to the other: a client's wait
  ends at the packet. What the server does in that time is asked of its own trace.
"""
import collections
import json
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
import vm  # noqa: E402
from ctf import kernel  # noqa: E402

S = 10**9
WIB = {"RUNNING": "working", "PREEMPTED": "interrupted", "BLOCKED": "blocked",
       "NETWORK": "blocked"}
# These are on top of a thread that is on a CPU.
ON_TOP = re.compile(r"irq |softirq |.* interrupt$")

Span = collections.namedtuple("Span", "start end wib state waker")


def rows(*path):
    return kernel.csv_rows(ctf.TRACES, *path)


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


def check_graph(test, case, name, trace, at):
    """Each state of each thread; wake-ups; and what a softirq did on top of a thread."""
    spans = collections.defaultdict(list)
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
        if row["state"] == "NETWORK":
            got = [span.waker for span in spans[200] if span.start == at(row["from_t"])]
            test.check(name + ": a packet ends that wait", [waker["kind"] for waker in got] ==
                       ["network"] and got[0]["state"].startswith("softirq NET_RX"), got)


def check_path_of_client(test, name, trace, at):
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
    test.check(name + ": the critical path of 200", got == want, got, want)
    test.check(name + ": nobody else is on that path", all(
        row["who"]["tid"] == 200 for row in report["verdict"] if row["kind"] != "cpu_queue"),
        report["verdict"])


def check_small_graphs(test):
    """As CTF, 1 us from 0, and as text, 1 ms from 100 s."""
    for case in ("sched_only", "simple_network_client"):
        text = os.path.join(ctf.TRACES, "05-critical-path", case + ".ftrace.txt")
        for name, trace, at in (
                (case, unpack("05-critical-path", case + ".ctf.tar.zst"), lambda t: int(t) * 1000),
                (case + ", as text", text, lambda t: 100 * S + int(t) * 10**6)):
            check_graph(test, case, name, trace, at)
            if case == "simple_network_client":
                check_path_of_client(test, name, trace, at)


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


# ------------------------------------------------------------------ 13: the kernel's text

SCHED_LINE = re.compile(r" *.{1,16}-(\d+) .*?\[(\d+)\] \S+ +(\d+)\.(\d+): (\w+): (.*)")
TIDS = re.compile(r"\b(prev_pid|prev_state|next_pid|pid|child_pid)=(\S+)")
# System calls of x86_64.
CALLS = {"-": "page fault", "0": "read", "3": "close", "7": "poll", "58": "vfork", "59": "execve",
         "61": "wait4", "83": "mkdir", "130": "rt_sigsuspend", "202": "futex",
         "203": "sched_setaffinity", "232": "epoll_wait", "257": "openat", "263": "unlinkat"}

Line = collections.namedtuple("Line", "us cpu tid name fields")


def of_text(path):
    lines = []
    with open(path, errors="replace") as file:
        for match in filter(None, map(SCHED_LINE.match, file)):
            fields = dict(TIDS.findall(match[6])) if match[5].startswith("sched_") else {}
            lines.append(Line(int(match[3]) * 10**6 + int(match[4]), int(match[2]), int(match[1]),
                              match[5], fields))
    return lines


class Rule:
    """
    The plain rule for one task, in us: run, wait, D as the CSV has them; and with the same letters
    and _ours what is known beside that.
    """

    def __init__(self, tid):
        self.tid, self.sum = tid, collections.Counter()
        self.state, self.since, self.ready, self.letter = None, 0, None, ""
        self.seen, self.last = {}, {}
        self.end = None

    def out(self, line):
        if self.state == "run":
            self.sum["run"] += line.us - self.since
            self.sum["run_ours"] += line.us - self.since
        else:  # not seen coming: it waited, says the rule
            first, last = self.seen.get(line.cpu, line.us), self.last[line.cpu]
            self.sum["wait"] += line.us - self.since
            self.sum["run_ours"] += line.us - first
            self.sum["unsure"] += first - last
            self.sum["wait_ours"] += last - self.ready
            self.ready = None
        self.since = line.us
        self.letter = line.fields["prev_state"][0]
        if self.letter == "R":
            self.sum["involuntary"] += 1
            self.state, self.ready = "ready", line.us
        else:
            self.sum["voluntary"] += 1
            # Woken before it was off the CPU: then it did not wait at all.
            self.state, self.ready = "blocked", line.us if self.ready else None

    def come(self, line):
        self.sum["in"] += 1
        if self.state == "ready":
            self.sum["wait"] += line.us - self.since
            self.sum["wait_ours"] += line.us - self.ready
        self.state, self.since, self.ready = "run", line.us, None

    def woken(self, line):
        if self.state == "blocked":
            self.ready = self.ready or line.us
            self.sum["blocked_ours"] += self.ready - self.since
            if self.letter == "D":
                self.sum["D"] += line.us - self.since
                self.sum["D_ours"] += self.ready - self.since
            self.state, self.since = "ready", line.us
        elif self.state is None:
            self.state, self.since = "ready", line.us

    def see(self, line):
        mine = line.tid == self.tid
        if mine and self.state != "run":
            self.seen.setdefault(line.cpu, line.us)
        if line.name == "sched_switch":
            if int(line.fields["prev_pid"]) == self.tid:
                self.out(line)
            if int(line.fields["next_pid"]) == self.tid:
                self.come(line)
            self.seen.pop(line.cpu, None)
        elif line.name == "sched_process_exit" and mine:
            for key in ("run", "run_ours"):
                self.sum[key] += line.us - self.since
            self.end = line.us
        elif line.fields.get("pid") == str(self.tid):
            if line.name == "sched_waking" and self.state in ("blocked", "run"):
                self.ready = self.ready or line.us
            elif line.name in ("sched_wakeup", "sched_wakeup_new"):
                self.woken(line)
        if line.fields.get("child_pid") == str(self.tid):
            self.ready = line.us
        if not mine:
            self.last[line.cpu] = line.us
        return self.end is None


def births_of(lines):
    return {int(line.fields["child_pid"]): i for i, line in enumerate(lines)
            if "child_pid" in line.fields}


def by_rule(lines, births, tid):
    rule = Rule(tid)
    for i in range(births[tid], len(lines)):
        if not rule.see(lines[i]):
            break
    return rule.sum


# ------------------------------------------------------------------ 13: delay accounting

def exits(trace):
    return {one["tid"]: one["time_ns"] for one in
            told("list", "--json", "-f", 'name == "sched_process_exit"', trace)}


def row_of(trace, tid, end_ns):
    """What stats tells of a task until its exit, which is where its account is taken."""
    found = told("stats", "--json", "--by", "thread", "--to", "%d.%09d" % divmod(end_ns, S), trace)
    return [row for row in found[0]["rows"] if row["tid"] == tid][0]


def check_task(test, name, row, rule, ours):
    """The rule is that of the file; holdup knows what the rule does, and what was not recorded."""
    what = "%s: %s %s: " % (name, row["comm"], row["tid"])
    theirs = [("run", "trace_run_us"), ("wait", "trace_wait_us"), ("D", "trace_D_us"),
              ("in", "trace_switch_in"), ("voluntary", "trace_nvcsw"),
              ("involuntary", "trace_nivcsw")]
    got, want = [rule[key] for key, _ in theirs], [int(row[key]) for _, key in theirs]
    test.check(what + "the rule is the one of the file", got == want, got, want)
    # The ends of each span are rounded to us.
    slack = 2 + 2 * math.sqrt(rule["in"])
    got = [ours["on_cpu"]["ns"], ours["waiting_for_cpu"]["ns"], ours["uncertain"]["ns"],
           ours["blocked"]["ns"]]
    want = [rule[key] for key in ("run_ours", "wait_ours", "unsure", "blocked_ours")]
    test.check(what + "ran, waited, is uncertain, was blocked",
               all(abs(a / 1000 - b) <= slack for a, b in zip(got, want)), got, want)
    counts = ours["counts"]
    test.check(what + "switches", (counts["waits"], counts["preemptions"], counts["switches_in"]) ==
               tuple(int(row[key]) for key in ("kernel_nvcsw", "kernel_nivcsw", "kernel_times_run")),
               counts, row)
    return slack


def check_kernel_times(test, name, row, rule, ours, slack):
    what = "%s: %s %s: " % (name, row["comm"], row["tid"])
    disk = ours["blocked"]["kinds"].get("disk", {"ns": 0})["ns"] / 1000
    gaps = rule["D"] - rule["D_ours"]
    if row["kernel_blkio_delay_ns"]:
        kernel_us = int(row["kernel_blkio_delay_ns"]) / 1000
        test.check(what + "the disk held it up as long as the kernel says, or as D",
                   kernel_us - gaps - slack <= disk <= rule["D_ours"] + slack, disk, kernel_us,
                   rule["D_ours"])
    run, delay = (int(row[key]) / 1000 for key in ("kernel_run_ns", "kernel_cpu_delay_ns"))
    if delay <= 5000:
        return
    # From the wake-up on, as the kernel counts.
    wait = ours["waiting_for_cpu"]["ns"] / 1000 - (rule["wait_ours"] - rule["wait"])
    share, share_of_both = (0.09, 0.1) if name == "dd_contention" else (0.02, 0.03)
    test.check(what + "waited for a CPU as the kernel says", abs(wait - delay) <= share * delay,
               wait, delay)
    run_ours = ours["on_cpu"]["ns"] / 1000
    test.check(what + "ran or waited as the kernel says",
               abs(run_ours + wait - run - delay) <= share_of_both * (run + delay), run_ours, wait, run,
               delay)


def check_taskstats(test, name, trace, lines):
    births, ends = births_of(lines), exits(trace)
    for row in rows("13-recorded", name + ".taskstats.csv"):
        tid = int(row["tid"])
        rule, ours = by_rule(lines, births, tid), row_of(trace, tid, ends[tid])
        slack = check_task(test, name, row, rule, ours)
        check_kernel_times(test, name, row, rule, ours, slack)


# ------------------------------------------------------------------ 13: waits

def same_waker(waker, row):
    context = row["waker_context"]
    if context == "task":
        return (waker["kind"], waker["tid"], waker["comm"]) == ("thread", int(row["waker_tid"]),
                                                               row["woken_by"])
    return (context == "softirq" and waker["kind"] == "disk" and
            waker["state"].startswith("softirq BLOCK < ")) or \
        (context == "irq" and waker["kind"] == "timer" and
         waker["state"].startswith("local timer interrupt < "))


def check_wait(test, name, row, spans, lines):
    start = round(float(row["start_s"]) * 1e6)
    end = start + int(row["duration_us"])
    # In the text: who ended it, and when it was in a queue again.
    woken = [line for line in lines if line.fields.get("pid") == row["tid"] and
             line.name in ("sched_waking", "sched_wakeup") and start <= line.us <= end + 1]
    got = [span for span in spans if span.wib == "blocked" and abs(span.start / 1000 - start) <= 1]
    test.check("%s: %s %s blocks in %s at %s until %s ends it" % (
        name, row["comm"], row["tid"], CALLS[row["syscall (number or name)"]], row["start_s"],
        row["woken_by"]),
        len(got) == 1 and got[0].state == CALLS[row["syscall (number or name)"]] and
        [line.name for line in woken] == ["sched_waking", "sched_wakeup"] and
        abs(got[0].end / 1000 - woken[0].us) <= 1 and abs(woken[1].us - end) <= 1 and
        woken[0].tid == int(row["waker_tid"]) and same_waker(got[0].waker, row), got, woken, row)
    return got


def check_blocking(test, name, trace, lines):
    want, known = rows("13-recorded", name + ".blocking.csv"), set()
    spans = {tid: spans_of(trace, tid) for tid in {row["tid"] for row in want}}
    lines = [line for line in lines if line.name in ("sched_waking", "sched_wakeup")]
    for row in want:
        known.update(check_wait(test, name, row, spans[row["tid"]], lines) and
                     {(row["tid"], round(float(row["start_s"]) * 1e6))})
    shortest = min(int(row["duration_us"]) for row in want) + 1
    # Not in the file: one that does not end, or begin, in the trace; and the child's for perf to say
    # that it shall be the workload.
    more = [(tid, span) for tid in spans for span in spans[tid]
            if span.wib == "blocked" and span.end - span.start > shortest * 1000 and
            span.waker["kind"] != "none" and span.state != "a wait that began unseen" and
            (span.state, span.waker["comm"], span.waker["name"]) != ("read", "perf", "write") and
            not any((tid, round(span.start / 1000) + i) in known for i in (-1, 0, 1))]
    test.check(name + ": these are the longest waits", not more, more[:3])


FACT = re.compile(r"(\S+) \((\d+)\) blocks at (\d+\.\d{6}) in (.+)$")
FACT_ENDS = re.compile(r"(\d+) us, woken by (\S+) \((\d+)\)")


def check_facts(test, trace):
    """Each wait; then their chain, from the wait for the server down to the compiler of keys."""
    starts = {}
    for row in rows("13-recorded", "xvfb.facts.csv"):
        fact, ends = FACT.match(row["fact"]), FACT_ENDS.match(row["value"])
        if not fact:
            continue
        call = re.search(r"\((\w+)\)", fact[4])
        call = call[1] if call and not call[1].isdigit() else fact[4].split()[0]
        got = [span for span in spans_of(trace, fact[2]) if span.wib == "blocked" and
               abs(span.start / 1000 - float(fact[3]) * 1e6) <= 1]
        # In a queue 20 us after it was woken, at most.
        test.check("xvfb: %s blocks in %s at %s" % (fact[1], call, fact[3]), len(got) == 1 and
                   got[0].state == call and
                   -20 <= (got[0].end - got[0].start) / 1000 - int(ends[1]) <= 1 and
                   (got[0].waker["comm"], got[0].waker["tid"]) == (ends[2], int(ends[3])), got, row)
        starts[fact[2]] = starts.get(fact[2]) or got[0]
    wait = starts["10317"]
    report = why(trace, 10317, "--from", "%d.%09d" % divmod(wait.start, S),
                 "--to", "%d.%09d" % divmod(wait.end, S))
    chain, below = [], report["causality"]
    while below:
        longest = max(below, key=lambda one: one["end_ns"] - one["start_ns"])
        chain.append((longest["who"]["comm"], longest["in"]))
        below = longest["children"]
    test.check("xvfb: the chain of causes of the wait for the server", chain[:3] ==
               [("xvfb-run", "rt_sigsuspend"), ("Xvfb", "wait4"), ("sh", "wait4")], chain)
    worked = {row["who"]["comm"] for row in report["verdict"] if row["kind"] == "other_thread"}
    test.check("xvfb: Xvfb, sh and xkbcomp ran meanwhile", {"Xvfb", "sh", "xkbcomp"} <= worked,
               worked)


# ------------------------------------------------------------------ 13: perf's own summary

class Timehist:
    """What perf sched timehist makes of a task, and the spans in which it may be mistaken."""

    def __init__(self):
        self.runs, self.unseen_in, self.unseen_out, self.edges = [], 0, 0, 0


def timehist(trace):
    tasks = collections.defaultdict(Timehist)
    times = [one["time_ns"] for one in told("list", "--json", "--fields", "time", trace)]
    begin, end = times[0], times[-1]
    last = {}  # of each CPU: when, and to whom
    for one in told("list", "--json", "-f", 'name == "sched_switch"', trace):
        at, cpu, gone = one["time_ns"], one["cpu"], tasks[one["fields"]["prev_pid"]]
        since, before = last.get(cpu, (at, None))
        gone.runs.append(at - since)
        if before is None:
            gone.edges += at - begin
        elif tasks[before] is not gone:
            gone.unseen_in += at - since
            tasks[before].unseen_out += at - since
        last[cpu] = at, one["fields"]["next_pid"]
    for since, who in last.values():
        tasks[who].edges += end - since
    return tasks


def runs_of(trace, tid):
    found = []
    for span in spans_of(trace, tid):
        if span.wib == "working" and found and found[-1][1] == span.start:
            found[-1] = (found[-1][0], span.end)
        elif span.wib == "working":
            found.append((span.start, span.end))
    return [end - start for start, end in found]


def check_timehist(test, name):
    trace = unpack("13-recorded", name + ".perf.data.zst")
    tasks = timehist(trace)
    ours = {row["tid"]: row for row in told("stats", "--json", "--by", "thread", trace)[0]["rows"]}
    for row in rows("13-recorded", name + ".perf-timehist.csv"):
        tid = int(row["tid"])
        what, task, runs = "%s: %s %d: " % (name, row["comm"], tid), tasks[tid], tasks[tid].runs
        # Its ms are cut, not rounded.
        got = [len(runs)] + [ns // 1000 for ns in (sum(runs), min(runs), max(runs))]
        want = [int(row["sched_in"])] + [round(float(row[key]) * 1000)
                                         for key in ("run_ms", "min_run_ms", "max_run_ms")]
        test.check(what + "the rule is perf's", got == want, got, want)
        on_cpu = ours[tid]["on_cpu"]["ns"]
        test.check(what + "ran as perf sched timehist says", sum(runs) - task.unseen_in <= on_cpu <=
                   sum(runs) + task.unseen_out + task.edges and
                   ours[tid]["counts"]["switches_in"] == len(runs), on_cpu, sum(runs),
                   task.__dict__ if len(runs) < 9 else "")
        if not task.unseen_in + task.unseen_out + task.edges:
            got = sorted(runs_of(trace, tid))
            test.check(what + "each time that it ran, to the ns", got == sorted(runs),
                       len(got), len(runs), list(zip(got, sorted(runs)))[:3])


MEASURED = re.compile(r"Executed (\d+) pipe .*?([\d.]+) usecs/op", re.S)


def check_measured(test, trace):
    """The program took the time before it made its peer, and after it waited for its end."""
    with open(os.path.join(ctf.TRACES, "13-recorded", "pipe.measured.txt")) as file:
        count, each = MEASURED.search(file.read()).groups()
    peer = [row for row in told("stats", "--json", "--by", "thread", trace)[0]["rows"]
            if row["tid"] == 9817][0]
    calls = {call["name"]: call["count"] for call in peer["syscalls"]}
    test.check("pipe: the peer has read and written %s times" % count,
               (calls["read"], calls["write"]) == (int(count), int(count)), calls)
    spans = spans_of(trace, 9815)
    begin = min(one["time_ns"] for one in told(
        "list", "--json", "-f", 'tid == 9815 && name == "sys_enter" && id == 56', trace))
    took = [span for span in spans if span.state == "wait4"][-1].end - begin
    test.check("pipe: an operation took as long as the program measured",
               abs(took / int(count) - float(each) * 1000) < 0.01 * float(each) * 1000, took, each)


def check_recorded(test):
    for name in ("pipe", "dd_contention", "xvfb"):
        trace = unpack("13-recorded", name + ".trace.dat.zst")
        lines = of_text(unpack("13-recorded", name + ".trace.txt.zst"))
        check_taskstats(test, name, trace, lines)
        check_blocking(test, name, trace, lines)
        check_timehist(test, name)
        if name == "xvfb":
            check_facts(test, trace)
        if name == "pipe":
            check_measured(test, trace)


# ------------------------------------------------------------------ vm: chains of waits

LONG = 60 * 10**6
STEP = re.compile(r"([\w-]+):(\w+)")


def roles_of(name):
    found = {}
    with open(os.path.join(name, "groundtruth.txt")) as file:
        for role, tid in re.findall(r"^GTPID role=(\w+) pid=(\d+)", file.read(), re.M):
            found[int(tid)] = role
    return found


def chains_of(waits, roles):
    """All paths along long waits: of each, who waits in what; and the last wait itself."""
    found = []
    for wait in waits:
        if wait["end_ns"] - wait["start_ns"] < LONG:
            continue
        step = (roles.get(wait["who"]["tid"], wait["who"]["comm"]), wait["in"])
        below = chains_of(wait["children"], roles)
        found += [([step] + steps, last) for steps, last in below] or [([step], wait)]
    return found


def is_told(steps, chain, any_child):
    """That chain; a shell waits for any child: who ends its wait may come later in the chain."""
    if not any_child:
        return steps == chain
    rest = iter(chain)
    return steps[0] == chain[0] and steps[-1] == chain[-1] and all(step in rest for step in steps)


def check_chain(test, name, trace, roles, chain, times, share):
    for i, (role, call) in enumerate(chain):
        tid = [tid for tid in roles if roles[tid] == role]
        if not tid:  # the two of the shell's own children: not told by name
            continue
        report = why(trace, tid[0])
        got = chains_of(report["causality"], roles)
        what = "%s: %s waits in %s" % (name, role, call)
        test.check(what + ", through all down to the timer", len(got) == len(times) and all(
            is_told(steps, chain[i:], role.startswith("shell")) and
            last["woken_by"]["kind"] == "timer" for steps, last in got), got, chain)
        slept = [last["end_ns"] - last["start_ns"] for _, last in got]
        # A wait that began later than the sleep sees less of it.
        test.check(what + " as long as the timer takes", all(
            (0.9 if call == "read" else 1 - share) * ms <= ns / 10**6 <= (1 + share) * ms
            for ns, ms in zip(slept, times)), slept, times)
        roots = sum(row["ns"] for row in report["verdict"] if row["kind"] == "timer" and
                    row["ns"] > LONG)
        test.check(what + ": the timer is the root for that time",
                   abs(roots - sum(slept)) <= 0.01 * sum(slept), roots, slept)


def check_pipeline(test, name, trace):
    """The chains that the workload wrote down itself; of sleepchain see vm.py."""
    with open(os.path.join(name, "groundtruth.txt")) as file:
        told_chains = sorted(set(re.findall(r" chain (.*? > timer) \((.*?)\)", file.read())))
    test.check(name + ": two chains are told of", len(told_chains) == 2, told_chains)
    # Emulated time of 2 CPUs stands still now and then.
    share = 0.01 if "1 CPU" in index_of(name) else 0.06
    for text, times in told_chains:
        check_chain(test, name, trace, roles_of(name), STEP.findall(text),
                    [int(ms) for ms in re.findall(r"(\d+) ms", times)], share)


def index_of(name):
    with open(os.path.join(ctf.TRACES, "vm", "README.md")) as file:
        return [line for line in file if line.startswith("| %s |" % name)][0]


def check_tbench(test, name, trace):
    """
    Each sleeps in recvfrom until the other's sendto, whose softirq wakes it. Where events were lost it
    may not be known what woke it: then nobody is named.
    """
    lost = name.endswith("-lost")
    threads = told("stats", "--json", "--by", "thread", "--sort", "cpu", trace)[0]["rows"]
    client, server = ([row["tid"] for row in threads if row["name"] == comm][0]
                      for comm in ("tbench", "tbench_srv"))
    for tid, peer in ((client, server), (server, client)):
        waits = [span for span in spans_of(trace, tid) if span.state == "recvfrom" and
                 span.wib == "blocked"]
        wrong = [span for span in waits if (span.waker["kind"], span.waker["tid"],
                                            span.waker["state"]) !=
                 ("network", peer, "softirq NET_RX < sendto")]
        wrong = [span for span in wrong if not lost or
                 span.waker["kind"] not in ("none", "unknown")]
        # At the end the client goes away, and that is what the server hears of.
        wrong = [span for span in wrong if tid == client or span != waits[-1] or
                 span.waker["state"] != "softirq NET_RX < exit_group"]
        test.check("%s: %d sleeps in recvfrom until %d sends" % (name, tid, peer),
                   len(waits) > (100 if lost else 400) and not wrong, len(waits), wrong[:3])


# ------------------------------------------------------------------ vm: two hosts

def b_of_a(a):
    """The clock of b, by what both had in shared memory before and after."""
    with open("pair1-lttng/a/clock.txt") as file:
        (a0, b0), (a1, b1) = [(int(m[1]), int(m[2])) for m in re.finditer(
            r"mono_master=(\d+) mono_slave=(\d+)", file.read())]
    return b0 + (a - a0) * (b1 - b0) / (a1 - a0)


def requests_of(truth):
    found = collections.defaultdict(dict)
    for row in truth:
        if row["what"] in ("request", "reply") and "id" in row:
            found[row["id"]][row["what"]] = row["mono"]
    return found


# What rr-server does for a request of each kind: in what it waits, for what.
KINDS = {"e": [], "c": [], "s": [("clock_nanosleep", "timer")], "d": [("pread64", "disk")],
         "w": [("read", "thread"), ("clock_nanosleep", "timer")],
         "x": [("read", "thread"), ("pread64", "disk")]}


def longest_of(waits, start, end):
    """The longest wait of these in that time, and below it, and so on."""
    found = []
    while True:
        waits = [wait for wait in waits if wait["start_ns"] < end and wait["end_ns"] > start]
        if not waits:
            return found
        wait = max(waits, key=lambda one: one["end_ns"] - one["start_ns"])
        found.append((wait["in"], wait["woken_by"]["kind"]))
        waits = wait["children"]


def check_pair(test):
    """
    Each half of a chain is held against what that host's program says, and their times against each
    other by the clocks.
    """
    truth = vm.ground_truth("pair1-lttng/a")
    client = spans_of("pair1-lttng/a/trace", 203)
    served = requests_of(vm.ground_truth("pair1-lttng/b"))
    waits = why("pair1-lttng/b/trace", 209)["causality"]
    calls = [row for row in truth if row["what"] == "rpc"]
    slept, right, around = [], collections.Counter(), []
    for row in calls:
        got = [span for span in client if span.wib == "blocked" and span.state == "read" and
               row["mono"] <= span.start and span.end <= row["until"]]
        request, reply = served[row["id"]]["request"], served[row["id"]]["reply"]
        if got:
            slept.append(got[-1].waker["kind"] == "network" and
                         got[-1].waker["state"].startswith("softirq NET_RX"))
            # The marker of the reply is written after its packet was sent.
            around.append(b_of_a(row["mono"]) < request < b_of_a(got[-1].end))
        chain = longest_of(waits, request, reply)
        right[row["kind"], chain == KINDS[row["kind"]]] += 1
    test.check("pair1: rr-client sleeps in read until a packet comes, nearly always",
               len(calls) == 64 and len(slept) >= 60 and all(slept), len(slept), slept)
    test.check("pair1: and meanwhile rr-server has the request", all(around), around)
    for kind in KINDS:
        good, bad = right[kind, True], right[kind, False]
        test.check("pair1: what rr-server waits for in each request %s" % kind, good >= 10 and
                   not bad, good, bad)


def check_vm(test):
    _, kinds = vm.expected_counts()
    for name in sorted(kinds):
        if name.startswith(("pipeline", "tbench")):
            unpack("vm", name + ".tar.zst")
            trace = vm.open_trace(name, kinds[name])
            (check_pipeline if name.startswith("pipeline") else check_tbench)(test, name, trace)
    unpack("vm", "pair1-lttng.tar.zst")
    check_pair(test)
    done = kernel.holdup("info", "pair1-lttng")
    test.check("pair1: both at once are no trace of one machine", done.returncode == 3 and
               "two machines" in done.stderr and "guest-b" in done.stderr, done.stderr, done.stdout[:200])


# ------------------------------------------------------------------ all of it

def main():
    if not os.path.isdir(os.path.join(ctf.TRACES, "05-critical-path")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 05-critical-path")
    test = ctf.Test()
    with kernel.workdir("/var/tmp"):
        ctf.ENV["XDG_CACHE_HOME"] = os.path.join(os.getcwd(), "cache")
        check_small_graphs(test)
        check_weston(test)
        check_recorded(test)
        check_vm(test)
    test.end()


if __name__ == "__main__":
    main()
