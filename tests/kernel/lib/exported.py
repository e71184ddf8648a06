"""Holds what holdup export writes against what other commands say of the same trace.

The decoder of Perfetto's format here is independent of the one that the program links: it knows the
wire format of protocol buffers and, as a table, the fields of Perfetto's published schema
(protos/perfetto/trace/*.proto). Sums are those of holdup stats, intervals those of holdup states,
wake-ups the sched_waking events of holdup list.
"""
import collections
import csv
import gzip
import json
import os
import subprocess

import kernel

UNKNOWN_TID = 2_000_000_000
LANE = {"thread": 1, "waits": 2, "user": 3, "irq": 4, "lost": 5, "cpu events": 6}

# message: {field: (name, kind, is repeated)}; kinds: a message, u(int64), i(nt64), s(tring), b(ytes),
# f(ixed64), d(ouble), p(acked varints)
SCHEMA = {
    "Trace": {1: ("packet", "TracePacket", True)},
    "TracePacket": {
        1: ("ftrace_events", "FtraceEventBundle", False),
        2: ("process_tree", "ProcessTree", False),
        6: ("clock_snapshot", "ClockSnapshot", False), 8: ("timestamp", "u", False),
        10: ("trusted_packet_sequence_id", "u", False), 11: ("track_event", "TrackEvent", False),
        12: ("interned_data", "InternedData", False), 13: ("sequence_flags", "u", False),
        45: ("system_info", "SystemInfo", False),
        60: ("track_descriptor", "TrackDescriptor", False), 66: ("perf_sample", "PerfSample", False)},
    "FtraceEventBundle": {1: ("cpu", "u", False), 2: ("event", "FtraceEvent", True),
                          3: ("lost_events", "u", False)},
    "FtraceEvent": {1: ("timestamp", "u", False), 2: ("pid", "u", False),
                    4: ("sched_switch", "SchedSwitch", False), 5: ("common_flags", "u", False),
                    20: ("sched_waking", "SchedWaking", False),
                    235: ("task_newtask", "TaskNewtask", False)},
    "SchedSwitch": {1: ("prev_comm", "s", False), 2: ("prev_pid", "i", False),
                    4: ("prev_state", "i", False), 5: ("next_comm", "s", False),
                    6: ("next_pid", "i", False)},
    "SchedWaking": {1: ("comm", "s", False), 2: ("pid", "i", False), 3: ("prio", "i", False),
                    5: ("target_cpu", "i", False)},
    "TaskNewtask": {1: ("pid", "i", False), 2: ("comm", "s", False),
                    3: ("clone_flags", "u", False)},
    "ProcessTree": {1: ("processes", "Process", True), 2: ("threads", "Thread", True)},
    "Process": {1: ("pid", "i", False), 2: ("ppid", "i", False), 3: ("cmdline", "s", True)},
    "Thread": {1: ("tid", "i", False), 2: ("name", "s", False), 3: ("tgid", "i", False)},
    "ClockSnapshot": {1: ("clocks", "Clock", True)},
    "Clock": {1: ("clock_id", "u", False), 2: ("timestamp", "u", False)},
    "SystemInfo": {1: ("utsname", "Utsname", False)},
    "Utsname": {1: ("sysname", "s", False), 2: ("version", "s", False),
                3: ("release", "s", False), 4: ("machine", "s", False)},
    "TrackDescriptor": {1: ("uuid", "u", False), 2: ("name", "s", False),
                        3: ("process", "ProcessDescriptor", False),
                        4: ("thread", "ThreadDescriptor", False), 5: ("parent_uuid", "u", False),
                        8: ("counter", "CounterDescriptor", False)},
    "ProcessDescriptor": {1: ("pid", "i", False), 6: ("process_name", "s", False)},
    "ThreadDescriptor": {1: ("pid", "i", False), 2: ("tid", "i", False),
                         5: ("thread_name", "s", False)},
    "CounterDescriptor": {6: ("unit_name", "s", False)},
    "TrackEvent": {4: ("debug_annotations", "DebugAnnotation", True), 9: ("type", "u", False),
                   10: ("name_iid", "u", False), 11: ("track_uuid", "u", False),
                   22: ("categories", "s", True), 23: ("name", "s", False),
                   30: ("counter_value", "i", False), 47: ("flow_ids", "f", True),
                   48: ("terminating_flow_ids", "f", True)},
    "DebugAnnotation": {1: ("name_iid", "u", False), 3: ("uint_value", "u", False),
                        4: ("int_value", "i", False), 5: ("double_value", "d", False),
                        6: ("string_value", "s", False), 9: ("legacy_json_value", "s", False),
                        10: ("name", "s", False)},
    "InternedData": {2: ("event_names", "Interned", True),
                     3: ("debug_annotation_names", "Interned", True), 5: ("function_names", "InternedString", True),
                     6: ("frames", "Frame", True), 7: ("callstacks", "Callstack", True),
                     17: ("mapping_paths", "InternedString", True), 19: ("mappings", "Mapping", True)},
    "InternedString": {1: ("iid", "u", False), 2: ("str", "s", False)},
    "Mapping": {1: ("iid", "u", False), 7: ("path_string_ids", "u", True)},
    "Frame": {1: ("iid", "u", False), 2: ("function_name_id", "u", False), 3: ("mapping_id", "u", False), 4: ("rel_pc", "u", False)},
    "Callstack": {1: ("iid", "u", False), 2: ("frame_ids", "u", True)},
    "PerfSample": {2: ("pid", "u", False), 3: ("tid", "u", False), 4: ("callstack_iid", "u", False), 5: ("cpu_mode", "u", False)},
    "Interned": {1: ("iid", "u", False), 2: ("name", "s", False)},
    # github.com/google/pprof/proto/profile.proto
    "Profile": {1: ("sample_type", "ValueType", True), 2: ("sample", "Sample", True), 3: ("mapping", "PprofMapping", True),
                4: ("location", "Location", True), 5: ("function", "Function", True), 6: ("string_table", "s", True),
                9: ("time_nanos", "i", False), 10: ("duration_nanos", "i", False), 14: ("default_sample_type", "i", False)},
    "ValueType": {1: ("type", "i", False), 2: ("unit", "i", False)},
    "Sample": {1: ("location_id", "p", False), 2: ("value", "p", False), 3: ("label", "Label", True)},
    "Label": {1: ("key", "i", False), 2: ("str", "i", False)},
    "PprofMapping": {1: ("id", "u", False), 5: ("filename", "i", False), 6: ("build_id", "i", False), 7: ("has_functions", "u", False),
                     8: ("has_filenames", "u", False), 9: ("has_line_numbers", "u", False), 10: ("has_inline_frames", "u", False)},
    "Location": {1: ("id", "u", False), 2: ("mapping_id", "u", False), 3: ("address", "u", False), 4: ("line", "Line", True)},
    "Line": {1: ("function_id", "u", False), 2: ("line", "i", False)},
    "Function": {1: ("id", "u", False), 2: ("name", "i", False), 3: ("system_name", "i", False), 4: ("filename", "i", False)},
}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value & (2**64 - 1), at


