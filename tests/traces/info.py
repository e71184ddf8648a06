#!/usr/bin/env python3
"""What holdup info says of other people's traces, and what is in cuts of them.

The traces and the expected answers are those of ctf.py: none was computed by holdup. info must
tell the events by type, the events lost, the span, and what is damaged. Windows of the real traces
are cut out: as CTF that holdup wrote they must list as the windows of the traces do, and where
babeltrace2 is installed, it must read as many events of each name from the cut.
"""
import collections
import json
import os
import re
import subprocess
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
from ctf import kernel  # noqa: E402


def info(trace):
    status, out, message = ctf.run("info", "--json", trace)
    return status, json.loads(out) if out else {}, message


def by_name(types):
    """Types as their tracer named them."""
    return {ctf.name_of(title): count for title, count in types.items()}


# ------------------------------------------------------------------ info

def check_real(test, into):
    counts = collections.defaultdict(dict)
    for row in ctf.rows("01-ctf-real", "expected-event-counts.csv"):
        counts[row["trace"]][row["event"]] = int(row["count"])
    for row in ctf.rows("01-ctf-real", "expected-summary.csv"):
        name, lost = row["trace"], int(row["discarded_events"] or 0)
        status, told, message = info(os.path.join(into, name))
        test.check(name + ": whole, or not", status == (1 if lost else 0), status, message)
        test.check(name + ": events by type", by_name(told["events_by_type"]) == counts[name],
                   by_name(told["events_by_type"]), counts[name])
        test.check(name + ": events, and events lost",
                   (told["events"], told["lost_events"]) == (int(row["events"]), lost),
                   told["events"], told["lost_events"])
        test.check(name + ": types", len(told["events_by_type"]) == int(row["event_types"]),
                   len(told["events_by_type"]))
        span = [told["first_ns"], told["last_ns"]]
        want = [int(row[which].replace(".", "")) for which in ("first_s", "last_s")]
        test.check(name + ": first and last event",
                   [ns + told["realtime_offset_ns"] for ns in span] == want, span, want)
        test.check(name + ": streams hold all events",
                   sum(one["events"] for one in told["streams"]) == told["events"] and
                   sum(one["lost_events"] for one in told["streams"]) == lost, told["streams"])


def check_odd(test, into):
    work = os.path.join(into, "work")
    os.mkdir(work)
    for row in ctf.rows("02-ctf-conformance", "expected.csv"):
        if row["case"] in ctf.PARTS:
            continue
        trace = ctf.case_folder(into, row["case"], work)
        status, told, message = info(trace)
        refused = status == 3 or bool(told.get("damage"))
        test.check(row["case"] + ": verdict", refused == ctf.must_refuse(row),
                   "%s, but got %s %s" % (row["verdict"], status, message), told.get("damage"))
        if row["verdict"] != "pass" or not told:
            continue
        if row["events"]:
            test.check(row["case"] + ": events", told["events"] == int(row["events"]),
                       "%d, not %s" % (told["events"], row["events"]))
        if row["discarded_events"]:
            lost = told["lost_events"] - told["holes_of_unknown_size"]
            test.check(row["case"] + ": events lost", lost == int(row["discarded_events"]),
                       "%d, not %s" % (lost, row["discarded_events"]))
        if row["discarded_packets"] not in ("", "0"):
            test.check(row["case"] + ": packets lost", told["lost_packets"] > 0, "none")


# ------------------------------------------------------------------ cut

def listed(trace, *options):
    status, out, _ = ctf.run("list", "--json", *options, trace)
    events = [json.loads(line) for line in out.decode(errors="replace").splitlines()]
    for event in events:
        del event["place"]
    return status, events


def names_of_babeltrace(trace):
    """Events of each name. The state dump is ours."""
    out = subprocess.run(["babeltrace2", "--no-delta", trace], capture_output=True,
                         check=False).stdout.decode(errors="replace")
    names = collections.Counter()
    for line in out.split("\n"):
        match = re.match(r"\[[\d:.]+\] (?:\S+ )?(.+?): \{ cpu_id = ", line)
        if match and not match[1].startswith("holdup_"):
            names[match[1]] += 1
    return names


def check_cut(test, trace, into, share):
    """From one share of the time to the other."""
    told = info(trace)[1]
    span = told["window"]["end_ns"] - told["window"]["start_ns"]
    start, end = (int(span * part) for part in share)
    what = "%s, %d %% to %d %%" % (os.path.basename(trace), *(100 * part for part in share))
    status, out, message = ctf.run("cut", "-o", into, "--from", "+%dns" % start, "--to",
                                   "+%dns" % end, trace)
    if not test.check(what + ": is cut", status == 0, message):
        return
    ours = listed(trace, "--from", "+%dns" % start, "--to", "+%dns" % (end - 1))
    for event in ours[1]:
        if event["event"] == ctf.LOST:  # of a hole, the cut has what is in the window
            fields = event["fields"]
            fields["since_ns"] = max(fields["since_ns"], told["window"]["start_ns"] + start)
    theirs = listed(into)
    wrong = next(("%s, not %s" % (b, a) for a, b in zip(ours[1], theirs[1]) if a != b), "")
    test.check(what + ": the events are those of the window", ours == theirs,
               "%d, not %d" % (len(theirs[1]), len(ours[1])), wrong)
    status, out, message = ctf.run("check-trace", into)
    lost = any(event["event"] == ctf.LOST for event in ours[1])
    test.check(what + ": all that must hold of it holds", status == (1 if lost else 0) and
               b"does not hold" not in out, out.decode(), message)
    if shutil.which("babeltrace2"):
        want = collections.Counter(event["event"].split(":", 1)[1] for event in ours[1]
                                   if not event["event"].startswith("holdup:"))
        got = collections.Counter()
        for name, count in names_of_babeltrace(into).items():
            got[name] += count
        test.check(what + ": babeltrace2 reads the same names", got == want, got, want)
    shutil.rmtree(into)


def check_programs_alone(test, into):
    """LTTng-UST without the kernel's trace: nothing tells when a thread ran."""
    trace = os.path.join(into, "ust_sort-ust", "ust", "uid", "0", "64-bit")
    archive = os.path.join(ctf.TRACES, "14-kernel-plus-ust/ust_sort.ust-ctf.tar.zst")
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", into], check=True)
    _, out, _ = ctf.run("info", trace)
    test.check("no state dump is told of where there is none",
               out and b"state dump" not in out, out)
    tid = listed(trace)[1][0]["tid"]
    status, out, message = ctf.run("why", "--tid", str(tid), trace)
    test.check("why says that programs alone do not tell when threads ran",
               (status, out) == (3, b"") and "has no sched:sched_switch" in message, out, message)


def main():
    if not os.path.isdir(os.path.join(ctf.TRACES, "01-ctf-real")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 01-ctf-real")
    test = ctf.Test()
    with tempfile.TemporaryDirectory() as into:
        os.environ["XDG_CACHE_HOME"] = ctf.ENV["XDG_CACHE_HOME"] = os.path.join(into, "cache")
        ctf.unpack("01-ctf-real", into)
        ctf.unpack("02-ctf-conformance", into)
        check_real(test, into)
        check_odd(test, into)
        check_programs_alone(test, into)
        for row in ctf.rows("01-ctf-real", "expected-summary.csv"):
            for share in ((0, 0.3), (0.3, 0.6), (0.6, 1)):
                check_cut(test, os.path.join(into, row["trace"]), os.path.join(into, "cut"), share)
    test.end()


if __name__ == "__main__":
    main()
