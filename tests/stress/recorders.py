#!/usr/bin/env python3
"""Many recorders at once: started, stopped and killed at random; two in one directory.

RECORDERS=N sets how many are started, KILLS=N how many are killed and their traces
explained. Built for the thread sanitizer, the recorder and the reader check themselves: a
race ends them with a status of its own.
"""
import contextlib
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "kernel", "lib"))
import kernel  # noqa: E402

RECORDERS = int(os.environ.get("RECORDERS", "48"))
AT_ONCE = 6
KILLS = int(os.environ.get("KILLS", "40"))
KILLED_AT_ONCE = 4
PAIRS = 8
COULD_NOT = 3
LONG = "i=0; while [ $i -lt 400 ]; do i=$((i + 1)); sleep 0.005; done"


def mine(pid):
    return glob.glob(kernel.TRACEFS + "/instances/holdup-%d-*" % pid)


def all_gone(pids, limit_s=30):
    """The instances of these recorders that stay, however long one waits."""
    end = time.monotonic() + limit_s
    left = pids
    while left and time.monotonic() < end:
        left = [pid for pid in left if mine(pid)]
        time.sleep(0.02)
    return left


def begin(stack, folder, *args):
    """Start a recorder with its output in a file beside its folder."""
    said = stack.enter_context(open(folder + ".said", "w"))
    return stack.enter_context(kernel.running(
        kernel.HOLDUP, "record", "-o", folder, *args, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=said))


def said_by(folder):
    with open(folder + ".said", errors="replace") as file:
        return file.read()


def manifest(folder):
    with contextlib.suppress(FileNotFoundError):
        with open(folder + "/trace.json") as file:
            return json.load(file)
    return {"complete": False, "cpus": []}


def file_sizes_are_right(folder):
    return all(os.path.getsize("%s/kernel/cpu%d.ring" % (folder, cpu["cpu"])) == cpu["bytes"]
               for cpu in manifest(folder)["cpus"])


def await_begin(folder):
    """Wait until it records."""
    end = time.monotonic() + 60
    while not manifest(folder).get("begin_ns") and time.monotonic() < end:
        time.sleep(0.01)


# How a recorder ends: its arguments, the signal that it is sent, whether its trace is whole.
WAYS = [
    (["--", "true"], None, True),
    (["--", "sh", "-c", "sleep 0.1; exit 5"], None, True),
    (["-d", "0.2"], None, True),
    (["-d", "30"], signal.SIGINT, True),
    (["-d", "30"], signal.SIGTERM, True),
    (["-e", "core", "--", "sleep", "30"], signal.SIGTERM, True),
    (["--", "sleep", "30"], signal.SIGKILL, False),
]


def check_many(tap, rng):
    """A recorder among many, from before the first to after the last, is not disturbed."""
    pids, bad = [], []
    with contextlib.ExitStack() as outer:
        bystander = begin(outer, "bystander", "-b", "4M", "-e", "core", "-d", "600")
        for first in range(0, RECORDERS, AT_ONCE):
            with contextlib.ExitStack() as stack:
                batch = []
                for number in range(first, first + AT_ONCE):
                    way = rng.choice(WAYS)
                    size = rng.choice(["256K", "1M", "2M"])
                    batch.append((way, "many-%d" % number,
                                  begin(stack, "many-%d" % number, "-b", size, *way[0])))
                bad += end_batch(batch, rng)
                pids += [process.pid for _, _, process in batch]
        tap.ok(not bad, "%d recorders, %d at a time, end as they should" % (len(pids), AT_ONCE),
               "\n".join(bad))
        left = all_gone(pids)
        tap.ok(not left, "none of them leaves an instance", left)
        tap.ok(mine(bystander.pid), "another one's is still there")
        bystander.send_signal(signal.SIGTERM)
        tap.ok(bystander.wait() == 0 and manifest("bystander")["complete"],
               "and it has a whole trace", said_by("bystander"))
    tap.ok(not all_gone([bystander.pid]), "its instance is gone, too")


