"""Holds what Perfetto's own reader says of our exports against what holdup says of the trace.

The reader is trace_processor as WebAssembly, run by node; tools/get-perfetto fetches it. It is in
$HOLDUP_PERFETTO, or in build-perfetto beside the sources. Its tables are asked in SQL: turns on CPUs
and states of threads, slices, arrows, counters, names, clocks, and how much of the trace it could
not make sense of.
"""
import collections
import json
import os
import shutil
import subprocess

import exported

HERE = os.path.dirname(os.path.realpath(__file__))
FOLDER = os.environ.get("HOLDUP_PERFETTO") or os.path.join(HERE, "../../../build-perfetto")

SAMPLES = "cpu-clock"  # Perfetto makes a counter of samples of work, where the trace has some
QUERIES = {
    "wrong": "select name, ifnull(idx, -1), severity, value from stats"
             " where severity != 'info' and value != 0",
    "known": "select count(*) from stats",
    "bounds": "select start_ts, end_ts from trace_bounds",
    "states": "select tid, s.ts, s.dur, s.state, ifnull(s.cpu, -1),"
              " (select tid from thread w where w.utid = s.waker_utid)"
              " from thread_state s join thread using (utid) order by tid, s.ts",
    "turns": "select cpu, ts, dur, tid, end_state from sched join thread using (utid)"
             " order by cpu, ts",
    # A track of a thread is its own, or a child of it.
    "slices": "select s.ts, s.dur, s.depth, s.category, s.name, s.arg_set_id, t.name,"
              " (select tid from thread h where h.utid = coalesce(k.utid, p.utid)) from slice s"
              " join track t on t.id = s.track_id"
              " left join thread_track k on k.id = t.id"
              " left join thread_track p on p.id = t.parent_id order by s.id",
    "args": "select arg_set_id, key, string_value, int_value, real_value from args"
            " where key like 'debug.%' order by id",
    "arrows": "select a.ts, a.name, b.ts, b.name from flow f join slice a on a.id = f.slice_out"
              " join slice b on b.id = f.slice_in",
    "counters": "select t.name, c.ts, c.value from counter c"
                " join counter_track t on t.id = c.track_id order by c.id",
    "threads": "select tid, t.name, pid, ifnull(p.cmdline, '') from thread t"
               " left join process p using (upid)",
    "clocks": "select clock_id, clock_value from clock_snapshot",
    "system": "select name, str_value from metadata where name like 'system%'",
}


def is_there():
    return bool(shutil.which("node")) and os.path.isfile(os.path.join(FOLDER,
                                                                      "trace_processor.wasm"))


