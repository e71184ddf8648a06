#!/usr/bin/env python3
"""stack_peers.py - stacks beside those of perf and of bpftrace (as bcc's offcputime does it), of the same run.

usage: HOLDUP=PROGRAM bench/stack_peers.py [LOAD...]

bytes:   one run, recorded by holdup and by `perf record -a --call-graph dwarf -e sched:sched_switch` at once. What each
         wrote; of holdup the stacks with their names, and all of the trace.
waits:   one run with bpftrace beside, which adds up what threads slept, by their stack when they went to sleep. The time
         of holdup hot --waits is to be the same to 2 %. A stack is broken where it does not end in the function that a
         thread begins with.
samples: the same run with `perf record -F 199 -g` beside: how many samples have a whole stack.

The loads are those of stacks.py.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from stacks import BEGINS, Stacks, is_whole, record, tree_of

STACKS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "stacks.py")
USUAL = ["python3", "make+gcc", "postgres", "sqlite3"]
ASLEEP = r"""
tracepoint:sched:sched_switch /args->prev_state & 3/ { @out[args->prev_pid] = nsecs; @at[args->prev_pid] = ustack(perf); }
tracepoint:sched:sched_waking /@out[args->pid]/ {
	@ns[args->pid, @at[args->pid]] = sum(nsecs - @out[args->pid]);
	delete(@out[args->pid]);
	delete(@at[args->pid]);
}
END { clear(@out); clear(@at); }
"""


def bytes_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def load(name):
    return [sys.executable, STACKS, "--run", name]


def count_bytes(holdup, folder, name):
    data, begin = folder + "/data", time.time()
    trace = record(holdup, folder, "--", "perf", "record", "-q", "-a", "--call-graph", "dwarf", "-e", "sched:sched_switch",
                   "-o", data, *load(name))
    took, stacks = time.time() - begin, bytes_of(trace + "/kernel/stacks")
    print("| %s | %.0f | %.0f | %.0f | %.0f | %.1f |" % (name, stacks / took / 1e3, bytes_of(trace) / took / 1e3, bytes_of(data) / took / 1e3,
                                                    bytes_of(data) / stacks, bytes_of(data) / bytes_of(trace)), flush=True)


def asleep(told, tids):
    """ns that bpftrace saw these threads sleep, and the part of it with a whole stack."""
    total = whole = 0
    for tid, stack, ns in re.findall(r"@ns\[(\d+),\s*\n?(.*?)\]: (\d+)$", told, re.DOTALL | re.MULTILINE):
        if int(tid) not in tids:
            continue
        names = re.findall(r"^\s*[0-9a-f]+ (\S+) \(", stack, re.MULTILINE)
        total += int(ns)
        whole += int(ns) if names and names[-1].split("+")[0] in BEGINS else 0
    return total, whole


def perf_samples(data):
    """Samples of the load, and those whose user stack is whole."""
    told = subprocess.run(["perf", "script", "-i", data, "-F", "comm,pid,ip,sym"], capture_output=True, text=True, check=True).stdout
    total = whole = 0
    for sample in told.split("\n\n"):
        frames = [line.split() for line in sample.splitlines()[1:] if line.strip()]
        if frames:
            total += 1
            whole += len(frames[-1]) > 1 and frames[-1][1] in BEGINS
    return total, whole


def own_waits(holdup, trace):
    """ns of holdup hot --waits; of those waits that have a stack, ns and ns of the whole ones."""
    hot = json.loads(subprocess.run([holdup, "hot", "--waits", "--json", trace], capture_output=True, text=True, check=True).stdout)
    stacks, tids = Stacks(trace), tree_of(holdup, trace)
    waits = [wait for wait in stacks.waits if wait[0] in tids]
    whole = sum(wait[3] for wait in waits if is_whole(*stacks.user(wait[5])))
    return hot["total_ns"], whole / max(1, sum(wait[3] for wait in waits)), tids


def own_samples(trace, tids):
    stacks, total, whole = Stacks(trace), 0, 0
    with open(trace + "/kernel/stacks", encoding="utf-8") as file:
        for line in file:
            parts = line.rstrip("\n").split("\t")
            if parts[0] == "C" and int(parts[1]) in tids:
                total += 1
                end, frames = stacks.user(int(parts[3]))
                whole += bool(is_whole(end, frames))
    return total, whole


def compare(holdup, folder, name):
    data, script = folder + "/data", folder + "/asleep.bt"
    with open(script, "w", encoding="utf-8") as file:
        file.write(ASLEEP)
    with open(folder + "/told", "w", encoding="utf-8") as told, \
            subprocess.Popen(["bpftrace", script], stdout=told, stderr=subprocess.DEVNULL,
                             env={**os.environ, "BPFTRACE_MAP_KEYS_MAX": "100000"}) as peer:
        time.sleep(3)
        trace = record(holdup, folder, "--sample", "199", "--", "perf", "record", "-q", "-F", "199", "-e", "cpu-clock", "-g", "-o", data,
                       *load(name))
        peer.send_signal(signal.SIGINT)
    total_ns, whole, tids = own_waits(holdup, trace)
    with open(folder + "/told", encoding="utf-8") as told:
        peer_ns, peer_whole = asleep(told.read(), tids)
    ours, theirs = own_samples(trace, tids), perf_samples(data)
    print("| %s | %.2f s | %.2f s | %.3f | %.1f %% | %.1f %% | %d | %.1f %% | %d | %.1f %% |" %
          (name, total_ns / 1e9, peer_ns / 1e9, total_ns / max(1, peer_ns), 100 * whole, 100 * peer_whole / max(1, peer_ns),
           ours[0], 100 * ours[1] / max(1, ours[0]), theirs[0], 100 * theirs[1] / max(1, theirs[0])), flush=True)


def main():
    holdup, names = os.environ["HOLDUP"], sys.argv[1:] or USUAL
    with tempfile.TemporaryDirectory(prefix="holdup-peers-") as folder:
        print("| load | stacks, kB/s | all of the trace, kB/s | perf, kB/s | perf / stacks | perf / trace |\n|---|---|---|---|---|---|")
        for name in names:
            count_bytes(holdup, folder, name)
        print("\n| load | hot --waits | bpftrace | ratio | whole, of the time | bpftrace's | samples | whole | perf's samples | whole |\n|" +
              "---|" * 10)
        for name in names:
            compare(holdup, folder, name)


main()
