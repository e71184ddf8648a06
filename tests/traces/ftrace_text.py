#!/usr/bin/env python3
"""Read traces that are text, and hold what holdup says of them against what was expected.

$HOLDUP_CTF_TRACES, or ../shared/traces beside the project, has 11-ftrace-text (events of each
name, a checksum of the switches), 13-recorded (the kernel's own text of three recordings), and
05-critical-path, 06-thread-states and 12-sched-small, small traces with a known answer, some of
them as CTF, too. None of the answers was computed by holdup. Each line is read here a second
time, with one regular expression. Neither root nor a kernel is needed. Skipped when the folder
is not there.
"""
import collections
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

TRACES = os.environ.get("HOLDUP_CTF_TRACES") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../../../shared/traces")
LOST = "holdup:lost_events"
LINE = re.compile(r"^\s*(.{1,}?)-(\d+)\s+(?:\(\s*([\d-]+)\)\s+)?\[(\d+)\]\s+([^\s:]{4,6}\s+)?"
                  r"(\d+)\.(\d+): (\w+):\s+(.*?)(?:\\n\\)?$")
WIB = {"RUNNING": "working", "PREEMPTED": "interrupted", "BLOCKED": "blocked",
       "TIMER": "blocked", "NETWORK": "blocked"}
MS, S = 10**6, 10**9


def run(cache, *args):
    env = dict(os.environ, XDG_CACHE_HOME=cache, TZ="UTC")
    done = subprocess.run([kernel.HOLDUP, *args], capture_output=True, env=env, check=False,
                          timeout=300)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode()


def rows(*path):
    return kernel.csv_rows(TRACES, *path)


def listed(cache, path):
    status, out, message = run(cache, "list", "--json", path)
    events = [json.loads(line) for line in out.splitlines()]
    return status, [event for event in events if event["event"] != LOST], message


def unpacked(path, into):
    """A file as it is, or what is packed in it."""
    if not path.endswith(".zst"):
        return path
    to = os.path.join(into, os.path.basename(path)[:-4])
    subprocess.run(["zstd", "-dqf", path, "-o", to], check=True)
    return to


def names_of(events):
    return collections.Counter(event["event"].split(":", 1)[1] for event in events)


def switch_digest(events):
    """Times have the digits of the text: six in all of these."""
    lines = []
    for event in events:
        fields = event["fields"]
        if event["event"] == "sched:sched_switch" and "prev_state=" in fields["text"]:
            us = event["time_ns"] // 1000
            lines.append("%d.%06d %d %d %s %d\n" % (us // 10**6, us % 10**6, event["cpu"],
                                                    fields["prev_pid"], fields["prev_state"],
                                                    fields["next_pid"]))
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def check_texts(test, into):
    counts = collections.defaultdict(dict)
    for row in rows("11-ftrace-text", "expected-event-counts.csv"):
        counts[row["file"]][row["event"]] = int(row["count"])
    for row in rows("11-ftrace-text", "expected-summary.csv"):
        name = row["file"]
        path = unpacked(os.path.join(TRACES, "11-ftrace-text", name), into)
        status, events, message = listed(into, path)
        times = [event["time_ns"] for event in events]
        test.check(name + ": events of each name", status == 0 and names_of(events) ==
                   counts[name.removesuffix(".zst")], status, message, names_of(events))
        test.check(name + ": time", ["%.6f" % (ns / S) for ns in (min(times), max(times))] ==
                   [row["first_s"], row["last_s"]] and times == sorted(times))
        if row["sha256_switch"]:
            test.check(name + ": switches", switch_digest(events) == row["sha256_switch"],
                       "another checksum")
        status, out, message = run(into, "check-trace", path)
        checks = re.findall(r"^ +[\d,]+ +([\d,]+)  \D", out.partition("Checks:")[2], re.M)
        test.check(name + ": all that must hold does", set(checks) == {"0"}, out, message)


def slow_twin(path):
    events = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            m = LINE.match(line.rstrip("\n"))
            if m:
                ns = int(m[6]) * S + int(m[7].ljust(9, "0"))
                events.append((ns, int(m[4]), int(m[2]), m[8], m[9], (m[5] or ".....").strip()))
    return sorted(events, key=lambda event: event[0])