def ask(path, queries):
    """{name: [row]}; every number is one."""
    done = subprocess.run(["node", os.path.join(HERE, "perfetto_sql.mjs"), FOLDER, path],
                          input=json.dumps(queries), capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def numbers(rows, *columns):
    return [tuple(int(value) if i in columns and value is not None else value
                  for i, value in enumerate(row)) for row in rows]


class Told:
    """The tables of one trace."""

    def __init__(self, path):
        tables = ask(path, QUERIES)
        self.wrong, self.known = tables["wrong"], int(tables["known"][0][0])
        (self.start, self.end), = numbers(tables["bounds"], 0, 1)
        self.states = numbers(tables["states"], 0, 1, 2, 4, 5)
        self.turns = numbers(tables["turns"], 0, 1, 2, 3)
        self.slices = numbers(tables["slices"], 0, 1, 2, 5, 7)
        self.arrows = numbers(tables["arrows"], 0, 2)
        self.counters = collections.defaultdict(list)
        for name, ns, value in numbers(tables["counters"], 1):
            self.counters[name].append((ns, value))
        self.threads = numbers(tables["threads"], 0, 2)
        self.clocks = {int(which): int(value) for which, value in tables["clocks"]}
        self.system = dict(tables["system"])
        self.args = collections.defaultdict(dict)
        for which, key, text, whole, real in tables["args"]:
            value = text if text is not None else int(whole) if whole is not None else real
            self.args[int(which)][key[len("debug."):]] = value


def difference(ours, theirs):
    """Of two bags."""
    ours, theirs = collections.Counter(ours), collections.Counter(theirs)
    return ["ours: %s" % list((ours - theirs).items())[:4],
            "Perfetto's: %s" % list((theirs - ours).items())[:4]]


def same(tap, name, ours, theirs):
    tap.ok(collections.Counter(ours) == collections.Counter(theirs), name,
           *difference(ours, theirs))


# ------------------------------------------------------------------ states of threads

def is_on_cpu(row):
    return row["group"] == "working" or row["group"] == "interrupted" and row["state"] not in (
        "waiting for a CPU", "preempted")


def turns_of(intervals):
    """Intervals on a CPU, one after the other, are a turn: {tid: [(start, end)]}."""
    found = collections.defaultdict(list)
    for row in sorted(intervals, key=lambda row: (int(row["tid"]), int(row["start_ns"]))):
        if not is_on_cpu(row):
            continue
        turns = found[int(row["tid"])]
        start, end = int(row["start_ns"]), int(row["end_ns"])
        if turns and turns[-1][1] == start:
            start = turns.pop()[0]
        turns.append((start, end))
    return found


def check_turns(tap, label, told, expected, certain, intervals):
    """What runs, and what is runnable or blocked, from when Perfetto knows of the thread."""
    ours = turns_of(intervals)
    theirs = collections.defaultdict(list)
    for _, start, span, tid, _ in told.turns:
        theirs[tid].append((start, expected.end if span < 0 else start + span))
    differ = [(tid, sorted(set(ours[tid]) ^ set(theirs[tid]))[:4]) for tid in certain
              if sorted(ours[tid]) != sorted(theirs[tid])]
    tap.ok(not differ, "%s: turns of %d threads on CPUs are Perfetto's" % (label, len(certain)),
           differ[:3])


def check_states(tap, label, told, expected, certain, intervals):
    by_tid = collections.defaultdict(list)
    for row in intervals:
        by_tid[int(row["tid"])].append(row)
    rows, differ, count = collections.defaultdict(list), [], 0
    for row in told.states:
        rows[row[0]].append(row)
    for tid in certain & set(rows):
        since, sums = rows[tid][0][1], collections.Counter()
        for _, start, span, state, _, _ in rows[tid]:
            kind = {"Running": "on CPU", "R": "interrupted", "R+": "interrupted",
                    "S": "blocked", "D": "blocked"}.get(state, state)
            sums[kind] += expected.end - start if span < 0 else span
        ours = collections.Counter()
        for row in by_tid[tid]:
            kind = "on CPU" if is_on_cpu(row) else row["group"]
            ours[kind] += max(0, int(row["end_ns"]) - max(since, int(row["start_ns"])))
        count += 1
        for kind in ("on CPU", "interrupted", "blocked"):
            if sums[kind] != ours[kind]:
                differ.append((tid, kind, ours[kind], sums[kind]))
    tap.ok(not differ and count >= min(1, len(certain)), "%s: states of %d threads add up to ours" % (label, count),
           differ[:5])


def check_wakers(tap, label, told, certain, edges):
    """Who woke whom. Perfetto takes for the waker who was interrupted when an interrupt did."""
    ours = {(int(row["woken_tid"]), int(row["time_ns"])): row for row in edges}
    differ, count = [], 0
    for tid, start, _, state, _, waker in told.states:
        row = ours.get((tid, start))
        if state not in ("R", "R+") or not row or tid not in certain or waker is None:
            continue
        if row["waker_kind"] == "thread":
            count += 1
            if waker != int(row["waker_tid"]):
                differ.append((tid, start, waker, dict(row)))
    tap.ok(not differ, "%s: wakers of %d waits are ours" % (label, count), differ[:3])


# ------------------------------------------------------------------ slices and the rest

def check_slices(tap, label, told, decoded, slices, expected):
    def track_of(lane, ident):
        if lane in ("thread", "waits", "user"):
            return decoded.tracks[exported.LANE["thread"] << 32 | ident]["thread"]["tid"]
        return decoded.tracks[exported.LANE[lane] << 32 | ident]["name"]
    ours = [(track_of(lane, ident), name, start, end - start) for lane, ident, name, start, end,
            _, _ in slices]
    ours += [(track_of(mark.lane, mark.id), mark.name, mark.ns, 0) for mark in decoded.marks
             if mark.type == 3]
    theirs = [(tid if tid is not None else track, name, start, span)
              for start, span, _, _, name, _, track, tid in told.slices]
    same(tap, "%s: %d slices are Perfetto's" % (label, len(ours)), ours, theirs)
    calls = collections.Counter(tid for *_, category, _, _, _, tid in told.slices
                                if category == "syscall")
    wrong = [(tid, calls[tid], row["calls"]) for tid, row in expected.rows.items()
             if calls[tid] < row["calls"]]
    tap.ok(not wrong, "%s: it has the system calls of holdup stats" % label, wrong[:5])
    waits = collections.Counter()
    for _, span, depth, _, _, _, track, tid in told.slices:
        if track == "waits" and depth == 0 and tid is not None:
            waits[tid] += span
    theirs = expected.sums("blocked", "no_cpu", "uncertain")
    tap.ok({tid: span for tid, span in waits.items() if span} == theirs,
           "%s: its waits add up to holdup stats" % label,
           *difference(theirs.items(), waits.items()))


def check_args(tap, label, told, decoded, slices):
    ours = [(name, key, value) for _, _, name, _, _, _, args in slices
            for key, value in plain(args)]
    ours += [(mark.name, key, value) for mark in decoded.marks if mark.type == 3
             for key, value in plain(mark.args)]
    theirs = [(name, key, value) for _, _, _, _, name, which, _, _ in told.slices
              if which is not None for key, value in told.args[which].items()]
    same(tap, "%s: %d arguments" % (label, len(ours)), ours, theirs)


def plain(args):
    """As Perfetto has them: without a sign no number has 64 bits; lists and objects are flat."""
    for key, value in args.items():
        try:
            is_json = isinstance(value, str) and isinstance(json.loads(value), (list, dict))
        except ValueError:
            is_json = False
        if is_json:
            yield from flat(key, json.loads(value))
        else:
            yield key, signed(value)


def signed(value):
    return value - 2**64 if isinstance(value, int) and value >= 2**63 else value


def flat(key, value):
    if isinstance(value, list):
        for i, one in enumerate(value):
            yield from flat("%s[%d]" % (key, i), one)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from flat("%s.%s" % (key, name), one)
    else:
        yield key, signed(value)


def check_rest(tap, label, told, decoded, trace):
    arrows = sum(len(mark.flow_out) for mark in decoded.marks)
    tap.ok(len(told.arrows) == arrows and all(a == b for a, _, b, _ in told.arrows),
           "%s: %d arrows, each within one moment" % (label, arrows), len(told.arrows),
           told.arrows[:3])
    tap.ok({name: [(ns, float(value)) for ns, value in values]
            for name, values in decoded.counters.items()}
           == {name: [(ns, float(value)) for ns, value in values]
               for name, values in told.counters.items() if name != SAMPLES}, "%s: counters" % label)
    info = json.loads(exported.run("info", "--json", trace, status=None))
    want = {6: told.start, 3: told.start}
    if info["realtime_offset_ns"]:
        want[1] = info["realtime_offset_ns"]
    got = {clock: value for clock, value in told.clocks.items() if clock in (3, 6)}
    if 1 in told.clocks:
        got[1] = told.clocks[1] - told.clocks[6]
        want[3] = want[6] = told.clocks[6]
    tap.ok(got == want, "%s: clocks" % label, got, want)


def check_names(tap, label, told, decoded):
    ours = {tid: (thread["name"], thread["tgid"]) for tid, thread in decoded.threads.items()}
    theirs = collections.defaultdict(set)
    for tid, name, pid, _ in told.threads:
        theirs[tid].add((name, pid))
    wrong = [(tid, name, theirs[tid]) for tid, name in ours.items() if name not in theirs[tid]]
    tap.ok(ours and not wrong, "%s: names and processes of %d threads" % (label, len(ours)),
           wrong[:5])


def check(tap, label, trace, window=(), status=0, loss=False):
    """All of it, in the current folder."""
    expected = exported.Expected(trace, window)
    data = exported.run("export", "--format", "perfetto", *window, trace, status=status)
    with open("reader.pftrace", "wb") as file:
        file.write(data)
    decoded, told = exported.Perfetto(data), Told("reader.pftrace")
    slices = decoded.slices()
    exported.run("export", "--format", "csv", "-o", "reader-tables", *window, trace, status=status)
    intervals, edges = (exported.table("reader-tables/%s.csv" % name)
                        for name in ("intervals", "edges"))
    wrong = [row for row in told.wrong if not (loss and row[2] == "data_loss")]
    tap.ok(told.known > 100 and not wrong, "%s: Perfetto finds nothing wrong" % label, wrong)
    certain = {tid for tid, row in expected.rows.items() if tid > 0 and not row["uncertain"]}
    check_turns(tap, label, told, expected, certain, intervals)
    check_states(tap, label, told, expected, certain, intervals)
    check_wakers(tap, label, told, certain, edges)
    check_slices(tap, label, told, decoded, slices, expected)
    check_args(tap, label, told, decoded, slices)
    check_names(tap, label, told, decoded)
    check_rest(tap, label, told, decoded, trace)
    os.unlink("reader.pftrace")
    shutil.rmtree("reader-tables")
