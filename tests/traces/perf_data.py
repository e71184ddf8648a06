#!/usr/bin/env python3
"""Read the perf.data files of a folder of real traces, and hold what holdup says of them against
what was expected.

$HOLDUP_PERF_TRACES, or ../shared/traces beside the project, has 04-perf-data: files of perf 3.2 to
6, of simpleperf and of an ARM machine, from a pipe, compressed, with branch stacks, and damaged
ones, with the numbers of records and samples and the times that perf itself tells. 13-recorded
has three recordings of the scheduler, each beside a trace of ftrace of the same moment on the same
clock: switches of one and the other must be the same to the microsecond. Where perf is installed,
the text of perf script is compared event by event. Then files are cut and bytes of them are
turned. Neither root nor a kernel is needed. Skipped when the folder is not there.
"""
import bisect
import collections
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

TRACES = os.environ.get("HOLDUP_PERF_TRACES") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../../../shared/traces")
ENV = dict(os.environ, TZ="UTC")
MAX_MEMORY = 1 << 30
SANITIZED = os.environ.get("HOLDUP_SANITIZED")  # these reserve all address space
DAMAGED = int(os.environ.get("DAMAGED", 8 if SANITIZED else 40))  # files with turned bytes, of each of those that are damaged
CUTS = max(DAMAGED // 2, 1)
# perf 6.1 cannot read these: their answers are of other tools, or there are none.
UNREADABLE = {"perf.data.piped.corrupted.zero_size_sample-3.2", "lpd-sleep.perf.data"}
# perf's name of a type of records, and ours of the events.
RECORDS = {"COMM": ("comm",), "MMAP": ("mmap",), "MMAP2": ("mmap2",), "FORK": ("fork",),
           "EXIT": ("exit",), "SWITCH": ("switch",), "NAMESPACES": ("namespaces",),
           "THROTTLE": ("throttle",), "UNTHROTTLE": ("unthrottle",)}

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
        events.append(Event(one["time_ns"], one["cpu"], one["event"], one["tid"], one["text"]))
    return status, events, message


def rows(*path):
    return kernel.csv_rows(TRACES, *path)


def unpack(archive, into):
    path = os.path.join(into, os.path.basename(archive)[:-len(".zst")])
    subprocess.run(["zstd", "-dqf", archive, "-o", path], check=True)
    os.chmod(path, 0o600)
    return path


# ------------------------------------------------------------------ perf script

SCRIPT_LINE = re.compile(
    r" *(?P<comm>\S.{0,15}?) +(?P<tid>-?\d+) +(?:\[(?P<cpu>\d+)\] +)?"
    r"(?P<time>\d+)\.(?P<ns>\d{9}): +(?P<name>\S+?):(?: +(?P<text>.*)| *)$")


def has_perf():
    return shutil.which("perf") is not None


def script(path, fields):
    """Lines of perf script; what it prints of call chains is left out."""
    out = subprocess.run(["perf", "script", "-G", "--ns", "-F", fields, "-i", path],
                         capture_output=True, check=False).stdout.decode(errors="replace")
    found = []
    for line in out.splitlines():
        match = SCRIPT_LINE.match(line)
        if match:
            found.append(Event(int(match["time"]) * 10**9 + int(match["ns"]),
                               int(match["cpu"]) if match["cpu"] else None, match["name"],
                               int(match["tid"]), (match["text"] or "").strip()))
    return found


def by_time(events):
    return sorted(events, key=lambda event: (event.ns, event.name, event.text, event.tid))


def as_gone(ours, theirs):
    """
    Of a thread that is being removed perf has no number, but the event has: where theirs is -1, so
    is ours. Both sorted alike, but for that.
    """
    if len(ours) != len(theirs):
        return ours
    return [one._replace(tid=-1) if two.tid == -1 and one.ns == two.ns else one
            for one, two in zip(ours, theirs)]


def first_difference(ours, theirs):
    if len(ours) != len(theirs):
        return "%d events, not %d" % (len(ours), len(theirs))
    for one, two in zip(ours, theirs):
        if one != two:
            return "%s, not %s" % (one, two)
    return ""


# ------------------------------------------------------------------ files of others

def is_sample(event):
    """An event that perf was asked for: neither a record of perf's own, nor what goes with one."""
    own = {name for names in RECORDS.values() for name in names}
    own |= {"exec", "callchain", "lost_events", "lost", "lost_samples", "aux", "record", "ksymbol",
            "bpf_event", "cgroup", "text_poke", "itrace_start", "switch_cpu_wide"}
    system, name = event.name.split(":", 1)
    return not (system in ("perf", "holdup") and name in own)


def plain_name(name):
    """As a title can be: perf's names may have slashes."""
    return name.replace("/", "_")


def names_of(events):
    """How often each was; perf's own have no system in perf script."""
    return collections.Counter(event.name[5:] if event.name.startswith("perf:") else event.name
                               for event in events)


def check_samples(test, name, events, row):
    """Numbers, names and times of samples as perf has them."""
    samples = [event for event in events if is_sample(event)]
    if row["samples"]:
        test.check(name + ": samples", len(samples) == int(row["samples"]),
                   "%d, not %s" % (len(samples), row["samples"]))
    if row["events"]:
        expected = collections.Counter()
        for one in row["events"].split(";"):
            event, count = one.rsplit("=", 1)
            # Where no name is told perf makes one, with the modes that were left out.
            expected[re.sub(":HG$", "", plain_name(event))] += int(count)
        got = names_of(samples)
        test.check(name + ": samples of each event", got == expected,
                   "%s, not %s" % (dict(got), dict(expected)))
    if row["first_s"]:
        for which, event in (("first", samples[0]), ("last", samples[-1])):
            seconds, rest = row[which + "_s"].split(".")
            want = int(seconds) * 10**9 + int(rest.ljust(9, "0"))
            test.check("%s: %s sample" % (name, which), event.ns == want,
                       "%d ns, not %d" % (event.ns, want))


def check_records(test, name, events, expected):
    """Those of the recording itself: records without a time are facts, not events."""
    counts = names_of(events)
    wrong = []
    for kind, ours in RECORDS.items():
        got = sum(counts[one] for one in ours)
        if got > expected.get(kind, 0):
            wrong.append("%s: %d, not at most %d" % (kind, got, expected.get(kind, 0)))
    test.check(name + ": no more records than there are", not wrong, *wrong)


def check_script(test, name, path, events):
    """Each sample: time, thread and CPU as perf script has them."""
    fields = "comm,tid,cpu,time,event"
    theirs = script(path, fields)
    has_cpu = bool(theirs)
    if not theirs:
        theirs = script(path, "comm,tid,time,event")
    def key(event):
        return (event.ns, event.tid, event.cpu if has_cpu else None)
    def in_order(found):
        return sorted(found, key=lambda event: (event.ns, event.cpu or 0))
    theirs = in_order(theirs)
    ours = as_gone(in_order(event for event in events if is_sample(event)), theirs)
    ours, other = sorted(map(key, ours)), sorted(map(key, theirs))
    test.check("%s: perf script: times, threads%s" % (name, " and CPUs" if has_cpu else ""),
               ours == other, first_difference(ours, other))


def check_answers(test, name, path, events):
    """The commands have an answer for any file that can be read, and has events."""
    for command in (("index",), ("check-trace",), ("stats",)):
        if command[0] == "stats" and not events:
            continue
        status, _, message = run(*command, path)
        test.check("%s: %s" % (name, command[0]), status in (0, 1), "%d %s" % (status, message))


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


def check_damage(test, name, path, into):
    with open(path, "rb") as file:
        data = file.read()
    to, bad = os.path.join(into, "damaged.data"), []
    rand = random.Random(len(data))
    for place in [0, 7, 8, 15, 16, 103, 104] + [rand.randrange(len(data)) for _ in range(CUTS)]:
        with open(to, "wb") as file:
            file.write(data[:place])
        bad += [(place, what) for what in [survives(to)] if what]
    test.check(name + ": cut anywhere", not bad, str(bad[:3]))
    bad = []
    for i in range(DAMAGED):
        copy = bytearray(data)
        for _ in range(rand.choice((1, 4, 64))):
            # Half of them in the head and the end, where everything is decided.
            near = rand.choice((512, len(data), len(data), -4096))
            near = max(-len(data), min(near, len(data)))
            place = rand.randrange(near) if near > 0 else len(data) + rand.randrange(near, 0)
            copy[place] = rand.choice((0, 1, 0xff, 0x80, rand.randrange(256)))
        with open(to, "wb") as file:
            file.write(copy)
        bad += [(i, what) for what in [survives(to)] if what]
    test.check(name + ": bytes turned", not bad, str(bad[:3]))


# ------------------------------------------------------------------ beside ftrace

SWITCH_LINE = re.compile(
    r" *.{1,16}-\d+ +(?:\([ \d-]+\) )?\[(?P<cpu>\d+)\] \S{4,5} +(?P<time>\d+\.\d+): sched_switch: "
    r"prev_comm=.* prev_pid=(?P<prev>\d+) .*prev_state=(?P<state>\S+) ==> .*"
    r"next_pid=(?P<next>\d+) ")
OUR_SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) .*prev_state=(\S+) ==> .*next_pid=(\d+) ")