def value_of(kind, wire, data, at):
    """The value of one field, and where it ends. Anything that does not fit is an error."""
    if kind in "ui":
        assert wire == 0, "wire type %d of a varint" % wire
        value, at = varint(data, at)
        return (value - 2**64 if kind == "i" and value >= 2**63 else value), at
    if kind in "fd":
        assert wire == 1, "wire type %d of a fixed64" % wire
        return int.from_bytes(data[at:at + 8], "little"), at + 8
    assert wire == 2, "wire type %d of a length" % wire
    size, at = varint(data, at)
    assert at + size <= len(data), "a length reaches out of its message"
    if kind == "s":
        return data[at:at + size].decode("utf-8"), at + size  # strictly
    if kind == "p":
        values, end = [], at + size
        while at < end:
            value, at = varint(data, at)
            values.append(value)
        assert at == end, "a packed varint reaches out of its field"
        return values, at
    return decode(kind, data[at:at + size]), at + size


def decode(message, data):
    fields, at, out = SCHEMA[message], 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        assert tag >> 3 in fields, "%s has no field %d" % (message, tag >> 3)
        name, kind, repeated = fields[tag >> 3]
        value, at = value_of(kind, tag & 7, data, at)
        if repeated:
            out.setdefault(name, []).append(value)
        else:
            assert name not in out, "%s.%s comes twice" % (message, name)
            out[name] = value
    return out


