#!/usr/bin/env python3
"""The kernel's own filters of events by process: what they cost, and what they save.

usage: filters.py [HOLDUP [ROUNDS]]     HOLDUP is not used; ROUNDS of all kinds (default 5)

Two processes on one CPU pass a byte to and fro: two switches and two wake-ups a turn. The events of these
(sched_switch, sched_waking, sched_stat_runtime) go to an instance of their own, without a filter and with those
that ftrace has:

  pid      set_event_pid, and its option event-fork: the tree of a process
  field    events/*/filter, by the pids in the event

"out" lets none of these events pass, "in" all. Where the time of the CPU is not quiet, run it in the guest of
tools/vm-test that has one CPU, whose time is the number of its instructions.
"""
import os
import statistics
import subprocess
import sys
import time

TRACING = "/sys/kernel/tracing"
INSTANCE = TRACING + "/instances/holdup-bench-filters"
TURNS = 5000
KINDS = ("plain", "all", "pid out", "pid in", "field out", "field in", "plain again")
FIELDS = {  # of another process: out; all but those of that process: in
    "sched_switch": ("prev_pid=={0}||next_pid=={0}", "prev_pid!={0}&&next_pid!={0}"),
    "sched_waking": ("pid=={0}||common_pid=={0}", "pid!={0}&&common_pid!={0}"),
    "sched_stat_runtime": ("pid=={0}||common_pid=={0}", "pid!={0}&&common_pid!={0}"),
}


def put(name, text):
    with open(f"{INSTANCE}/{name}", "w", encoding="ascii") as file:
        file.write(text)


def pass_to_and_fro():
    """Nanoseconds of a turn, of two children of ours that begin now."""
    there, back, told = os.pipe(), os.pipe(), os.pipe()
    first = os.fork()
    if first == 0:
        begin = time.monotonic_ns()
        for _ in range(TURNS):
            os.write(there[1], b"x")
            os.read(back[0], 1)
        os.write(told[1], str((time.monotonic_ns() - begin) / TURNS).encode())
        os._exit(0)
    second = os.fork()
    if second == 0:
        for _ in range(TURNS):
            os.read(there[0], 1)
            os.write(back[1], b"x")
        os._exit(0)
    for pid in (first, second):
        os.waitpid(pid, 0)
    turn_ns = float(os.read(told[0], 64))
    for fd in (*there, *back, *told):
        os.close(fd)
    return turn_ns


def switch_on(kind, stranger):
    if kind.startswith("plain"):
        return
    if kind.startswith("pid"):
        put("options/event-fork", "1")
        put("set_event_pid", str(os.getpid() if kind == "pid in" else stranger))
    for name, filters in FIELDS.items():
        if kind.startswith("field"):
            put(f"events/sched/{name}/filter", filters[kind == "field in"].format(stranger))
        put(f"events/sched/{name}/enable", "1")


def turn_with(kind, stranger):
    os.mkdir(INSTANCE)
    try:
        put("buffer_size_kb", "4096")
        switch_on(kind, stranger)
        return pass_to_and_fro()
    finally:
        os.rmdir(INSTANCE)


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if not os.path.exists(TRACING + "/instances"):
        subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], check=True)
    turns = {kind: [] for kind in KINDS}
    with subprocess.Popen(["sleep", "100000"]) as stranger:
        for _ in range(rounds):
            for kind in KINDS:
                turns[kind].append(turn_with(kind, stranger.pid))
        stranger.kill()
    plain = statistics.median(turns["plain"])
    events = statistics.median(turns["all"]) - plain
    print("| events | a turn | more than plain | of what all events cost |")
    print("|---|---|---|---|")
    for kind, values in turns.items():
        more = statistics.median(values) - plain
        print(f"| {kind} | {plain + more:.0f} ns | {more:+.0f} ns | {more / events:.2f} |", flush=True)


if __name__ == "__main__":
    main()
