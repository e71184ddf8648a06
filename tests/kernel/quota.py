#!/usr/bin/env python3
"""A limit that holds threads back is told, with what the kernel counted of it.

A shell puts itself into a cgroup that may use a fifth of a CPU, and works there. What holdup says
lies between the cgroup's own counts around the work and around the whole recording. Another one may
have 16 MiB of memory, and reads a file of 64 MiB that is in nobody's memory yet; what needs more than
that is killed. So is a process at its limit of CPU time; others are sent the same signals by a process.
A process that was frozen before the recording is told as frozen.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

QUOTA_US, PERIOD_US = 20000, 100000
MEMORY = 16 << 20
WORK = """
import time
end = time.monotonic() + 1.2
while time.monotonic() < end:
    pass
"""


def mounts():
    with open("/proc/self/mounts") as file:
        return [line.split() for line in file]


class Cgroup:
    """One of our own with a controller, of either kind."""

    def __init__(self, controller):
        self.folder, self.controller = None, controller
        for _, top, kind, options, *_ in mounts():
            first = kind == "cgroup" and controller in options.split(",")
            if first or (kind == "cgroup2" and self.has_it(top)):
                self.top, self.first = top, first
                self.name = "/holdup-test-%d" % os.getpid()
                self.folder = top + self.name

    def has_it(self, top):
        try:
            with open(top + "/cgroup.controllers") as file:
                if self.controller not in file.read().split():
                    return False
            with open(top + "/cgroup.subtree_control", "w") as file:
                file.write("+" + self.controller)
        except OSError:
            return False
        return True

    def __enter__(self):
        os.mkdir(self.folder)
        if self.controller == "memory":
            self.write("memory.limit_in_bytes" if self.first else "memory.max", MEMORY)
        elif self.first:
            self.write("cpu.cfs_period_us", PERIOD_US)
            self.write("cpu.cfs_quota_us", QUOTA_US)
        else:
            self.write("cpu.max", "%d %d" % (QUOTA_US, PERIOD_US))
        return self

    def __exit__(self, *_):
        os.rmdir(self.folder)

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(str(value))

    def reached(self):
        """How often the limit of memory was."""
        if self.first:
            with open(self.folder + "/memory.failcnt") as file:
                return int(file.read())
        with open(self.folder + "/memory.events") as file:
            return int(dict(line.split() for line in file)["max"])

    def counts(self):
        """Periods, of these throttled, and ns of that."""
        with open(os.path.join(self.folder, "cpu.stat")) as file:
            stat = dict(line.split() for line in file)
        ns = int(stat["throttled_time"]) if self.first else int(stat["throttled_usec"]) * 1000
        return int(stat["nr_periods"]), int(stat["nr_throttled"]), ns


def check(tap, cgroup, into_cgroup, below=""):
    """Once with the work in the cgroup, once in one below it, once beside it."""
    join = "echo $$ > %s%s/cgroup.procs && " % (cgroup.folder, below) if into_cgroup else ""
    before = cgroup.counts()
    done = kernel.holdup("record", "-o", "run.holdup", "--", "sh", "-c",
                         join + "exec %s -c '%s'" % (sys.executable, WORK))
    after = cgroup.counts()
    where = "below it: " if below else "in the cgroup: " if into_cgroup else "beside it: "
    tap.ok(done.returncode == 0, where + "recorded", done.stderr)
    report, done = kernel.why("run.holdup")
    told = [one for one in report["throttles"] if one["cgroup"] == cgroup.name]
    text = kernel.holdup("why", "run.holdup").stdout
    if not into_cgroup:
        tap.ok(not told and cgroup.name not in text, where + "nothing is told", told)
        return
    grown = [now - then for now, then in zip(after, before)]
    if len(told) != 1:
        tap.ok(False, where + "it is told once", report["throttles"])
        return
    told = told[0]
    tap.ok((told["quota_ns"], told["period_ns"]) == (QUOTA_US * 1000, PERIOD_US * 1000),
           where + "its quota", told)
    tap.ok(1 <= told["times"] <= grown[1] and told["periods"] <= grown[0],
           where + "periods", told, grown)
    tap.ok(0.5 * grown[2] <= told["ns"] <= grown[2], where + "time", told, grown)
    held = [root for root in report["verdict"] if root["kind"] == "throttled"]
    known = not [one for one in report["missing"] if "names of" in one["what"]]
    tap.ok(not known or (len(held) == 1 and cgroup.name + " " in held[0]["what"] and
                         0.9 * told["ns"] <= held[0]["ns"] <= 1.1 * told["ns"]),
           where + "charged to the quota, by its name", held, told)
    tap.ok("The cgroup %s may use 20.0 ms" % cgroup.name in " ".join(text.split()),
           where + "the report says so", text)
    with open("run.holdup/trace.json") as file:
        tap.ok(cgroup.name in [one["cgroup"] for one in json.load(file)["throttles"]],
               where + "trace.json has it")


def make_file():
    """64 MiB, of which nothing is in memory, where the file system can have that."""
    with open("file", "wb") as file:
        file.write(b"x" * (64 << 20))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def check_memory(tap, cgroup):
    make_file()
    done = kernel.holdup("record", "-o", "memory.holdup", "--", "sh", "-c",
                         "echo $$ > %s/cgroup.procs && exec cat file > /dev/null" % cgroup.folder)
    tap.ok(done.returncode == 0, "memory: recorded", done.stderr)
    report, done = kernel.why("memory.holdup")
    limit = "reclaims memory at the limit of cgroup %s (%s 16 MiB)" % (
        cgroup.name, "memory.limit_in_bytes" if cgroup.first else "memory.max")
    told = [root for root in report["verdict"] if root["kind"] == "throttled"]
    known = not [one for one in report["missing"] if "names of" in one["what"]]
    tap.ok(not known or not cgroup.reached() or limit in [root["what"] for root in told],
           "memory: charged to the limit, by its name", told, cgroup.reached())
    tap.ok(sum(root["ns"] for root in report["verdict"]) == report["window"]["end_ns"] - report["window"]["start_ns"],
           "memory: the sum is the window", report["window"])


# The end of each child, and its truth: its number, and the name and number of who sent the signal.
ENDS = """
import os, resource, signal, sys
def child(limit=None):
    pid = os.fork()
    if pid == 0:
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, limit)
        while True:
            pass
    return pid
