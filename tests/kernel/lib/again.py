#!/usr/bin/env python3
"""Run a kernel test; when it fails, run it again, up to three times in all.

These tests hold times against a machine that others use too: a hypervisor that takes
a CPU away in the wrong moment fails any of them. What is wrong with the program fails
every time. A failed attempt is told as a comment, the last one counts.

usage: again.py SCRIPT ARGS...
"""
import subprocess
import sys

ATTEMPTS = 3
SKIPPED = 77


def main():
    for attempt in range(1, ATTEMPTS + 1):
        done = subprocess.run([sys.executable] + sys.argv[1:], stdout=subprocess.PIPE,
                              text=True, errors="replace", check=False)
        good = done.returncode in (0, SKIPPED) and not any(
            line.startswith("not ok") for line in done.stdout.split("\n"))
        if good or attempt == ATTEMPTS:
            sys.stdout.write(done.stdout)
            return done.returncode
        print("# attempt %d failed, exit status %d:" % (attempt, done.returncode))
        bad = False
        for line in done.stdout.split("\n"):
            bad = line.startswith("not ok") or (bad and line.startswith("#"))
            if bad:
                print("# " + line)
        sys.stdout.flush()
    return 1


if __name__ == "__main__":
    sys.exit(main())
