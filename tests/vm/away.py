"""CPUs that are taken away and come back, again and again, while programs log with libholdup and while
holdup records.

What was logged is known: the program counts, in a file of its own (tests/runtime/load.c).
"""
import contextlib
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kernel", "lib"), os.path.join(HERE, "..", "runtime")]
import kernel  # noqa: E402
import probe  # noqa: E402

EVENTS = 20000 * probe.LONG
TIMES = 20 * probe.LONG  # that a CPU goes, in each test
LONGEST_S = 240 * probe.LONG
STATES = "/sys/devices/system/cpu/cpu[0-9]*/online"


def state(path):
    with open(path) as file:
        return file.read().strip() == "1"


def switch(path, on):
    """Take a CPU away or bring it back. False: the kernel would not."""
    try:
        with open(path, "w") as file:
            file.write("1" if on else "0")
    except OSError as error:
        return kernel.note("%s: %s" % (path, error))
    return True


def others():
    """The CPUs that can go; but for one when all can."""
    paths = sorted(glob.glob(STATES))
    return paths[1:] if len(paths) == os.sysconf("SC_NPROCESSORS_CONF") else paths


class Going(threading.Thread):
    """Takes CPUs away and brings them back, at random, until it is left."""

    def __init__(self):
        super().__init__()
        self.gone = self.refused = 0
        self.over = threading.Event()

    def run(self):
        paths = sorted(glob.glob(STATES))
        fixed = os.sysconf("SC_NPROCESSORS_CONF") > len(paths)
        while not self.over.wait(random.uniform(0, 0.03)):
            path = random.choice(paths)
            going = state(path)
            if going and not fixed and sum(map(state, paths)) == 1:
                continue
            done = switch(path, not going)
            self.gone += bool(going and done)
            self.refused += not done

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        bring_all()


def bring_all():
    for path in glob.glob(STATES):
        if not state(path):
            switch(path, True)


