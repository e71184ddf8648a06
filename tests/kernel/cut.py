#!/usr/bin/env python3
"""cut of a recording with locks and events of programs: both are in the cut, in the same order.

And of one with kernel locks, whose waits the recorder tells of, too: why says the same of a window and of its cut.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402


def out_of(*words):
    return holdup(*words).stdout


def listed(trace, *options):
    events = [json.loads(line) for line in out_of("list", "--json", *options, trace).splitlines()]
    for event in events:
        del event["place"]
    return events


def why(*words):
    """What it says, with stacks themselves instead of their numbers: a cut has its own, of those that it needs."""
    report = json.loads(out_of("why", "--json", *words) or "{}")
    stacks = report.pop("stacks", {})

    def resolved(value):
        if isinstance(value, list):
            return [resolved(one) for one in value]
        if isinstance(value, dict):
            return {key: stacks.get(str(one)) if key == "stack" else resolved(one) for key, one in value.items()}
        return value
    return resolved(report)


def near(ours, theirs):
    """The same, times to 100 ns and 10 ppm: holdup locks reads what programs logged by itself, with
    the nominal frequency of their counter; the recording has measured it.
    """
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(near(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(near(*pair) for pair in zip(ours, theirs))
    if isinstance(ours, int) and isinstance(theirs, int):
        return abs(ours - theirs) <= 100 + ours // 100_000
    return ours == theirs


def check_window(tap, trace, what, start, end):
    info = json.loads(out_of("info", "--json", trace))
    span = info["window"]["end_ns"] - info["window"]["start_ns"]
    # Names may be told before the first event of the kernel.
    window = ["--from", "+%dns" % (span * start // 100)] if start else []
    # A cut ends before its end; a list at its end.
    options = ["--to", "+%dns" % (span * end // 100)] if end < 100 else []
    same = ["--to", "+%dns" % (span * end // 100 - 1)] if end < 100 else []
    into = "%s-%d.cut" % (trace, start)
    done = holdup("cut", "-o", into, *window, *options, trace)
    if not tap.ok(done.returncode == 0, what + " is cut", done.stderr):
        return None
    ours, theirs = listed(trace, *window, *same), listed(into)
    wrong = next(("%s, not %s" % (b, a) for a, b in zip(ours, theirs) if a != b), "")
    tap.ok(ours == theirs, what + ": the events are those of the window",
           "%d, not %d" % (len(theirs), len(ours)), wrong)
    done = holdup("check-trace", into)
    tap.ok(done.returncode == 0, what + ": all that must hold holds", done.stdout)
    return into


def check_recording(tap, what, program, *options):
    trace = what + ".holdup"
    done = holdup("record", *options, "-o", trace, "--", os.path.join(kernel.EXAMPLES, program))
    info = json.loads(out_of("info", "--json", trace))
    tap.ok(any(one["kind"] == "user" and one["events"] for one in info["streams"]),
           what + ": the program logged events", done.stderr)
    if not tap.ok(info["lost_events"] == 0, what + ": nothing was lost", info["lost_events"]):
        return
    check_window(tap, trace, what + ", the middle", 30, 70)
    check_window(tap, trace, what + ", the end", 60, 100)
    whole = check_window(tap, trace, what + ", all", 0, 100)
    if whole:
        tap.ok(why(trace) == why(whole),
               what + ": why of the whole is the same")
        ours, theirs = out_of("locks", "--json", trace), out_of("locks", "--json", whole)
        tap.ok(ours and near(json.loads(ours), json.loads(theirs)),
               what + ": and so are its locks", ours[:2000], theirs[:2000])


def check_kernel_locks(tap):
    """What why says of the middle of a recording with kernel locks is what it says of its cut."""
    done = holdup("record", "-o", "kernel.holdup", "--", os.path.join(kernel.PROGRAMS, "lock-kinds"), "all")
    if done.returncode or json.loads(out_of("info", "--json", "kernel.holdup"))["lost_events"]:
        tap.skipped("kernel locks", "nothing was recorded, or events were lost")
        return
    window = json.loads(out_of("info", "--json", "kernel.holdup"))["window"]
    span = window["end_ns"] - window["start_ns"]
    first, end = span // 5, span * 7 // 10
    holdup("cut", "-o", "kernel.cut", "--from", "+%dns" % first, "--to", "+%dns" % end, "kernel.holdup")
    # Repairs are counted of a recording as a whole.
    ours, theirs = ({key: value for key, value in
                     why("--from", "+%dns" % (first - start), "--to", "+%dns" % (end - 1 - start), trace).items() if key != "repairs"}
                    for start, trace in ((0, "kernel.holdup"), (first, "kernel.cut")))
    tap.ok(ours and ours == theirs, "kernel locks, the middle: why says the same",
           *("%s: %s, not %s" % (key, theirs.get(key), ours[key]) for key in ours if ours[key] != theirs.get(key)))


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"):
        check_recording(tap, "locks", "lock-table", "--locks")
        check_recording(tap, "requests", "user-requests")
        check_kernel_locks(tap)
    tap.end()


if __name__ == "__main__":
    main()