def end_batch(batch, rng):
    """End what does not end by itself. Returns what is wrong, in words."""
    bad = []
    for (_, sig, _), folder, process in batch:
        if sig:  # before it is ready it is no test of how it ends
            await_begin(folder)
        time.sleep(rng.random() * 0.1)
        if sig:
            process.send_signal(sig)
    for (args, sig, whole), folder, process in batch:
        status = process.wait()
        good = manifest(folder)["complete"] == whole and (not whole or file_sizes_are_right(folder))
        expected = {"exit 5": 5}.get(args[-1][-6:], 0)
        if sig == signal.SIGKILL:
            expected = -signal.SIGKILL
        elif sig and "--" in args:
            expected = 128 + sig  # of the command, which has got it
        if not good or status != expected:
            bad.append("%s %s, signal %s: status %d, not %d; %s\n%s" % (
                folder, args, sig, status, expected, manifest(folder)["cpus"], said_by(folder)))
    return bad


def check_same_directory(tap, rng):
    """Of two in one directory at the same time, one records and the other says so and ends."""
    bad, both = [], 0
    for number in range(PAIRS):
        folder = "same-%d" % number
        with contextlib.ExitStack() as stack:
            pair = []
            for name in ("a", "b"):
                said = stack.enter_context(open(folder + name, "w"))
                pair.append(stack.enter_context(kernel.running(
                    kernel.HOLDUP, "record", "-o", folder, "-e", "core", "--", "sleep", "0.4",
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)))
                time.sleep(rng.random() * 0.05)
            status = sorted(process.wait() for process in pair)
        both += status == [0, 0]  # one after the other, on a slow machine
        report, done = kernel.why(folder)
        if (status not in ([0, COULD_NOT], [0, 0]) or not manifest(folder)["complete"]
                or not file_sizes_are_right(folder) or not report or kernel.bad_sums(report)):
            bad.append("%s: %s; %s%s%s" % (folder, status, open(folder + "a").read(),
                                           open(folder + "b").read(), done.stderr))
    tap.ok(not bad, "two recorders in one directory: one of them records", "\n".join(bad))
    kernel.note("%d of %d pairs were not at the same time" % (both, PAIRS))


def check_killed(tap, rng):
    """Killed at random moments, several at once; what is left is explained or refused."""
    pids, bad, outcomes = [], [], {}
    for first in range(0, KILLS, KILLED_AT_ONCE):
        folders = ["killed-%d" % number for number in range(first, first + KILLED_AT_ONCE)]
        with contextlib.ExitStack() as stack:
            batch = [begin(stack, folder, "-b", "1M", "--", "sh", "-c", LONG) for folder in folders]
            for folder, process in zip(folders, batch):
                if rng.random() < 0.6:  # else while it prepares itself, as a rule
                    await_begin(folder)
                time.sleep(rng.random() * 0.5)
                process.kill()
            for process in batch:
                process.wait()
            pids += [process.pid for process in batch]
        for folder in folders:
            outcome = explain(folder, bad)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            subprocess.run(["rm", "-rf", folder], check=True)
    kernel.note("outcomes: %s" % outcomes)
    tap.ok(outcomes.get("partial", 0) > 0, "some were killed in the middle", outcomes)
    tap.ok(not bad, "%d killed recorders: each trace is explained or refused" % len(pids),
           "\n".join(bad))
    left = all_gone(pids)
    tap.ok(not left, "none of them leaves an instance", left)


def explain(folder, bad):
    """What became of a trace, in a word."""
    if not os.path.exists(folder):
        return "nothing"
    report, done = kernel.why(folder)
    if done.returncode == COULD_NOT and kernel.clear_error(done):
        return "refused"
    if done.returncode != 0 or not report or kernel.bad_sums(report):
        bad.append("%s: status %d, %s%s" % (folder, done.returncode, done.stderr,
                                            report and kernel.bad_sums(report)))
        return "bad"
    return "whole" if report["complete"] else "partial"


def main():
    kernel.need()
    tap = kernel.Tap()
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    kernel.note("SEED=%d" % seed)
    rng = random.Random(seed)
    check_many(tap, rng)
    check_same_directory(tap, rng)
    check_killed(tap, rng)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
