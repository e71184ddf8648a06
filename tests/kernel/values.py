#!/usr/bin/env python3
"""What holdup check measures in recordings made now, against what the single events add up to.

As tests/traces/check_values.py, for what the traces there lack: locks as programs tell of them,
signals, stops, page faults, memory, requests to disks, switches that this kernel leaves out.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
import twincheck  # noqa: E402

EVENTS = "full,kmem:mm_page_alloc"
# Two at a time wait for locks of files and for signals; a sleeper is stopped and goes on.
WORK = """
cd "$0"
./flock-wait > /dev/null & ./signal-wait > /dev/null &
./fsync-kworker > /dev/null; ./tcp-server-sleeps > /dev/null
./fault-storm > /dev/null
sleep 0.4 & sleep 0.05; kill -STOP $!; sleep 0.1; kill -CONT $!
wait
"""
OURS = ("flock-wait", "signal-wait", "fsync-kworker", "tcp-", "fault-", "sleep", "sh", "bash")
SEEN = ("on_cpu", "user", "system", "in_irq", "wait_cpu", "blocked", "blocked(lock)", "blocked(time)",
        "in_syscalls", "switches", "syscalls", "faults", "interrupts", "wakeups", "signals", "allocated",
        "lock_wait", "lock_held")


def locks(tally, seed):
    """Windows about locks alone: half of them begin where a thread begins to wait for one."""
    done = kernel.holdup("record", "--locks", "-e", EVENTS, "-o", "locks.holdup", "--",
                         os.path.join(kernel.EXAMPLES, "lock-table"))
    if done.returncode == 0:
        twincheck.run("locks.holdup", seed, 4, tally, lambda event: event.kind == "told")
        twincheck.run("locks.holdup", seed + 1, 2, tally, lambda event: event.name == "lock:wait_begin")
    return done


def work(tally, seed):
    done = kernel.holdup("record", "-e", EVENTS, "-o", "work.holdup", "--", "sh", "-c", WORK, kernel.EXAMPLES)
    if done.returncode == 0:
        twincheck.run("work.holdup", seed, 8, tally, lambda event: event.comm.startswith(OURS))
        for kind in ("signal", "sleeps", "issue"):
            twincheck.run("work.holdup", seed, 2, tally, lambda event, kind=kind: event.kind == kind)
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
    twincheck.tell(tap, tally, SEEN)
    tap.end()


if __name__ == "__main__":
    main()
