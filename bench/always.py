#!/usr/bin/env python3
"""What a flight recorder costs that is always on: the same loads without it, under it, and beside perf's; writes bench/RESULTS.md.

usage: always.py [--rounds N] [--loads A,B] [--runs A,B] [--idle SECONDS] [--print]

Every round runs every load under each recorder, and plain twice, in a new random order; a ratio is to the plain run of
the same round, plain again tells the noise. A recorder runs since before the load, as it does where it is always on.
A load is repeated for some seconds, so that a budget has time to be kept. perf has the same events as ours, but for what
BPF programs read at blocking calls. "record lean" writes a trace to disk, with stacks and samples off, as perf has none;
bpftrace adds up what threads slept, by their kernel and user stacks, as bcc's offcputime does it. Told are medians and quartiles, what the recorder says of its own cost, and
what it takes of a CPU when nothing happens. (For events of programs, beside LTTng's snapshots: bench/user.py.)
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import record_cost as cost
import samples

LEAST_S = 4  # a load is repeated until it took that long
SETTLE_S = 2
BUDGETS = {"flight": [], "budget 5 %": ["--budget", "5"], "budget 2 %": ["--budget", "2"], "budget 1 %": ["--budget", "1"]}
RUNS = ["plain", "plain again", *BUDGETS, "record lean", "perf", "bpftrace"]

OFF_CPU = """tracepoint:sched:sched_switch {
  if (args->prev_state) { @off[tid] = nsecs; @ks[tid] = kstack; @us[tid] = ustack; }
  $was = @off[args->next_pid];
  if ($was) { @ns[@ks[args->next_pid], @us[args->next_pid]] = sum(nsecs - $was); delete(@off[args->next_pid]); }
}"""


@contextlib.contextmanager
def flight(words):
    """Gives what asks the recorder for its state."""
    folder = os.path.join(os.getcwd(), "snapshots")
    ours = [cost.HOLDUP, "flight", "--dir", folder]
    subprocess.run([*ours, *words, "start"], check=True, **cost.QUIET)
    try:
        yield lambda: json.loads(subprocess.run([*ours, "status", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    finally:
        subprocess.run([*ours, "stop"], check=True, **cost.QUIET)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def perf(events):
    """A ring of perf that overwrites, to be written at a signal."""
    process = subprocess.Popen(["perf", "record", "-q", "-a", "--overwrite", "--switch-output=signal", "-m", "32M", "-o", "perf.data",
                                "-e", ",".join(events), "--", "sh", "-c", ": >ready; exec sleep 600"], **cost.QUIET)
    try:
        cost.wait_until_ready()
        yield lambda: process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


@contextlib.contextmanager
def until_interrupted(words, ready):
    """A process that ends at Ctrl-C. Gives what tells its id."""
    process = subprocess.Popen(words, **cost.QUIET)
    try:
        time.sleep(ready)
        yield lambda: process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


@contextlib.contextmanager
def recorder(name, events):
    if name.startswith("plain"):
        yield None
    elif name == "perf":
        with perf(events) as state:
            yield state
    elif name == "record lean":
        with until_interrupted([cost.HOLDUP, "record", "-e", "lean", "--stack-min", "off", "--sample", "off", "-o", "trace"], 2) as state:
            yield state
        shutil.rmtree("trace", ignore_errors=True)
    elif name == "bpftrace":
        with until_interrupted(["bpftrace", "-e", OFF_CPU], 4) as state:
            yield state
    else:
        with flight(BUDGETS[name]) as state:
            yield state


def repeat(work):
    """The mean of what a load takes, over some seconds."""
    values, end = [], time.monotonic() + LEAST_S
    while not values or time.monotonic() < end:
        values.append(work([]))
    return statistics.mean(values)


def measure(work, name, events):
    """What the load took, and the recorder's own word for its share of all CPUs' time meanwhile."""
    with recorder(name, events) as state:
        time.sleep(SETTLE_S)
        before = state() if name in BUDGETS else None
        took = repeat(work)
        after = state() if name in BUDGETS else None
    if not after:
        return took, None
    return took, (after["cost_ns"] - before["cost_ns"]) / ((after["age_ns"] - before["age_ns"]) * os.cpu_count())


def cpu_of(pid):
    """CPU seconds of a process with its threads."""
    with open("/proc/%d/schedstat" % pid) as file:
        own = int(file.read().split()[0])
    for thread in os.listdir("/proc/%d/task" % pid):
        if int(thread) != pid:
            with contextlib.suppress(OSError), open("/proc/%d/task/%s/schedstat" % (pid, thread)) as file:
                own += int(file.read().split()[0])
    return own / 1e9


def idle(seconds, events):
    """Share of a CPU when nothing happens: the process alone, and with what it says its events cost."""
    lines = []
    for name in ("flight", "perf"):
        with recorder(name, events) as state:
            time.sleep(SETTLE_S)
            pid = state()["pid"] if name == "flight" else state()
            told = state() if name == "flight" else None
            before, start = cpu_of(pid), time.monotonic()
            time.sleep(seconds)
            took = time.monotonic() - start
            lines.append("%s %.2f %% of a CPU%s" % (name, 100 * (cpu_of(pid) - before) / took, "" if not told else
                                                   " (%.2f %% with its events and BPF programs, as told)" %
                                                   (100 * (state()["cost_ns"] - told["cost_ns"]) / 1e9 / took)))
    return "Without a load, in %d s: %s." % (seconds, "; ".join(lines))


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return "%+.1f (%+.1f to %+.1f)" % tuple(100 * (value - 1) for value in (middle, low, high))


def line(name, runs, times, told):
    cells = [spread([a / b for a, b in zip(times[run], times["plain"])]) for run in runs[1:]]
    said = ", ".join("%.1f" % (100 * statistics.median(told[run])) for run in BUDGETS if run in runs)
    return "| %s | %s | %s |" % (name, " | ".join(cells), said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loads", default="compile,redis-benchmark,pgbench")
    parser.add_argument("--runs", default=",".join(RUNS[1:]))
    parser.add_argument("--idle", type=int, default=20)
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    events = [event for event in cost.Mirror("lean").events if "irq_work" not in event]
    runs = ["plain", *args.runs.split(",")]
    load_of_machine = os.getloadavg()[0]
    lines = ["| load | %s | told, of all CPUs, %% |" % " | ".join(runs[1:]), "|" + "---|" * (len(runs) + 1)]
    for name in args.loads.split(","):
        times, told = {run: [] for run in runs}, {run: [] for run in BUDGETS}
        with tempfile.TemporaryDirectory() as folder, samples.WORK[name](folder) as work:
            for number in range(args.rounds):
                for run in random.sample(runs, len(runs)):
                    took, share = measure(work, run, events)
                    times[run].append(took)
                    if run in BUDGETS:
                        told[run].append(share)
                    print("round %d %-15s %-12s %.3f %s" % (number + 1, name, run, took, "" if share is None else "%.3f" % share),
                          file=sys.stderr, flush=True)
        lines.append(line(name, runs, times, told))
    text = "%s, load average %.1f. %d rounds. Time of the load more than plain, in %%, median and quartiles:\n\n%s\n\n%s" % (
        cost.machine(), load_of_machine, args.rounds, "\n".join(lines), idle(args.idle, events) if args.idle else "")
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "A flight recorder that is always on", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder_of_bench:
        os.chdir(folder_of_bench)
        main()
