#!/usr/bin/env python3
"""why with --locks: a lock with a known holder and known hold times names that holder as its owner."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

TABLE = os.path.join(kernel.EXAMPLES, "lock-table")


def convoy_waits(report, owner):
    """The target's own waits of which the program told that this thread owned the lock."""
    return [wait for wait in report["causality"] if wait.get("lock", "").startswith("mutex")
            and any((row["who"] or {}).get("tid") == owner for row in wait["owners"])]


def check_sums(tap, report):
    tap.ok(sum(root["ns"] for root in report["verdict"]) == kernel.window_ns(report),
           "the verdict adds up to the window")
    tap.ok(all(sum(row["ns"] for row in wait["owners"]) == wait["end_ns"] - wait["start_ns"]
               for wait in report["causality"] if wait.get("owners")),
           "owners add up to their wait")


def check_waiter(tap, truth):
    owner = truth["owner"]
    asker = owner + 1  # the two threads are made one after the other
    report, done = kernel.why("--tid", asker, "locks.holdup")
    if not tap.ok(report is not None, "why of the waiter", done.stderr):
        return
    check_sums(tap, report)
    hop = report["chain"][0]
    tap.ok((hop.get("owner") or {}).get("tid") == owner and "convoy_mutex" in hop["lock"]
           and hop["lock_from"] == "lock events", "the chain names lock and owner", hop)
    owned = sum(row["ns"] for wait in convoy_waits(report, owner) for row in wait["owners"]
                if (row["who"] or {}).get("tid") == owner)
    tap.near(owned, truth["contended_hold_ns"], "owned while it waited", share=0.05,
             floor=2 * kernel.MS)
    # Who took the owner's CPU away is charged for that time.
    charged = sum(root["ns"] for root in report["verdict"]
                  if owner in ((root[key] or {}).get("tid") for key in ("who", "kept_off")))
    tap.near(charged, owned, "and charged to the owner", share=0.05, floor=2 * kernel.MS)


def without(tap):
    """No lock events: nothing of it in the report."""
    holdup("record", "-o", "plain.holdup", "--", TABLE)
    report, done = kernel.why("plain.holdup")
    tap.ok(report and not any("lock" in row for row in report["chain"] + report["causality"]),
           "without lock events nothing is told of owners", done.stderr)


def in_one_go(tap):
    report, done = kernel.why("--locks", "-o", "why.holdup", "--", TABLE)
    truth = json.loads(done.stdout or "{}").get("convoy_mutex", {"owner": 0})
    waiter, later = kernel.why("--tid", truth["owner"] + 1, "why.holdup")
    tap.ok(report and waiter and convoy_waits(waiter, truth["owner"]),
           "why --locks records and explains", done.stderr, later.stderr)


def disk_behind_lock(tap):
    """Who has the lock waits for a disk: the lock and its owner are told, and the disk is charged."""
    program = os.path.join(kernel.EXAMPLES, "lock-then-disk")
    report, done = kernel.why("--locks", "-o", "disk.holdup", "--", program)
    lines = [line for line in done.stdout.splitlines() if '"example"' in line]
    truth = json.loads(lines[0]) if lines else {}
    if truth.get("note"):
        tap.skipped("an owner that waits for a disk", truth["note"])
        return
    if not tap.ok(report and truth, "why of an owner that waits for a disk", done.stderr[-500:]):
        return
    owner = truth["root"]["tid"]
    tap.ok(convoy_waits(report, owner), "it is told as the owner", report["chain"])
    charged = sum(root["ns"] for root in report["verdict"] if root["kind"] == "disk"
                  and (root["who"] or {}).get("tid") == owner)
    tap.near(charged, truth["root"]["ns"], "and the disk is charged", share=0.1,
             floor=5 * kernel.MS)


def under_sudo(tap):
    """The command runs as somebody who may not write to the trace."""
    if os.geteuid() != 0:
        tap.skipped("record --locks under sudo", "not root")
        return
    os.chmod(".", 0o755)
    done = holdup("record", "--locks", "-o", "sudo.holdup", "--", TABLE,
                  env=dict(os.environ, SUDO_UID="65534", SUDO_GID="65534"))
    listed = holdup("list", "--count-by", "event", "sudo.holdup")
    tap.ok(done.returncode == 0 and "lock:acquired" in listed.stdout, "record --locks under sudo",
           done.stderr[-500:], listed.stderr[-500:])


def main():
    kernel.need()
    if not os.access(TABLE, os.X_OK):
        kernel.skip("no example at " + TABLE)
    tap = kernel.Tap()
    with kernel.workdir():
        done = holdup("record", "--locks", "-o", "locks.holdup", "--", TABLE)
        if tap.ok(done.returncode == 0 and done.stdout, "record --locks", done.stderr):
            check_waiter(tap, json.loads(done.stdout)["convoy_mutex"])
            done = holdup("check-trace", "locks.holdup")
            tap.ok(done.returncode == 0, "check-trace with owners of locks", done.stdout[-800:],
                   done.stderr[-300:])
        in_one_go(tap)
        disk_behind_lock(tap)
        under_sudo(tap)
        without(tap)
    tap.end()


if __name__ == "__main__":
    main()
