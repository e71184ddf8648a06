#!/usr/bin/env python3
"""Read the trace.dat files of a folder of real traces, and hold what holdup says of them against
what was expected.

$HOLDUP_DAT_TRACES, or ../shared/traces beside the project, has 03-trace-dat, 13-recorded and
14-kernel-plus-ust: files of version 6 and 7, with and without compression, the numbers of events
of each type and CPU, checksums of times, CPUs and names, and the text that the kernel itself
made of the same pages. None of them was computed by holdup. Where trace-cmd is installed, its
text is compared, too, and each file is converted to all versions and compressions that it knows:
all of them must give the same list. Then files are cut and bytes of them are turned.
Neither root nor a kernel is needed. Skipped when the folder is not there.
"""
import collections
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

TRACES = os.environ.get("HOLDUP_DAT_TRACES") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../../../shared/traces")
ENV = dict(os.environ, TZ="UTC")
MAX_MEMORY = 1 << 30
LOST = "lost_events"
TRACE_CMD = shutil.which("trace-cmd")
SANITIZED = os.environ.get("HOLDUP_SANITIZED")  # these reserve all address space
DAMAGED = int(os.environ.get("DAMAGED", 12 if SANITIZED else 60))  # files with turned bytes, of each trace

Event = collections.namedtuple("Event", "ns cpu name tid text")


def run(*args, timeout=300, limit=False):
    def bounded():
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    done = subprocess.run([kernel.HOLDUP, *args], capture_output=True, env=ENV, check=False,
                          timeout=timeout, preexec_fn=bounded if limit and not SANITIZED else None)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def listed(trace):
    """The events of a trace, and what was said about damage."""
    status, out, message = run("list", "--json", "--fields", "time,cpu,event,tid,text", trace)
    events = []
    for line in out.decode(errors="replace").splitlines():
        one = json.loads(line)
        events.append(Event(one["time_ns"], one["cpu"], one["event"].split(":", 1)[1], one["tid"],
                            one["text"]))
    return status, events, message


def with_fields(trace):
    """The fields of all sched_switch."""
    _, out, _ = run("list", "--json", "-f", "name == \"sched_switch\"", trace)
    return [json.loads(line) for line in out.decode(errors="replace").splitlines()]


