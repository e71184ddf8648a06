#!/usr/bin/env python3
"""Events that programs log with libholdup fire triggers of the flight recorder: the right ones, of any user, and nothing that a program
writes into its buffers ends that.

One recorder runs at a time; where another one runs already, this test is skipped.
"""
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import kernel  # noqa: E402
import flight  # noqa: E402
from flight import NOBODY, SMALL, Recorder, await_that, explained, listed, status  # noqa: E402

PROGRAM = os.path.join(kernel.PROGRAMS, "logged-shop")
AS_NOBODY = ("setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups")
ORDERED = "user:shop:ordered"
SALE = "pair:user:shop:sale_begin->user:shop:sale_end>300ms"
LIMIT_NS = 300 * kernel.MS
PACKET = 128 << 10
UNITS = {"ms": kernel.MS, "s": kernel.S}


class Shop:
    """A program that logs what it is asked to."""

    def __init__(self, folder, *become, mode="flight", size="4M"):
        environment = dict(os.environ, HOLDUP="%s:%s" % (mode, folder), HOLDUP_SIZE=size)
        self.folder = folder
        self.process = subprocess.Popen([*become, PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, line):
        """When the first event came, and how long it was to the last one, ns."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        return tuple(map(int, self.process.stdout.readline().split()))

    def files(self):
        trace = os.path.join(self.folder, "logged-shop-%d" % self.pid)
        return [os.path.join(trace, name) for name in sorted(os.listdir(trace))]


def folder_of(user, name):
    os.mkdir(name)
    os.chmod(os.getcwd(), 0o755)
    os.chown(name, user, user)
    return os.path.join(os.getcwd(), name)


def fired():
    return [row["fired"] for row in status()["triggers"]]


def looked_at(count=1):
    return await_that(lambda: status()["logged"]["programs"] >= count)


def settled(seconds=0.6):
    """So long nothing more fires; returns what has."""
    time.sleep(seconds)
    return fired()


def check_event(tap):
    """An event with fields, of another user's program that was there before the recorder, and of one that comes later."""
    nobody, root = folder_of(NOBODY, "before"), folder_of(0, "later")
    with Shop(nobody, *AS_NOBODY) as before:
        before.ask("order")
        with Recorder(tap, "event", *SMALL, "--on", ORDERED, "--on", "user:shop:never", "--pause", "100ms") as recorder:
            tap.ok(looked_at(), "event: a program that was there is found", status())
            before.ask("noise 100")
            tap.ok(settled() == [0, 0], "event: what came before the recorder is none", status())
            begin_ns = before.ask("order")[0]
            rows = await_that(lambda: listed(recorder.dir))
            latency_ns = rows[0]["window"]["end_ns"] - begin_ns if rows else 0
            tap.ok(rows and rows[0]["why"] == "%s: thread %d (logged-shop) of process %d" % (ORDERED, before.pid, before.pid),
                   "event: who logged it is told", rows, status())
            kernel.note("event: the snapshot ends %.0f ms after it" % (latency_ns / kernel.MS))
            settled() # the pause is over
            with Shop(root, mode="stream") as later:
                later.ask("order") # before it is found
                rows = await_that(lambda: [row for row in listed(recorder.dir) if str(later.pid) in row["why"]])
                tap.ok(rows, "event: of a program that comes later, too, also when it streams", status())
            tap.ok(settled() == [2, 0], "event: as often as it was logged", status())
            report = status()
            tap.ok(report["logged"]["lost_packets"] == 0, "event: nothing was overwritten", report["logged"])
            flight.check_schema(tap, "event: status", report)
            explained(recorder.dir, 2)


def check_ended(tap):
    """What a program wrote last is seen after its end, when it was found before."""
    with Recorder(tap, "ended", *SMALL, "--on", ORDERED, "--pause", "1h") as recorder:
        with Shop(folder_of(0, "short"), mode="stream") as shop:
            shop.ask("noise 1")
            tap.ok(looked_at(), "ended: it is found", status())
            shop.ask("order")
            shop.process.kill()
        tap.ok(await_that(lambda: fired() == [1]), "ended: its last event is seen", status())
        tap.ok(await_that(lambda: status()["logged"]["programs"] == 0), "ended: it is not looked at any more", status())
        explained(recorder.dir, 1)


def check_namespace(tap):
    """A program that sees other numbers of itself than the machine has: the machine's are told."""
    with Recorder(tap, "namespace", *SMALL, "--on", ORDERED, "--pause", "1h") as recorder:
        with Shop(folder_of(0, "inside"), "unshare", "--pid", "--fork", "--mount-proc") as shop:
            with open("/proc/%d/task/%d/children" % (shop.process.pid, shop.process.pid)) as file:
                pid = int(file.read())
            shop.ask("order")
            rows = await_that(lambda: listed(recorder.dir))
        tap.ok(shop.pid == 1 and rows and rows[0]["why"] == "%s: thread %d (logged-shop) of process %d" % (ORDERED, pid, pid),
               "namespace: a program in another one has the machine's numbers", rows, pid, status())
        explained(recorder.dir, 1)


# The second one's event is described when its library is loaded, and logged at once, behind many of the first one's.
LIBRARIES = {"first": "void work(void) { for (int i = 0; i < 20000; i++) holdup_late_first(i); }",
             "second": "void work(void) { holdup_late_second(1); }"}
LOADER = """
import ctypes, sys
for name in ("first", "second", "first"):
    sys.stdin.readline()
    ctypes.CDLL("./%s.so" % name).work()
    print(name, flush=True)
sys.stdin.readline()
"""


def check_late(tap):
    """An event that a program describes later than others."""
    built = os.path.join(os.path.dirname(os.path.realpath(kernel.HOLDUP)), "include")
    if not shutil.which("cc") or not os.path.exists(os.path.join(built, "libholdup.so")):
        tap.skipped("late: events of a library that is loaded later", "there is no compiler, or no libholdup.so")
        return
    for name, work in LIBRARIES.items():
        with open(name + ".c", "w") as file:
            file.write("#include <holdup/trace.h>\nHOLDUP_EVENT(late, %s, (u64, n))\n%s\n" % (name, work))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", name + ".so", name + ".c", "-I", os.path.join(kernel.ROOT, "include"),
                        "-L", built, "-lholdup", "-Wl,-rpath," + built], check=True)
    environment = dict(os.environ, HOLDUP="flight:" + folder_of(0, "late-ones"))
    with Recorder(tap, "late", *SMALL, "--on", "user:late:second", "--on", "user:late:first", "--pause", "1h") as recorder, subprocess.Popen(
            [sys.executable, "-c", LOADER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        def step():
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline()
        step()
        tap.ok(await_that(lambda: fired() == [0, 20000]), "late: those of the first library are all seen", status())
        step()
        tap.ok(await_that(lambda: fired() == [1, 20000]), "late: the one that was described later is seen", status())
        step()
        tap.ok(await_that(lambda: fired() == [1, 40000]), "late: and what comes behind it", status())
        tap.ok(status()["logged"]["lost_packets"] == 0, "late: nothing is missing", status()["logged"])
        process.stdin.close()
        explained(recorder.dir, 1)


def told(rows, pid):
    """How late a pair was, as the last snapshot says, ns; and whether it was over."""
    found = rows and re.match(re.escape(SALE) + r": thread %d \(\S+\) of process %d, ([0-9.]+) (ms|s)( and not over)?$" % (pid, pid), rows[-1]["why"])
    return (float(found.group(1)) * UNITS[found.group(2)], bool(found.group(3))) if found else (0, None)


def check_pair(tap):
    """Two events of one thread too far apart, on one CPU or two, over or not; and no others."""
    with Recorder(tap, "pair", *SMALL, "--on", SALE, "--pause", "10ms") as recorder, Shop(folder_of(NOBODY, "pairs"), *AS_NOBODY) as shop:
        shop.ask("noise 1")
        looked_at()
        soon_ns = max(shop.ask("sale 0")[1], shop.ask("across 1")[1], shop.ask("sale 100")[1])
        shop.ask("other 400")
        count = settled()
        if soon_ns > LIMIT_NS or len(os.sched_getaffinity(0)) < 1:
            tap.skipped("pair: soon ones fire nothing", "the program was held up in between")
        else:
            tap.ok(count == [1], "pair: soon ones fire nothing; of one thread whose end comes from another it is told that it is not over", status())
        for line in ("across 400", "sale 400"):
            before = fired()[0]
            late_ns = shop.ask(line)[1]
            rows = await_that(lambda: len(listed(recorder.dir)) > before and listed(recorder.dir))
            told_ns, is_open = told(rows, shop.pid)
            tap.ok(is_open is not None and LIMIT_NS < told_ns <= 1.5 * late_ns, "pair: %s is late, and once" % line, rows, late_ns)
            tap.ok(settled() == [before + 1], "pair: %s fires once" % line, status())
        before = fired()[0]
        shop.ask("open")
        rows = await_that(lambda: len(listed(recorder.dir)) > before and listed(recorder.dir))
        told_ns, is_open = told(rows, shop.pid)
        tap.ok(is_open and told_ns > LIMIT_NS, "pair: one that does not end fires when it is too long", rows)
        tap.ok(settled() == [before + 1], "pair: it fires once", status())
        explained(recorder.dir, before + 1)


def check_behind(tap):
    """Looks that come late judge by the times of the events: what the pair says is exact."""
    with Recorder(tap, "behind", *SMALL, "--on", SALE, "--pause", "1h") as recorder, Shop(folder_of(0, "held-up")) as shop:
        shop.ask("noise 1")
        looked_at()
        looker = [pid for pid, _ in flight.watchers(recorder.pid) if open("/proc/%d/comm" % pid).read() == "holdup-logged\n"]
        if not tap.ok(len(looker) == 1, "behind: one process looks", flight.watchers(recorder.pid)):
            return
        os.kill(looker[0], 19)
        try:
            shop.ask("sale 200")
            late_ns = shop.ask("sale 400")[1]
        finally:
            os.kill(looker[0], 18)
        rows = explained(recorder.dir, 1)
        told_ns, is_open = told(rows, shop.pid)
        tap.ok(is_open is False and abs(told_ns - late_ns) < 0.02 * late_ns, "behind: how late it was is told by its events", rows, late_ns)
        found = rows and re.search(r"\(%d\): ([0-9.]+) (ms|s) of ([0-9.]+) (ms|s): sleeping until a timer" % shop.pid, rows[0]["verdict"])
        tap.ok(found and float(found.group(1)) * UNITS[found.group(2)] > 0.9 * late_ns, "behind: what the thread did between the two is explained", rows)


def check_overwritten(tap):
    """A program that is faster than the looks: what was not seen is counted, and the rest is looked at."""
    with Recorder(tap, "storm", *SMALL, "--on", ORDERED, "--on", SALE, "--pause", "10ms") as recorder:
        with Shop(folder_of(0, "fast"), size="256K") as shop:
            shop.ask("order")
            tap.ok(await_that(lambda: fired()[0] == 1), "storm: it is looked at", status())
            shop.ask("open") # its end would be lost
            shop.ask("storm 3000")
            tap.ok(await_that(lambda: status()["logged"]["lost_packets"]), "storm: packets that were overwritten are counted", status())
            lost = status()["logged"]["lost_packets"]
            before = fired()[0]
            shop.ask("order")
            tap.ok(await_that(lambda: fired()[0] == before + 1), "storm: later events are seen", status())
            text = kernel.holdup("flight", "status").stdout
            tap.ok("of them could not be seen whole" in text, "storm: status says how many", text)
            report = status()
            kernel.note("storm: %d packets not seen, %.1f %% of a CPU for the recorder and its looks" % (lost, 100 * report["cpu_ns"] / report["age_ns"]))
        explained(recorder.dir, 1)


def ran_ns(pids):
    """By the kernel's count; 0 where it does not count."""
    times = []
    for pid in pids:
        with open("/proc/%d/schedstat" % pid) as file:
            times.append(int(file.read().split()[0]))
    return sum(times)


def check_budget(tap):
    """With a budget the looks take half of it at most, and are rarer for it."""
    percent, seconds = 0.4, 5
    options = (*SMALL, "--on", ORDERED, "--on", SALE, "--pause", "1h", "--budget", str(percent))
    with Shop(folder_of(0, "costly"), size="256K") as shop:
        shop.ask("order")
        with Recorder(tap, "budget", *options) as recorder:
            tap.ok(looked_at(), "budget: a program that was there is found", status())
            pids = [pid for pid, _ in flight.watchers(recorder.pid) if open("/proc/%d/comm" % pid).read().startswith("holdup-logged")]
            begin, before = time.monotonic(), ran_ns(pids)
            shop.ask("storm %d" % (1000 * seconds))
            share = (ran_ns(pids) - before) / (time.monotonic() - begin) / kernel.S / os.cpu_count() * 100
            every_ns = status()["logged"]["look_ns"]
            shop.ask("order")
            tap.ok(await_that(lambda: fired()[0]), "budget: what is logged then fires all the same", status())
            cost = status()
            tap.ok(cost["cost_ns"] > cost["events_cpu_ns"] + cost["bpf_cpu_ns"] + ran_ns(pids) - before, "budget: looks count as a cost", cost)
    if not before:
        tap.skipped("budget: half of it is for looks", "the kernel does not count CPU time of threads")
        return
    kernel.note("budget: looks took %.3f %% of all CPUs, one in %.0f ms" % (share, every_ns / kernel.MS))
    tap.ok(share < 1.3 * percent / 2, "budget: half of it is for looks", share)


def spoil(path, luck):
    """Somebody means ill with a file of its own."""
    size = os.path.getsize(path)
    with contextlib.suppress(OSError), open(path, "r+b") as file:
        if os.path.basename(path) == "metadata":
            text = file.read(4 << 20) # it grows each time
            file.seek(0)
            file.write(luck.choice((text.replace(b"uint64_t", b"string  "), text + b"event {\n\tid = 9; name = \"shop:ordered\"; fields := struct { ",
                                    text.replace(b"size = 16", b"size = 64"), bytes(luck.randrange(256) for _ in range(4000)),
                                    (text * 40)[:4 << 20], b"", text + b"/* " + b"x" * (2 << 20))))
            return
        for at in range(0, min(max(size, PACKET), 16 * PACKET), PACKET):
            file.seek(at + luck.randrange(4, 140))
            file.write(bytes(luck.randrange(256) for _ in range(luck.choice((1, 8, 64)))))
        if luck.random() < 0.1:
            file.truncate(luck.choice((0, 1, PACKET + 17, 1 << 40)))


def check_hostile(tap):
    """Buffers of a user who means ill: another program is looked at as before, and the processes stay."""
    luck = random.Random(4711)
    folder = folder_of(NOBODY, "ill")
    with Recorder(tap, "hostile", *SMALL, "--on", ORDERED, "--on", SALE, "--pause", "1s") as recorder, Shop(folder_of(0, "good")) as good:
        good.ask("noise 1")
        looked_at()
        pids = [pid for pid, _ in flight.watchers(recorder.pid)]
        for turn in range(12):
            with Shop(folder, *AS_NOBODY) as ill:
                ill.ask("order")
                looked_at(2) if turn < 4 else None
                for step in range(10):
                    if ill.process.poll() is not None: # its own files were cut
                        break
                    ill.ask("noise 3000")
                    for path in ill.files():
                        if luck.random() < 0.5:
                            spoil(path, luck)
                    for n in range(200 if step == 5 else 0):
                        name = os.path.join(os.path.dirname(ill.files()[0]), "cpu%d-%06d" % (luck.randrange(70000), n))
                        with contextlib.suppress(OSError), open(name, "xb") as file:
                            file.truncate(luck.choice((0, 3 * PACKET, 1 << 40)))
                            os.chown(name, NOBODY, NOBODY)
                    time.sleep(0.05)
                ill.process.kill()
        with Shop(folder, *AS_NOBODY) as ill:
            ill.ask("order")
            trace = os.path.dirname(ill.files()[0])
            os.remove(os.path.join(trace, "metadata"))
            os.symlink("/etc/shadow", os.path.join(trace, "metadata"))
            os.mkfifo(os.path.join(trace, "cpu7-000001"))
            time.sleep(0.3)
            ill.process.kill()
        time.sleep(1)
        before = fired()[0]
        good.ask("order")
        tap.ok(await_that(lambda: fired()[0] > before), "hostile: another program is looked at as before", status())
        left = [pid for pid in pids if os.path.exists("/proc/%d" % pid)]
        tap.ok(left == pids and not any("is off" in row["text"] for row in status()["messages"]), "hostile: the one who looks stays", pids, left, status())
        rows, report = listed(recorder.dir), status()
        tap.ok(len(rows) <= report["age_ns"] / kernel.S + 1, "hostile: no more snapshots than the pause allows", len(rows), report["age_ns"])
        kernel.note("hostile: %s" % report["logged"])
        explained(recorder.dir, len(rows))


def check_again(tap):
    """Who looks is killed: that is told, it is started again, and what programs log then fires."""
    with Recorder(tap, "again", *SMALL, "--on", ORDERED, "--pause", "1ms") as recorder, Shop(folder_of(0, "shop-again")) as shop:
        shop.ask("order")
        looked_at()
        looker = next(pid for pid, _ in flight.watchers(recorder.pid) if open("/proc/%d/comm" % pid).read() == "holdup-logged\n")
        os.kill(looker, 9)
        off = await_that(lambda: not status()["triggers"][0]["works"])
        tap.ok(off and any("is off: the process that looks for it was ended by signal 9; the next one in 1 s" in one["text"] for one in status()["messages"]),
               "again: its end is told", status())
        tap.ok(await_that(lambda: status()["triggers"][0]["works"]) and looked_at(), "again: another one looks", status())
        before = fired()[0]
        shop.ask("order")
        tap.ok(await_that(lambda: fired()[0] == before + 1), "again: what is logged then fires", fired(), before)


def check_end(tap):
    """All of it ends with the recorder, also when that is killed."""
    with Recorder(tap, "end", *SMALL, "--on", ORDERED) as recorder, Shop(folder_of(0, "last")) as shop:
        shop.ask("order")
        looked_at()
        pids = [pid for pid, _ in flight.watchers(recorder.pid)]
        names = {open("/proc/%d/comm" % pid).read().strip(): pid for pid in pids}
        reader = names.get("holdup-logged-r")
        tap.ok("holdup-logged" in names and reader, "end: one looks, another one reads", names)
        if reader:
            with open("/proc/%d/status" % reader) as file:
                rights = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            tap.ok(rights["Uid"].split() == [str(NOBODY)] * 4 and int(rights["CapPrm"], 16) == int(rights["CapEff"], 16) == 0,
                   "end: who reads has no rights", rights["Uid"], rights["CapPrm"])
            tap.ok(rights["Seccomp"] == "2" or "sanitize" in os.environ.get("HOLDUP_BUILD", ""), "end: nor calls of the system", rights["Seccomp"])
        recorder.kill()
        ours = [names["holdup-logged"], reader]
        tap.ok(await_that(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in ours)), "end: they end with a recorder that is killed", names)


def main():
    kernel.need("setpriv", "unshare")
    if kernel.holdup("flight", "status").returncode == 0:
        kernel.skip("a flight recorder runs already")
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"):
        try:
            for check in (check_event, check_ended, check_namespace, check_late, check_pair, check_behind, check_overwritten, check_budget, check_hostile, check_again, check_end):
                check(tap)
        finally:
            kernel.holdup("flight", "stop")
    tap.end()


if __name__ == "__main__":
    main()
