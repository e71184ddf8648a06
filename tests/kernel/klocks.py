#!/usr/bin/env python3
"""Kernel locks of several kinds: what each is, and who had it, also when the wait began before the recording."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

PROGRAM = os.path.join(kernel.PROGRAMS, "lock-kinds")
KINDS = {"position": "file position lock (f_pos_lock) of ", "pipe": "pipe lock (pipe->mutex) of pipe:",
         "seq": "read lock (seq_file) of /proc/", "unix": "read lock of a unix socket (iolock)",
         "epoll": "epoll lock (ep->mtx)"}


def check_kinds(tap):
    report, done = kernel.why("--", PROGRAM, "all")
    if done.returncode == 77:
        kernel.skip("userfaultfd is not allowed here")
    if not tap.ok(report and not kernel.bad_sums(report), "a recording of all kinds", done.stderr):
        return
    owners = dict(line.split() for line in done.stdout.splitlines() if line.split()[0] in KINDS)
    waits = [wait for wait in report["causality"] if wait.get("holder")]
    for kind, name in KINDS.items():
        mine = [wait for wait in waits if wait["object"].startswith(name)]
        tap.ok(mine and {wait["holder"]["tid"] for wait in mine} == {int(owners.get(kind, 0))},
               "%s: which lock, and who had it" % kind, owners, json.dumps(waits, indent=1))
        tap.ok(any(wait["end_ns"] - wait["start_ns"] > 40 * kernel.MS for wait in mine),
               "%s: for how long" % kind, mine)


def check_before(tap, kind, waiter, owner):
    holdup("record", "-d", "0.5", "-o", kind + ".holdup")
    report, done = kernel.why("--tid", waiter, kind + ".holdup")
    hop = report["chain"][0] if report else {}
    tap.ok(hop and hop["object"].startswith(KINDS[kind]) and hop.get("holder", {}).get("tid") == owner
           and hop.get("expects", {}).get("tid") == owner,
           "%s: a wait that began before the recording has its lock and owner" % kind, hop, done.stderr)


def main():
    kernel.need()
    if not os.path.isdir(kernel.TRACEFS + "/events/lock/contention_begin"):
        kernel.skip("this kernel does not tell of its locks")
    tap = kernel.Tap()
    check_kinds(tap)
    # A mutex is looked for in the file that the call is about.
    with kernel.running(PROGRAM, "position", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        _, owner = process.stdout.readline().split()
        time.sleep(0.3)
        check_before(tap, "position", process.pid, int(owner))
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
