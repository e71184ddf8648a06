#!/usr/bin/env python3
"""Traces of another kernel, by four tracers: counts, lost events, texts, and who waited for whom.

The folder is that of ctf.py; its vm/ has workloads which wrote down themselves when they waited, in
what, and for whom (groundtruth.txt), the numbers of events of each type (counts.tsv), and pages of
ftrace's ring buffer with the kernel's own text of them. Such pages are read as our own recordings
are. holdup why must name the root that the workload knows, with the time that the workload
measured. Skipped when the folder is not there.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
import trace_dat  # noqa: E402
from ctf import kernel  # noqa: E402

LOST = {"tbench-lttng-lost": 92830}
# perf's own records are no events of the counts; nor is what its pages have besides.
PERF_OWN = re.compile(r"(perf|holdup):(?!cpu-clock)")
SYMBOL = re.compile(r"\b(function|ip)[= ]\S+")
PLACES = {"CTF kernel": "trace", "perf.data": "perf.data", "trace.dat": "trace.dat"}


def told(*words):
    status, out, message = ctf.run(*words)
    return status, json.loads(out) if out else {}, message


def expected_counts():
    found, kinds = collections.defaultdict(collections.Counter), {}
    with open(os.path.join(ctf.TRACES, "vm", "counts.tsv")) as file:
        for line in list(file)[1:]:
            trace, kind, event, count = line.rstrip("\n").split("\t")
            found[trace][event] += int(count)
            kinds[trace] = kind
    return found, kinds


# ------------------------------------------------------------------ pages of the ring buffer

def put_formats(events, out):
    header = os.path.join(events, "header_page")
    paths = [(header, "header_page")] if os.path.exists(header) else []
    paths += [(path, "/".join(path.split("/")[-3:-1]))
              for path in sorted(glob.glob(os.path.join(events, "*/*/format")))]
    for path, name in paths:
        with open(path, "rb") as file:
            text = file.read()
        out.write(b"=== %s %d\n" % (name.encode(), len(text)) + text + b"\n")


def as_recording(folder, into, events):
    """A trace directory around pages, as holdup record would have written it."""
    os.makedirs(os.path.join(into, "kernel"))
    cpus = []
    for path in sorted(glob.glob(os.path.join(folder, "cpu*.raw"))):
        cpu = int(re.search(r"cpu(\d+)\.raw$", path)[1])
        os.link(path, os.path.join(into, "kernel/cpu%d.ring" % cpu))
        cpus.append({"cpu": cpu, "events": 0, "lost": 0, "dropped": 0,
                     "bytes": os.path.getsize(path)})
    with open(os.path.join(into, "kernel/formats"), "wb") as out:
        put_formats(events, out)
    with open(os.path.join(into, "kernel/sync"), "w") as out:
        out.write("0 0 0\n")
    with open(os.path.join(into, "kernel/dump.jsonl"), "w") as out:
        out.write("")
    names = ["/".join(path.split("/")[-3:-1]).replace("/", ":")
             for path in glob.glob(os.path.join(events, "*/*/format"))]
    with open(os.path.join(into, "trace.json"), "w") as out:
        json.dump({"version": 1, "complete": True, "kernel": "6.1.0", "arch": "x86_64",
                   "clock": "mono", "page_bytes": 4096, "long_bytes": 8, "begin_ns": 0,
                   "end_ns": 0, "has_syscalls": True, "cpus": cpus, "events": names}, out)
    return into


def open_trace(name, kind):
    """The path of the trace of an unpacked archive."""
    if kind != "ftrace pages":
        return os.path.join(name, PLACES[kind])
    return as_recording(name, name + ".holdup", os.path.join(name, "events"))


# ------------------------------------------------------------------ counts and texts

def counted(types, kind):
    found = collections.Counter()
    for title, count in types.items():
        if kind == "perf.data":
            if not PERF_OWN.match(title):
                found[title.removeprefix("perf:")] += count
        elif not title.startswith("holdup:"):
            found[ctf.name_of(title) if kind == "CTF kernel" else title.split(":", 1)[1]] += count
    return found


def plain(counts, kind):
    """Of perf, a title has no slash; and its name may have modes behind it."""
    if kind != "perf.data":
        return counts
    return collections.Counter({re.sub(r"/", "_", name): n for name, n in counts.items()})


def check_counts(test, name, kind, trace, want):
    status, info, message = told("info", "--json", trace)
    lost = LOST.get(name, 0)
    test.check(name + ": opens, whole or not", status == (1 if lost else 0), status, message,
               info.get("damage"))
    got, want = counted(info["events_by_type"], kind), plain(want, kind)
    test.check("%s: events of each of %d types" % (name, len(want)), got == want,
               "ours %s" % list((got - want).items())[:5],
               "not %s" % list((want - got).items())[:5])
    test.check(name + ": events lost", info["lost_events"] == lost, info["lost_events"])


def check_kernel_text(test, name, trace):
    """Every line of ref.txt, but for names of threads, which the pages do not have."""
    path = os.path.join(name, "ref.txt")
    if not os.path.exists(path):
        return
    _, events, _ = trace_dat.listed(trace)
    # Without the kernel's symbols a function is a number.
    theirs = [(*event[:4], SYMBOL.sub("at=0x000000000", event[4]))
              for event in trace_dat.of_kernel(path)]
    ours = [event._replace(text=SYMBOL.sub("at=0x000000000", event.text))
            for event in events]
    # The kernel has the function that wrote a text where others have the name of the event.
    ours = [event._replace(name="tracing_mark_write", text=event.text.split(": ", 1)[1])
            if event.name == "print" else event for event in ours]
    wrong, first = trace_dat.compare(ours, theirs, True)
    test.check(name + ": the kernel's own text of the pages", not wrong,
               "%d differ" % wrong, first)


def check_raw(test):
    """Pages and the trace.dat made of them are the same events."""
    into = "13-recorded"
    subprocess.run(["tar", "--zstd", "-xf", os.path.join(ctf.TRACES, into,
                                                         "pipe.raw-pages.tar.zst")], check=True)
    ours = trace_dat.listed(as_recording("pipe-raw", "pipe.holdup", "pipe-raw/formats"))
    theirs = trace_dat.listed(trace_dat.unpack(os.path.join(ctf.TRACES, into,
                                                            "pipe.trace.dat.zst"), "."))
    wrong = [pair for pair in zip(ours[1], theirs[1]) if plain_event(pair[0]) != plain_event(pair[1])]
    test.check("pipe: pages are the events of its trace.dat", not wrong and
               len(ours[1]) == len(theirs[1]) > 1000, len(ours[1]), len(theirs[1]), wrong[:2])


def plain_event(event):
    return event._replace(text=SYMBOL.sub("at", event.text))


def check_pages(test):
    """Each page alone; one is bad, and one comes after lost events."""
    subprocess.run(["tar", "--zstd", "-xf", os.path.join(ctf.TRACES, "10-ftrace-raw-pages",
                                                         "ftrace-pages.tar.zst")], check=True)
    for row in ctf.rows("10-ftrace-raw-pages", "pages.expected.csv"):
        page = os.path.join("ftrace-pages", row["page"])
        if not os.path.exists(page):
            continue
        name = row["page"].removesuffix(".page")
        os.mkdir(name)
        with open(page, "rb") as file, open(name + "/cpu0.raw", "wb") as out:
            out.write(file.read().ljust(4096, b"\0"))
        trace = as_recording(name, name + ".holdup",
                             "ftrace-pages/formats/%s/events" % row["format_set"])
        if row["events"] == "error":
            status, out, _ = ctf.run("check-trace", trace)
            test.check(name + ": told, with its place",
                       status == 1 and b"cpu0.ring page 0: what follows an event is no event" in out,
                       status, out)
            continue
        _, events, message = trace_dat.listed(trace)
        lost = [event for event in events if event.name == trace_dat.LOST]
        events = [event for event in events if event.name != trace_dat.LOST]
        test.check(name + ": events", len(events) == int(row["events"]), len(events), message)
        test.check(name + ": lost before it, or not", bool(lost) == (row["lost_events_flag"] == "1"),
                   lost, message)
        # "pid 30693 at 615436.216806 "Hello, world!\n", 615486.377232 ...
        for at, text in re.findall(r'(\d+\.\d{6}) "([^"]*)"', row["expected"]):
            found = [event for event in events if round(event.ns / 1000) ==
                     int(at.replace(".", "")) or event.ns // 1000 == int(at.replace(".", ""))]
            test.check("%s: at %s: %s" % (name, at, text), len(found) == 1 and
                       text.removesuffix("\\n") in found[0].text, events)


# ------------------------------------------------------------------ ground truth

def ground_truth(name):
    """[{mono, until, tid, comm, what, key: value}], by the programs themselves."""
    found = []
    with open(os.path.join(name, "groundtruth.txt")) as file:
        for line in file:
            if line.startswith("GT "):
                words = line.split()[1:]
                one = dict(word.split("=", 1) for word in words if "=" in word)
                one["what"] = [word for word in words if "=" not in word][0]
                found.append({key: int(value) if value.isdigit() else value
                              for key, value in one.items()})
    return found


def why(trace, tid):
    return told("why", "--json", "--tid", str(tid), trace)[1]


def root_ns(report, kind, tids=None):
    return sum(row["ns"] for row in report["verdict"] if row["kind"] == kind and
               (tids is None or (row["who"] or {}).get("tid") in tids))


def near(ours, theirs, share):
    return abs(ours - theirs) <= share * theirs


def length(rows):
    return sum(row["until"] - row["mono"] for row in rows)


def check_sleepchain(test, name, trace, truth, share):
    """sc-parent waits for sc-mid, which waits for sc-leaf, which sleeps and works in turn."""
    by_comm = {row["comm"]: row["tid"] for row in truth}
    leaf, mid, parent = (by_comm[comm] for comm in ("sc-leaf", "sc-mid", "sc-parent"))
    slept = length(row for row in truth if row["what"] == "slept")
    for comm, tid in (("sc-parent", parent), ("sc-mid", mid), ("sc-leaf", leaf)):
        report = why(trace, tid)
        timer = root_ns(report, "timer", {leaf})
        test.check("%s: %s is held up by sc-leaf's timer as long as that slept" % (name, comm),
                   near(timer, slept, share), timer, slept)
    blocked = length(row for row in truth if row["tid"] == parent and row["what"] == "blocked")
    ours = why(trace, parent)["wib"]["blocked_ns"]
    test.check(name + ": sc-parent was blocked as long as it says", near(ours, blocked, share), ours,
               blocked)
    others = root_ns(why(trace, parent), "other_thread", {leaf, mid})
    test.check(name + ": the rest of it is work of sc-leaf and sc-mid",
               near(slept + others, blocked, 2 * share), slept + others, blocked)


def check_disk(test, name, trace, truth, share):
    """
    Three readers, one after the other: by pread, by page faults, and one that a consumer waits for.
    A read takes longer than its wait: also the bytes are copied.
    """
    waits = collections.defaultdict(list)
    for row in truth:
        if row["what"] == "blocked":
            waits[row["tid"], row["comm"]].append(row)
    for (tid, comm), rows in sorted(waits.items()):
        report = why(trace, tid)
        disk, blocked, told_ns = root_ns(report, "disk"), report["wib"]["blocked_ns"], length(rows)
        what = "%s: %s %d" % (name, comm, tid)
        test.check(what + " was blocked no longer than it says, and most of that",
                   0.8 * told_ns < blocked < (1 + share) * told_ns, blocked, told_ns)
        if comm == "dr-reader":
            test.check(what + " was held up by the disk", near(disk, blocked, share), disk, blocked)
        else:
            # And meanwhile dr-reader works.
            reader = root_ns(report, "other_thread", {row["on"] for row in rows})
            test.check(what + " was held up by the disk, through dr-reader",
                       disk > blocked / 2 and disk + reader > 0.8 * blocked, disk, reader, blocked)
    test.check(name + ": there are three readers and a consumer", collections.Counter(
        comm for _, comm in waits) == {"dr-reader": 3, "dr-consumer": 1}, waits.keys())


def check_truth(test, name, kind, trace):
    truth = ground_truth(name)
    share = 0.03 if "1cpu" in name else 0.15
    if name.startswith("pipeline"):
        check_sleepchain(test, name, trace, truth, share)
    elif name.startswith("diskread"):
        check_disk(test, name, trace, truth, share)


# ------------------------------------------------------------------ all of it

def main():
    if not os.path.isdir(os.path.join(ctf.TRACES, "vm")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with vm")
    test = ctf.Test()
    counts, kinds = expected_counts()
    with kernel.workdir("/var/tmp"):
        os.environ["XDG_CACHE_HOME"] = ctf.ENV["XDG_CACHE_HOME"] = os.path.join(os.getcwd(), "cache")
        trace_dat.ENV["XDG_CACHE_HOME"] = ctf.ENV["XDG_CACHE_HOME"]
        check_pages(test)
        check_raw(test)
        for archive in sorted(glob.glob(os.path.join(ctf.TRACES, "vm", "*.tar.zst"))):
            subprocess.run(["tar", "--zstd", "-xf", archive], check=True)
        for name, want in sorted(counts.items()):
            trace = open_trace(name, kinds[name])
            check_counts(test, name, kinds[name], trace, want)
            if kinds[name] == "ftrace pages":
                check_kernel_text(test, name, trace)
            check_truth(test, name, kinds[name], trace)
    test.end()


if __name__ == "__main__":
    main()
