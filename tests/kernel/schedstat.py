#!/usr/bin/env python3
"""Time on a CPU and time in its queue agree with the kernel's own accounting.

A mixed load runs for 5 s. Each of its threads reads its own schedstat twice, with
the clock before and after; the window of the explanation lies between the two.

The kernel's numbers differ from a recording's for two reasons, and by how much can be
read from the recorded events, wait by wait; see class Displaced. With that taken into
account they agree closely, on a busy machine and where interrupts are slow as well.
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SECONDS = 5
ATTEMPTS = 3
FLOOR_NS = 1_000_000  # reading the numbers takes time, too
WAIT_NS = 1_000  # a wait: two moments of it are known that well
SWITCH_NS = 5_000  # from reading the clock of the queue to sched_switch, when it is read for that
EVENTS = "full,sched:sched_wakeup,sched:sched_stat_runtime"


def record(seconds):
    """Record the load. Returns what its threads read, and how much CPU time was stolen."""
    load = os.path.join(kernel.PROGRAMS, "mixed-load")
    stolen = kernel.steal_ns()
    with kernel.spinners():
        done = kernel.holdup("record", "-e", EVENTS, "-o", "run.holdup", "--",
                             load, seconds, "load.json")
    stolen = kernel.steal_ns() - stolen
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    with open("load.json") as file:
        return [json.loads(line) for line in file], stolen


def read_events():
    """The switches and wake-ups of the recording; see sched-events.c."""
    text = subprocess.run([os.path.join(kernel.PROGRAMS, "sched-events"), "run.holdup"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        what, *numbers = line.split()
        yield what, *map(int, numbers)


class Cpu:
    """What is known of a CPU since its last switch."""

    def __init__(self, time_ns=None, tid=None, early_ns=0):
        self.switched_ns = time_ns
        self.tid = tid
        self.early_ns = early_ns  # so much earlier the kernel booked that switch
        self.queued_ns = None  # a thread came into its queue last, and not before this
        self.ran_ns = 0  # what the kernel has added to the time of the thread since


class Displaced:
    """How far the kernel's accounting lies from the moments of the events, per thread.

    A thread waits for a CPU from its waking on, as a recording sees it. For the kernel
    it waits since it is in the queue of a CPU, where another CPU's interrupt may put it:
    from sched_waking to sched_wakeup it is in no queue. The clock of the queue is read some
    time before sched_wakeup is recorded, but after the event before that.

    A wake-up that preempts reads the clock of the queue, and the switch after it does not
    read it again (rq_clock_skip_update()). So the kernel books that switch as early as the
    wake-up, though the thread was still on its CPU, waiting for an interrupt. How
    much earlier a switch was booked follows from sched_stat_runtime: a thread was on its CPU
    for a time, and the kernel has added less or more than that to its account. It is
    never earlier than the last wake-up on that CPU, if there was one since the switch before.
    """

    def __init__(self, events, windows):
        self.windows = windows  # tid: (start, end)
        self.unqueued_ns = collections.Counter()  # from waking to queue
        self.unsure_ns = collections.Counter()  # less than that, by so much at most
        self.into_ns = collections.Counter()  # switched in, before it was
        self.preempted_ns = collections.Counter()  # switched out to the queue, before it was
        self.blocked_ns = collections.Counter()  # switched out to sleep, before it did
        self.cpus = collections.defaultdict(Cpu)
        self.woken = {}  # tid: time of its waking
        self.lost = 0
        for what, *numbers in events:
            getattr(self, what)(*numbers)

    def add(self, counter, tid, time_ns, ns):
        start, end = self.windows.get(tid, (0, 0))
        if start <= time_ns < end:
            counter[tid] += ns

    def runtime(self, _, tid, ns):
        for cpu in self.cpus.values():
            if cpu.tid == tid:
                cpu.ran_ns += ns

    def waking(self, time_ns, _, tid):
        if all(cpu.tid != tid for cpu in self.cpus.values()):
            self.woken.setdefault(tid, time_ns)

    def wakeup(self, time_ns, cpu, tid, after_ns):
        self.cpus[cpu].queued_ns = after_ns
        if tid in self.woken:
            woken_ns = self.woken.pop(tid)
            self.add(self.unqueued_ns, tid, time_ns, time_ns - woken_ns)
            self.add(self.unsure_ns, tid, time_ns, time_ns - max(after_ns, woken_ns))

    def switch(self, time_ns, cpu_number, prev, runnable, following):
        cpu = self.cpus[cpu_number]
        early_ns = 0
        if cpu.tid == prev != 0:
            most_ns = SWITCH_NS if cpu.queued_ns is None else time_ns - cpu.queued_ns
            early_ns = time_ns - cpu.switched_ns + cpu.early_ns - cpu.ran_ns
            early_ns = min(max(early_ns, 0), most_ns)
        self.add(self.preempted_ns if runnable else self.blocked_ns, prev, time_ns, early_ns)
        self.add(self.into_ns, following, time_ns, early_ns)
        self.woken.pop(following, None)
        self.cpus[cpu_number] = Cpu(time_ns, following, early_ns)

    def hole(self, *_):
        self.lost += 1

    def on_cpu(self, tid):
        """What the kernel counts more than the events say: on a CPU."""
        return self.into_ns[tid] - self.preempted_ns[tid] - self.blocked_ns[tid]

    def queued(self, tid):
        """The same, waiting for a CPU."""
        return self.preempted_ns[tid] - self.into_ns[tid] - self.unqueued_ns[tid]


def ours(thread):
    """On CPU and waiting for one, by the recording."""
    report, done = kernel.why("--tid", thread["tid"], "--from", kernel.seconds(thread["start_ns"]),
                              "--to", kernel.seconds(thread["end_ns"]), "run.holdup")
    if report is None:
        raise RuntimeError("why --tid %d: %s" % (thread["tid"], done.stderr))
    irq = kernel.irq_ns(report)  # on top of a thread: the kernel counts it as the thread's
    return (report["wib"]["working_ns"] + irq, report["wib"]["interrupted_ns"] - irq, report)


def near(tap, name, thread, counted, theirs, less=0, more=0):
    """Ours, displaced, and the kernel's, which may be 'less' or 'more' for a known reason."""
    limit = 0.01 * theirs + FLOOR_NS + thread["waits"] * WAIT_NS
    off = theirs - counted
    tap.ok(-limit - less <= off <= limit + more, "%s: %.3f ms" % (name, counted / kernel.MS),
           "ours %d, theirs %d, theirs is off by %d, allowed %d; %d less or %d more"
           % (counted, theirs, off, limit, less, more))