def sent(number):
    pid = child()
    killer = os.fork()
    if killer == 0:
        os.kill(pid, number)
        os._exit(0)
    os.waitpid(killer, 0)
    os.waitpid(pid, 0)
    print(pid, "SIG%s of %s[%d]" % (signal.Signals(number).name[3:],
                                    open("/proc/self/comm").read().strip(), killer))
def limited(limit, words):
    pid = child(limit)
    os.waitpid(pid, 0)
    print(pid, words)
sent(signal.SIGKILL)
sent(signal.SIGXCPU)
limited((1, 3), "SIGXCPU: its soft limit of CPU time (RLIMIT_CPU, 1 s)")
limited((1, 1), "SIGKILL: its hard limit of CPU time (RLIMIT_CPU, 1 s)")
"""


def killed_by(trace, pid):
    report, done = kernel.why(trace, "--pid", str(pid))
    told = [one["killed_by"] for one in report["people"] if one["who"]["tgid"] == pid]
    return told[0] if told else ""


def knows(trace):
    """Did the recorder's own program read it?"""
    with open(trace + "/trace.json") as file:
        return not [one for one in json.load(file)["missing"] if "names of" in one["what"]]


def check_ends(tap):
    with open("ends.py", "w") as file:
        file.write(ENDS)
    done = kernel.holdup("record", "-o", "ends.holdup", "--", sys.executable, "ends.py")
    tap.ok(done.returncode == 0, "ends: recorded", done.stderr)
    for line in done.stdout.splitlines():
        pid, words = line.split(" ", 1)
        told = killed_by("ends.holdup", int(pid))
        tap.ok(told == words or not knows("ends.holdup"), "ends: " + words.split(" of ")[0],
               told, words)


def check_no_memory(tap, cgroup):
    work = "echo 0 > %s/cgroup.procs; exec %s -c 'bytearray(64 << 20)'" % (
        cgroup.folder, sys.executable)
    done = kernel.holdup("record", "-o", "oom.holdup", "--", "sh", "-c",
                         "sh -c \"$0\" & echo $!; wait $!; echo $?", work)
    pid, status = [int(word) for word in done.stdout.split()[:2]]
    limit = "SIGKILL: out of memory; inferred: at the limit of cgroup %s (%s 16 MiB)" % (
        cgroup.name, "memory.limit_in_bytes" if cgroup.first else "memory.max")
    told = killed_by("oom.holdup", pid)
    tap.ok(status != 137 or told == limit or not knows("oom.holdup"),
           "memory: who needs more is killed for the limit", told, limit, status)


def freezers():
    for _, top, kind, options, *_ in mounts():
        if kind == "cgroup" and "freezer" in options.split(","):
            yield top, "freezer.state", "FROZEN", "THAWED"
        elif kind == "cgroup2":
            yield top, "cgroup.freeze", "1", "0"


