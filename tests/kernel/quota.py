#!/usr/bin/env python3
"""A limit that holds threads back is told, with what the kernel counted of it.

A shell puts itself into a cgroup that may use a fifth of a CPU, and works there. What holdup says
lies between the cgroup's own counts around the work and around the whole recording. Another one may
have 16 MiB of memory, and reads a file of 64 MiB that is in nobody's memory yet.
"""
import json
import os
import sys

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


def main():
    kernel.need()
    cgroup = Cgroup("cpu")
    if not cgroup.folder:
        kernel.absent("no cgroup with a CPU controller can be made here")
    tap = kernel.Tap()
    with kernel.workdir(), cgroup:
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
        with kernel.workdir(), memory:
            check_memory(tap, memory)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