class Pprof:
    """A profile as pprof reads it: samples with the names of their functions, innermost first."""

    def __init__(self, data):
        profile = decode("Profile", gzip.decompress(data))
        texts = profile["string_table"]
        assert texts[0] == "" and len(set(texts)) == len(texts), "texts are there once, the empty one first"
        functions = {each["id"]: texts[each["name"]] for each in profile["function"]}
        mappings = {each["id"] for each in profile.get("mapping", [])}
        locations = {each["id"]: functions[each["line"][0]["function_id"]] for each in profile["location"]}
        assert all(each.get("mapping_id", 0) in mappings | {0} for each in profile["location"]), "mappings are there"
        self.types = [(texts[each["type"]], texts[each["unit"]]) for each in profile["sample_type"]]
        self.default = texts[profile["default_sample_type"]]
        self.samples = []
        for each in profile["sample"]:
            labels = {texts[label["key"]]: texts[label["str"]] for label in each.get("label", [])}
            self.samples.append(([locations[one] for one in each["location_id"]],
                                 {name: value for (name, _), value in zip(self.types, each["value"])}, labels))

    def self_ns(self, kind):
        """By innermost function."""
        sums = collections.Counter()
        for stack, values, _ in self.samples:
            sums[stack[0]] += values[kind]
        return sums

    def total_ns(self, kind):
        sums = collections.Counter()
        for stack, values, _ in self.samples:
            for function in set(stack):
                sums[function] += values[kind]
        return sums


Mark = collections.namedtuple("Mark", "ns type lane id name args flow_out flow_in")


