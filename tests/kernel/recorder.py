#!/usr/bin/env python3
"""The recorder leaves nothing behind, counts what it writes, and passes on how its command ended.

It is killed alone, with its group and with its watchdog; it runs several times at
once; its disk fills up; it gets signals. The ring files are walked here, page by page,
and compared with the kernel's counts.
"""
import contextlib
import glob
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

COPY = "dd if=/dev/zero of=/dev/null bs=64 count=%d 2>/dev/null"
LITTLE = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do sleep 0.2; done"  # fetched in parts
KILLS = int(os.environ.get("KILLS", "12"))


def mine(pid):
    return glob.glob(kernel.TRACEFS + "/instances/holdup-%d-*" % pid)


def gone(pid, limit_s=20):
    """Wait until the instances of a recorder are removed."""
    end = time.monotonic() + limit_s
    while mine(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not mine(pid)


def until(what, limit_s=20):
    end = time.monotonic() + limit_s
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    return what()


def start(folder, *args, stderr=subprocess.DEVNULL, **more):
    return kernel.running(kernel.HOLDUP, "record", "-o", folder, *args, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=stderr, **more)


def manifest(folder):
    with open(folder + "/trace.json") as file:
        return json.load(file)


def page_events(page):
    """The number of data records in one sub-buffer."""
    left = struct.unpack_from("=Q", page, 8)[0] & 0xfffff
    at, end, count = 16, 16 + left, 0
    while at < end:
        header = struct.unpack_from("=I", page, at)[0]
        kind, delta = header & 31, header >> 5
        if kind == 29 and delta == 0:
            break
        if kind in (30, 31):
            at += 8
        elif kind in (0, 29):
            at += 4 + struct.unpack_from("=I", page, at + 4)[0]
            count += kind == 0
        else:
            at += 4 + 4 * kind
            count += 1
    return count


def miscounted(folder):
    """CPUs whose file does not hold what the kernel says, in words."""
    trace = manifest(folder)
    size, bad = trace["page_bytes"], []
    for cpu in trace["cpus"]:
        with open("%s/kernel/cpu%d.ring" % (folder, cpu["cpu"]), "rb") as file:
            data = file.read()
        events = sum(page_events(data[at:at + size]) for at in range(0, len(data), size))
        if events != cpu["events"] or len(data) != cpu["bytes"] or len(data) % size:
            bad.append("cpu%d holds %d events in %d bytes, the manifest says %s"
                       % (cpu["cpu"], events, len(data), cpu))
    return "\n".join(bad)


def check_counts(tap):
    for name, args in (("default", ["-e", "full"]), ("tiny buffer", ["-b", "256K"]),
                       ("core", ["-e", "core"]), ("little, for long", ["-e", "core"])):
        folder = "count-" + name.replace(", ", "-").replace(" ", "-")
        load = LITTLE if "little" in name else COPY % 100000
        done = kernel.holdup("record", "-o", folder, *args, "--", "sh", "-c", load)
        tap.ok(done.returncode == 0, name + ": recorded", done.stderr)
        tap.ok(not miscounted(folder), name + ": files hold what the kernel counted",
               miscounted(folder))


def check_kills(tap):
    random.seed(int(os.environ.get("SEED", "1")))
    for number in range(KILLS):
        folder, delay = "kill-%d" % number, random.random() * 0.8
        group = number % 2 == 1
        with start(folder, "--", "sh", "-c", COPY % 200000) as process:
            time.sleep(delay)
            (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
            process.wait()
            tap.ok(gone(process.pid), "killed %s after %d ms: the instance is removed"
                   % ("with its group" if group else "alone", delay * 1000))
        if os.path.exists(folder + "/trace.json"):
            size = manifest(folder)["page_bytes"]
            sizes = [os.path.getsize(path) % size
                     for path in glob.glob(folder + "/kernel/*.ring")]
            tap.ok(not any(sizes), "its files end with whole sub-buffers", sizes)
            tap.ok(os.path.getsize(folder + "/kernel/sync") > 0, "it has a clock")


def check_stale(tap):
    with start("stale") as dead:
        until(lambda: mine(dead.pid) and os.path.exists("stale/kernel/cpu0.ring"))
        with open("/proc/%d/task/%d/children" % (dead.pid, dead.pid)) as file:
            watchdogs = file.read().split()
        for pid in watchdogs:
            os.kill(int(pid), signal.SIGKILL)
        dead.kill()
        dead.wait()
        stale = mine(dead.pid)
        with start("alive", "-d", "100") as alive:
            until(lambda: mine(alive.pid))
            # Another recorder or a busy machine may have been faster.
            tap.ok(gone(dead.pid), "an instance without a watchdog is removed at the next start",
                   stale)
            kernel.holdup("record", "-o", "other", "--", "true")
            tap.ok(mine(alive.pid), "a living recorder keeps its instance")
            alive.send_signal(signal.SIGINT)
            tap.ok(alive.wait() == 0, "and ends well")


def check_several(tap):
    with contextlib.ExitStack() as stack:
        all_ = [stack.enter_context(start("several-%d" % i, "-b", "2M", "--", "sleep", "0.5"))
                for i in range(4)]
        tap.ok(all(process.wait() == 0 for process in all_), "four recorders at once")
        tap.ok(not any(mine(process.pid) for process in all_), "leave nothing behind")
    for i in range(4):
        tap.ok(not miscounted("several-%d" % i), "and each counts right",
               miscounted("several-%d" % i))


def check_disk(tap):
    os.mkdir("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", "small"],
                      stderr=subprocess.DEVNULL).returncode:
        tap.skipped("full disk", "cannot mount a tmpfs")
        return
    try:
        done = kernel.holdup("record", "-o", "small/trace", "-b", "2M", "--", "sh", "-c",
                             COPY % 1000000 + "; exit 3")
        trace = manifest("small/trace")
        tap.ok(trace["complete"] and trace["target_status"] == 3 << 8,
               "full disk: the trace is closed, the command awaited", done.stderr)
        tap.ok("disk was full" in json.dumps(trace["missing"]), "and says so", trace["missing"])
        tap.ok(all(cpu["bytes"] % trace["page_bytes"] == 0 for cpu in trace["cpus"]),
               "files end with whole sub-buffers", trace["cpus"])
        tap.ok(trace["begin_ns"] < trace["end_ns"] < trace["target_end_ns"],
               "it ends where the first file ends", trace["end_ns"])
    finally:
        subprocess.run(["umount", "small"], check=True)


def check_signals(tap):
    script = 'exec 2>/dev/null; trap "exit 9" %s; : >%s; sleep 30 & wait; '
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        name = sig.name[3:]
        signal.signal(sig, signal.SIG_DFL)  # a shell cannot trap what was ignored before it began
        with start("signal-" + name, "--", "sh", "-c", script % (name, name)) as process:
            until(lambda name=name: os.path.exists(name))
            process.send_signal(sig)
            tap.ok(process.wait() == 9, name + " is forwarded, the exit status passed on",
                   process.returncode)
            trace = manifest("signal-" + name)
            tap.ok(trace["complete"] and not mine(process.pid), "and the trace is whole")


def check_waiting(tap):
    """The time is over, the command hangs: that is said, and one signal ends the waiting."""
    for name, trap, status in (("obeys", "exit 9", 9), ("hangs", ":", 0)):
        script = 'exec 2>/dev/null; trap "%s" INT; echo $$ >%s; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done' % (trap, name)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with start("waits-" + name, "-d", "0.5", "--", "sh", "-c", script, stderr=subprocess.PIPE, text=True) as process:
            said = process.stderr.readline()
            with open(name) as file:
                pid = int(file.read())
            tap.ok("the command still runs: process %d;" % pid in said, "a command that %s: it is said that it is awaited" % name, said)
            process.send_signal(signal.SIGINT)
            more = process.stderr.read()
            tap.ok(process.wait() == status and manifest("waits-" + name)["complete"],
                   "and one signal ends that, with a whole trace", process.returncode, more)
            tap.ok(os.path.exists("/proc/%d" % pid) == (name == "hangs"), "the command is not ended by force")
            if name == "hangs":
                os.kill(pid, signal.SIGKILL)


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir():
        check_counts(tap)
        check_kills(tap)
        check_stale(tap)
        check_several(tap)
        check_disk(tap)
        check_signals(tap)
        check_waiting(tap)
    tap.end()


main()
