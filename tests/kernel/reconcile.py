#!/usr/bin/env python3
"""The kernel's accounts and a recording's events tell the same, or the difference has its reason.

A mixed load (CPU contention, cold reads, copy-on-write, memory pressure in a limited cgroup, where
one can be made) is held, class by class, against the kernel's own numbers, which taskstats.c asks for with
the kernel's header alone, and against schedstat; and the classes of the recording against both.

kernel.task_delayacct is turned on for the test and put back afterwards.

	MIXED_SECONDS   how long the load runs (6)
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"),
                os.path.dirname(os.path.realpath(__file__))]
import delays  # noqa: E402
import kernel  # noqa: E402

SECONDS = float(os.environ.get("MIXED_SECONDS", "6"))
TWIN = os.path.join(kernel.PROGRAMS, "taskstats")
CLASSES = ("cpu", "disk", "swapin", "reclaim", "thrashing", "compaction", "cow")

MIXED = """
import mmap, os, random, sys, time
end = time.monotonic() + float(sys.argv[1])
def forever(step):
    while time.monotonic() < end: step()
def hog():
    os.sched_setaffinity(0, {0})
    forever(lambda: sum(range(1000)))
def cold():
    fd = os.open("data", os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, 1 << 16)
    forever(lambda: os.preadv(fd, [page], random.randrange(512) << 16))
def cow():
    data = bytearray(16 << 20)
    def step():
        pid = os.fork()
        if pid == 0:
            for i in range(0, len(data), 4096): data[i] = 1
            os._exit(0)
        os.waitpid(pid, 0)
    for i in range(0, len(data), 4096): data[i] = 2
    forever(step)