class Perfetto:
    """A trace, with names put in and in the order of time as trace_processor sorts: stable."""

    def __init__(self, data):
        self.marks, self.counters, self.tracks = [], collections.defaultdict(list), {}
        self.switches, self.wakings, self.lossy = collections.defaultdict(list), [], set()
        self.threads, self.made, self.clock = {}, [], None
        self.code, self.samples = collections.defaultdict(dict), []
        names = {"event_names": {}, "debug_annotation_names": {}}
        valid = False
        for packet in decode("Trace", data).get("packet", []):
            if packet["trusted_packet_sequence_id"] == 2:
                self.take_code(packet)
                continue
            assert packet["trusted_packet_sequence_id"] == 1
            if packet["sequence_flags"] & 1:
                names = {"event_names": {}, "debug_annotation_names": {}}
                valid = True
            assert valid, "a packet before the state was cleared"
            for table, entries in packet.get("interned_data", {}).items():
                for entry in entries:
                    assert entry["iid"] not in names[table] and entry["iid"] > 0
                    names[table][entry["iid"]] = entry["name"]
            self.take(packet, names)
        self.marks.sort(key=lambda mark: mark.ns)
        for switches in self.switches.values():
            switches.sort(key=lambda event: event[0])

    def take(self, packet, names):
        if "track_event" in packet:
            self.take_event(packet["timestamp"], packet["track_event"], names)
        elif "track_descriptor" in packet:
            track = packet["track_descriptor"]
            assert track["uuid"] not in self.tracks, "a track is described twice"
            assert not track.get("parent_uuid") or track["parent_uuid"] in self.tracks
            self.tracks[track["uuid"]] = track
        elif "ftrace_events" in packet:
            self.take_bundle(packet["ftrace_events"])
        elif "process_tree" in packet:
            for thread in packet["process_tree"].get("threads", []):
                self.threads[thread["tid"]] = thread
        elif "clock_snapshot" in packet:
            self.clock = {clock["clock_id"]: clock["timestamp"]
                          for clock in packet["clock_snapshot"]["clocks"]}

    def take_code(self, packet):
        """Stacks are a sequence of their own: all that one is made of was told before it."""
        assert bool(packet["sequence_flags"] & 1) == (not self.code), "only the first packet clears"
        for table, entries in packet.get("interned_data", {}).items():
            for entry in entries:
                assert entry["iid"] not in self.code[table] and entry["iid"] > 0
                self.code[table][entry["iid"]] = entry
        if "perf_sample" not in packet:
            return
        sample, stack = packet["perf_sample"], []
        for iid in self.code["callstacks"][sample["callstack_iid"]].get("frame_ids", []):
            frame = self.code["frames"][iid]
            assert self.code["mappings"][frame["mapping_id"]]["path_string_ids"][0] in self.code["mapping_paths"]
            stack.append(self.code["function_names"][frame["function_name_id"]]["str"])
        self.samples.append((packet["timestamp"], sample["pid"], sample["tid"], stack))

    def take_event(self, ns, event, names):
        uuid = event["track_uuid"]
        assert uuid in self.tracks, "a track that was not described"
        if event["type"] == 4:
            self.counters[self.tracks[uuid]["name"]].append((ns, event["counter_value"]))
            return
        args = {}
        for note in event.get("debug_annotations", []):
            value = [note[key] for key in note if key.endswith("_value")]
            assert len(value) == 1, "an argument with %d values" % len(value)
            args[names["debug_annotation_names"][note["name_iid"]]] = value[0]
        name = names["event_names"][event["name_iid"]] if event["type"] != 2 else None
        lane = [key for key in LANE if LANE[key] == uuid >> 32][0]
        self.marks.append(Mark(ns, event["type"], lane, uuid & 0xffffffff, name, args,
                               event.get("flow_ids", []), event.get("terminating_flow_ids", [])))

    def take_bundle(self, bundle):
        cpu = bundle["cpu"]
        if bundle.get("lost_events"):
            self.lossy.add(cpu)
        for event in bundle["event"]:
            ns = event["timestamp"]
            if "sched_switch" in event:
                self.switches[cpu].append((ns, event["sched_switch"]))
            elif "sched_waking" in event:
                self.wakings.append((ns, event["sched_waking"]["pid"], event["pid"]))
            else:
                self.made.append((ns, event["task_newtask"]["pid"]))

    def tid_of(self, mark):
        return self.tracks[(LANE["thread"] << 32) | mark.id]["thread"]["tid"]

    def slices(self):
        """Begin and end of each track must match: (lane, id, name, start, end, depth, args)."""
        open_, out = collections.defaultdict(list), []
        for mark in self.marks:
            stack = open_[mark.lane, mark.id]
            if mark.type == 1:
                stack.append(mark)
            elif mark.type == 2:
                assert stack, "an end without a beginning at %d" % mark.ns
                first = stack.pop()
                out.append((mark.lane, mark.id, first.name, first.ns, mark.ns, len(stack),
                            {**first.args, **mark.args}))
        assert not any(open_.values()), "a slice has no end"
        return out

    def on_cpu(self, end_ns):
        """As trace_processor makes its table of turns: {tid: [(cpu, start, end, state)]}."""
        out = collections.defaultdict(list)
        for cpu, switches in self.switches.items():
            for i, (ns, switch) in enumerate(switches):
                last = i + 1 == len(switches)
                until = end_ns if last else switches[i + 1][0]
                if not last:
                    following = switches[i + 1][1]
                    assert following["prev_pid"] == switch["next_pid"], "a broken chain of turns"
                out[switch["next_pid"]].append(
                    (cpu, ns, until, None if last else switches[i + 1][1]["prev_state"]))
        return out


def run(*args, status=0):
    done = subprocess.run([kernel.HOLDUP, *args], capture_output=True, check=False, timeout=300)
    assert status is None or done.returncode == status, "%s: exit %d: %s" % (args, done.returncode,
                                                           done.stderr.decode(errors="replace"))
    return done.stdout


def lines_of(*args):
    return [json.loads(line) for line in run(*args).splitlines()]


def table(path):
    """Strictly RFC 4180: CR LF, as many values as names."""
    with open(path, "rb") as file:
        raw = file.read()
    assert raw.endswith(b"\r\n")
    rows = list(csv.reader(raw.decode("utf-8").splitlines(keepends=True), strict=True))
    assert all(len(row) == len(rows[0]) for row in rows), "a row has more or fewer values"
    return [dict(zip(rows[0], row)) for row in rows[1:]]


