#!/usr/bin/env python3
"""Known points: what a table says of a program's points is told where the program waits and works.

examples/known-points waits for a mutex three times, twice between two points of its own, while its
holder computes between two others; examples/known-points.app says what they mean.
"""
import json
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

PROGRAM = os.path.join(kernel.EXAMPLES, "known-points")
TABLE = os.path.join(kernel.ROOT, "examples", "known-points.app")
SEVEN = "waits for order seven; SQL: UPDATE orders SET paid = 1 [31m WHERE id = 7"


def told_of(report, tid):
    """The known words of the waits of one thread, by depth first."""
    def walk(waits):
        for wait in waits:
            if wait["who"]["tid"] == tid and wait["in"] == "futex":
                yield wait.get("told"), wait["end_ns"] - wait["start_ns"]
            yield from walk(wait.get("children", []))
    return list(walk(report["causality"]))


def check_told(tap):
    report, done = kernel.why("--app", TABLE, "-o", "known.holdup", "--", PROGRAM)
    if not tap.ok(report is not None, "why --app of a table of one's own", done.stderr):
        return
    truth = json.loads(done.stdout)
    tap.ok(not kernel.bad_sums(report), "sums are exact", kernel.bad_sums(report))
    long = [(words, ns) for words, ns in told_of(report, report["target"]["tid"])
            if ns > 20 * kernel.MS]
    tap.ok([words for words, _ in long] == [SEVEN, "waits for another order, 8", None],
           "each wait has the words of its points, one without points has none", long)
    own = [root for root in report["verdict"] if root["who"] and
           root["who"]["tid"] == truth["holder"] and root["kind"] in ("lock", "other_thread")]
    tap.ok(own and all(root.get("told") == "job report of March" for root in own
                       if root["ns"] > kernel.MS), "who has the lock says what it does", own)
    tap.near(sum(root.get("told_ns", 0) for root in own), sum(root["ns"] for root in own),
             "for as long as it worked", share=0.1, floor=2 * kernel.MS)
    tap.ok(report["chain"][0].get("told") in (SEVEN, "waits for another order, 8"),
           "and so does the chain", report["chain"])
    with open("known.holdup/trace.json") as file:
        kept = json.load(file)["apps"]
    tap.ok("event probe:known_wait if order=7" in kept and "round" not in
           re.findall("^begin (\\w+)", kept, re.M) and "no_such" not in kept,
           "the trace has what was found of the table", kept)


def check_text(tap):
    done = holdup("why", "known.holdup")
    text = " ".join(done.stdout.split())
    tap.ok("the program reports: waits for order seven; SQL: UPDATE orders SET paid = 1 [31m WHERE" in text
           or "the program reports: waits for another order, 8" in text, "the text has it", done.stdout)
    tap.ok("the program reports: job report of March" in text, "on both sides", done.stdout)
    tap.ok("\x1b" not in done.stdout, "and no control character of the program", done.stdout)
    holdup("cut", "--from", "+0s", "--to", "+10s", "-o", "cut.holdup", "known.holdup")
    cut = holdup("why", "cut.holdup")
    tap.ok("the program reports: job report of March" in " ".join(cut.stdout.split()),
           "a cut keeps what the points mean", cut.stdout, cut.stderr)


def check_costly(tap):
    done = holdup("record", "--app", TABLE + ",costly", "-o", "costly.holdup", "--", PROGRAM)
    usdt = json.loads(done.stdout)["usdt"]
    listed = holdup("list", "--filter", "event == \"holdup_known:job\"", "costly.holdup").stdout
    tap.ok((len([line for line in listed.splitlines() if "number=" in line]) == 3) == bool(usdt),
           "costly points are there when they are asked for", listed)


def check_auto(tap):
    report, done = kernel.why("--app", "auto", "--", PROGRAM)
    tap.ok(report and not [root for root in report["verdict"] if root.get("told")] and
           not [words for words, _ in told_of(report, report["target"]["tid"]) if words],
           "a program that is not in the table says nothing", done.stderr)
    plain, done = kernel.why("--", PROGRAM)
    tap.ok(plain and not told_of(plain, plain["target"]["tid"])[0][0],
           "nor does one that nobody asked for", done.stderr)


def check_wrong(tap):
    with open("bad.app", "w") as file:
        file.write("app shop known-points\nspan lock wait\nbegin lock func known_wait\n")
    for words, said in ((("bad.app",), "bad.app:3: write: POINT"), (("gone.app",), "gone.app"),
                        (("nosuch",), "'nosuch'"), (("auto,nosuch",), "'nosuch'"),
                        (("/dev/zero",), "not a regular file"), (("./",), "not a regular file")):
        done = holdup("record", "-o", "wrong.holdup", "--app", *words, "--", "true")
        tap.ok(done.returncode == 3 and said in done.stderr and kernel.clear_error(done) and
               not os.path.exists("wrong.holdup"), "--app %s is refused" % words, done.stderr)


def check_pid(tap):
    """A process that runs, under a name with a blank, found by what it executes."""
    os.mkdir("a folder")
    shutil.copy(PROGRAM, "a folder/known-points")
    with kernel.running("./a folder/known-points", "--scale", "100") as process:
        time.sleep(0.3)
        found = holdup("doctor", "--app", TABLE)
        report, done = kernel.why("--pid", process.pid, "--app", TABLE, timeout=60)
    rows = [line for line in found.stdout.splitlines() if "known-points" in line]
    tap.ok(sum("of lock" in row and "there" in row for row in rows) == 2 and
           sum("not there" in row for row in rows) == 2, "doctor says which points are there",
           found.stdout, found.stderr)
    tap.ok(report and not kernel.bad_sums(report) if report and not report["process"] else
           report is not None, "why --pid with a table", done.stderr)


def main():
    kernel.need()
    if not os.path.exists(kernel.TRACEFS + "/uprobe_events"):
        kernel.skip("this kernel has no uprobes")
    tap = kernel.Tap()
    check_told(tap)
    check_text(tap)
    check_costly(tap)
    check_auto(tap)
    check_wrong(tap)
    check_pid(tap)
    with open(kernel.TRACEFS + "/uprobe_events") as file:
        left = [pid for pid in re.findall(r"holdup_(\d+)", file.read())
                if not os.path.exists("/proc/" + pid)]
    tap.ok(not left, "no point stays", left)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