def pressure():
    with open(sys.argv[2] + "/cgroup.procs", "w") as file: file.write(str(os.getpid()))
    fd = os.open("big", os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    def step():
        for at in range(48): os.pread(fd, 1 << 20, at << 20)
    forever(step)
jobs = [hog, hog, cold, cow] + ([pressure] if len(sys.argv) > 2 else [])
pids = []
for job in jobs:
    pid = os.fork()
    if pid == 0:
        job()
        os._exit(0)
    pids.append(pid)
print(*pids, flush=True)
for pid in pids: os.waitpid(pid, 0)
"""


def make_files():
    for name, count in (("data", 32), ("big", 48)):
        with open(name, "wb") as file:
            for _ in range(count):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())


@contextlib.contextmanager
def memory_controller(top):
    """Have cgroups below 'top' limits of memory, if it is of the second kind and they lack them."""
    path, changed = os.path.join(top, "cgroup.subtree_control"), False
    with contextlib.suppress(OSError):
        with open(os.path.join(top, "cgroup.controllers")) as there, open(path) as on:
            changed = "memory" in there.read().split() and "memory" not in on.read().split()
        if changed:
            with open(path, "w") as file:
                file.write("+memory")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if changed:
                with open(path, "w") as file:
                    file.write("-memory")


@contextlib.contextmanager
def memory_cgroup(limit="16M"):
    """A new cgroup with little memory: (folder, file of the limit), or (None, None)."""
    with contextlib.ExitStack() as stack:
        for top, name in (("/sys/fs/cgroup", "memory.high"),
                          ("/sys/fs/cgroup/unified", "memory.high"),
                          ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            stack.enter_context(memory_controller(top))
            path = os.path.join(top, "holdup-test-%d" % os.getpid())
            with contextlib.suppress(OSError):
                os.mkdir(path)
                if os.path.exists(os.path.join(path, name)):
                    with open(os.path.join(path, name), "w") as file:
                        file.write(limit)
                    break
                os.rmdir(path)
        else:
            yield None, None
            return
        try:
            yield path, name
        finally:
            for _ in range(50):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
                    break
                time.sleep(0.1)


def twin(*tids):
    done = subprocess.run([TWIN, "ask", *map(str, tids)], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode == 77:
        kernel.skip("this kernel's struct taskstats cannot be read by the header of the machine")
    return {row["tid"]: row for row in map(json.loads, done.stdout.splitlines())}


@contextlib.contextmanager
def heard(path):
    """The twin listens for exits into 'path'."""
    cpus = "0-%d" % (os.cpu_count() - 1)
    with open("/sys/devices/system/cpu/possible") as file:
        cpus = file.read().strip() or cpus
    with kernel.running(TWIN, "listen", cpus, path, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield
        time.sleep(0.3)
        process.stdin.close()
        process.wait(20)


def exits_of(path):
    with open(path) as file:
        return {row["tid"]: row for row in map(json.loads, file)}


def differing(theirs, run_ns, classes):
    """What of an account of ours is not what the kernel says, in words."""
    bad = [] if run_ns == theirs["run_ns"] else ["run: %s, %s" % (run_ns, theirs["run_ns"])]
    for name in CLASSES:
        ours = classes.get(name)
        if ours is None or name not in theirs:
            continue
        if (ours["total_ns"], ours["count"]) != (theirs[name]["total_ns"], theirs[name]["count"]):
            bad.append("%s: %s, %s" % (name, ours, theirs[name]))
    return bad


def stopped(pids):
    """Nobody's numbers change any more once all are stopped, or are gone."""
    for _ in range(100):
        states = set()
        for pid in pids:
            with contextlib.suppress(OSError):
                with open("/proc/%d/stat" % pid) as file:
                    states.add(file.read().rsplit(")", 1)[1].split()[0])
        if states <= {"T"}:
            return
        time.sleep(0.05)


def exact(tap, cgroup):
    """Live: each number of each class is the kernel's, and schedstat's, to the last digit."""
    words = [sys.executable, "-c", MIXED, str(SECONDS + 30)] + ([cgroup] if cgroup else [])
    with kernel.running(*words, stdout=subprocess.PIPE, text=True) as process:
        pids = list(map(int, process.stdout.readline().split()))
        time.sleep(SECONDS / 2)
        for _ in range(250):  # an emulated CPU is slow to get to its limit of memory
            if not cgroup or twin(pids[-1])[pids[-1]]["reclaim"]["count"] > 10:
                break
            time.sleep(0.1)
        for pid in [process.pid] + pids:
            os.kill(pid, signal.SIGSTOP)
        stopped([process.pid] + pids)
        reports, done = delays.delays(*pids)
        theirs = twin(*pids)
        rows = {row["pid"]: row for row in reports[0]["tasks"]} if reports else {}
        tap.ok(sorted(rows) == sorted(pids) == sorted(theirs), "all of the load are told",
               done.stderr, rows.keys(), theirs.keys())
        for pid in pids:
            bad = differing(theirs[pid], rows[pid]["run_ns"], rows[pid]["delays"])
            tap.ok(not bad, "every class of [%d] is that of the kernel" % pid, *bad)
            run, queued, count = delays.schedstat(pid)
            cpu = rows[pid]["delays"]["cpu"]
            tap.ok((run, queued, count) == (rows[pid]["run_ns"], cpu["total_ns"], cpu["count"]),
                   "and of its schedstat", run, queued, count, rows[pid])
        if cgroup:
            memory = rows[pids[-1]]["delays"]
            tap.ok(memory["reclaim"]["total_ns"] > 0 and memory["reclaim"]["count"] > 10,
                   "a limited cgroup reclaims memory: %d times" % memory["reclaim"]["count"], memory)
            kernel.note("thrashing %s, swap-in %s" % (memory["thrashing"], memory["swapin"]))


def reconciled(*words):
    done = kernel.holdup("delays", "reconcile", "--json", *words)
    return (json.loads(done.stdout) if done.stdout else None), done


def rows_of(task):
    return [("run", task["run"])] + list(task["delays"].items())


def explained(tap, report, pids):
    """Of the load, what the events tell agrees within 1 %, or the tool knows why not."""
    for task in report["tasks"]:
        if task["pid"] not in pids or task["process"]:
            continue
        name = "%s[%d]" % (task["name"], task["tid"])
        compared = 0
        for what, row in rows_of(task):
            if row["difference_ns"] is None:
                tap.ok(row["reasons"], "%s, %s: it is said why one is missing" % (name, what), row)
                continue
            compared += 1
            off, larger = abs(row["difference_ns"]), max(row["kernel"]["total_ns"],
                                                        row["events"]["total_ns"])
            known = sum(reason["at_most_ns"] or 0 for reason in row["reasons"])
            tap.ok(row["agrees"] == (off <= max(larger // 100, 100000)),
                   "%s, %s: 1 %% is 1 %%" % (name, what), row)
            tap.ok(row["agrees"] or row["unexplained_ns"] == max(0, off - known),
                   "%s, %s: the reasons add up" % (name, what), row)
            tap.ok(row["unexplained_ns"] <= 0.01 * larger + 1e6,
                   "%s, %s: %.3f and %.3f ms agree or it is known why" %
                   (name, what, row["kernel"]["total_ns"] / 1e6, row["events"]["total_ns"] / 1e6),
                   row)
        tap.ok(compared >= 3, name + ": running, for a CPU and for disk are compared", task)


def mixed(tap, cgroup):
    """The load recorded: accounts are those that another listener heard; events agree."""
    words = [sys.executable, "-c", MIXED, str(SECONDS)] + ([cgroup] if cgroup else [])
    with kernel.spinners(), kernel.running("sleep", str(SECONDS + 60)) as sleeper, heard("exits"):
        done = kernel.holdup("record", "-o", "run.holdup", "--", *words)
    jobs = list(map(int, done.stdout.split()))
    pids = set(jobs)
    with open("run.holdup/trace.json") as file:
        manifest = json.load(file)
    lacks = [row for row in manifest["missing"] if "accounting" in row["what"]]
    tap.ok(done.returncode == 0 and pids and not lacks, "the load is recorded", done.stderr, lacks)
    report, done = reconciled("--threads", "run.holdup")
    if not tap.ok(report, "it is reconciled", done.stderr):
        return
    told, theirs = {}, exits_of("exits")
    for task in report["tasks"]:
        if not task["process"] and task["began"] and task["ended"]:
            told.setdefault(task["tid"], []).append(task)
    both = [tid for tid in told if tid in theirs and len(told[tid]) == 1]
    bad = []
    for tid in both:
        task = told[tid][0]
        ours = {name: row["kernel"] for name, row in task["delays"].items()}
        if task["run"]["kernel"]:
            bad += differing(theirs[tid], task["run"]["kernel"]["total_ns"], ours)
    tap.ok(pids <= set(both) and not bad,
           "the accounts of %d exits are those that another heard" % len(both), *bad[:5])
    explained(tap, report, pids)
    sleepers = [task for task in report["tasks"] if task["pid"] == sleeper.pid]
    tap.ok(sleepers and all(task["schedstat"] and task["schedstat"]["off_ns"] == 0
                            for task in sleepers), "schedstat agrees with taskstats", sleepers)
    off = [task for task in report["tasks"] if task["schedstat"] and task["schedstat"]["off_ns"]]
    tap.ok(len(off) <= len(report["tasks"]) // 100, "of nearly all: %d" % len(off), off[:2])
    machine = {row["resource"]: row for row in report["pressure"] if row["cgroup"] == ""}
    if os.path.exists("/proc/pressure/cpu"):
        tap.ok(machine.get("cpu", {}).get("some_ns", 0) > 1e9, "pressure for CPUs is told", machine)
    causes(tap, jobs, cgroup)


def causes(tap, pids, cgroup):
    """From a class to its causes: the verdict adds up to the figure of the class."""
    reports, done = delays.delays("--threads", "run.holdup")
    tasks = {task["tid"]: task for task in reports[0]["tasks"] if not task["process"]}
    for tid, names in ((pids[0], ("cpu", "irq")), (pids[2], ("disk",)), (pids[-1], ("reclaim",))):
        for name in names:
            why, done = kernel.why("--class", name, "--tid", tid, "run.holdup")
            figure = tasks[tid]["delays"][name]
            if not figure:
                continue
            verdict = sum(root["ns"] for root in why["verdict"]) if why else None
            tap.ok(why and verdict == figure["total_ns"] == why["only"]["ns"] and
                   why["only"]["count"] == figure["count"],
                   "[%d]: what %s went to adds up to %.3f ms" % (tid, name,
                                                                figure["total_ns"] / 1e6),
                   verdict, figure, done.stderr)
    if cgroup:
        why, done = kernel.why("--class", "memory", "--tid", pids[-1], "run.holdup")
        own = [root for root in why["verdict"] if root["kind"] == "working"] if why else []
        tap.ok(own and own[0]["object"] == "freeing or moving memory",
               "reclaim is told as a cause", done.stderr, why and why["verdict"][:2])


def advised(tap):
    with memory_cgroup() as (cgroup, limit):
        if not cgroup:
            tap.skipped("advice on memory", "no cgroup with a limit of memory can be made")
            return
        program = MIXED.replace("[hog, hog, cold, cow] + ", "")
        with kernel.running(sys.executable, "-c", program, "30", cgroup, stdout=subprocess.PIPE,
                            text=True) as process:
            pid = int(process.stdout.readline())
            time.sleep(4)
            advice, done = delays.advice_for(pid)
            found = [row for row in advice.values() if row.get("cgroup") == cgroup]
            tap.ok(found and found[0]["held_back"] and found[0]["file"] == limit and
                   found[0]["hits"] > 0,
                   "the limit is named as what holds it back", advice, done.stderr)
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def swap_space():
    """Some swap, in compressed memory unless the machine has any: whether there is."""
    with open("/proc/swaps") as file:
        if len(file.readlines()) > 1:
            yield True
            return
    control = "/sys/class/zram-control/"
    if not os.path.exists(control + "hot_add"):
        yield False
        return
    with open(control + "hot_add") as file:
        number = file.read().strip()
    device = "/dev/zram" + number
    try:
        with open("/sys/block/zram%s/disksize" % number, "w") as file:
            file.write("64M")
        made = [subprocess.run([*words, device], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               check=False).returncode for words in (["mkswap"], ["swapon"])]
        yield made == [0, 0]
    finally:
        subprocess.run(["swapoff", device], stderr=subprocess.DEVNULL, check=False)
        for _ in range(20):
            with contextlib.suppress(OSError):
                with open(control + "hot_remove", "w") as file:
                    file.write(number)
                break
            time.sleep(0.1)


SWAPPED = """
import os, random, sys, time
with open(sys.argv[1] + "/cgroup.procs", "w") as file: file.write(str(os.getpid()))
data = bytearray(24 << 20)
print("ready", flush=True)
while True:
    at = random.randrange(len(data) // 4096)
    data[at * 4096] = 1
    data[at // 4 * 4096] = 1
"""


def swapped(tap):
    """Pages out of swap: swap-in, thrashing and reclaim, as the kernel's header says."""
    with memory_cgroup() as (cgroup, _), swap_space() as there:
        if not cgroup or not there:
            tap.skipped("swap", "no swap and no limited cgroup can be made")
            return
        with kernel.running(sys.executable, "-c", SWAPPED, cgroup, stdout=subprocess.PIPE) as process:
            time.sleep(4)
            os.kill(process.pid, signal.SIGSTOP)
            stopped([process.pid])
            row, theirs = delays.task(process.pid), twin(process.pid)[process.pid]
            bad = differing(theirs, row["run_ns"], row["delays"])
            tap.ok(not bad, "with swap, too, every class is that of the kernel", *bad)
            for name in ("swapin", "reclaim"):
                told = row["delays"][name]
                tap.ok(told["count"] > 10 and told["total_ns"] > 0,
                       "%s: %d times, %.3f ms" % (name, told["count"], told["total_ns"] / 1e6), told)
            kernel.note("thrashing: %d times, %.3f ms" % (row["delays"]["thrashing"]["count"],
                                                         row["delays"]["thrashing"]["total_ns"] / 1e6))


def reasons_of(report, pid):
    tasks = [task for task in report["tasks"] if task["pid"] == pid and task["process"]]
    return {name: [reason["reason"] for reason in row["reasons"]]
            for name, row in rows_of(tasks[0])} if tasks else {}


def missing(tap):
    """What cannot be had is said, and the recording goes on."""
    with delays.accounting("0"), kernel.running("sleep", "60") as early:
        kernel.holdup("record", "-d", "0.5", "-o", "off.holdup")
        report, done = reconciled("off.holdup", early.pid)
        tap.ok(report and report["accounting"]["state"] == "off" and
               "off" in reasons_of(report, early.pid)["disk"], "off is the reason", done.stderr, report)
        tap.ok(report and report["tasks"][0]["delays"]["cpu"]["kernel"] is not None,
               "CPUs are counted all the same", report)
        with open(delays.SWITCH, "w") as file:
            file.write("1")
        subprocess.run([sys.executable, "-c", "import os; os.fork() or os._exit(0)"], check=True)
        with kernel.running("bash", "-c", "bash -c 'sleep 50; true'; true"):
            time.sleep(0.3)
            kernel.holdup("record", "-d", "0.5", "-o", "older.holdup")
        report, done = reconciled("older.holdup", early.pid)
        tap.ok(report and "older" in reasons_of(report, early.pid)["disk"],
               "older than the accounting is the reason", done.stderr, report)
    done = subprocess.run(["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin",
                           kernel.HOLDUP, "record", "-o", "rights.holdup", "--", "true"],
                          stderr=subprocess.PIPE, text=True, check=False)
    with open("rights.holdup/trace.json") as file:
        told = [row for row in json.load(file)["missing"] if "accounting" in row["what"]]
    tap.ok(done.returncode == 0 and len(told) == 1 and "CAP_NET_ADMIN" in told[0]["why"],
           "without rights it is recorded, and said", done.stderr, told)
    report, done = reconciled("rights.holdup")
    tap.ok(done.returncode == 3 and kernel.clear_error(done), "then there is nothing to reconcile",
           done.stderr)
    with open("off.holdup/kernel/accounts", "r+b") as file:
        file.truncate(os.path.getsize("off.holdup/kernel/accounts") - 3)
    report, done = reconciled("off.holdup")
    tap.ok(done.returncode == 0 and report["damage"] and not report["complete"],
           "a file that was cut is read up to there, and said", done.stderr)
    with open("off.holdup/kernel/accounts", "wb") as file:
        file.write(b"\0" * 100)
    report, done = reconciled("off.holdup")
    tap.ok(done.returncode == 3 and kernel.clear_error(done), "other bytes are refused", done.stderr)


def killed(tap):
    path = "killed.holdup/kernel/accounts"
    with kernel.running(kernel.HOLDUP, "record", "-o", "killed.holdup", stderr=subprocess.PIPE) as one:
        for _ in range(300):
            if os.path.exists(path) and os.path.getsize(path):
                break
            time.sleep(0.1)
        time.sleep(1)
        subprocess.run(["true"], check=True)
        time.sleep(0.5)
        os.kill(one.pid, signal.SIGKILL)
        one.wait()
    report, done = reconciled("killed.holdup")
    tap.ok(report and not report["complete"] and report["tasks"],
           "what a killed recorder leaves is read, and told as not complete", done.stderr)


def main():
    kernel.need()
    if not os.path.exists(delays.SWITCH):
        kernel.skip("this kernel has no " + delays.SWITCH)
    tap = kernel.Tap()
    make_files()
    with delays.accounting():
        with memory_cgroup() as (cgroup, limit):
            if not cgroup:
                tap.skipped("memory pressure", "no cgroup with a limit of memory can be made")
            exact(tap, cgroup)
        with memory_cgroup() as (cgroup, limit):
            mixed(tap, cgroup)
        advised(tap)
        swapped(tap)
        missing(tap)
        killed(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir("/var/tmp"):  # where files can be read past the cache
        main()