class Expected:
    """What the other commands say of a trace."""

    def __init__(self, trace, window=()):
        froms = list(window)
        stats = json.loads(run("stats", "--by", "thread", "--json", *froms, trace))
        self.start, self.end = stats["window"]["start_ns"], stats["window"]["end_ns"]
        self.rows = collections.defaultdict(collections.Counter)
        for row in stats["rows"]:
            sums = self.rows[row["tid"]]
            sums["life"] += row["life_ns"]
            sums["on_cpu"] += row["on_cpu"]["ns"]
            sums["no_cpu"] += row["waiting_for_cpu"]["ns"]
            sums["blocked"] += row["blocked"]["ns"]
            sums["uncertain"] += row["uncertain"]["ns"]
            sums["calls"] += sum(call["count"] for call in row.get("syscalls", []))
        self.events = lines_of("list", "--json", *froms, trace)
        self.lost = stats["lost_events"]

    def named(self, name):
        return [event for event in self.events if event["event"].split(":")[-1] == name]

    def sums(self, *names):
        return {tid: sum(row[name] for name in names) for tid, row in self.rows.items()
                if sum(row[name] for name in names)}


def check_folded(tap, label, trace, expected, window):
    for measure, names in (("blocked", ["blocked"]), ("waiting", ["blocked", "no_cpu"]),
                           ("wall", ["life"])):
        sums = collections.Counter()
        for line in run("export", "--format", "folded", "--measure", measure, *window,
                        trace).decode("utf-8").splitlines():
            stack, ns = line.rsplit(" ", 1)
            sums[int(stack.split(";")[1].rsplit("[", 1)[1][:-1])] += int(ns)
        theirs = expected.sums(*names)
        tap.ok(dict(sums) == theirs, "%s: folded %s adds up to stats of each of %d threads"
               % (label, measure, len(theirs)),
               sorted(set(sums.items()) ^ set(theirs.items()))[:10])


def check_csv(tap, label, trace, expected, window):
    run("export", "--format", "csv", "-o", "tables", *window, trace)
    intervals, edges, waits = (table("tables/%s.csv" % name)
                               for name in ("intervals", "edges", "waits"))
    sums = collections.defaultdict(collections.Counter)
    for row in intervals:
        sums[int(row["tid"])][row["group"]] += int(row["duration_ns"])
    ours = {tid: (row["blocked"], row["uncertain"], sum(row.values()))
            for tid, row in sums.items()}
    theirs = {tid: (row["blocked"], row["uncertain"], row["life"])
              for tid, row in expected.rows.items()}
    tap.ok(ours == theirs, "%s: csv intervals add up to stats" % label,
           sorted(set(ours.items()) ^ set(theirs.items()))[:10])
    blocked = collections.Counter()
    for row in waits:
        blocked[int(row["tid"])] += int(row["duration_ns"])
    tap.ok(dict(blocked) == expected.sums("blocked"), "%s: csv waits add up to stats" % label)
    tap.ok(all(0 < int(row["root_ns"]) <= int(row["duration_ns"]) for row in waits),
           "%s: each wait has a root, for no more than its time" % label)
    lines = collections.Counter(
        (line["who"]["tid"], line["start_ns"], line["end_ns"], line["state"]) for line in
        lines_of("export", "--format", "jsonl", "--what", "intervals", *window, trace))
    tap.ok(lines == collections.Counter((int(row["tid"]), int(row["start_ns"]),
                                         int(row["end_ns"]), row["state"]) for row in intervals),
           "%s: jsonl has the same intervals as csv" % label)
    return intervals, edges, waits


def check_states(tap, label, trace, intervals, window):
    froms = list(window)
    tids = collections.Counter(int(row["tid"]) for row in intervals)
    bad = []
    for tid, _ in tids.most_common(5):
        ours = [(int(row["start_ns"]), int(row["end_ns"]), row["group"], row["state"])
                for row in intervals if int(row["tid"]) == tid]
        theirs = [(line["start_ns"], line["end_ns"], line["wib"], line["state"])
                  for line in lines_of("states", "--json", *froms, str(tid), trace)
                  if "wib" in line]
        if not set(theirs) <= set(ours):  # a number may be another thread's later
            bad.append((tid, sorted(set(theirs) - set(ours))[:3]))
    tap.ok(not bad, "%s: csv intervals are those of holdup states" % label, bad)


