#!/usr/bin/env python3
"""cuts.py - a cut file is never called whole.

Each file of a sample of each format is cut: at bytes of its last 4 KiB, and at each border of a section
and one byte beside it. Then either nothing changes of what is told, or it is told: check-trace says that
the trace is not whole, and why; info says so, too.

	CUTS=all    every byte of the last 4 KiB; by default one in 61 (CUT_STEP=N), and the last 24
	ONLY=NAME   of this sample only
	PART=K/N    every N-th sample, from the K-th on
"""
import json
import os
import re
import shlex
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import formats  # noqa: E402
import judge  # noqa: E402
import mutate  # noqa: E402
import sources  # noqa: E402

LAST = 4096
STEP = 1 if os.environ.get("CUTS") == "all" else int(os.environ.get("CUT_STEP", 499 if judge.SANITIZED else 61))
NEAR = 24 # bytes before the end, all of them
EDGES = None if STEP == 1 else 12
MOST = 4 # failures shown of a file
TELL = (["list", "--json", "--place", "TRACE"], ["stats", "--json", "--by", "thread", "TRACE"],
        ["why", "--json", "--all", "--comm", "*", "TRACE"], ["info", "--json", "--all", "TRACE"])
SIZES = re.compile(rb'"bytes":\d+') # of a file: no statement about what is in it


def samples():
    """Whole traces of each kind, with all that a trace directory may have."""
    small = {source.name: source for source in sources.everything()}
    names = ["ctf-lttng", "ctf-native-kernel", "ctf2", "ctf-packed", "dat-none", "dat-v6", "dat-zlib", "dat-zstd",
             "raw-mono", "perf-clock", "perf-group", "perf-packed", "perf-pipe", "perf-folder", "text-kernel", "text-systrace", "text-long"]
    for name in ("wait-child", "futex-convoy"):
        yield sources.Source(name, "dir", sources.with_lengths(sources.unpacked("data/" + name + ".tar.gz")))
    yield sources.Source("mono-4k", "dir", sources.with_lengths(small["mono-4k"].files))
    for name in ["user", "kernel-and-user", *names]:
        yield small[name]


def lines_of(data):
    return [at + 1 for at, byte in enumerate(data) if byte == 10]


def places(source, name, data):
    """Where to cut: sorted, none behind the end."""
    found = set(range(max(len(data) - LAST, 0), len(data), STEP)) | set(range(max(len(data) - NEAR, 0), len(data)))
    _, edges = formats.layout(source.kind, name, data, source.files)
    borders = set(edges) | set(lines_of(data)[-200:] if formats.is_text(source.kind, name, data) else ())
    borders = sorted(edge for edge in borders if edge < len(data))
    step = 1 if EDGES is None else len(borders) // EDGES + 1
    for edge in borders[::step]:
        found |= {edge - 1, edge, edge + 1}
    return sorted(place for place in found if 0 <= place < len(data))


def is_silent(source, name, data, place):
    """
    The format has no word for where it ends: a stream of packets or of records, lines of text. A cut
    between two of them is a shorter trace.
    """
    if source.kind == "text":
        return place == 0 or data[place - 1] == 10
    edges = formats.layout(source.kind, name, data, source.files)[1]
    if source.kind in ("ctf", "user") and name != "metadata":
        return place in edges
    if source.kind == "raw" and "/" in name and not name.startswith("events/"):
        return place in edges # pages of the kernel
    if source.kind == "raw" and name == "saved_cmdlines":
        return place == 0 or data[place - 1] == 10
    if source.kind == "perf" and (name.startswith("data.") or data[8:16] == b"\x10" + bytes(7)):
        return place in edges # a thread's file of a folder, or what came out of a pipe
    return False


class Teller:
    def __init__(self, folder):
        self.folder, self.server = folder, judge.Server(mutate.SERVER, folder)
        self.trace = os.path.join(folder, "TRACE")

    def verify(self):
        """Status of check-trace, and what it says is wrong, but for figures that any change changes."""
        run = self.server.run(self.folder, ["check-trace", "--json", "TRACE"])
        reason = judge.wrong_end(run)
        if reason:
            return run.status, reason
        return run.status, self.says(run) if run.status in (0, 1) else run.err

    @staticmethod
    def says(run):
        report = json.loads(run.out)
        return json.dumps([report.get(key) for key in ("damage", "missing", "complete", "lost_events", "holes", "unread")])

    def all(self):
        shutil.rmtree(os.path.join(self.trace, "timeline"), ignore_errors=True)
        runs = [self.server.run(self.folder, words) for words in TELL]
        return [(run.status, SIZES.sub(b"", run.out)) for run in runs]

    def info(self):
        run = self.server.run(self.folder, ["info", "TRACE"])
        return run.status


def wrong(teller, whole, place):
    """What is wrong with a cut trace, or ""."""
    status, said = teller.verify()
    if status not in (0, 1, 3):
        return "check-trace: status %s %s" % (status, said)
    if status == 3 or (status == 1 and (whole["status"] == 0 or said != whole["said"])):
        if (place % 8 == 0 or STEP == 1) and teller.info() not in (1, 3):
            return "check-trace says that it is not whole, info does not"
        return ""
    told = teller.all()
    for words, before, now in zip(TELL, whole["all"], told):
        if before != now:
            return "called whole, but holdup %s says something else" % shlex.join(words)
    return ""


def check_file(teller, source, name, data, whole):
    """Cut one file at its places. Returns what is wrong, a line for each place."""
    path = os.path.join(teller.trace, name) if name else teller.trace
    cuts, bad = places(source, name, data), []
    for place in reversed(cuts):
        shutil.rmtree(os.path.join(teller.trace, "timeline"), ignore_errors=True)
        with open(path, "wb") as file:
            file.write(data[:place])
        if is_silent(source, name, data, place):
            continue
        reason = wrong(teller, whole, place)
        if reason:
            bad.append("cut at %d of %d: %s" % (place, len(data), reason))
    with open(path, "wb") as file:
        file.write(data)
    return len(cuts), bad


def check_source(teller, source):
    mutate.remove(teller.trace)
    source.put(teller.trace)
    status, said = teller.verify()
    whole = {"status": status, "said": said, "all": teller.all()}
    count = failed = 0
    for name, data in sorted(source.files.items()):
        if not data:
            continue
        places_count, bad = check_file(teller, source, name, data, whole)
        title = "%s%s: no cut of %d is called whole" % (source.name, " " + name if name else "", places_count)
        print("%s - %s" % ("not ok" if bad else "ok", title))
        for line in bad[:MOST]:
            print("#   " + line)
        if len(bad) > MOST:
            print("#   and %d more; the last: %s" % (len(bad) - MOST, bad[-1]))
        count, failed = count + 1, failed + bool(bad)
    sys.stdout.flush()
    return count, failed


def main():
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="holdup-cuts-", dir=where)
    os.environ["TMPDIR"] = folder
    count = failed = 0
    try:
        teller = Teller(folder)
        part, parts = map(int, os.environ.get("PART", "0/1").split("/"))
        for i, source in enumerate(samples()):
            if os.environ.get("ONLY", source.name) == source.name and i % parts == part:
                more, bad = check_source(teller, source)
                count, failed = count + more, failed + bad
        teller.server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("1..%d" % count)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
