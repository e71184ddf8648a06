#!/usr/bin/env python3
"""The same load recorded by holdup and by perf at the same time gives the same verdict.

perf record writes the same events, of all CPUs, on the same clock. why of the command's main thread, in
the same window of both, must name the same roots: each that has 1 % of the window or more in either,
with a share that differs by no more than 1 % of the window; so must the three states. Recordings of which
either lost events are made again.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

EVENTS = """sched:sched_switch sched:sched_waking sched:sched_wakeup sched:sched_wakeup_new
sched:sched_migrate_task sched:sched_process_fork sched:sched_process_exec sched:sched_process_exit
sched:sched_stat_runtime task:task_newtask task:task_rename raw_syscalls:sys_enter
raw_syscalls:sys_exit irq:irq_handler_entry irq:irq_handler_exit irq:softirq_entry irq:softirq_exit
timer:hrtimer_start timer:hrtimer_expire_entry timer:hrtimer_expire_exit block:block_rq_issue
block:block_rq_complete irq_vectors:local_timer_entry irq_vectors:local_timer_exit
irq_vectors:reschedule_entry irq_vectors:reschedule_exit""".split()
TRIES = 3
SHARE = 0.01


def available():
    """Those of the events that this kernel has."""
    return [event for event in EVENTS
            if os.path.isdir("/sys/kernel/tracing/events/" + event.replace(":", "/"))]


def record(program):
    """Both at once; perf's window is around holdup's. Stacks would say more of a lock than perf knows."""
    events = ",".join(available())
    command = ["perf", "record", "-q", "-a", "-m", "8M", "-k", "CLOCK_MONOTONIC", "-o", "perf.data",
               "-e", events, "--", kernel.HOLDUP, "record", "--stack-min", "off", "-o", "run.holdup", "--",
               os.path.join(kernel.EXAMPLES, program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


def whys():
    """why --json of the same thread and window, by both."""
    ours = json.loads(kernel.holdup("why", "--json", "run.holdup").stdout)
    begin = json.loads(kernel.holdup("info", "--json", "perf.data").stdout)["window"]["start_ns"]
    window = ["+%dns" % (ours["window"][edge] - begin) for edge in ("start_ns", "end_ns")]
    theirs = json.loads(kernel.holdup("why", "--json", "--tid", str(ours["target"]["tid"]), "--from",
                                      window[0], "--to", window[1], "perf.data").stdout)
    return ours, theirs


def shares(report):
    """{root: share}; a root is what holds up, who, and the object."""
    sums = {}
    for root in report["verdict"]:
        who = (root["who"] or {}).get("tid")
        key = (root["kind"], who, root["object"])
        sums[key] = sums.get(key, 0) + root["share"]
    return sums


def compare(tap, program, ours, theirs):
    a, b = shares(ours), shares(theirs)
    wrong = ["%s: %.4f by holdup, %.4f by perf" % (root, a.get(root, 0), b.get(root, 0))
             for root in sorted(a.keys() | b.keys(), key=str)
             if abs(a.get(root, 0) - b.get(root, 0)) > SHARE]
    tap.ok(not wrong, program + ": the same roots, with the same shares", *wrong)
    first = [max(sums, key=sums.get) for sums in (a, b)]
    close = abs(a[first[0]] - a.get(first[1], 0)) <= SHARE
    tap.ok(first[0] == first[1] or close, program + ": the same root comes first", *first)
    span = ours["window"]["end_ns"] - ours["window"]["start_ns"]
    wrong = ["%s: %d, and %d" % (state, ours["wib"][state], theirs["wib"][state])
             for state in ours["wib"]
             if abs(ours["wib"][state] - theirs["wib"][state]) > SHARE * span]
    tap.ok(not wrong, program + ": the same time in each state", *wrong)


def check(tap, program):
    for _ in range(TRIES):
        record(program)
        ours, theirs = whys()
        if not ours["lost_events"] and not theirs["lost_events"]:
            compare(tap, program, ours, theirs)
            return
        kernel.note("%s: lost events, %d and %d" % (program, ours["lost_events"],
                                                    theirs["lost_events"]))
        for name in ("perf.data", "run.holdup"):
            subprocess.run(["rm", "-rf", name], check=True)
    tap.skipped(program, "events were lost %d times" % TRIES)


def main():
    kernel.need("perf")
    tap = kernel.Tap()
    for program in ("futex-convoy", "idle-server"):
        with kernel.workdir("/var/tmp"):
            check(tap, program)
    tap.end()


if __name__ == "__main__":
    main()