def check_edges(tap, label, expected, intervals, edges):
    wakings = {(event["time_ns"], event["fields"]["pid"] if "pid" in event["fields"]
                else event["fields"]["tid"])
               for name in ("sched_waking", "sched_wakeup", "sched_wakeup_new")
               for event in expected.named(name)}
    ours = {(int(row["time_ns"]), int(row["woken_tid"])) for row in edges}
    tap.ok(ours <= wakings, "%s: each of %d wake-ups is an event of the trace"
           % (label, len(ours)), sorted(ours - wakings)[:5])
    ends = {(int(row["end_ns"]), int(row["tid"])) for row in intervals
            if row["group"] == "blocked"}
    tap.ok(ends & wakings <= ours, "%s: each event that ended a wait is one of them" % label,
           sorted((ends & wakings) - ours)[:5])


def check_chrome(tap, label, trace, expected, window):
    events = json.loads(run("export", "--format", "chrome", *window, trace))["traceEvents"]
    ns = lambda us: round(us * 1000) if us < 1e12 else int(us) * 1000 + round(us % 1 * 1000)
    marks, stacks, flows = [], collections.defaultdict(list), collections.defaultdict(list)
    sums, depth = collections.Counter(), collections.Counter()
    runnable, last = collections.Counter(), {}
    bad = 0
    for event in sorted((event for event in events if event["ph"] != "M"),
                        key=lambda event: event["ts"]):
        kind, row, at = event["ph"], (event["pid"], event["tid"]), ns(event["ts"])
        if kind == "B":
            stacks[row].append(event["name"])
        elif kind == "E":
            bad += not stacks[row] or stacks[row].pop() != event["name"]
        elif kind in "be" and event["cat"] == "waits":
            first = depth[row] == 0 if kind == "b" else depth[row] == 1
            depth[row] += 1 if kind == "b" else -1
            sums[event["tid"]] += (at if kind == "e" else -at) if first else 0
        elif kind in "sf":
            flows[event["id"]].append((kind, event["ts"]))
        elif kind == "C" and event["name"].endswith("runnable threads"):
            before, value = last.get(event["name"], (at, 0))
            runnable[event["name"]] += value * (at - before)
            last[event["name"]] = at, event["args"]["value"]
        marks.append(event)
    for name, (before, value) in last.items():
        runnable[name] += value * (expected.end - before)
    tap.ok(not bad and not any(stacks.values()) and not any(depth.values()),
           "%s: chrome: every slice ends, and they nest" % label, bad)
    tap.ok({tid: total for tid, total in sums.items() if total}
           == expected.sums("blocked", "no_cpu", "uncertain"),
           "%s: chrome: waits add up to stats" % label)
    tap.ok(all(sorted(kinds) == [("f", kinds[0][1]), ("s", kinds[0][1])]
               for kinds in flows.values()), "%s: chrome: each of %d arrows has two ends"
           % (label, len(flows)))
    return marks, sum(runnable.values())


def check_perfetto(tap, label, trace, expected, intervals, window):
    data = run("export", "--format", "perfetto", *window, trace)
    trace_ = Perfetto(data)
    slices = trace_.slices()
    sums = collections.Counter()
    for lane, ident, _, start, end, deep, _ in slices:
        if lane == "waits" and deep == 0:
            sums[trace_.tracks[LANE["thread"] << 32 | ident]["thread"]["tid"]] += end - start
    tap.ok({tid: total for tid, total in sums.items() if total}
           == expected.sums("blocked", "no_cpu", "uncertain"),
           "%s: perfetto: slices nest, and waits add up to stats" % label)
    turns = trace_.on_cpu(expected.end)
    ours = {tid: sum(end - start for _, start, end, _ in spans) for tid, spans in turns.items()
            if 0 < tid < UNKNOWN_TID}
    theirs = {tid: ns for tid, ns in expected.sums("on_cpu").items()}
    differ = [(tid, ours.get(tid, 0), theirs.get(tid, 0)) for tid in set(ours) | set(theirs)
              if ours.get(tid, 0) != theirs.get(tid, 0)
              and not expected.rows[tid]["uncertain"]]
    tap.ok(not differ, "%s: perfetto: turns on CPUs add up to stats of %d threads"
           % (label, len(theirs)), differ[:10])
    check_thread_states(tap, label, trace_, turns, expected, intervals)
    wakings = collections.Counter((event["time_ns"], event["fields"].get(
        "pid", event["fields"].get("tid"))) for event in expected.named("sched_waking"))
    if wakings:
        ours = collections.Counter((ns, tid) for ns, tid, _ in trace_.wakings)
        tap.ok(not wakings - ours, "%s: perfetto: all %d sched_waking of the trace"
               % (label, sum(wakings.values())), list((wakings - ours).items())[:5])
    out = {flow: mark for mark in trace_.marks for flow in mark.flow_out}
    into = {flow: mark for mark in trace_.marks for flow in mark.flow_in}
    tap.ok(set(out) == set(into) and all(out[flow].ns == into[flow].ns for flow in out),
           "%s: perfetto: each of %d arrows has two ends" % (label, len(out)))
    holes = [event for event in expected.events if event["event"] == "holdup:lost_events"]
    shown = trace_.counters.get("events lost", [])
    tap.ok(len(shown) == len(holes) and
           bool(trace_.lossy) <= bool(holes), "%s: perfetto: %d holes are marked"
           % (label, len(holes)), shown[:3])
    return trace_, slices


