#!/usr/bin/env python3
"""What holdup delays and holdup top cost; writes bench/RESULTS.md.

usage: delays.py [--rounds N] [--threads N] [--exits N] [--parts top,rate,storm] [--fifo] [--print]

  top    share of a CPU of holdup top at 1 Hz in a terminal, beside a process of many threads
  rate   CPU time of one answer of taskstats, beside bare requests in the same process
  storm  the listener beside processes that end as fast as they can; --fifo: storms and listeners
         at real-time priority, for a machine that others keep busy
"""
import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import record_cost as cost

sys.path.insert(0, os.path.join(cost.HERE, "..", "tests", "kernel", "lib"))
import terminal  # noqa: E402

BUILD = os.path.dirname(os.path.realpath(cost.HOLDUP))
PROGRAMS = ("bench/delays_rate", "bench/many_threads", "bench/exit_floor", "tests/exit-storm")
SETTLE_S = 6
WATCH_S = 10


def program(name):
    return os.path.join(BUILD, name)


# ---------------------------------------------------------------------------------- top

LOADS = (  # awake threads of all, how often they wake
    ("all asleep", 0, 1000),
    ("20 wake 10 times a second", 20, 100),
    ("100 wake 10 times a second", 100, 100),
    ("all wake once a second", None, 1000),
)


def run_ns(pid):
    with open("/proc/%d/schedstat" % pid) as file:
        return int(file.read().split()[0])


def share(argv):
    """Percent of one CPU that a program in a terminal of 160x50 takes, when it has settled."""
    with contextlib.closing(terminal.Terminal(argv, rows=50, columns=160)) as top:
        for seconds in (SETTLE_S, WATCH_S):
            ns, begin = run_ns(top.pid), time.monotonic()
            while time.monotonic() < begin + seconds:
                top.read(0.2)
            ns, wall = run_ns(top.pid) - ns, time.monotonic() - begin
        return ns / wall / 1e7


def tops():
    tops = {"holdup top -H": [cost.HOLDUP, "top", "-H", "-i", "1"],
            "holdup top": [cost.HOLDUP, "top", "-i", "1"]}
    if shutil.which("top"):
        tops["top -H"] = [shutil.which("top"), "-H", "-d", "1"]
    return tops


def bench_top(args):
    lines = ["| %d threads | " % args.threads + " | ".join(tops()) + " |",
             "|---" * (len(tops()) + 1) + "|"]
    for name, awake, every_ms in LOADS:
        argv = [program("bench/many_threads"), str(args.threads),
                str(args.threads if awake is None else awake), str(every_ms)]
        load = subprocess.Popen(argv, stdout=subprocess.PIPE)
        try:
            load.stdout.readline()
            shares = {top: [] for top in tops()}
            for _ in range(args.rounds):
                for top, words in tops().items():
                    shares[top].append(share(words))
        finally:
            load.kill()
            load.wait()
        lines.append("| %s | %s |" % (name, " | ".join(
            "%.2f %%" % statistics.median(values) for values in shares.values())))
    return ("Share of one CPU at 1 Hz, screen of 160x50, from second %d on; medians of %d.\n\n"
            % (SETTLE_S, args.rounds)) + "\n".join(lines)


# --------------------------------------------------------------------------------- rate

def bench_rate(args):
    lines = ["| tasks | bare requests | holdup | times |", "|---|---|---|---|"]
    for tasks in (50, 2000, args.threads):
        done = subprocess.run([program("bench/delays_rate"), str(tasks), str(9 * args.rounds)],
                              stdout=subprocess.PIPE, text=True, check=True)
        floor, ours, ratio = done.stdout.split()
        lines.append("| %d | %s ns | %s ns | %s |" % (tasks, floor, ours, ratio))
    return "CPU time of one answer, 32 requests a send; target: within 1.3 times.\n\n" + "\n".join(lines)


# -------------------------------------------------------------------------------- storm

