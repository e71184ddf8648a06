#!/usr/bin/env python3
"""A program that scribbles on its own buffers, and on the page by which it is switched, harms nobody
else, and no reader."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

ROUNDS = 4 * probe.LONG


def survives(tap, name, *command):
    done = kernel.holdup(*command, timeout=60)
    tap.ok(done.returncode in (0, 1, 3) and (done.returncode == 0 or done.stderr or done.stdout),
           name, done.returncode, done.stderr[-300:])


def one(tap, method, mode, seed):
    name = "%s, %s, %d" % (method, mode, seed)
    folders = [os.path.abspath("%s%s%s%d" % (method, mode, what, seed))
               for what in ("victim", "other")]
    args = [probe.program("probe-load"), "-c", "-n"]
    victim_env = probe.environment(method, mode, folders[0], HOLDUP_SIZE="1M")
    other_env = probe.environment(method, "stream", folders[1])
    with kernel.running(*args, str(1 << 40), env=victim_env) as victim, \
            kernel.running(*args, "50000", "-f", folders[1] + ".c", env=other_env,
                           stdout=-1) as other:
        while not os.path.isdir(folders[0]) and victim.poll() is None:
            time.sleep(0.001)
        time.sleep(0.02)
        count = probe.scribble(victim.pid, seed, r"/cpu\d+-")
        if seed % 2:
            count += probe.scribble(victim.pid, seed, r"\.control")
        done = kernel.holdup("user", "list", "--json")
        tap.ok(done.returncode == 0 and "processes" in json.loads(done.stdout),
               name + ": user list", done.returncode, done.stderr[-300:])
        survives(tap, name + ": user on", "user", "on", victim.pid, "load:plain")
        survives(tap, name + ": recover while it lives", "recover", "-o", folders[0] + ".r",
                 victim.pid)
        other.communicate(timeout=60)
        victim.kill()
    good, numbers, said = probe.check(folders[1] + ".c", probe.trace_in(folders[1]))
    tap.ok(good and other.returncode == 0, "%s: the other program has its %d events"
           % (name, numbers.get("events", 0)), other.returncode, said)
    trace = os.path.join(folders[0], sorted(os.listdir(folders[0]))[-1])
    for command in (["list", "--count-by", "event", trace], ["check-trace", trace],
                    ["recover", "-o", folders[0] + ".r2", folders[0]], ["user", "list"]):
        survives(tap, "%s: holdup %s, %d bytes scribbled" % (name, command[0], count), *command)


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            for mode in ("stream", "flight"):
                for seed in range(ROUNDS // 2):
                    one(tap, method, mode, seed)
    tap.end()


main()