def check_thread_states(tap, label, trace_, turns, expected, intervals):
    """What trace_processor makes of switches and wakings: blocked from a switch-out that is no
    preemption to the next waking. That is what we say of threads that are never uncertain."""
    wakings = collections.defaultdict(list)
    for ns, tid, _ in sorted(trace_.wakings):
        wakings[tid].append(ns)
    blocked = collections.defaultdict(set)
    for row in intervals:
        if row["group"] == "blocked" and int(row["start_ns"]) > expected.start:
            blocked[int(row["tid"])].add((int(row["start_ns"]), int(row["end_ns"])))
    bad, count = [], 0
    for tid, spans in turns.items():
        if tid == 0 or tid >= UNKNOWN_TID or expected.rows[tid]["uncertain"]:
            continue
        for _, _, end, state in spans:
            if state not in (1, 2):
                continue
            woken = min([ns for ns in wakings[tid] if ns >= end], default=expected.end)
            count += 1
            if (end, woken) not in blocked[tid]:
                bad.append((tid, end, woken))
    tap.ok(not bad, "%s: perfetto: %d waits of its thread states are ours" % (label, count),
           bad[:5])


def check_both(tap, label, trace_, slices, marks, runnable, expected):
    """Chrome and perfetto tell the same, and the calls are the events of the trace."""
    ours = collections.Counter(
        (name, start, end) for lane, _, name, start, end, _, _ in slices if lane == "thread")
    enters = len(expected.named("sys_enter"))
    seen = sum(1 for event in marks if event["ph"] == "B" and event.get("cat") == "syscall")
    tap.ok(sum(ours.values()) == seen and seen >= enters,
           "%s: %d calls, %d of them begun in the window" % (label, seen, enters))
    waiting = sum(expected.sums("no_cpu").values())
    tap.ok(runnable == waiting, "%s: the runnable threads, over time, are the time without a CPU"
           % label, runnable, waiting)
    total = 0
    for name, values in trace_.counters.items():
        if name.endswith("runnable threads"):
            assert values == sorted(values, key=lambda value: value[0])
            for (ns, value), (until, _) in zip(values, values[1:] + [(expected.end, 0)]):
                total += value * (until - ns)
    tap.ok(total == waiting, "%s: perfetto's counter says the same" % label, total, waiting)


def check(tap, label, trace, window=()):
    """All of it, in the current folder."""
    expected = Expected(trace, window)
    check_folded(tap, label, trace, expected, window)
    intervals, edges, waits = check_csv(tap, label, trace, expected, window)
    check_states(tap, label, trace, intervals, window)
    check_edges(tap, label, expected, intervals, edges)
    marks, runnable = check_chrome(tap, label, trace, expected, window)
    trace_, slices = check_perfetto(tap, label, trace, expected, intervals, window)
    check_both(tap, label, trace_, slices, marks, runnable, expected)
    same = run("export", "--format", "jsonl", *window, trace) == run(
        "list", "--json", *list(window), trace)
    tap.ok(same, "%s: jsonl has the events of holdup list" % label)
    subprocess.run(["rm", "-rf", "tables"], check=True)
    return trace_, slices, intervals, edges, waits


__all__ = ["Perfetto", "check", "run", "lines_of", "table", "os"]
