#!/usr/bin/env python3
"""Two events of one thread that are too long apart, as a trigger of the flight recorder: the second one comes too late, does not
come, or the thread ends.

One recorder runs at a time; where another one runs already, this test is skipped.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import kernel  # noqa: E402
import flight  # noqa: E402
from flight import SMALL, Recorder, await_that, explained, listed, status  # noqa: E402

CALLS = ("sched_rr_get_interval", "sched_get_priority_max")
LIMIT_MS = 300
TRIGGER = "pair:syscalls:sys_enter_%s->syscalls:sys_enter_%s>%dms" % (*CALLS, LIMIT_MS)
NONE = "pair:syscalls:sys_enter_no_such->sched:sched_switch>1s"
UNITS = {"ms": kernel.MS, "s": kernel.S}
LATE = r": thread (\d+) \((\S+)\), ([0-9.]+) (ms|s)"

# What is asked for in a line: of its own thread, or of one that ends. Each answer says how long it was between the two, ns.
PROGRAM = """
import os, sys, threading, time
first, second = (lambda: os.sched_rr_get_interval(0)), (lambda: os.sched_get_priority_max(os.SCHED_FIFO))
for line in sys.stdin:
    word, ms = line.split()
    if word == "end":
        thread = threading.Thread(target=lambda: (first(), time.sleep(int(ms) / 1000)))
        begin = time.monotonic_ns()
        thread.start(); thread.join()
    else:
        if word != "second":
            first()
            begin = time.monotonic_ns()
        time.sleep(int(ms) / 1000)
        if word != "first":
            second()
    print(time.monotonic_ns() - begin, flush=True)