def check(tap, thread, displaced, stolen):
    """'stolen' is what a hypervisor took away; it is in no account of time on a CPU."""
    name = "%s[%d]" % (thread["comm"], thread["tid"])
    tid = thread["tid"]
    on_cpu, queued, report = ours(thread)
    uncertain = report["wib"]["uncertain_ns"]
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    tap.ok(uncertain < 0.001 * kernel.window_ns(report), name + ": under 0.1 % is uncertain",
           "%d ns are" % uncertain)
    on_cpu += displaced.on_cpu(tid)
    queued += displaced.queued(tid)
    unsure = displaced.unsure_ns[tid]
    near(tap, name + ": runnable", thread, on_cpu + queued,
         thread["cpu_ns"] + thread["queued_ns"], stolen, unsure)
    near(tap, name + ": on a CPU", thread, on_cpu, thread["cpu_ns"], stolen)
    near(tap, name + ": waiting for a CPU", thread, queued, thread["queued_ns"], 0, unsure)


def main():
    kernel.need()
    tap = kernel.Tap()
    for attempt in range(ATTEMPTS):
        threads, stolen = record(SECONDS)
        if stolen == 0 or attempt == ATTEMPTS - 1:
            break
        kernel.note("%d ms of CPU time were stolen: again" % (stolen // kernel.MS))
        subprocess.run(["rm", "-rf", "run.holdup"], check=True)
    windows = {thread["tid"]: (thread["start_ns"], thread["end_ns"]) for thread in threads}
    displaced = Displaced(read_events(), windows)
    tap.ok(len(threads) == 8 and displaced.lost == 0, "the load is recorded, nothing is lost",
           threads, displaced.lost)
    for thread in threads:
        check(tap, thread, displaced, stolen)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
