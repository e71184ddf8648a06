#!/usr/bin/env python3
"""What recording costs as told, against what it costs beside: CPU time of a load, plain and recorded in turn.

usage: budget.py HOLDUP [ROUNDS [LOAD...]]

The CPU time of the load itself, with all its children, from getrusage(): plain and recorded in turn, on one
CPU and ahead of all other programs (SCHED_FIFO), so that what else the machine does falls on both, and little of it. What recording adds to it is held against the time that
the trace tells for the events; the recorder's own time is counted by the kernel, and needs no check.
Many short rounds, and the quartiles of what they differ by: where these are far apart, the machine was too busy to tell.
Told is for the events of all programs. So that the machine may do other things, too, of that the part is taken that
the load's own events are of all.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

PIPE = """
import os
a, b = os.pipe(); c, d = os.pipe()
if os.fork() == 0:
    for i in range(12000): os.read(a, 1); os.write(d, b"x")
    os._exit(0)
for i in range(12000): os.write(b, b"x"); os.read(c, 1)
os.wait()
"""
CALLS = """
import os
zero = os.open("/dev/zero", 0)
for i in range(150000): os.read(zero, 64)
"""
FORKS = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done"
FILES = """
import os
for i in range(5000):
    with open("f%d" % (i % 50), "w") as file: file.write("x" * 1000)
    os.stat("f%d" % (i % 50))
"""
TRACE = "/dev/shm/holdup-budget-%d.holdup" % os.getpid()
LOADS = {"pipe": [sys.executable, "-c", PIPE], "calls": [sys.executable, "-c", CALLS],
         "forks": ["sh", "-c", FORKS], "files": [sys.executable, "-c", FILES], "disk": [sys.executable, "-c", FILES]}
IN_MEMORY = "/dev/shm/holdup-budget-load-%d" % os.getpid()  # where "files" are; those of "disk" are in $TMPDIR


def cpu_s(command):
    """CPU time of a command and its children."""
    child = "import os, resource, subprocess, sys\n" \
            "subprocess.run(sys.argv[1:], check=True)\n" \
            "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n" \
            "open('cpu', 'w').write(str(u.ru_utime + u.ru_stime))\n" \
            "open('pid', 'w').write(str(os.getpid()))\n"
    return [sys.executable, "-c", child, *command]


def undisturbed():
    """What runs a load on one CPU, ahead of what else the machine does; nothing where that is not allowed."""
    prefix = ["chrt", "-f", "20", "taskset", "-c", str(max(os.sched_getaffinity(0)))]
    done = subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False)
    return prefix if done.returncode == 0 else []


def run(command, prefix=()):
    subprocess.run([*prefix, *undisturbed(), *cpu_s(command)], check=True, stderr=subprocess.DEVNULL)
    with open("cpu") as file:
        return float(file.read())


def told(holdup):
    info = json.loads(subprocess.run([holdup, "info", "--json", TRACE], check=True,
                                     stdout=subprocess.PIPE).stdout)
    cost = info["cost"]
    with open("pid") as file:
        own = counted(holdup, "--follow", file.read(), "--children")
    share = own / max(1, counted(holdup))
    return cost["events_cpu_ns"] / 1e9 * share, cost["event_ns"], cost["call_event_ns"], own


def counted(holdup, *options):
    """Events in the trace, or those of the load and its children."""
    return json.loads(subprocess.run([holdup, "list", "--count-by", "event", "--json", *options, TRACE], check=True,
                                     stdout=subprocess.PIPE).stdout)["events"]


def median(values):
    return sorted(values)[len(values) // 2]


def quartiles(values):
    values = sorted(values)
    return values[len(values) // 4], values[3 * len(values) // 4]


def load_of_machine():
    with open("/proc/loadavg") as file:
        return file.read().split()[0]


def measure(holdup, name, rounds):
    plain, with_s, events_s, costs = [], [], [], []
    for _ in range(rounds):
        shutil.rmtree(TRACE, ignore_errors=True)
        plain.append(run(LOADS[name]))
        with_s.append(run(LOADS[name], [holdup, "record", "--no-bpf", "--sample", "off", "-o", TRACE, "--"]))
        one = told(holdup)
        events_s.append(one[0])
        costs.append(one[1:])
    differ = [b - a for a, b in zip(plain, with_s)]
    more, said = median(differ), median(events_s)
    low, high = quartiles(differ)
    ratio = "not to be told" if low <= 0 else "%+.0f %% (%+.0f to %+.0f)" % tuple(
        100 * (said - measured) / measured for measured in (more, high, low))
    print("%-6s plain %.3f s, recorded %.3f s: +%.0f %%; measured %.3f s (quartiles %.3f, %.3f), told %.3f s: %s; "
          "%d ns an event, %d ns of a call, %d events; load average %s" %
          (name, median(plain), median(with_s), 100 * more / median(plain), more, low, high, said, ratio,
           *(median([cost[i] for cost in costs]) for i in range(3)), load_of_machine()), flush=True)


def main():
    holdup = os.path.realpath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    folder = tempfile.mkdtemp(prefix="holdup-budget-")
    os.mkdir(IN_MEMORY)
    for name in sys.argv[3:] or LOADS:
        os.chdir(folder if name == "disk" else IN_MEMORY)
        measure(holdup, name, rounds)
    os.chdir("/")
    shutil.rmtree(folder)
    shutil.rmtree(IN_MEMORY)
    shutil.rmtree(TRACE, ignore_errors=True)


main()
