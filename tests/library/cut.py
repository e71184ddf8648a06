#!/usr/bin/env python3
"""cut.py - a cut of a recording has what the recording has in its window, no more and no less.

Prints TAP; holdup is $HOLDUP, the traces are in $HOLDUP_TESTS/data. Windows of each recording of
tests/data are cut out, by time, by thread, process and CPU. The events must be those that
"holdup list --from --to" prints of the recording, in all but their places in the files. What stats, why
and states say of a window in the cut must be what they say of it in the recording: what was under way
at the cut's start, and how what was under way at its end went on, it has from there. The windows are
drawn; another HOLDUP_SEED draws other ones.
"""
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

# Of threads that were not chosen.
DETAILS = ("raw_syscalls:", "exceptions:page_fault", "signal:signal_deliver", "ftrace:", "lock:")


def holdup(*words):
    done = subprocess.run([kernel.HOLDUP, *map(str, words)], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode()


def parsed(*words):
    return json.loads(holdup(*words)[1])


def listed(trace, *options):
    events = [json.loads(line) for line in
              holdup("list", "--json", *options, trace)[1].splitlines()]
    for event in events:
        del event["place"]
    return events


def bare(events):
    """Without what depends on the line before."""
    return [{key: value for key, value in event.items() if key != "delta_ns"} for event in events]


def told(ours, theirs):
    if len(ours) != len(theirs):
        return "%d events, not %d" % (len(theirs), len(ours))
    return next(("%s, not %s" % (b, a) for a, b in zip(ours, theirs) if a != b), "")


# Of the recording as a whole, which a cut is not a part of.
WHOLE = re.compile(r'"repairs":{[^}]*}')


def different(ours, theirs):
    """Where two answers part, in short."""
    if ours[0] != theirs[0] or (ours[0] and ours[2] != theirs[2]):
        return "exit %s, not %s: %s" % (theirs[0], ours[0], theirs[2] or ours[2])
    a, b = (WHOLE.sub("", out) for out in (ours[1], theirs[1]))
    at = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
    return "" if a == b else "%s <> %s" % (a[max(0, at - 100):at + 60], b[max(0, at - 20):at + 60])


def unpack(into):
    data = os.path.join(os.environ.get("HOLDUP_TESTS", "tests"), "data")
    for name in sorted(os.listdir(data)):
        if name.endswith(".tar.gz"):
            with tarfile.open(os.path.join(data, name)) as archive:
                archive.extractall(into)
    return [os.path.join(into, name) for name in sorted(os.listdir(into))]


class Cuts:
    """The cuts of one recording."""

    def __init__(self, test, trace):
        self.test, self.trace = test, trace
        self.name = os.path.basename(trace)
        self.events = listed(trace)
        info = parsed("info", "--json", trace)
        self.begin, self.end = info["window"]["start_ns"], info["window"]["end_ns"]

    def check(self, good, what, *details):
        return self.test.ok(good, "%s: %s" % (self.name, what), *details)

    def at(self, share):
        """The time of the event behind that share of all."""
        return self.events[int(share * (len(self.events) - 1))]["time_ns"]

    def cut(self, what, *options):
        into = "%s.%d" % (self.trace, self.test.count)
        status, out, message = holdup("cut", "-o", into, "--json", *options, self.trace)
        if not self.check(status == 0, what + ": is cut", message):
            return None
        count = json.loads(out)["events"]
        events = parsed("info", "--json", into)["events"]
        self.check(count == events, what + ": has as many events as it says",
                   "%d, not %d" % (events, count))
        status, out, message = holdup("check-trace", into)
        self.check(status == 0, what + ": all that must hold of it holds", out, message)
        return into

    def window(self, start, end):
        """Options of a cut of [start, end), and of what lists the same."""
        first = ("--from", "+%dns" % (start - self.begin)) if start else ()
        return (first + (("--to", "+%dns" % (end - self.begin)) if end else ()),
                first + (("--to", "+%dns" % (end - 1 - self.begin)) if end else ()))

    # ---------------------------------------------------------------- windows

    def by_time(self, what, start, end):
        options, same = self.window(start, end)
        into = self.cut(what, *options)
        if not into:
            return
        wrong = told(listed(self.trace, *same), listed(into))
        self.check(not wrong, what + ": events are those of the window", wrong)
        ours, theirs = (holdup("list", "--fields", "wall,cpu,tid,comm,latency,text", *words)
                        for words in ((*same, self.trace), (into,)))
        self.check(ours == theirs, what + ": and so are their texts and wall times")
        self.same_answers(what, into, start or self.begin, end or self.end + 1)

    def same_answers(self, what, into, start, end):
        """stats, why and states of windows in the cut are those of the recording."""
        shift, last = start - self.begin, end - 1 - start
        windows = [(0, last)] + [tuple(sorted(random.sample(range(last + 1), 2))) for _ in range(2)]
        for first, end_ns in windows:
            ours = ["--from", "+%dns" % (shift + first), "--to", "+%dns" % (shift + end_ns)]
            theirs = ["--from", "+%dns" % first, "--to", "+%dns" % end_ns]
            where = what + ", from %d to %d ns" % (first, end_ns)
            for words in (["stats", "--json", "--by", "thread"], ["stats", "--json"],
                          ["why", "--json"]):
                wrong = different(holdup(*words, *ours, self.trace), holdup(*words, *theirs, into))
                self.check(not wrong, where + ": %s says the same" % words[0], wrong)
            rows = parsed("stats", "--json", "--by", "thread", *theirs, into)["rows"]
            for tid in random.sample(sorted({row["tid"] for row in rows if row["tid"]}), 5):
                wrong = different(*(holdup("states", "--json", tid, *words)
                                    for words in ((*ours, self.trace), (*theirs, into))))
                self.check(not wrong, where + ": so does states of %d" % tid, wrong)

    # ---------------------------------------------------------------- parts

    def by_cpu(self):
        options, same = self.window(self.at(0.2), self.at(0.8))
        into = self.cut("CPU 0", "--cpu", "0", *options)
        ours = [event for event in listed(self.trace, *same)
                if event["cpu"] == 0 or event["event"] == "holdup:fd_name"]
        wrong = told(bare(ours), bare(listed(into)))
        self.check(not wrong, "CPU 0: its events, and names", wrong)

    def chosen(self, what, option, tids):
        """Of the chosen threads all; of the others all but details."""
        options, same = self.window(self.at(0.1), 0)
        whole = self.cut(what + ", with all", *options)
        into = self.cut(what, *option, *options)
        ours = [event for event in bare(listed(self.trace, *same))
                if event["event"] != "holdup:fd_name" and
                (event["tid"] in tids or not event["event"].startswith(DETAILS))]
        theirs = [event for event in bare(listed(into)) if event["event"] != "holdup:fd_name"]
        wrong = told(ours, theirs)
        self.check(not wrong, what + ": its events, and what others' states rest on", wrong)
        for tid in sorted(tids):
            ours, theirs = (holdup("states", "--json", tid, trace) for trace in (whole, into))
            # Who ended a wait has no details.
            self.check([(row.get("start_ns"), row.get("end_ns"), row.get("wib"))
                        for row in map(json.loads, ours[1].splitlines())] ==
                       [(row.get("start_ns"), row.get("end_ns"), row.get("wib"))
                        for row in map(json.loads, theirs[1].splitlines())] and ours[0] == 0,
                       what + ": thread %d is in the same states" % tid, ours[2], theirs[2])

    def mistakes(self):
        for what, options, status, words in [
                ("an empty window", ["--from", "+1h"], 3, "the window is empty"),
                ("a folder that is there", ["-o", self.trace], 3, "is there already"),
                ("a list of CPUs", ["--cpu", "1,x"], 2, "--cpu needs a list"),
                ("a list of CPUs backwards", ["--cpu", "3-1"], 2, "--cpu needs a list")]:
            got, out, message = holdup("cut", *options, self.trace)
            self.check(got == status and words in message and not out, what + " is refused in words",
                       got, message)
        left = [name for name in os.listdir(os.path.dirname(self.trace)) if ".new-" in name]
        self.check(not left and not os.path.exists("cut.holdup"), "nothing is left", left)


def check_damaged(test, trace):
    """The last of 'trace': its longest buffer loses a page's end in the middle."""
    rings = [os.path.join(trace, "kernel", name) for name in os.listdir(os.path.join(trace, "kernel"))]
    ring = max((name for name in rings if name.endswith(".ring")), key=os.path.getsize)
    os.truncate(ring, os.path.getsize(ring) - 100)
    damage = parsed("check-trace", "--json", trace)["damage"]
    into = trace + ".of-damaged"
    status, _, message = holdup("cut", "-o", into, trace)
    said = [row["why"] for row in parsed("info", "--json", into)["missing"]
            if row["what"] == "damage of the trace that was cut"]
    test.ok(status == 0 and damage and said, "a cut of a damaged trace says what was damaged",
            damage, said, message)


def check_trace(test, trace):
    cuts = Cuts(test, trace)
    target = parsed("info", "--json", trace)["command"]["tid"]
    cuts.by_time("the whole", 0, 0)
    cuts.by_time("the start", 0, cuts.at(0.3))
    cuts.by_time("the middle", cuts.at(0.3), cuts.at(0.6))
    cuts.by_time("the end", cuts.at(0.6), 0)
    cuts.by_cpu()
    cuts.chosen("one thread", ("--tid", target), {target})
    return cuts


def check_stacks(tap, trace, into):
    """Stacks of the window stay, and others do not: hot says of it what it says of the recording."""
    subprocess.run(["sh", "-e", os.path.join(os.environ["HOLDUP_TESTS"], "golden/hot/prepare")], check=True, cwd=into)
    cut = os.path.join(into, "stacks.cut")
    status, _, errors = holdup("cut", "--from", "+0.19", "--to", "+0.25", "-o", cut, trace)
    tap.ok(status == 0, "a recording with stacks is cut", errors)
    for options in ((), ("--by", "line"), ("--waits",), ("--tid", "151")):
        ours, theirs = (parsed("hot", "--json", *options, "--from", "34.642180140", "--to", "34.702180140", *rest)
                        for rest in ((trace,), (cut,)))
        rows = [report.get(key) for key in ("functions", "lines") for report in (ours, theirs)]
        tap.ok(rows[0] == rows[1] and rows[2] == rows[3] and (rows[0] or rows[2]), "hot %s of the cut" % " ".join(options), rows)
    with open(cut + "/kernel/stacks", encoding="utf-8") as file:
        kinds = [line[0] for line in file]
    tap.ok(kinds.count("C") == 8 and kinds.count("W") == 1, "no more than the window has", kinds)


def main():
    test = kernel.Tap()
    seed = os.environ.get("HOLDUP_SEED", "5")
    random.seed(int(seed))
    print("# HOLDUP_SEED=" + seed)
    with tempfile.TemporaryDirectory() as into, kernel.workdir():
        os.environ["XDG_CACHE_HOME"] = os.path.join(into, "cache")
        traces = unpack(into)
        if os.environ.get("HOLDUP_SANITIZED"):  # for the memory, some do
            traces = [trace for i, trace in enumerate(traces) if i % 6 == 0 or "word-count" in trace]
        for trace in kernel.turn(traces):
            cuts = check_trace(test, trace)
        cuts.mistakes()
        check_stacks(test, next(trace for trace in traces if "word-count" in trace), into)
        check_damaged(test, traces[-1])
    test.end()


if __name__ == "__main__":
    main()
