#!/usr/bin/env python3
"""A program that scribbles on its own buffers harms nobody else, and no reader."""
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

ROUNDS = 4 * probe.LONG


def scribble(pid, seed):
    """Random bytes in the files that the process has mapped. Returns how many."""
    random.seed(seed)
    with open("/proc/%d/maps" % pid) as file:
        maps = [line for line in file if re.search(r"/cpu\d+-", line)]
    count = 0
    for line in maps:
        path, start, end = line.split()[-1], *(int(word, 16) for word in line.split()[0].split("-"))
        try:
            with open(path, "r+b", buffering=0) as file:
                for _ in range(random.randrange(1, 30)):
                    # Headers are hit as often as contents.
                    packet = random.randrange((end - start) >> 17) << 17
                    file.seek(packet + random.choice([random.randrange(112),
                                                      random.randrange(1 << 17)]))
                    count += file.write(os.urandom(random.randrange(1, 9)))
        except OSError:
            pass
    return count


def one(tap, method, seed):
    names = ["victim%d" % seed, "other%d" % seed]
    args = [probe.program("probe-load"), "-c", "-n"]
    folders = [os.path.abspath(method + name) for name in names]
    victim_env, other_env = (probe.environment(method, "stream", folder) for folder in folders)
    with kernel.running(*args, str(1 << 40), env=victim_env) as victim, \
            kernel.running(*args, "50000", "-f", folders[1] + ".c", env=other_env,
                           stdout=-1) as other:
        time.sleep(0.02)
        count = scribble(victim.pid, seed)
        other.communicate(timeout=60)
        victim.kill()
    good, numbers, said = probe.check(folders[1] + ".c", probe.trace_in(folders[1]))
    tap.ok(good and other.returncode == 0, "%s, %d: the other program has its %d events"
           % (method, seed, numbers.get("events", 0)), other.returncode, said)
    trace = probe.trace_in(folders[0])
    for command in (["list", "--count-by", "event"], ["check-trace"]):
        done = kernel.holdup(*command, trace, timeout=60)
        tap.ok(done.returncode in (0, 1, 3) and (done.returncode == 0 or done.stderr or done.stdout),
               "%s, %d: holdup %s, %d bytes scribbled" % (method, seed, command[0], count),
               done.returncode, done.stderr[-300:])


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            for seed in range(ROUNDS // 2):
                one(tap, method, seed)
    tap.end()


main()