def check_recorded(test, into):
    """The kernel's text, line by line, and its fields."""
    counts = collections.defaultdict(dict)
    for row in rows("13-recorded", "expected-event-counts.csv"):
        if row["source"] == "ftrace":
            counts[row["trace"]][row["event"]] = int(row["count"])
    for row in rows("13-recorded", "expected-summary.csv"):
        path = unpacked(os.path.join(TRACES, "13-recorded", row["name"] + ".trace.txt.zst"), into)
        status, events, message = listed(into, path)
        ours = [(event["time_ns"], event["cpu"], event["tid"], event["event"].split(":", 1)[1],
                 event["fields"]["text"], event["latency"]) for event in events]
        twin = slow_twin(path)
        wrong = [pair for pair in zip(ours, twin) if pair[0] != pair[1]]
        test.check(row["name"] + ": events as read by one regular expression",
                   status == 0 and len(ours) == len(twin) == int(row["events"]) and not wrong,
                   message, len(ours), len(twin), wrong[:2])
        test.check(row["name"] + ": events of each name",
                   names_of(events) == counts[row["name"]], names_of(events))
        wrong = [event for event in events if not fields_agree(event["fields"])]
        test.check(row["name"] + ": fields are what the text says", not wrong, wrong[:2])


def fields_agree(fields):
    """Each field that the text has by its name has the value there."""
    for name, value in fields.items():
        m = re.search(r"(?:^|[ (])" + re.escape(name) + r"=(\S+)", fields["text"])
        if not m or name == "text":
            continue
        told = m[1].strip("(),[]")
        if told in ("true", "false"):
            good = value == (told == "true")
        elif isinstance(value, str) and not told.startswith("0x"):
            good = value.startswith(told)
        else:
            number = int(value, 16) if isinstance(value, str) else value
            # A pointer has no 0x in the kernel's text.
            good = number in [int(told, base) for base in (10, 16, 0)
                              if re.fullmatch(r"(0x)?-?[0-9a-f]+", told) and
                              re.fullmatch({10: r"-?\d+", 16: r"[0-9a-f]+",
                                            0: r"0x.*"}[base], told)]
        if not good:
            return False
    return True


# ------------------------------------------------------------------ states

def states_of(cache, path, tid):
    """(from, to, wib, system call or "") of a thread, one after the other."""
    status, out, _ = run(cache, "states", "--json", str(tid), path)
    spans = [json.loads(line) for line in out.splitlines()] if status == 0 else []
    return [(span["start_ns"], span["end_ns"], span["wib"], span["state"]) for span in spans
            if "wib" in span]


def joined(spans):
    """Those that touch and are of one kind are one."""
    out = []
    for start, end, what in spans:
        if out and out[-1][1] == start and out[-1][2] == what:
            out[-1] = (out[-1][0], end, what)
        elif end > start:
            out.append((start, end, what))
    return out


def check_graphs(test, into):
    """One unit is 1 ms from 100 s; worker N is thread 1000 + N."""
    for path in sorted(glob.glob(os.path.join(TRACES, "05-critical-path", "graph-*.ftrace.txt"))):
        name = os.path.basename(path).removesuffix(".ftrace.txt")
        edges = [edge for edge in rows("05-critical-path", name + ".csv")
                 if edge["edge"] == "horizontal"]
        for worker in sorted({edge["from_worker"] for edge in edges}):
            want = joined([(100 * S + int(edge["from_t"]) * MS, 100 * S + int(edge["to_t"]) * MS,
                            WIB[edge["state"]]) for edge in edges
                           if edge["from_worker"] == worker])
            # A worker begins where it first runs; a thread, where it was forked.
            got = joined([(max(a, want[0][0]), b, what) for a, b, what, _ in
                          states_of(into, path, 1000 + int(worker)) if b > want[0][0]])
            test.check("%s: states of worker %s" % (name, worker), got == want, got, want)
        check_path(test, into, name, path)


def check_path(test, into, name, path):
    """The bounded critical path: how long each worker ran, and what nobody explains."""
    want = collections.Counter()
    for edge in rows("05-critical-path", name + ".expected.csv"):
        if edge["algorithm"] == "bounded" and edge["edge"] == "horizontal":
            who = 1000 + int(edge["from_worker"]) if edge["state"] == "RUNNING" else edge["state"]
            want[who] += (int(edge["to_t"]) - int(edge["from_t"])) * MS
    _, out, message = run(into, "why", "--json", "--tid", "1000", path)
    got = collections.Counter()
    for row in json.loads(out)["verdict"] if out else []:
        who = {"timer": "TIMER", "unknown": "BLOCKED"}.get(row["kind"], row["who"]["tid"])
        got[who] += row["ns"]
    test.check(name + ": the critical path", got == want, got, want, message)


