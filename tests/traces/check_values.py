#!/usr/bin/env python3
"""What holdup check measures in recordings of examples, against a plain count of the events that
holdup list prints: per window of a thread, from one return from a system call to the third after it.

The recordings are those of tests/data. Neither root nor a kernel is needed.
"""
import bisect
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../kernel/lib"))
import kernel  # noqa: E402

MODEL = """
model: values
initial: out
variables: { all: elapsed }
states:
  out: { transitions: [ { event: "raw_syscalls:sys_exit", to: one, start: [all] } ] }
  one: { transitions: [ { event: "raw_syscalls:sys_exit", to: two } ] }
  two: { transitions: [ { event: "raw_syscalls:sys_exit", to: three } ] }
  three:
    transitions:
      - event: "raw_syscalls:sys_exit"
        to: one
        start: [all]
        check:
%s
"""
READS = {0, 17, 19, 295, 327, 45, 47}
WRITES = {1, 18, 20, 296, 328, 44, 46}
VECTORS = "irq_vectors:"


def name_of(event):
    return event["event"]


def transfer(calls):
    def amount(event):
        fields = event["fields"]
        return fields["ret"] if name_of(event) == "raw_syscalls:sys_exit" and fields["id"] in calls \
            and 0 < fields["ret"] < 1 << 62 else 0
    return amount


def is_in(*names):
    return lambda event: name_of(event) in names


def is_vector(event):
    return name_of(event) == "irq:irq_handler_entry" or \
        (name_of(event).startswith(VECTORS) and name_of(event).endswith("_entry"))


# What an event of the thread adds to the metric.
OWN = {
    "syscalls": is_in("raw_syscalls:sys_enter"),
    "faults": is_in("exceptions:page_fault_user", "exceptions:page_fault_kernel"),
    "interrupts": is_vector,
    "softirqs": is_in("irq:softirq_entry"),
    "signals": is_in("signal:signal_deliver"),
    "block_requests": is_in("block:block_rq_issue"),
    "bytes_read": transfer(READS),
    "bytes_written": transfer(WRITES),
}
METRICS = [*OWN, "wakeups", "in_syscalls"]
UNITS = {"bytes_read": "B", "bytes_written": "B", "in_syscalls": "ns"}


def in_syscalls(own, first, last):
    """From each enter to its exit; the window begins behind an exit."""
    total, entered = 0, None
    for event in own[first + 1:last + 1]:
        if name_of(event) == "raw_syscalls:sys_enter":
            entered = event["time_ns"]
        elif name_of(event) == "raw_syscalls:sys_exit" and entered is not None:
            total += event["time_ns"] - entered
            entered = None
    return total


class Raw:
    """The events of a trace, by the thread they are of, and wakings by the thread they are about."""

    def __init__(self, trace):
        out = subprocess.run([kernel.HOLDUP, "list", "--json", trace], check=True, capture_output=True,
                             text=True, timeout=120).stdout
        self.own, self.wakings, self.lost = {}, {}, False
        for line in out.splitlines():
            event = json.loads(line)
            self.lost |= "lost" in name_of(event)
            self.own.setdefault(event.get("tid"), []).append(event)
            if name_of(event) == "sched:sched_waking":
                self.wakings.setdefault(event["fields"]["pid"], []).append(event["time_ns"])
        self.times = {tid: [event["time_ns"] for event in events] for tid, events in self.own.items()}

    def exit_at(self, tid, time_ns):
        at = bisect.bisect_left(self.times[tid], time_ns)
        while name_of(self.own[tid][at]) != "raw_syscalls:sys_exit":
            at += 1
        return at

    def value(self, metric, tid, start_ns, end_ns):
        if metric == "wakeups":
            return sum(start_ns < time <= end_ns for time in self.wakings.get(tid, []))
        first, last = self.exit_at(tid, start_ns), self.exit_at(tid, end_ns)
        own = self.own[tid]
        if metric == "in_syscalls":
            return in_syscalls(own, first, last)
        return sum(int(OWN[metric](event)) for event in own[first + 1:last + 1])


def findings_of(trace, metric):
    check = "          - { that: '%s < 0%s', since: all }" % (metric, UNITS.get(metric, ""))
    with open("model.yaml", "w", encoding="utf-8") as file:
        file.write(MODEL % check)
    done = subprocess.run([kernel.HOLDUP, "check", "--json", "--no-why", "model.yaml", trace], check=False,
                          capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout)["findings"] if done.stdout else []


def compare(tap, trace):
    raw = Raw(trace)
    for metric in METRICS:
        different, exact, total = [], 0, 0
        for finding in findings_of(trace, metric):
            value = finding.get("value")
            if not value or value["low"] != value["high"]:
                continue
            slow = raw.value(metric, finding["tid"], finding["start_ns"], finding["end_ns"])
            exact += 1
            total += slow
            if slow != value["low"]:
                different.append((finding["tid"], finding["start_ns"], finding["end_ns"], value["low"], slow))
        tap.ok(not different, "%s: %s over %d windows (%d in all)" % (trace, metric, exact, total),
               different[:3], "no difference")


def main():
    tap = kernel.Tap()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for archive in sorted(glob.glob(os.path.join(HERE, "../data/*.tar.gz"))):
            if os.path.basename(archive).split(".")[0] in ("word-count", "fork-chain", "futex-convoy"):
                subprocess.run(["tar", "-xzf", archive], check=True)
        for trace in sorted(glob.glob("*.holdup")):
            compare(tap, trace)
        os.chdir("/")
    tap.end()


main()