def storm(exits, kind):
    """Seconds by the clock and on CPUs."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([program("tests/exit-storm"), str(exits // 2), kind], check=True)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


LISTENERS = {
    "the kernel alone: dropped by a filter": [program("bench/exit_floor"), "filter"],
    "the kernel alone: queued, never read": [program("bench/exit_floor"), "unread"],
    "each read as it comes, not looked at": [program("bench/exit_floor"), "each"],
    "read every 50 ms, not looked at": [program("bench/exit_floor"), "batch"],
    "holdup delays listen": [cost.HOLDUP, "delays", "listen", "--json", "-d", "600"],
}
STORMS = (  # kind, share of the exits, what it is
    ("vfork", 1, "vfork() and _exit(): nothing shorter exists"),
    ("fork", 2, "fork() and _exit()"),
    ("exec", 10, "/bin/true"),
)


def heard_storm(words, exits, kind):
    """The storm, the seconds of the listener on CPUs, the last line that it says."""
    with tempfile.TemporaryFile("w+") as said:
        listener = subprocess.Popen(words, stdout=said)
        time.sleep(0.5)
        wall, cpu = storm(exits, kind)
        time.sleep(0.2)
        listener.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(listener.pid, 0)
        listener.returncode = 0
        said.seek(0)
        return wall, cpu, usage.ru_utime + usage.ru_stime, said.readlines()[-1]


def storm_table(kind, title, exits, rounds):
    runs = {"": [], **{name: [] for name in LISTENERS}}
    for _ in range(rounds):
        for name in random.sample(list(runs), len(runs)):
            runs[name].append(heard_storm(LISTENERS[name], exits, kind) if name
                              else (*storm(exits, kind), 0.0))
    own_us = statistics.median(run[1] for run in runs[""]) / exits * 1e6
    lines = ["%s: %.1f us of CPU time for each. %d storms of %d." % (title, own_us, rounds, exits), "",
             "| listener | by the clock | CPU time of the storm | and of the listener | for each exit |",
             "|---|---|---|---|---|"]
    for name in LISTENERS:
        pairs = list(zip(runs[name], runs[""]))
        clock, cpu, both = (statistics.median(values) for values in (
            [run[0] / plain[0] - 1 for run, plain in pairs],
            [run[1] / plain[1] - 1 for run, plain in pairs],
            [(run[1] + run[2]) / plain[1] - 1 for run, plain in pairs]))
        lines.append("| %s | %+.1f %% | %+.1f %% | %+.1f %% | %.1f us |"
                     % (name, 100 * clock, 100 * cpu, 100 * both, both * own_us))
    return "\n".join(lines)


def bench_storm(args):
    if args.fifo:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    parts = ["Medians of storms with and without a listener, in random order%s. The first two lines are what the\n"
             "kernel needs to make the records: no listener can cost less."
             % (", all at real-time priority" if args.fifo else "")]
    parts += [storm_table(kind, title, args.exits // 10 // share, 5 * args.rounds)
              for kind, share, title in STORMS]
    report = json.loads(heard_storm(LISTENERS["holdup delays listen"], args.exits, "vfork")[3])
    names = {name["name"]: name for name in report["names"]}
    parts.append("Of a storm of %d: heard %d exits, %d in all, lost %d; %.1f s."
                 % (args.exits, names["exit-storm"]["processes"], report["exits"],
                    report["lost_records"], report["wall_ns"] / 1e9))
    return "\n\n".join(parts)


PARTS = {"top": ("holdup top", bench_top), "rate": ("Asking for delays", bench_rate),
         "storm": ("Listening for exits", bench_storm)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=5000)
    parser.add_argument("--exits", type=int, default=200000)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--fifo", action="store_true", help="storms at real-time priority")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *PROGRAMS], check=True)
    for part in args.parts.split(","):
        title, run = PARTS[part]
        text = "%s.\n%s" % (cost.machine(), run(args))
        print("## %s\n\n%s\n" % (title, text), flush=True)
        if not args.print:
            cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), title, text)


if __name__ == "__main__":
    main()
