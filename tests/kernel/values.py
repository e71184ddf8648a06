#!/usr/bin/env python3
"""What holdup check measures in recordings made now, against what the single events add up to.

As tests/traces/check_values.py, for what the traces there lack: locks as programs tell of them,
signals, stops, page faults, memory, requests to disks, switches that this kernel leaves out.
"""
import json
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
import twincheck  # noqa: E402

EVENTS_MAX = 100_000
# Two at a time wait for locks of files and for signals; a sleeper is stopped and goes on.
WORK = """
cd "$0"
./flock-wait > /dev/null & ./signal-wait > /dev/null &
./fsync-kworker > /dev/null; ./tcp-server-sleeps > /dev/null
sleep 0.4 & sleep 0.05; kill -STOP $!; sleep 0.1; kill -CONT $!
wait
"""
OURS = ("flock-wait", "signal-wait", "fsync-kworker", "tcp-", "fault-", "sleep", "sh", "bash")
SEEN = ("on_cpu", "user", "system", "in_irq", "wait_cpu", "blocked", "blocked(lock)", "blocked(time)",
        "in_syscalls", "switches", "syscalls", "faults", "interrupts", "wakeups", "signals", "allocated",
        "lock_wait", "lock_held")


def is_stop(event):
    return event.kind == "switch" and event.fields["prev_state"] & 0x0c     # __TASK_STOPPED, __TASK_TRACED


def measured(tally, trace, seed, rounds):
    """On a busy machine a part of the recording will do."""
    facts = json.loads(kernel.holdup("info", "--json", trace).stdout)
    is_cut = facts["events"] > EVENTS_MAX
    if is_cut:
        span = (facts["end_ns"] - facts["begin_ns"]) * EVENTS_MAX // facts["events"]
        start = random.Random(seed).randrange(facts["begin_ns"], facts["end_ns"] - span)
        kernel.holdup("cut", "-o", "part.holdup", "--from", kernel.seconds(start), "--to",
                      kernel.seconds(start + span), trace)
        trace = "part.holdup"
        tally.is_part = True
    twincheck.run(trace, seed, rounds, tally, is_cut)
    shutil.rmtree("part.holdup", ignore_errors=True)


def locks(tally, seed):
    """Windows about locks alone; some begin where a thread begins to wait for one."""
    done = kernel.holdup("record", "--locks", "-e", "sched,kmem:mm_page_alloc", "-o", "locks.holdup", "--",
                         os.path.join(kernel.EXAMPLES, "lock-table"))
    if done.returncode == 0:
        measured(tally, "locks.holdup", seed, [(3, lambda event: event.kind == "told"),
                                               (2, lambda event: event.name == "lock:wait_begin")])
    return done


def work(tally, seed):
    done = kernel.holdup("record", "-o", "work.holdup", "--", "sh", "-c", WORK, kernel.EXAMPLES)
    if done.returncode == 0:
        measured(tally, "work.holdup", seed, [(6, lambda event: event.comm.startswith(OURS)),
                                              (1, lambda event: event.kind == "signal"),
                                              (1, lambda event: event.kind == "issue"),
                                              (1, lambda event: event.call == "accept"),
                                              (1, is_stop)])
    return done


def main():
    kernel.need()
    seed = os.environ.get("HOLDUP_SEED", "5")
    print("# HOLDUP_SEED=" + seed)
    tap, tally = kernel.Tap(), twincheck.Tally()
    with kernel.workdir("/var/tmp"):
        for recorded in (locks, work):
            done = recorded(tally, int(seed))
            tap.ok(done.returncode == 0, "record", done.stderr[-500:])
        os.chdir("/")
    twincheck.tell(tap, tally, () if tally.is_part else SEEN)
    tap.end()


if __name__ == "__main__":
    main()