def check_twins(test, into):
    """The same case as text, 1 ms from 100 s, and as CTF, 1 us from 0."""
    cases = [("05-critical-path", "sched_only", (1, 2)),
             ("05-critical-path", "simple_network_client", (200, 201, 202)),
             ("06-thread-states", "cpu_analysis", (1, 2, 3, 4)),
             ("06-thread-states", "kernel_analysis", (11, 20, 21)),
             ("07-io", "io_syscall_read", (2, 5))]
    for folder, name, tids in cases:
        archive = os.path.join(TRACES, folder, name + ".ctf.tar.zst")
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", into], check=True)
        text = os.path.join(TRACES, folder, name + ".ftrace.txt")
        for tid in tids:
            ours = [(int((a - 100 * S) / 1000), int((b - 100 * S) / 1000), what)
                    for a, b, what, _ in states_of(into, text, tid)]
            ctf = [span[:3] for span in states_of(into, os.path.join(into, name), tid)]
            start = max(spans[0][0] if spans else 0 for spans in (ours, ctf))
            cut = [joined([(max(a, start), b, what) for a, b, what in spans if b > start])
                   for spans in (ours, ctf)]
            test.check("%s: thread %d, as text and as CTF" % (name, tid),
                       cut[0] and cut[0] == cut[1], cut)


def check_kernel_analysis(test, into):
    """Where Trace Compass knows a state and the text has events for it."""
    path = os.path.join(TRACES, "06-thread-states", "kernel_analysis.ftrace.txt")
    want_of = {"Usermode": "working", "System call": "working", "Wait blocked": "blocked",
               "Wait for CPU": "interrupted"}
    tids = {"tid11": 11, "proc20": 20, "tid21": 21, "proc30": 30, "lttng-sessiond": 100}
    for row in rows("06-thread-states", "kernel_analysis.expected-states.csv"):
        start, end = (100 * S + int(row[key]) * MS for key in ("from_t", "to_t_exclusive"))
        start, end = max(start, 100 * S + 12 * MS), min(end, 100 * S + 80 * MS)
        if row["thread"] not in tids or row["state"] not in want_of or start >= end:
            continue
        spans = [(max(a, start), min(b, end), what)
                 for a, b, what, _ in states_of(into, path, tids[row["thread"]])
                 if a < end and b > start]
        test.check("kernel_analysis: %s is in %s from %s on" % (row["thread"], row["state"],
                                                                row["from_t"]),
                   joined(spans) == [(start, end, want_of[row["state"]])], spans)


def check_schedviz(test, into):
    """Times in us from 100 s: sums of running, waiting and sleeping of a window."""
    path = os.path.join(TRACES, "12-sched-small", "schedviz-trace1.ftrace.txt")
    for row in rows("12-sched-small", "schedviz-trace1.expected.csv"):
        if row["query"] != "summary" or row["from_t"] != "1050":
            continue
        got = collections.Counter()
        start, end = (100 * S + int(row[key]) * 1000 for key in ("from_t", "to_t"))
        for a, b, what, _ in states_of(into, path, row["tid"]):
            got[what] += max(0, min(b, end) - max(a, start)) // 1000
        want = {"working": int(row["run"]), "interrupted": int(row["wait"]),
                "blocked": int(row["sleep"])}
        test.check("schedviz: thread %s in %s to %s" % (row["tid"], row["from_t"], row["to_t"]),
                   all(got[key] == want[key] for key in want), got, want)


def check_synth(test, into):
    """Each slice of a thread on a CPU, in us from 100 s."""
    path = os.path.join(TRACES, "12-sched-small", "perfetto-synth_1.ftrace.txt")
    ran = collections.defaultdict(list)
    for row in rows("12-sched-small", "perfetto-synth_1.expected.csv"):
        values = list(row.values())
        if values[0] == "slice" and int(values[3]) > 0 and int(values[5]) > 0:
            ran[int(values[5])].append((int(values[1]), int(values[1]) + int(values[3])))
    for tid, slices in sorted(ran.items()):
        got = [((a - 100 * S) // 1000, (b - 100 * S) // 1000)
               for a, b, what in joined([span[:3] for span in states_of(into, path, tid)])
               if what == "working"]
        test.check("synth_1: slices of thread %d" % tid, set(slices) <= set(got), got, slices)


class Test(kernel.Tap):
    def check(self, name, good, *details):
        return self.ok(good, name, *details)


def main():
    if not os.path.isdir(os.path.join(TRACES, "11-ftrace-text")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 11-ftrace-text")
    test = Test()
    with tempfile.TemporaryDirectory() as into:
        check_texts(test, into)
        check_recorded(test, into)
        check_graphs(test, into)
        check_twins(test, into)
        check_kernel_analysis(test, into)
        check_schedviz(test, into)
        check_synth(test, into)
    test.end()


if __name__ == "__main__":
    main()
