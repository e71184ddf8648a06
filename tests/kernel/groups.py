#!/usr/bin/env python3
"""Several could end a wait that nobody ends: what they do is told, not only who they are.

A shell waits for two children that hang in different ways: each has half of the time. A reader of a FIFO waits for
whoever has its other end, another reader and a writer that waits for a process that sleeps: that one is told. Who
waits for SIGCHLD waits for its child, and who was stopped before the recording for its tracer.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

CHILDREN = """
mkfifo gate
sleep 60 & one=$!
sh -c 'read line <gate' & two=$!
echo $one $two
wait
"""
READERS = """
import os, sys
os.mkfifo("fifo")
end, gate = os.open("fifo", os.O_RDWR), os.pipe()
def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid
def sleeper():
    os.close(end)
    os.close(gate[0])
    os.execvp("sleep", ["sleep", "60"])
def writer():
    os.close(gate[1])
    os.read(gate[0], 1)
    os.write(end, b"x")
def reader():
    os.close(gate[0])
    os.close(gate[1])
    os.read(end, 1)
os.set_inheritable(gate[1], True)
pids = [child(sleeper), child(writer), child(reader)]
os.close(gate[0])
os.close(gate[1])
print(*pids, flush=True)
os.read(end, 1)
"""

SIGCHLD = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
pid = os.fork()
if pid == 0:
    os.execvp("sleep", ["sleep", "60"])
print(pid, flush=True)
signal.sigwait({signal.SIGCHLD})
"""
TRACED = """
import ctypes, os
PTRACE_ATTACH = 16
traced, gate = os.getpid(), os.pipe()
pid = os.fork()
if pid == 0:
    os.read(gate[0], 1)
    ctypes.CDLL(None).ptrace(PTRACE_ATTACH, traced, None, None)
    os.execvp("sleep", ["sleep", "60"])
print(pid, flush=True)
os.write(gate[1], b"x")
while True:
    pass
"""


def explained(words, script):
    """The report of a process that hangs, and what it printed."""
    process = subprocess.Popen([*words, script], stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        pids = [int(word) for word in process.stdout.readline().split()]
        time.sleep(0.3)
        report, done = kernel.why("-p", process.pid, "-d", "0.5", "-o", "run.holdup")
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        process.stdout.close()
    if report is None:
        sys.exit("no report: " + done.stderr)
    return report, pids


def parts(report):
    told = {}
    for root in report["verdict"]:
        tid = root["who"]["tid"] if root["who"] else 0
        told[tid] = told.get(tid, 0) + root["ns"] / kernel.window_ns(report)
    return told


def main():
    kernel.need()
    tap = kernel.Tap()
    report, pids = explained(["sh", "-c"], CHILDREN)
    told = parts(report)
    tap.ok(all(abs(told.get(pid, 0) - 0.5) < 0.02 for pid in pids), "children: each has half of the time", told, pids)
    tap.ok(all(root.get("inferred") for root in report["verdict"]), "children: that is labelled", kernel.show_roots(report))
    tap.ok(not kernel.bad_sums(report), "children: sums are exact", kernel.bad_sums(report))
    report, pids = explained([sys.executable, "-S", "-c"], READERS)
    first = report["verdict"][0]
    tap.ok(first["who"] and first["who"]["tid"] == pids[0] and first["share"] > 0.9,
           "readers: who sleeps holds up all of them", pids, kernel.show_roots(report))
    tap.ok([hop["who"]["tid"] for hop in report["chain"]][1:3] == [pids[1], pids[0]],
           "readers: through who would write", pids, report["chain"])
    tap.ok(bool(first.get("inferred")), "readers: that is labelled", first)
    for script, inferred in (SIGCHLD, True), (TRACED, False):
        report, pids = explained([sys.executable, "-S", "-c"], script)
        first = report["verdict"][0]
        name = "sigwait: its child" if inferred else "a stop: its tracer"
        tap.ok(first["who"] and first["who"]["tid"] == pids[0] and first["share"] > 0.9,
               name + " holds it up", pids, kernel.show_roots(report))
        tap.ok(bool(first.get("inferred")) == inferred, name + (" is inferred" if inferred else " is known"), first)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
