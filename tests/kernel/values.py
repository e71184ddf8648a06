#!/usr/bin/env python3
"""What holdup check measures in recordings made now, against what the single events add up to.

As tests/traces/check_values.py, for what the traces there lack: locks as programs tell of them,
signals, stops, page faults, memory, requests to disks, switches that this kernel leaves out.
"""
import json
import os
import random
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
MEMORY = """
cd "$0"
"$1"/memory-steps 10 > /dev/null
./fork-chain --scale 0.01 > /dev/null; ./vfork-exec --scale 0.01 > /dev/null
"""
OURS = ("flock-wait", "signal-wait", "fsync-kworker", "tcp-", "fault-", "sleep", "sh", "bash")
SEEN = ("on_cpu", "user", "system", "in_irq", "wait_cpu", "blocked", "blocked(lock)", "blocked(time)",
        "in_syscalls", "switches", "syscalls", "faults", "interrupts", "wakeups", "signals", "allocated",
        "lock_wait", "lock_held")


def is_stop(event):
    return event.kind == "switch" and event.fields["prev_state"] & 0x0c     # __TASK_STOPPED, __TASK_TRACED


# What comes up once in a while is looked for in more windows.
TRIES = 8


def part_of(trace, seed):
    """(trace, is it a part): on a busy machine a part of the recording will do."""
    facts = json.loads(kernel.holdup("info", "--json", trace).stdout)
    if facts["events"] <= EVENTS_MAX:
        return trace, False
    span = (facts["window"]["end_ns"] - facts["window"]["start_ns"]) * EVENTS_MAX // facts["events"]
    start = random.Random(seed).randrange(facts["window"]["start_ns"], facts["window"]["end_ns"] - span)
    kernel.holdup("cut", "-o", "part-of-" + trace, "--from", kernel.seconds(start), "--to",
                  kernel.seconds(start + span), trace)
    return "part-of-" + trace, True


def locks():
    """Windows about locks alone; some begin where a thread begins to wait for one."""
    done = kernel.holdup("record", "--locks", "-e", "sched,kmem:mm_page_alloc", "-o", "locks.holdup", "--",
                         os.path.join(kernel.EXAMPLES, "lock-table"))
    return done, "locks.holdup", [(3, lambda event: event.kind == "told"),
                                  (2, lambda event: event.name == "lock:wait_begin")]


def work():
    done = kernel.holdup("record", "-o", "work.holdup", "--", "sh", "-c", WORK, kernel.EXAMPLES)
    return done, "work.holdup", [(6, lambda event: event.comm.startswith(OURS)),
                                 (1, lambda event: event.kind == "signal"),
                                 (1, lambda event: event.kind == "issue"),
                                 (1, lambda event: event.call == "accept"),
                                 (1, is_stop)]


def memory():
    """Windows in which memory grows and shrinks: threads, forks, programs that are executed."""
    done = kernel.holdup("record", "-e", "full,kmem:rss_stat,kmem:mm_page_alloc", "-b", "8M", "-o", "memory.holdup",
                         "--", "sh", "-c", MEMORY, kernel.EXAMPLES, kernel.PROGRAMS)
    return done, "memory.holdup", [(4, lambda event: event.comm.startswith(("memory-steps", "link-", "vfork-", "sh"))),
                                   (1, lambda event: event.name == "task:task_rename")]


def main():
    kernel.need()
    seed = int(os.environ.get("HOLDUP_SEED", "5"))
    print("# HOLDUP_SEED=%d" % seed)
    tap, tally = kernel.Tap(), twincheck.Tally()
    is_part, traces = False, []
    seen, recordings = list(SEEN), [locks, work]
    if kernel.tells_memory():
        seen.append("rss_grown")
        recordings.append(memory)
    with kernel.workdir("/var/tmp"):
        for recorded in recordings:
            done, trace, rounds = recorded()
            if tap.ok(done.returncode == 0, "record", done.stderr[-500:]):
                trace, is_cut = part_of(trace, seed)
                is_part |= is_cut
                traces.append((trace, is_cut, rounds))
        for i in range(TRIES):
            for trace, is_cut, rounds in traces:
                twincheck.run(trace, seed + i, rounds, tally, is_cut)
            if is_part or not twincheck.unseen(tally, seen):
                break
        os.chdir("/")
    twincheck.tell(tap, tally, () if is_part else seen)
    tap.end()


if __name__ == "__main__":
    main()