"""


class Program:
    """One that passes the two events as it is asked to."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.ask("both 0")
        return self

    def __exit__(self, *failure):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def begin(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return int(self.process.stdout.readline())

    def ask(self, line):
        self.begin(line)
        return self.answer()


@contextlib.contextmanager
def stopped(pid):
    """The recorder gets no CPU, until some time after what is done meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
        time.sleep(0.2)
    finally:
        os.kill(pid, signal.SIGCONT)


def fired():
    return status()["triggers"][0]["fired"]


def rested():
    """Long enough for it to be armed again, and to look once more."""
    time.sleep(1.2)
    return fired()


def told(rows, end):
    """Thread and time of the newest snapshot, whose reason ends so."""
    found = rows and re.fullmatch(re.escape(TRIGGER) + LATE + end, rows[-1]["why"])
    return (int(found.group(1)), float(found.group(3)) * UNITS[found.group(4)]) if found else (0, 0)


def check_never(tap, recorder, program):
    """It hangs: there is a snapshot while it does, and none more when it goes on."""
    program.begin("first 0")
    program.answer()
    begin = time.monotonic_ns()
    rows = explained(recorder.dir, 1)
    tid, late_ns = told(rows, " and not over")
    took_ns = time.monotonic_ns() - begin
    tap.ok(tid == program.pid and late_ns > LIMIT_MS * kernel.MS, "never: it is told while the second event does not come", rows)
    tap.ok(late_ns < took_ns and rows and rows[0]["verdict"].startswith("python3 (%d): " % tid), "never: it is explained so far", rows, took_ns)
    kernel.note("told %.0f ms behind the limit and a half" % (late_ns / kernel.MS - 1.5 * LIMIT_MS))
    tap.ok(rested() == 1, "never: once", fired())
    program.ask("second 0")
    tap.ok(rested() == 1, "never: and not again as the second event comes", fired())


def check_soon(tap, recorder, program):
    """One that is late by less than the half is told whole, as its second event comes."""
    late_ns = program.ask("both %d" % (1.2 * LIMIT_MS))
    rows = explained(recorder.dir, 2)
    if late_ns > 1.4 * LIMIT_MS * kernel.MS:
        tap.skipped("soon: all of it is told", "the program was held up")
        return
    tid, told_ns = told(rows, "")
    tap.ok(tid == program.pid and abs(told_ns - late_ns) < 20 * kernel.MS, "soon: all of it is told", rows, late_ns)


def check_ended(tap, recorder, program):
    """Who ends in time is forgotten; who ends too late is told, once."""
    program.ask("end %d" % (LIMIT_MS // 3))
    time.sleep(2 * LIMIT_MS / 1000)
    tap.ok(rested() == 2, "ended: in time, it is none", fired())
    with subprocess.Popen([sys.executable, "-c", "import os; os.sched_rr_get_interval(0); os.kill(os.getpid(), 9)"]) as process:
        process.wait()
    time.sleep(2 * LIMIT_MS / 1000)
    tap.ok(fired() == 2, "ended: nor when its process is killed", fired())
    with stopped(recorder.pid):
        lasted_ns = program.ask("end %d" % (2 * LIMIT_MS))
    rows = explained(recorder.dir, 3)
    tid, late_ns = told(rows, " and not over as it ended")
    tap.ok(tid and tid != program.pid and LIMIT_MS * kernel.MS < late_ns <= lasted_ns, "ended: too late, it is told", rows, lasted_ns)
    tap.ok(rested() == 3, "ended: once", fired())


def check_others(tap, recorder, program):
    """Several that hang are one snapshot, and counted; one that hangs through the pause is not lost."""
    with Program() as one, Program() as two:
        with stopped(recorder.pid):
            for each in (one, two, program):
                each.ask("first 0")
            time.sleep(2 * LIMIT_MS / 1000)
        rows = explained(recorder.dir, 4)
        tid, _ = told(rows, " and not over; so are 2 more")
        tap.ok(tid == one.pid and await_that(lambda: fired() == 6), "others: the longest one is told, and how many there are", rows, fired())
        tap.ok(len(listed(recorder.dir)) == 4 and status()["triggers"][0]["suppressed"] == 2, "others: and counted", status()["triggers"])


def check_pair(tap):
    """Two events of one thread that are too long apart, and no others."""
    with Recorder(tap, "pair", *SMALL, "--on", TRIGGER, "--on", NONE, "--pause", "1ms") as recorder:
        if "without its BPF" in recorder.done.stderr:
            tap.skipped("pair: two events", "built without BPF programs")
            return
        tap.ok("no event syscalls/sys_enter_no_such" in recorder.done.stderr, "pair: an event that is not there is told",
               recorder.done.stderr)
        with Program() as program:
            soon_ns = program.ask("both 0")
            if soon_ns > 0.9 * LIMIT_MS * kernel.MS:
                tap.skipped("pair: the late ones alone", "the program was held up between the first two")
                return
            tap.ok(fired() == 0, "pair: not the early ones", fired())
            check_never(tap, recorder, program)
            check_soon(tap, recorder, program)
            check_ended(tap, recorder, program)
            check_others(tap, recorder, program)


def uprobes_of(pid):
    with open(kernel.TRACEFS + "/uprobe_events") as file:
        return [line for line in file if ":holdup_%d_" % pid in line]


def sell(process, ms):
    """The program passes both points, so far apart; returns how far that was, ns."""
    process.stdin.write("%d\n" % ms)
    process.stdin.flush()
    return int(process.stdout.readline())


def check_usdt(tap):
    """A USDT point, and two of them that are too long apart: who passed them, and no other program."""
    program = shutil.copy(os.path.join(kernel.PROGRAMS, "usdt-pair"), os.path.join(os.getcwd(), "shop"))
    if subprocess.run([program], stdin=subprocess.DEVNULL, check=False).returncode == 77:
        tap.skipped("usdt: points of a program", "built without sys/sdt.h")
        return
    point = "usdt:%s:shop:end" % program
    pair = "pair:usdt:%s:shop:begin->usdt:%s:shop:end>1s" % (program, program)
    none = "pair:usdt:%s:shop:begin->usdt:%s:shop:closed>1s" % (program, program)
    talk = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with Recorder(tap, "usdt", "--keep", "1s", "--memory", "32M", "--on", pair, "--on", none, "--pause", "1h") as recorder:
        with_bpf = "without its BPF" not in recorder.done.stderr
        tap.ok(not with_bpf or "closed" in recorder.done.stderr, "usdt: a point that is not there is told", recorder.done.stderr)
        with kernel.running(program, **talk) as process:
            soon_ns = sell(process, 0)
            early = status()["triggers"][0]["fired"]
            late_ns = sell_behind(process, 1100, recorder.pid)
            rows = explained(recorder.dir, 1) if with_bpf else None
        if not with_bpf:
            tap.skipped("usdt: a pair of points", "built without BPF programs")
        elif soon_ns > 0.9 * kernel.S:
            tap.skipped("usdt: the late one alone", "the program was held up between the first two")
        else:
            check_late(tap, "usdt", rows, pair, process.pid, late_ns)
            check_span(tap, "usdt", rows, process.pid, late_ns)
            tap.ok(early == 0, "usdt: the early one is none", early)
    tap.ok(not uprobes_of(recorder.pid), "usdt: no point is left behind", uprobes_of(recorder.pid))
    with Recorder(tap, "usdt-one", *SMALL, "--on", point, "--pause", "1h") as recorder:
        with kernel.running(program, **talk) as process:
            sell(process, 0)
            rows = explained(recorder.dir, 1)
        tap.ok(rows and re.match(r"%s: \S+-%d \[" % (re.escape(point), process.pid), rows[0]["why"]), "usdt: who passed it is told", rows)


def sell_behind(process, ms, recorder_pid):
    """The recorder gets no CPU until some time after the second point."""
    with stopped(recorder_pid):
        return sell(process, ms)


def check_span(tap, name, rows, tid, late_ns):
    """What is explained is from the one point to the other, however late the recorder was."""
    found = rows and re.search(r"\(%d\): ([0-9.]+) (ms|s) of ([0-9.]+) (ms|s): sleeping until a timer" % tid, rows[0]["verdict"])
    slept_ns, whole_ns = (float(found.group(at)) * {"ms": kernel.MS, "s": kernel.S}[found.group(at + 1)] for at in (1, 3)) if found else (0, 0)
    tap.ok(found and slept_ns >= 0.9 * late_ns and whole_ns <= 1.1 * late_ns, name + ": between the two is explained", rows, late_ns)


def check_late(tap, name, rows, trigger, tid, late_ns):
    """The snapshot says which thread it was, and how late."""
    found = rows and re.match(re.escape(trigger) + r": thread (\d+) \(\S+\), ([0-9.]+) (ms|s)$", rows[0]["why"])
    tap.ok(found and int(found.group(1)) == tid, name + ": the late one, and whose it is", rows)
    told_ns = found and float(found.group(2)) * {"ms": kernel.MS, "s": kernel.S}[found.group(3)]
    tap.ok(found and told_ns >= 0.99 * late_ns, name + ": how late it was", told_ns, late_ns)


def main():
    if flight.flight("status").returncode == 0:
        kernel.skip("a flight recorder runs already")
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"):
        try:
            for check in (check_pair, check_usdt):
                check(tap)
        finally:
            flight.flight("stop")
    tap.end()


if __name__ == "__main__":
    main()