def stamp(ns):
    return "%d.%09d" % (ns // 10**9, ns % 10**9)


def digest(lines):
    return hashlib.sha256("".join(sorted(line + "\n" for line in lines)).encode()).hexdigest()


def switch_digest(trace):
    lines = []
    for one in with_fields(trace):
        fields = one["fields"]
        lines.append("%s %d %d %d %d" % (stamp(one["time_ns"]), one["cpu"], fields["prev_pid"],
                                         fields["prev_state"], fields["next_pid"]))
    return digest(lines)


def rows(*path):
    return kernel.csv_rows(TRACES, *path)


def unpack(archive, into):
    path = os.path.join(into, os.path.basename(archive)[:-len(".zst")])
    subprocess.run(["zstd", "-dqf", archive, "-o", path], check=True)
    os.chmod(path, 0o600)
    return path


# ------------------------------------------------------------------ texts of others

KERNEL_LINE = re.compile(
    r" *(?P<comm>.{1,16})-(?P<tid>\d+) +(?:\([ \d-]+\) )?\[(?P<cpu>\d+)\] (?P<latency>\S{4,5}) +"
    r"(?P<time>\d+\.\d+): (?P<name>[^: ]+): (?P<text>.*)$")
# System calls that are events of their own: the kernel has another text for them.
CALL_LINE = re.compile(
    r" *(?P<comm>.{1,16})-(?P<tid>\d+) +(?:\([ \d-]+\) )?\[(?P<cpu>\d+)\] (?P<latency>\S{4,5}) +"
    r"(?P<time>\d+\.\d+): sys_(?P<name>\w+)(?P<text>(?P<exit> -> .*)|\(.*\))$")
REPORT_LINE = re.compile(
    r" *(?P<comm>.{1,16})-(?P<tid>\d+) +\[(?P<cpu>\d+)\] +(?P<time>\d+\.\d+): "
    r"(?P<name>[^: ]+): *(?P<text>.*)$")


def of_kernel(path):
    """What the kernel printed: times in us."""
    events = []
    with open(path, errors="replace") as file:
        for line in file:
            match = KERNEL_LINE.match(line.rstrip("\n"))
            call = CALL_LINE.match(line.rstrip("\n"))
            if call:
                events.append((round(float(call["time"]) * 1e6), int(call["cpu"]),
                               "sys_%s_%s" % ("exit" if call["exit"] else "enter", call["name"]),
                               int(call["tid"]), call["text"]))
            elif match:
                events.append((round(float(match["time"]) * 1e6), int(match["cpu"]),
                               match["name"], int(match["tid"]), match["text"].strip()))
    return events


def of_report(path):
    """What trace-cmd prints without plugins: times in ns. A line may go on in the next one."""
    out = subprocess.run(["trace-cmd", "report", "-N", "-t", path], capture_output=True,
                         check=False).stdout.decode(errors="replace")
    events = []
    for line in out.splitlines():
        match = REPORT_LINE.match(line)
        if match:
            seconds, rest = match["time"].split(".")
            events.append([int(seconds) * 10**9 + int(rest), int(match["cpu"]), match["name"],
                           int(match["tid"]), match["text"].strip()])
        elif events:
            events[-1][4] += " " + line.strip()
    return [tuple(event) for event in events]


def plain(name, text, hashed):
    """The text with single blanks; the kernel prints a hash where we print a pointer."""
    text = re.sub(r"\s+", " ", text).strip()
    if hashed and re.match("sys_(enter|exit)_", name):
        return " ".join(str(int(number, 0)) for number in
                        re.findall(r"(?:^|: |-> )(-?(?:0x[0-9a-f]+|\d+))", text))
    if not hashed and name.startswith("block_rq_"):
        # libtraceevent does not know the names of I/O classes that are macros.
        text = re.sub(r" \S+,(\d+,\d+ \[)", r" CLASS,\1", text)
    if hashed:
        text = re.sub(r"\b(0x[0-9a-f]{9,16}|[0-9a-f]{16})\b", "POINTER", text)
    return text


def compare(ours, theirs, in_us):
    """The number of events that differ, and the first of them."""
    if len(ours) != len(theirs):
        return abs(len(ours) - len(theirs)), "%d events, not %d" % (len(ours), len(theirs))
    def key(event):
        return (event[1], event[0])
    wrong, first = 0, ""
    mine = sorted(((round(event.ns / 1e3) if in_us else event.ns, event.cpu, event.name,
                    event.tid, plain(event.name, event.text, in_us)) for event in ours), key=key)
    other = sorted(((event[0], event[1], event[2], event[3], plain(event[2], event[4], in_us))
                    for event in theirs), key=key)
    for one, two in zip(mine, other):
        same = one[1:] == two[1:] and abs(one[0] - two[0]) <= (1 if in_us else 0)
        if not same:
            wrong += 1
            first = first or "%s, not %s" % (one, two)
    return wrong, first


# ------------------------------------------------------------------ the folders

def check_counts(test, name, events, expected, what):
    got = collections.Counter(getattr(event, what) for event in events)
    test.check("%s: events of each %s" % (name, what), got == expected,
               "%s" % sorted((got - expected + (expected - got)).items())[:5])


def counts(table, trace, column):
    found = collections.Counter()
    for row in table:
        if row.get("trace", row.get("name")) == trace and row.get("source", "ftrace") == "ftrace":
            value = row[column]
            found[int(value) if column == "cpu" else value] += int(row.get("count") or
                                                                   row.get("events"))
    return found


def check_trace(test, name, path, row):
    """The list against the row of the table of answers."""
    status, events, message = listed(path)
    test.check(name + ": it is whole", status == 0 and not message, message)
    test.check(name + ": events", len(events) == int(row["events"]),
               "%d, not %s" % (len(events), row["events"]))
    if row.get("sha256_ts_cpu_event"):
        lines = ["%s %d %s" % (stamp(event.ns), event.cpu, event.name) for event in events]
        test.check(name + ": times, CPUs and names", digest(lines) == row["sha256_ts_cpu_event"],
                   "another checksum")
    if row.get("sha256_switch"):
        test.check(name + ": switches", switch_digest(path) == row["sha256_switch"],
                   "another checksum")
    if row.get("first_s"):
        for which, event in (("first", events[0]), ("last", events[-1])):
            want = row[which + "_s"]
            digits = len(want.split(".")[1])
            test.check("%s: %s time" % (name, which),
                       abs(event.ns / 1e9 - float(want)) < 1.5 * 10.0**-digits,
                       "%d ns, not %s s" % (event.ns, want))
    return events


def check_texts(test, name, path, events, text=None):
    if text:
        wrong, first = compare(events, of_kernel(text), True)
        test.check(name + ": the kernel's own text", wrong == 0,
                   "%d events differ: %s" % (wrong, first))
    if TRACE_CMD:
        wrong, first = compare(events, of_report(path), False)
        test.check(name + ": the text of trace-cmd report", wrong == 0,
                   "%d events differ: %s" % (wrong, first))


CONVERSIONS = (("6", "none"), ("7", "none"), ("7", "zlib"), ("7", "zstd"))


def check_converted(test, name, path, events, into):
    """Other versions and compressions of the same."""
    if not TRACE_CMD:
        return
    for version, compression in CONVERSIONS:
        to = os.path.join(into, "converted.dat")
        subprocess.run(["trace-cmd", "convert", "-i", path, "-o", to, "--file-version", version,
                        "--compression", compression], capture_output=True, check=False)
        if not os.path.exists(to):
            continue  # this trace-cmd was built without that compression
        status, got, message = listed(to)
        test.check("%s: as version %s, %s" % (name, version, compression),
                   status == 0 and not message and got == events,
                   "status %d, %d events: %s" % (status, len(got), message))
        os.unlink(to)


def check_commands(test, name, path, events):
    """Every analysis works on a file."""
    tid = str(next((event.tid for event in events if event.name == "sched_switch" and event.tid),
                   0))
    for command in (("index",), ("check-trace",), ("stats",)):
        status, _, message = run(*command, path)
        test.check("%s: %s" % (name, command[0]), status == 0, "%d %s" % (status, message))
    if tid == "0":
        return
    for command in (("why", "--tid", tid), ("states", tid), ("breakdown", tid)):
        status, _, message = run(*command, path)
        test.check("%s: %s" % (name, command[0]), status == 0, "%d %s" % (status, message))


# ------------------------------------------------------------------ damage

def survives(path):
    """What is wrong with how it was read; "" = nothing."""
    for command in (("list", "--json"), ("check-trace", "--json")):
        try:
            status, _, message = run(*command, path, timeout=300 if SANITIZED else 60, limit=True)
        except subprocess.TimeoutExpired:
            return "%s does not end" % command[0]
        if status not in (0, 1, 3):
            return "%s: status %d: %s" % (command[0], status, message[-300:])
        if status == 3 and "holdup" not in message:
            return "%s: no message" % command[0]
    return ""


def places_to_cut(data):
    """Where parts of the file begin, and places at random."""
    marks = [b"tracing", b"header_page", b"header_event", b"name: ", b"print fmt", b"options",
             b"flyrecord"]
    found = {match.start() + off for mark in marks
             for match in list(re.finditer(re.escape(mark), data))[:3] for off in (0, 1, 9)}
    rand = random.Random(7)
    return sorted(found) + [rand.randrange(len(data)) for _ in range(20)]


def check_damage(test, name, path, into):
    with open(path, "rb") as file:
        data = file.read()
    to, bad = os.path.join(into, "damaged.dat"), []
    rand = random.Random(len(data))
    for place in places_to_cut(data):
        with open(to, "wb") as file:
            file.write(data[:place])
        bad += [(place, what) for what in [survives(to)] if what]
    test.check(name + ": cut anywhere", not bad, str(bad[:3]))
    bad = []
    for i in range(DAMAGED):
        copy = bytearray(data)
        for _ in range(rand.choice((1, 4, 64))):
            # Half of them in the head, options and the end, where everything is decided.
            near = rand.choice((256, len(data), len(data), -4096))
            place = rand.randrange(near) if near > 0 else len(data) + rand.randrange(near, 0)
            copy[place] = rand.choice((0, 1, 0xff, 0x80, rand.randrange(256)))
        with open(to, "wb") as file:
            file.write(copy)
        bad += [(i, what) for what in [survives(to)] if what]
    test.check(name + ": bytes turned", not bad, str(bad[:3]))


# ------------------------------------------------------------------ all of it

class Test(kernel.Tap):
    def check(self, name, good, *details):
        return self.ok(good, name, *details)


def check_old(test, into):
    per_event = rows("03-trace-dat", "expected-event-counts.csv")
    per_cpu = rows("03-trace-dat", "expected-cpu-counts.csv")
    for row in rows("03-trace-dat", "expected-summary.csv"):
        path = unpack(os.path.join(TRACES, "03-trace-dat", row["file"]), into)
        name = row["file"][:-len(".dat.zst")]
        events = check_trace(test, name, path, row)
        check_counts(test, name, events, counts(per_event, name, "event"), "name")
        check_counts(test, name, events, counts(per_cpu, name, "cpu"), "cpu")
        check_texts(test, name, path, events)
        check_commands(test, name, path, events)
        check_damage(test, name, path, into)


def check_recorded(test, into):
    per_event = rows("13-recorded", "expected-event-counts.csv")
    for row in rows("13-recorded", "expected-summary.csv"):
        name = row["name"]
        path = unpack(os.path.join(TRACES, "13-recorded", name + ".trace.dat.zst"), into)
        text = unpack(os.path.join(TRACES, "13-recorded", name + ".trace.txt.zst"), into)
        events = check_trace(test, name, path, row)
        check_counts(test, name, events, counts(per_event, name, "event"), "name")
        check_texts(test, name, path, events, text)
        check_converted(test, name, path, events, into)
        check_commands(test, name, path, events)
        if name == "dd_contention":
            check_damage(test, name, path, into)


SEEDS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../fuzz/seeds/trace_dat")


def check_clocks(test):
    """Small files with two instances, a counter, a host's time and an offset: as trace-cmd."""
    if not TRACE_CMD:
        return
    for name in ("v6", "none", "zstd"):
        path = os.path.join(SEEDS, name)
        _, out, _ = run("list", "--json", path)
        ours = [json.loads(line) for line in out.decode().splitlines()]
        ours = sorted((one["time_ns"], one["cpu"], one.get("instance", ""), one["tid"])
                      for one in ours if LOST not in one["event"])
        report = subprocess.run(["trace-cmd", "report", "-t", path], capture_output=True,
                                check=False).stdout.decode()
        line = re.compile(r"(?:(\w+):)? +.{1,16}-(\d+) +\[(\d+)\] +(\d+)\.(\d{9}): ")
        theirs = sorted((int(m[4]) * 10**9 + int(m[5]), int(m[3]), m[1] or "", int(m[2]))
                        for m in map(line.match, report.splitlines()) if m)
        test.check("clocks and instances of the seed " + name, len(ours) > 3 and ours == theirs,
                   "%s, not %s" % (ours, theirs))


def check_beside_user(test, into):
    for archive in sorted(glob.glob(os.path.join(TRACES, "14-kernel-plus-ust",
                                                 "*.trace.dat.zst"))):
        name = os.path.basename(archive)[:-len(".kernel.trace.dat.zst")]
        path = unpack(archive, into)
        text = unpack(archive.replace(".trace.dat.zst", ".trace.txt.zst"), into)
        status, events, message = listed(path)
        test.check(name + ": it is whole", status == 0 and not message, message)
        check_texts(test, name, path, events, text)
        check_commands(test, name, path, events)


def main():
    if not os.path.isdir(os.path.join(TRACES, "03-trace-dat")):
        kernel.absent("HOLDUP_DAT_TRACES names no folder with 03-trace-dat")
    test = Test()
    if not TRACE_CMD:
        test.skipped("what trace-cmd says of them", "no trace-cmd: tools/setup check")
    with tempfile.TemporaryDirectory() as into:
        ENV["XDG_CACHE_HOME"] = into
        check_clocks(test)
        check_old(test, into)
        check_recorded(test, into)
        check_beside_user(test, into)
    test.end()


if __name__ == "__main__":
    main()