def kernel_switches(text):
    """(CPU, prev, state, next): times in us, as the kernel printed them."""
    found = collections.defaultdict(list)
    with open(text, errors="replace") as file:
        for line in file:
            match = SWITCH_LINE.match(line)
            if match:
                key = (int(match["cpu"]), match["prev"], match["state"], match["next"])
                found[key].append(round(float(match["time"]) * 1e6))
    return found


def dat_switches(path):
    _, events, _ = listed(path)
    found = collections.defaultdict(list)
    for event in events:
        match = OUR_SWITCH.match(event.text) if event.name == "sched:sched_switch" else None
        if match:
            found[(event.cpu, *match.groups())].append(event.ns)
    return found


def has_near(times, value, allowed):
    at = bisect.bisect_left(times, value - allowed)
    return at < len(times) and times[at] <= value + allowed


def check_switches(test, name, events, text, dat):
    """
    Both tracers write their record of one and the same switch, each with its own look at the
    clock: a little later or earlier.
    """
    ours = [(event, OUR_SWITCH.match(event.text)) for event in events
            if event.name == "sched:sched_switch"]
    for label, theirs, unit in (("the kernel's text", kernel_switches(text), 1000),
                                ("trace.dat", dat_switches(dat), 1)):
        known = {key: sorted(times) for key, times in theirs.items()}
        begin = min(times[0] for times in known.values()) * unit
        end = max(times[-1] for times in known.values()) * unit
        inside = [(event, match) for event, match in ours if begin + 10**6 < event.ns < end]
        missing = [event for event, match in inside
                   if not has_near(known.get((event.cpu, *match.groups()), []),
                                   event.ns // unit, 20000 // unit)]
        test.check("%s: switches as in %s" % (name, label), len(inside) > 100 and not missing,
                   "%d of %d are not there: %s" % (len(missing), len(inside), missing[:2]))


def check_text(test, name, path, events):
    """Tracepoints as perf script prints them."""
    def of_kernel(found):
        return by_time(event for event in found if not event.name.startswith("perf:"))
    ours = [event._replace(text=re.sub(r"\s+", " ", event.text).strip())
            for event in of_kernel(events)]
    theirs = [event._replace(text=re.sub(r"\s+", " ", event.text).strip())
              for event in of_kernel(script(path, "comm,tid,cpu,time,event,trace"))]
    ours = by_time(as_gone(ours, theirs))
    test.check(name + ": the text of perf script", not first_difference(ours, theirs),
               first_difference(ours, theirs))


# ------------------------------------------------------------------ all of it

class Test(kernel.Tap):
    def check(self, name, good, *details):
        return self.ok(good, name, *details)


def expected_records():
    found = collections.defaultdict(dict)
    for row in rows("04-perf-data", "expected-record-counts.csv"):
        found[row["file"]][row["record_type"]] = int(row["count"])
    return found


def check_old(test, into):
    subprocess.run(["tar", "--zstd", "-xf",
                    os.path.join(TRACES, "04-perf-data", "perf-data.tar.zst"), "-C", into],
                   check=True)
    records = expected_records()
    for row in rows("04-perf-data", "expected-summary.csv"):
        name = row["file"]
        path = os.path.join(into, name)
        status, events, message = listed(path)
        damaged = "corrupted" in name
        test.check(name + (": the damage is told" if damaged else ": it is whole"),
                   status == 0 and bool(message) == damaged, "%d %s" % (status, message))
        if name in records:
            check_records(test, name, events, records[name])
        if name not in UNREADABLE:
            check_samples(test, name, events, row)
            if has_perf() and row["script_samples"]:
                check_script(test, name, path, events)
        check_answers(test, name, path, events)
        if row["layout"] == "pipe" or "kdab" in name or "simpleperf" in name:
            check_damage(test, name, path, into)


def check_recorded(test, into):
    per_event = rows("13-recorded", "expected-event-counts.csv")
    for row in rows("13-recorded", "expected-summary.csv"):
        name = row["name"]
        data, dat, text = (unpack(os.path.join(TRACES, "13-recorded", "%s.%s.zst" % (name, kind)),
                                  into) for kind in ("perf.data", "trace.dat", "trace.txt"))
        status, events, message = listed(data)
        test.check(name + ": it is whole", status == 0 and not message, message)
        got = collections.Counter(event.name for event in events if is_sample(event))
        want = {one["event"]: int(one["count"]) for one in per_event
                if one["trace"] == name and one["source"] == "perf"}
        test.check(name + ": events of each name", got == want, "%s, not %s" % (got, want))
        check_switches(test, name, events, text, dat)
        if has_perf():
            check_text(test, name, data, events)
        check_answers(test, name, data, events)
        check_damage(test, name, data, into)


def main():
    if not os.path.isdir(os.path.join(TRACES, "04-perf-data")):
        kernel.absent("HOLDUP_PERF_TRACES names no folder with 04-perf-data")
    test = Test()
    with tempfile.TemporaryDirectory() as into:
        ENV["XDG_CACHE_HOME"] = into
        check_old(test, into)
        check_recorded(test, into)
    test.end()


if __name__ == "__main__":
    main()
