#!/usr/bin/env python3
"""export.py - what holdup export writes, held against what other commands say of the same trace.

usage: export.py        prints TAP; the program is $HOLDUP

See ../kernel/lib/exported.py. Here with the recordings of tests/data: whole, in a window, for some
threads, with hostile names, and where it cannot be written.
"""
import collections
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import exported  # noqa: E402
import kernel  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../data")
FORMATS = ("perfetto", "chrome", "folded", "csv", "jsonl")
HOSTILE = b'a",;\n\xff\\{\t\x1b\xc3 9'  # as long as "convoy-holder"
SAFE = 'a",;\\n\\xff\\{\\t\\x1b\\xc3 9'  # as a table for people has it


def unpack(name, into="."):
    with tarfile.open(os.path.join(DATA, name + ".tar.gz")) as archive:
        archive.extractall(into)
    return os.path.join(into, name + ".holdup")


def limited():
    """The disk is full after 16 KiB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))


def export(*args, **options):
    return subprocess.run([kernel.HOLDUP, "export", *args], capture_output=True, check=False,
                          timeout=60, **options)


def check_choice(tap, trace):
    """A choice of threads is the whole export without the lines of others."""
    whole = exported.lines_of("export", "--format", "jsonl", "--what", "waits", trace)
    tgid = collections.Counter(line["who"]["tgid"] for line in whole).most_common(1)[0][0]
    comm = whole[0]["who"]["comm"]
    tid = whole[-1]["who"]["tid"]
    for option, value, key in (("--pid", tgid, "tgid"), ("--tid", tid, "tid"),
                               ("--comm", comm, "comm")):
        ours = exported.lines_of("export", "--format", "jsonl", "--what", "waits", option, str(value),
                                 trace)
        tap.ok(ours == [line for line in whole if line["who"][key] == value] and ours,
               "%s leaves out all other threads' waits" % option)
    chosen = exported.Perfetto(exported.run("export", "--format", "perfetto", "--tid", str(tid),
                                            trace))
    all_ = exported.Perfetto(exported.run("export", "--format", "perfetto", trace))
    tap.ok({chosen.tid_of(mark) for mark in chosen.marks if mark.lane == "waits"} == {tid} and
           chosen.switches == all_.switches and chosen.counters == all_.counters,
           "perfetto of one thread has its waits, and all turns and counters")


def check_window(tap, trace):
    exported.check(tap, "a window", trace, ["--from", "+50ms", "--to", "+150ms"])


def check_hostile(tap):
    """The name in the kernel's pages is replaced, so all readers, tables and formats get it."""
    os.mkdir("hostile")
    trace = unpack("futex-convoy", "hostile")
    count = 0
    for name in os.listdir(trace + "/kernel"):
        with open("%s/kernel/%s" % (trace, name), "rb+") as file:
            data = file.read()
            if name.endswith(".ring"):
                count += data.count(b"convoy-holder")
                file.seek(0)
                file.write(data.replace(b"convoy-holder", HOSTILE))
    tap.ok(count > 0 and len(HOSTILE) == len(b"convoy-holder"), "%d names made hostile" % count)
    exported.check(tap, "a hostile name", trace)
    want = HOSTILE.decode("utf-8", errors="replace")
    rows = exported.lines_of("export", "--format", "jsonl", "--what", "intervals", trace)
    tids = {row["who"]["tid"] for row in rows if row["who"]["comm"] == want}
    exported.run("export", "--format", "csv", "-o", "tables", trace)
    tap.ok(tids == {int(row["tid"]) for row in exported.table("tables/intervals.csv")
                    if row["comm"] == SAFE} and tids, "csv and jsonl have it", tids)
    events = json.loads(exported.run("export", "--format", "chrome", trace))["traceEvents"]
    tap.ok(tids == {event["tid"] for event in events if event["name"] == "thread_name"
                    and event["args"]["name"] == want}, "chrome has it")
    decoded = exported.Perfetto(exported.run("export", "--format", "perfetto", trace))
    tap.ok(tids == {tid for tid, thread in decoded.threads.items() if thread["name"] == want},
           "perfetto has it")


def check_failures(tap, trace):
    os.mkdir("full")
    for name in FORMATS:
        done = export("--format", name, "-o", "full/out", trace, preexec_fn=limited)
        tap.ok(done.returncode == 3 and not os.listdir("full") and b"File too large" in done.stderr,
               "%s on a full disk: said, and nothing is left" % name,
               done.returncode, os.listdir("full"), done.stderr)
    for name in FORMATS:
        if name == "csv":
            continue
        read, write = os.pipe()
        os.close(read)
        done = export("--format", name, trace, preexec_fn=lambda w=write: os.dup2(w, 1))
        os.close(write)
        tap.ok(done.returncode == 3 and b"Broken pipe" in done.stderr,
               "%s into a closed pipe: said" % name, done.returncode, done.stderr)
    with open("old", "w", encoding="utf-8") as file:
        file.write("old")
    export("--format", "chrome", "-o", "old", trace, preexec_fn=limited)
    with open("old", encoding="utf-8") as file:
        tap.ok(file.read() == "old", "what was there before stays when writing fails")
    done = export("--format", "csv", "-o", "full/../hostile", trace)
    tap.ok(done.returncode == 3 and b"not empty" in done.stderr,
           "a folder with something in it is left alone")