class Restarts:
    """How many sequences the kernel has restarted, by an event of its own."""

    def __init__(self):
        self.instance = kernel.TRACEFS + "/instances/away"
        os.makedirs(self.instance, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            with open(self.instance + "/events/rseq/rseq_ip_fixup/enable", "w") as file:
                file.write("1")

    def count(self):
        total = 0
        for path in glob.glob(self.instance + "/per_cpu/cpu*/stats"):
            with open(path) as file:
                total += sum(map(int, re.findall(r"^(?:entries|overrun): (\d+)", file.read(), re.M)))
        return total

    def end(self):
        os.rmdir(self.instance)


def clear():
    shutil.rmtree("traces", ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink("counters")


def load(method, mode, *args, name="probe-load", before=()):
    """Log. Returns the trace and what the program said."""
    clear()
    done = probe.run([*before, probe.program(name), "-f", "counters", *map(str, args)],
                     probe.environment(method, mode, os.path.abspath("traces"),
                                       HOLDUP_FILE=random.choice(["256K", "512K", "4M"])), 300)
    return probe.trace_in("traces"), done


def wrong_with(done, method, good, said, lost):
    """What is wrong with a run of probe-load, or None."""
    if done.returncode == 0 and "method %s\nlost 0\n" % method in done.stdout and good and not lost:
        return None
    return "status %d: %s\n%s" % (done.returncode, done.stdout[-500:], said)


def listed_wrong(trace, events):
    done = kernel.holdup("list", "--count-by", "event", trace)
    found = re.search(r"^([\d,]+) events?\.", done.stdout, re.M)
    found = int(found[1].replace(",", "")) if found else -1
    return None if found == events and done.returncode == 0 else "%d of %d are listed: %s" % (
        found, events, done.stderr)


def while_they_go(tap, method, mode, name, *args):
    """Run after run, each checked event by event, until CPUs went often enough."""
    wrong, events, runs, end = [], 0, 0, time.monotonic() + LONGEST_S
    options = [] if mode == "stream" else ["-k", "-i"]  # threads are moved: the oldest of one CPU go
    with Going() as going:
        while (going.gone < TIMES or runs < 2) and time.monotonic() < end and not wrong:
            trace, done = load(method, mode, "-n", EVENTS, "-c", *args, name=name)
            good, numbers, said = probe.check(*options, "counters", trace)
            wrong += filter(None, [wrong_with(done, method, good, said,
                                              numbers.get("missing", 1) if mode == "stream" else 0),
                                   listed_wrong(trace, numbers.get("events", 0)),
                                   probe.babeltrace(trace)])
            events += numbers.get("events", 0)
            runs += 1
    tap.ok(not wrong and going.gone >= TIMES and events,
           "%s, %s, %s: CPUs go %d times while %d events are logged"
           % (name, method, mode, going.gone, events), "%d runs" % runs, *wrong)
    kernel.note("%d runs, refused %d times" % (runs, going.refused))


def streams(trace):
    return {int(name[3:].split("-")[0]) for name in os.listdir(trace) if name.startswith("cpu")}


def coming(tap, method):
    """A program begins on one CPU alone; the others come while it logs, and it logs there, too."""
    wanted = {int(re.search(r"cpu(\d+)/online", path)[1]) for path in others()}
    for path in others():
        switch(path, False)
    clear()
    found, end = set(), time.monotonic() + 60
    with kernel.running(probe.program("probe-load"), "-f", "counters", "-n", str(1 << 40), "-m", "-c",
                        env=probe.environment(method, "stream", os.path.abspath("traces"))) as process:
        while not (os.path.isdir("traces") and probe.trace_in("traces") and
                   streams(probe.trace_in("traces"))) and time.monotonic() < end:
            time.sleep(0.01)
        trace = probe.trace_in("traces")
        before = streams(trace)
        bring_all()
        while not found >= wanted and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
            found = streams(trace)
        process.kill()
        process.wait()
    good, numbers, said = probe.check("-k", *(["-i"] if method == "cas" else []), "counters", trace)
    tap.ok(good and not before & wanted and found >= wanted and numbers["events"],
           "%s: CPUs that come later are logged on: first %s, then %s, %d events" % (
               method, sorted(before), sorted(found), numbers.get("events", 0)), said)
    bring_all()


def order_wrong(trace):
    """User events where the kernel says that another thread ran. The lines are many: not as JSON."""
    done = subprocess.Popen([kernel.HOLDUP, "list", "--json", trace], stdout=subprocess.PIPE, text=True)
    on_cpu, wrong, last = {}, [], 0
    for line in done.stdout:
        if '"sched:sched_switch"' not in line and '"load:' not in line:
            continue
        cpu = int(re.search(r'"cpu":(\d+)', line)[1])
        now = int(re.search(r'"time_ns":(\d+)', line)[1])
        if now < last:
            wrong.append("goes back: " + line)
        last = now
        if '"sched:sched_switch"' in line:
            on_cpu[cpu] = int(re.search(r'"next_pid":(\d+)', line)[1])
        elif on_cpu.get(cpu, 0) not in (0, int(re.search(r'"tid":(\d+)', line)[1])):
            wrong.append("where %d ran: %s" % (on_cpu[cpu], line))
    done.wait()
    return wrong if done.returncode == 0 else ["status %d" % done.returncode]


def recorded(tap, method):
    """holdup record, of the kernel and of the program, across CPUs that come and go."""
    clear()
    shutil.rmtree("r", ignore_errors=True)
    env = dict(os.environ, HOLDUP_RSEQ=probe.METHODS[method])
    switch(others()[0], False)  # not there at first
    with Going() as going:
        done = kernel.holdup("record", "-o", "r", "--", probe.program("probe-load"), "-f", "counters",
                             "-n", str(EVENTS // 4), "-m", "-c", "-t", "4", env=env)
    name = "%s, recorded while CPUs go %d times" % (method, going.gone)
    if not tap.ok(done.returncode == 0 and going.gone > 2, name, done.stdout, done.stderr):
        return
    trace = probe.trace_in("r/user")
    good, numbers, said = probe.check("counters", trace)
    tap.ok(good and numbers["missing"] == 0, "%s: all %d events of the program" % (
        name, numbers.get("events", 0)), said)
    report, explained = kernel.why("r")
    tap.ok(report is not None and explained.returncode == 0 and not kernel.bad_sums(report) and
           not report["lost_events"], name + ": why has exact sums, and nothing is lost",
           explained.stderr, report and (kernel.bad_sums(report), report["lost_events"]))
    if report:
        # On a CPU that is marked as away the kernel records no switch: one each time.
        tap.ok(report["repairs"]["count"] <= 2 * going.gone,
               "%s: %d switches are left out" % (name, report["repairs"]["count"]),
               report["repairs"], report["wib"])
    wrong = order_wrong("r")
    tap.ok(not wrong, name + ": no event is where another thread ran", len(wrong), *wrong[:4])
    checked = kernel.holdup("check-trace", "r")
    tap.ok(checked.returncode == 0, name + ": check-trace finds nothing wrong", checked.stdout[-1500:])
    shutil.rmtree("r")


def late_and_full(tap):
    """A CPU comes while it is recorded, and does more than its buffer holds: what is lost is told."""
    path = others()[0]
    cpu = int(re.search(r"cpu(\d+)/online", path)[1])
    switch(path, False)
    count = 20000
    done = kernel.holdup("record", "-b", "256K", "-o", "r", "--", "sh", "-c",
                         "echo 1 >%s && taskset -c %d dd if=/dev/zero of=/dev/null bs=1 count=%d"
                         % (path, cpu, count))
    bring_all()
    with open("r/trace.json") as file:
        found = [one for one in json.load(file)["cpus"] if one["cpu"] == cpu]
    total = sum(one["events"] + one["lost"] for one in found)
    # Each of its calls begins and ends.
    tap.ok(done.returncode == 0 and found and found[0]["lost"] and found[0]["events"] and
           total >= 4 * count, "a CPU that comes and does much: %d events, of which %d are lost"
           % (total, found[0]["lost"] if found else -1), done.stderr, found)
    report, explained = kernel.why("r")
    tap.ok(report is not None and report["lost_events"] == found[0]["lost"] and
           not kernel.bad_sums(report), "and why tells of them", explained.stderr,
           report and report["lost_events"])
    shutil.rmtree("r")


def check(tap):
    if not others():
        tap.skipped("CPUs that go", "one CPU only, or none can be taken away")
        return
    for method in probe.METHODS:
        restarts = Restarts()
        for name in ("probe-load", "probe-load-static"):
            while_they_go(tap, method, "stream", name, "-s", "-m", "-t", 8)
        while_they_go(tap, method, "flight", "probe-load", "-s", "-t", 8)
        tap.ok((restarts.count() > 0) == (method == "rseq"),
               "%s: the kernel has restarted %d sequences" % (method, restarts.count()))
        restarts.end()
        coming(tap, method)
        recorded(tap, method)
    late_and_full(tap)
