#!/usr/bin/env python3
"""hot.py - the times of holdup hot beside those of holdup stats, and beside perf record, in one run.

usage: HOLDUP=PROGRAM bench/hot.py

Each program runs once, recorded by holdup and by perf at the same time, both at 199 Hz. The sum of all
functions must be the time that the threads worked, to 1 %; with the interrupts that came meanwhile, which perf
counts as the program's, what perf's samples stand for, to 2 %.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

C_PROGRAM = r"""
static volatile unsigned long sink;
#define BURN(name) __attribute__((noinline)) void name(long n) { for (long i = 0; i < n; i++) sink += i * i; }
BURN(burn_one) BURN(burn_two) BURN(burn_three)
int main(void) { for (int i = 0; i < 480; i++) { burn_one(12000000); burn_two(6000000); burn_three(2000000); } }
"""
PYTHON = """
import json
def encode(): return json.dumps({str(i): [i] * 20 for i in range(400)})
def add(): return sum(i * i for i in range(40000))
for _ in range(1500): json.loads(encode()); add()
"""


def programs(folder):
    """Name -> command; its name is that of no other process."""
    subprocess.run(["gcc", "-O1", "-o", folder + "/hot-loop", "-x", "c", "-"], input=C_PROGRAM, text=True, check=True)
    with open(folder + "/work.py", "w", encoding="ascii") as file:
        file.write(PYTHON)
    shutil.copy("/usr/bin/python3", folder + "/hot-python")
    shutil.copy("/usr/bin/openssl", folder + "/hot-openssl")
    return {
        "a loop of C": [folder + "/hot-loop"],
        "python3": [folder + "/hot-python", folder + "/work.py"],
        "openssl": [folder + "/hot-openssl", "speed", "-seconds", "3", "-bytes", "8192", "sha256", "aes-256-cbc", "sha1"],
    }


def hot_ns(holdup, trace, comm):
    """All, and the sum of the functions."""
    report = json.loads(subprocess.run([holdup, "hot", "--json", "--comm", comm, trace], capture_output=True, text=True, check=True).stdout)
    return report["total_ns"], sum(row["self_ns"] for row in report["functions"]), report["samples"]


def thread_ns(holdup, trace, comm):
    """What the threads worked, and what interrupts took of their CPUs."""
    report = json.loads(subprocess.run([holdup, "stats", "--json", "--by", "thread", trace], capture_output=True, text=True, check=True).stdout)
    kinds = ("own_ns", "own_or_kernel_ns", "syscalls_ns", "faults_ns")
    rows = [row["on_cpu"] for row in report["rows"] if row["name"] == comm]
    return sum(row[kind] for row in rows for kind in kinds), sum(row["irq_ns"] + row["softirq_ns"] for row in rows)


def perf_ns(data, comm):
    told = subprocess.run(["perf", "script", "-i", data, "-F", "comm,period", "-G"], capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[-1]) for line in told.splitlines() if line.split() and line.split()[0] == comm)


def main():
    holdup, bad = os.environ["HOLDUP"], False
    print("| program | samples | stats: working | hot: all | the functions' sum | interrupts | perf | hot / working | (hot + interrupts) / perf |\n|" +
          "---|" * 9)
    with tempfile.TemporaryDirectory() as folder:
        for name, command in programs(folder).items():
            comm = os.path.basename(command[0])
            trace, data = folder + "/" + comm + ".holdup", folder + "/" + comm + ".data"
            subprocess.run([holdup, "record", "--sample", "199", "-o", trace, "--", "perf", "record", "-q", "-F", "199", "-e", "cpu-clock",
                            "-g", "-o", data, *command], check=True, capture_output=True)
            total, functions, samples = hot_ns(holdup, trace, comm)
            (working, irq), perf = thread_ns(holdup, trace, comm), perf_ns(data, comm)
            print("| %s | %d | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.4f | %.4f |" %
                  (name, samples, working / 1e6, total / 1e6, functions / 1e6, irq / 1e6, perf / 1e6, functions / working,
                   (functions + irq) / perf), flush=True)
            bad |= abs(functions / working - 1) > 0.01 or abs((functions + irq) / perf - 1) > 0.02
    sys.exit(bad)


main()