def folded_sums(trace, *options):
    """By the two outer ends: sums of lines without a cause and with one, and of each function by itself."""
    lines = exported.run("export", "--format", "folded", "--code", *options, trace).decode().splitlines()
    parsed = [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in lines]
    return parsed, sum(ns for _, ns in parsed)


def hot(trace, *options):
    return json.loads(exported.run("hot", "--json", *options, trace))


def name_of(row):
    return row["function"] or row["module"]


def check_code(tap, trace):
    """pprof and folded stacks of code have the sums of holdup hot, which the golden case has by hand."""
    subprocess.run(["sh", "-e", os.path.join(DATA, "../golden/hot/prepare")], check=True)
    for window in ([], ["--from", "+0.19", "--to", "+0.21", "--tid", "151"]):
        work, waits = hot(trace, *window), hot(trace, "--waits", *window)
        profile = exported.Pprof(exported.run("export", "--format", "pprof", *window, trace))
        for kind, report in (("work", work), ("wait", waits)):
            ns = profile.total_ns(kind)
            for row in report["functions"]:
                name = name_of(row) or "[not known]"
                # Frames without a name are one row there, and each its own function here.
                ours = sum(value for text, value in ns.items() if text == name or text.startswith(name + "+0x"))
                tap.ok(ours == row["total_ns"], "pprof %s: %s has the time of hot" % (kind, name), ours, row)
            sums = sum(profile.self_ns(kind).values())
            tap.ok(sums == report["total_ns"], "pprof %s adds up to hot" % kind, sums, report["total_ns"])
        tap.ok(sum(values["samples"] for _, values, _ in profile.samples) == work["samples"] and
               sum(values["waits"] for _, values, _ in profile.samples) == waits["samples"], "as many samples and waits")
        for measure, report in (("working", work), ("blocked", waits)):
            tap.ok(folded_sums(trace, "--measure", measure, *window)[1] == report["total_ns"], "folded %s adds up to hot" % measure)
    tap.ok(profile.types[-1] == ("wall", "nanoseconds") and profile.default == "wall" and
           all(values["wall"] == values["work"] + values["wait"] for _, values, _ in profile.samples), "wall is both")
    whole = exported.Pprof(exported.run("export", "--format", "pprof", trace))
    labels = [labels for stack, _, labels in whole.samples if stack[0] == "wait4"]
    tap.ok(labels == [{"state": "blocked", "cause": "wait4: any child", "comm": "sh"}], "a wait has its labels", labels)
    _, wall = folded_sums(trace, "--measure", "wall", "--from", "+0.21", "--to", "+0.22", "--tid", "151")
    tap.ok(wall == 10000000, "folded wall is all of its life", wall)
    whole, _ = folded_sums(trace, "--measure", "wall")
    tap.ok(["sh", "main", "wait4", "[wait4: any child]"] in [frames for frames, _ in whole] and
           ["sort", "compare"] in [frames for frames, _ in whole], "causes are on top of waits, and of no work", whole[:9])
    shown = exported.Perfetto(exported.run("export", "--format", "perfetto", trace))
    tap.ok(len(shown.samples) == 10 and (34641866844, 151, 151, ["main", "find_word"]) in shown.samples,
           "perfetto has the samples, the outermost function first", shown.samples)
    waits = [mark.args for mark in shown.marks if mark.lane == "waits" and "stack" in mark.args]
    tap.ok(waits and all(args["stack"] == "main;wait4" and args["code"] == "main" for args in waits),
           "perfetto's waits have their stacks", waits[:1])
    done = export("--format", "pprof", "futex-convoy.holdup")
    tap.ok(done.returncode == 3 and b"no s" in done.stderr and not done.stdout, "a trace without stacks is refused", done.stderr)


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        names = sorted(name[:-len(".tar.gz")] for name in os.listdir(DATA) if name.endswith(".tar.gz"))
        traces = {name: unpack(name) for name in names}
        for name in kernel.turn(names):
            exported.check(tap, name, traces[name])
        check_choice(tap, "word-count.holdup")
        check_window(tap, "word-count.holdup")
        check_hostile(tap)
        check_failures(tap, "word-count.holdup")
        check_code(tap, "word-count.holdup")
    tap.end()


main()
