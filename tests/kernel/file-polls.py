#!/usr/bin/env python3
"""Polls of files, pipes and semaphores that somebody changes in each way there is: who did is held up for, as inferred, and nobody else.

One recording of file-changes, whose pairs poll and change at once; folders that are listed have their own. What is written through a mapping, or into another
process's memory, leaves no call about the file: there the doer is inferred from what it did then.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

PROGRAM = os.path.join(kernel.PROGRAMS, "file-changes")
BY = {"opens-empty": "openat", "replaces": "rename", "symlink": "rename", "io_uring": "io_uring_enter", "mapping": "woke up",
      "shared-memory": "woke up", "fionread": "ioctl() found nothing new until it called write()",
      "semctl": "semctl() found nothing new until it called sem",
      "next-poll": "called write() after poll() had timed out, and the next poll() found something at once",
      "next-select": "called write() after pselect6() had timed out, and the next pselect6() found something at once"}
HELD_NS = 300 * kernel.MS
# A folder that is listed until a name is made there, or gone.
LISTS = """import os, sys, time
os.mkdir("names")
open("names/old", "w").close()
doer = os.fork()
if not doer:
    time.sleep(0.6)
    os.unlink("names/old") if sys.argv[1] == "unlink" else open("names/new", "w").close()
    time.sleep(0.1)
    os._exit(0)
while len(os.listdir("names")) == 1:
    time.sleep(0.02)
print(doer)
os.waitpid(doer, 0)
"""


def check_pair(tap, way, asker, doer):
    report, done = kernel.why("--tid", asker, "--unfold", "polls.holdup")
    if not tap.ok(report is not None, way + ": a report", done.stderr):
        return
    told = [(wait["end_ns"] - wait["start_ns"], (wait.get("answerer") or {}).get("tid"), wait["inferred"])
            for wait in report["causality"] if wait.get("inferred")]
    if not doer:
        tap.ok(not told, way + ": nobody is told", told)
        return
    tap.ok(sum(row[0] for row in told) > HELD_NS and all(row[1] == doer for row in told),
           way + ": the sleeps are for who changed it, as inferred", doer, told, kernel.show_roots(report))
    words = BY.get(way, way)
    tap.ok(all(words in row[2] for row in told), way + ": and how it did is told", words, told)


def check_list(tap, how):
    with open("lists.py", "w", encoding="ascii") as file:
        file.write(LISTS)
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", sys.executable, "lists.py",
                              how)
    told = [wait for wait in (report or {}).get("causality", []) if wait.get("inferred")]
    words = "of %s found nothing new until it called %s()" % (os.path.abspath("names"), how)
    tap.ok(sum(wait["end_ns"] - wait["start_ns"] for wait in told) > HELD_NS
           and all(wait["answerer"]["tid"] == int(done.stdout) and words in wait["inferred"] for wait in told),
           "a folder that is listed: the sleeps are for who called %s(), as inferred" % how, done.stdout, done.stderr,
           words, [(wait["inferred"], wait.get("answerer")) for wait in told], kernel.show_roots(report or {}))
    for name in os.listdir("names"):
        os.unlink("names/" + name)
    os.rmdir("names")


# It looks at a flag that 'setter' sets in the middle of a sleep, and works on behind that; or it goes on by itself.
WORKS_ON = """import os, sys, threading, time
began, flag = [0], []
def work(until):
    while not until():
        sum(range(1000))
def setter():
    print(threading.get_native_id(), flush=True)
    end = time.monotonic() + 1
    work(lambda: flag if sys.argv[1] == "stopped" else
         time.monotonic() > end and 0.05 < time.monotonic() - began[0] < 0.1)
    flag.append(1)
    end = time.monotonic() + 0.5
    work(lambda: time.monotonic() > end)
threading.Thread(target=setter, daemon=True).start()
for i in range(8 if sys.argv[1] == "stopped" else 100):
    if flag:
        break
    began[0] = time.monotonic()
    time.sleep(0.2)
flag.append(1)
time.sleep(0.3)
os._exit(0)
"""


def check_works_on(tap, how):
    """Its samples tell that it works in other code than before: no call does, and it does not end."""
    with open("works.py", "w", encoding="ascii") as file:
        file.write(WORKS_ON)
    report, done = kernel.why("--unfold", "--sample", "all", "--", sys.executable, "works.py", how)
    told = [wait for wait in (report or {}).get("causality", []) if wait.get("inferred")]
    setter = int(done.stdout or 0)
    if how == "stopped":
        tap.ok(report and not told, "a thread that works on because the sleeper goes on set nothing", told, done.stderr)
        return
    tap.ok(sum(wait["end_ns"] - wait["start_ns"] for wait in told) > HELD_NS
           and all(wait["answerer"]["tid"] == setter and wait["inferred_data"].get("did") == "moved_on" for wait in told),
           "a flag: the sleeps are for who set it and works on in other code, as inferred", setter, told, done.stderr)


def main():
    kernel.need()
    tap = kernel.Tap()
    os.mkdir("files")
    done = holdup("record", "--stack-min", "off", "--sample", "off", "-o", "polls.holdup", "--", PROGRAM, "files")
    pairs = [line.split() for line in done.stdout.splitlines() if len(line.split()) == 3]
    tap.ok(len(pairs) >= 20, "all pairs were recorded", done.stdout, done.stderr)
    for way, asker, doer in pairs:
        check_pair(tap, way, int(asker), int(doer))
    for how in ("openat", "unlink"):
        check_list(tap, how)
    if sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 14): # their frames are known
        for how in ("sets", "stopped"):
            check_works_on(tap, how)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