def check_frozen(tap, program, waits_in, top, file, freeze, thaw):
    """A kernel since 6.1 freezes a sleep of sleep(1) where it is, not one of cat at a pipe."""
    folder = "%s/holdup-test-%d" % (top, os.getpid())
    os.mkdir(folder)
    child = subprocess.Popen(program, stdin=subprocess.PIPE)

    def write(name, value):
        with open(folder + "/" + name, "w") as out:
            out.write(value)

    def sleeps():
        with open("/proc/%d/wchan" % child.pid) as text:
            return text.read()

    def is_frozen():
        with open("/proc/%d/stat" % child.pid) as text:
            return sleeps() in ("get_signal", "do_freezer_trap", "__refrigerator") or ") D " in text.read()

    os.system("rm -rf %s.holdup" % file)
    try:
        write("cgroup.procs", str(child.pid))
        while waits_in not in sleeps():
            time.sleep(0.01)
        write(file, freeze)
        while not is_frozen():
            time.sleep(0.01)
        kernel.holdup("record", "-o", file + ".holdup", "--", "true")
    finally:
        write(file, thaw)
        child.kill()
        child.communicate()
        os.rmdir(folder)
    report, done = kernel.why(file + ".holdup", "--pid", str(child.pid))
    told = [(root["kind"], root["what"]) for root in report["verdict"]]
    tap.ok(told == [("stopped", "frozen")], "%s: %s frozen before the recording" % (file, program[0]), told)
    named = [root["object"] for root in report["verdict"]]
    tap.ok(named == ["with its cgroup /" + os.path.basename(folder)],
           "%s: %s with which cgroup" % (file, program[0]), named)


# Reads from a pipe for 600 ms, frozen in the middle of that for 300 ms; says for how long. Somebody else writes.
FREEZES = """
import os, sys, time
folder, file, freeze, thaw = sys.argv[1:]
def name(text):
    with open("/proc/self/comm", "w") as out: out.write(text)
def write(file, text):
    with open(folder + "/" + file, "w") as out: out.write(text)
ends = os.pipe()
if not (reader := os.fork()):
    write("cgroup.procs", str(os.getpid()))
    name("frozen")
    os.close(ends[1])
    os.read(ends[0], 1)
    os._exit(0)
if not os.fork():
    name("writer")
    time.sleep(0.6)
    os.write(ends[1], b"x")
    os._exit(0)
name("freezer")
time.sleep(0.2)
write(file, freeze)
start = time.monotonic()
time.sleep(0.3)
write(file, thaw)
print(time.monotonic() - start)
os.waitpid(reader, 0)
"""


def check_freezes(tap, events, top, file, freeze, thaw):
    folder, trace = "%s/holdup-test-%d" % (top, os.getpid()), "freezes-%s.holdup" % events
    os.mkdir(folder)
    try:
        done = kernel.holdup("record", "-e", events, "-o", trace, "--", sys.executable, "-c", FREEZES, folder, file,
                             freeze, thaw)
    finally:
        os.rmdir(folder)
    frozen = float(done.stdout.split()[0]) if done.stdout.split() else 0
    report, done = kernel.why(trace, "--comm", "frozen")
    told = [(root["kind"], (root["who"] or {}).get("comm"), root["ns"] / 1e9) for root in report["verdict"]]
    kept = sum(seconds for kind, comm, seconds in told if kind == "stopped")
    tap.ok(frozen / 2 < kept < frozen + 0.1, "%s, %s: frozen while it was" % (file, events), (frozen, told))
    tap.ok(sum(seconds for kind, comm, seconds in told if comm == "freezer") < 0.1,
           "%s, %s: who froze it did not keep what it waited for" % (file, events), told)
    os.system("rm -rf " + trace)


def check_limits(tap):
    cgroup = Cgroup("cpu")
    if not cgroup.folder:
        return
    with cgroup:
        check(tap, cgroup, True)
        os.system("rm -rf run.holdup")
        os.mkdir(cgroup.folder + "/below")
        try:
            check(tap, cgroup, True, "/below")
        finally:
            os.rmdir(cgroup.folder + "/below")
        os.system("rm -rf run.holdup")
        check(tap, cgroup, False)
    memory = Cgroup("memory")
    if memory.folder:
        with memory:
            check_memory(tap, memory)
            check_no_memory(tap, memory)


def main():
    kernel.need()
    with kernel.workdir():
        tap = kernel.Tap()
        check_ends(tap)
        for freezer in freezers():
            check_frozen(tap, ["cat"], "pipe", *freezer)
            check_frozen(tap, ["sleep", "60"], "nanosleep", *freezer)
            check_freezes(tap, "full", *freezer)
            if freezer[1] == "cgroup.freeze":
                check_freezes(tap, "lean", *freezer)
        check_limits(tap)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
