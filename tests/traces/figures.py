#!/usr/bin/env python3
"""Hold what holdup says of other people's traces against each figure that others publish of them.

$HOLDUP_CTF_TRACES, or ../shared/traces beside the project, has 06-thread-states, 07-io,
09-statistics, 11-ftrace-text and 14-kernel-plus-ust with answers of Trace Compass, lttng-analyses
and Perfetto. statistics.py, ftrace_text.py and models.py check others of their files. Figures are
compared as exactly as they are printed; "Differs:" says where a definition is another one.

What holdup has no answer of its own for is worked out here from the events that it lists, which
tests the reading alone: the requests that wait for a disk and the sectors moved (07-io), bytes by
file, disk and network card (lttng-analyses-io), parents of threads (06), and whether a wait is for
I/O by the kernel's own flag (sched_blocked_reason in 11).

Neither root nor a kernel is needed. Skipped when the folder is not there.
"""
import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

TRACES = os.environ.get("HOLDUP_CTF_TRACES") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../../../shared/traces")
# In the Chrome format CPUs are threads of processes that do not exist: who ran.
WHO_RAN = 2000000000
# The peers name some calls by the function in the kernel.
FUNCTIONS = {"uname": "newuname", "arm_sync_file_range": "sync_file_range2"}
BEGIN, END = "start_ns", "end_ns"

Run = collections.namedtuple("Run", "cpu start end tid")
Call = collections.namedtuple("Call", "tid name start end ret")


# ------------------------------------------------------------- what holdup says

def holdup(*args):
    done = subprocess.run([kernel.HOLDUP, *args], capture_output=True, check=False, timeout=120)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"holdup {' '.join(args)}: {done.stderr.decode()}")
    return done.stdout.decode()


class Trace:
    """A trace, and what holdup says of it."""

    def __init__(self, path):
        self.path = path
        self.events = [json.loads(line) for line in holdup("list", "--json", path).splitlines()]
        for event in self.events:
            event["name"] = event["event"].split(":", 1)[1]
        self.start, self.end = (self.events[i]["time_ns"] for i in (0, -1))
        self._shown = self._spans = None
        self._runs = []

    def shown(self):
        if self._shown is None:
            file = os.path.basename(self.path) + ".chrome.json"
            holdup("export", "--format", "chrome", "-o", file, self.path)
            with open(file, encoding="utf-8") as shown:
                self._shown = json.load(shown)["traceEvents"]
        return self._shown

    def runs(self):
        """Who had which CPU, and when. Thread -1: holdup does not know."""
        if self._runs:
            return self._runs
        for shown in self.shown():
            if shown["ph"] == "X" and shown["pid"] == WHO_RAN:
                name, start = shown["name"], round(shown["ts"] * 1000)
                tid = int(name.rsplit("[", 1)[1][:-1]) if name.endswith("]") else -1
                end = start + round(shown["dur"] * 1000)
                self._runs.append(Run(shown["tid"], start, end, tid))
        return self._runs

    def calls(self):
        """System calls that begin and end in the trace."""
        begun, found = {}, []
        for shown in self.shown():
            if shown.get("cat") != "syscall":
                continue
            time, tid = round(shown["ts"] * 1000), shown["tid"]
            if shown["ph"] == "B":
                begun[tid] = time
            elif shown["ph"] == "E" and tid in begun and "args" in shown:
                found.append(Call(tid, shown["name"], begun.pop(tid), time, shown["args"]["ret"]))
        return found

    def counter(self, name):
        return [(round(shown["ts"] * 1000), shown["args"]["value"]) for shown in self.shown()
                if shown["ph"] == "C" and shown["name"] == name]

    def spans(self):
        """Intervals of threads."""
        if self._spans is None:
            folder = os.path.basename(self.path) + ".csv"
            holdup("export", "--format", "csv", "-o", folder, self.path)
            self._spans = kernel.csv_rows(folder, "intervals.csv")
            for span in self._spans:
                for key in ("tid", "tgid", BEGIN, END):
                    span[key] = int(span[key])
        return self._spans

    def named(self, *names):
        return [event for event in self.events if event["name"] in names]

    def first_switches(self):
        """The first switch of each CPU: until then most peers know of nobody there."""
        first = {}
        for event in self.named("sched_switch"):
            first.setdefault(event["cpu"], event)
        return first


def rows(*path):
    return kernel.csv_rows(TRACES, *path)


def text_of(*path):
    with open(os.path.join(TRACES, *path), encoding="utf-8") as file:
        return file.read()


def unpacked(folder, archive, name=None):
    """In the folder at hand, which is gone after the test."""
    subprocess.run(["tar", "--zstd", "-xf", os.path.join(TRACES, folder, archive)], check=True)
    return Trace(name or archive.split(".")[0])


# statistics.py beside this file hides Python's own module.
def mean(values):
    return math.fsum(values) / len(values)


def deviation(values):
    """Of a sample."""
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def overlap(run, start, end):
    return max(0, min(run.end, end) - max(run.start, start))


def same_rows(tap, name, wrong, count):
    tap.ok(count > 0 and not wrong, f"{name}: {count} rows", *wrong[:5])


# ------------------------------------------------------------- 06-thread-states

def cpu_usage(tap, trace):
    """1 unit is 1 us. Keys: CPU/thread, "total", total/thread, cpuN."""
    wrong, wanted = [], rows("06-thread-states", "cpu_analysis.expected-cpu-usage.csv")
    for row in wanted:
        key = row["cpu/tid or total"]
        start, end = (int(t) * 1000 for t in re.match(r"(\d+)\.\.(\d+)", row["range"]).groups())
        only = re.search(r"cpu (\d+) only", row["range"])
        cpu, tid = key.split("/") if "/" in key else (key.removeprefix("cpu"), None)
        cpu = only[1] if only and cpu == "total" else cpu
        ran = sum(overlap(run, start, end) for run in trace.runs()
                  if cpu in ("total", str(run.cpu)) and (tid is None or run.tid == int(tid)))
        if ran != int(row["cpu_time"]) * 1000:
            wrong.append((row, ran))
    same_rows(tap, "cpu_analysis: CPU time by window, CPU and thread", wrong, len(wanted))
    for window in ((22, 25), (1, 4), (4, 13)):
        told = json.loads(holdup("stats", "--json", "--by", "thread", "--from",
                                 f"0.{window[0]:06}", "--to", f"0.{window[1]:06}", trace.path))
        want = {int(row["cpu/tid or total"].split("/")[1]): int(row["cpu_time"]) * 1000
                for row in wanted if row["range"] == "%d..%d" % window
                and row["cpu/tid or total"].startswith("total/")}
        got = {row["tid"]: row["on_cpu"]["ns"] for row in told["rows"] if row["on_cpu"]["ns"]}
        tap.ok(got == want, "cpu_analysis: stats of the window %d..%d" % window, got, want)


def context_switches(tap, trace):
    """Differs: Trace Compass takes a difference of two counts, so a switch at the beginning is not
    in it; and a CPU that has none by then begins at -1 (a null state in Java)."""
    wrong, wanted = [], rows("06-thread-states", "cpu_analysis.expected-context-switches.csv")
    for row in wanted:
        start, end = (max(1, int(t)) * 1000 for t in row["range"].split(".."))
        count = 0
        for cpu in (0, 1):
            times = [event["time_ns"] for event in trace.named("sched_switch")
                     if event["cpu"] == cpu]
            if row["cpu"] in ("all", str(cpu)):
                count += sum(start < time <= end for time in times) + (min(times) > start)
        if count != int(row["switches"]):
            wrong.append((row, count))
    same_rows(tap, "cpu_analysis: context switches", wrong, len(wanted))


def arrows(tap, trace):
    """Differs: Trace Compass draws none for the first switch of a CPU."""
    names = {span["tid"]: span["comm"] for span in trace.spans()}
    first = trace.first_switches()
    got = [(names[event["fields"]["prev_tid"]], names[event["fields"]["next_tid"]],
            event["time_ns"] // 1000, 0) for event in trace.named("sched_switch")
           if event is not first[event["cpu"]]]
    want = [(row["from_thread"], row["to_thread"], int(row["t"]), int(row["duration"]))
            for row in rows("06-thread-states", "kernel_analysis.expected-arrows.csv")]
    tap.ok(got == want, "kernel_analysis: arrows from thread to thread", got, want)
    # A switch at the very end begins no run.
    runs = sorted(run for run in trace.runs() if run.cpu == 1)
    got = [(names[a.tid], names[b.tid], b.start // 1000, 0) for a, b in zip(runs, runs[1:])
           if a.start > trace.start and a.end == b.start]
    tap.ok(got == want[:-1], "kernel_analysis: the same, from who ran on the CPU", got, want)


def told_parent(trace, tid, until):
    """By the events: nothing else that holdup says has the parent of a thread."""
    parent = "none"
    for event in trace.events:
        fields = event["fields"]
        if event["time_ns"] <= until and fields.get("tid") == tid and "ppid" in fields:
            parent = str(fields["ppid"])
        if event["time_ns"] <= until and fields.get("child_tid") == tid:
            parent = str(fields["parent_pid"])
    return parent


def threads(tap, trace):
    """Differs: in Trace Compass a thread begins where the trace first names it, here at its birth
    or with the trace; a row goes on to the end, here a thread ends where it dies."""
    for row in rows("06-thread-states", "kernel_analysis.expected-threads.csv"):
        tid = int(row["tid"])
        spans = [span for span in trace.spans() if span["tid"] == tid]
        named = [event for event in trace.events if tid in
                 [event["fields"].get(key) for key in ("tid", "prev_tid", "next_tid", "child_tid")]]
        died = [event["time_ns"] for event in named if event["fields"].get("prev_tid") == tid
                and event["fields"]["prev_state"] == 64]
        birth = int(row["birth_t"]) * 1000
        end = died[0] if died else (int(row["end_t_exclusive"]) - 1) * 1000
        start = birth if named[0]["name"] == "sched_process_fork" else trace.start
        good = {(span["comm"], span["tgid"]) for span in spans} == {(row["name"], int(row["pid"]))}
        tap.ok(good and spans[0][BEGIN] == start and spans[-1][END] == end and
               named[0]["time_ns"] == birth,
               f"kernel_analysis: {row['name']}, its process, birth and end", spans, row)
        parent = told_parent(trace, tid, trace.end)
        tap.ok(parent == row["ppid"].replace("-1", "none"),
               f"kernel_analysis: {row['name']}, its parent", parent, row)


def known_from(trace, tid):
    """Trace Compass knows what a thread does from the first switch or birth that names it."""
    return min([event["time_ns"] for event in trace.named("sched_switch", "sched_process_fork")
                if tid in (event["fields"].get("prev_tid"), event["fields"].get("next_tid"),
                           event["fields"].get("child_tid"))], default=trace.end + 1)


def active(trace, start, end):
    """Differs: before known_from() holdup concludes, Trace Compass does not; a switch at the very
    end begins no interval."""
    found = {span["tid"] for span in trace.spans()
             if span["group"] in ("working", "interrupted") and span[BEGIN] <= end
             and span[END] > max(start, known_from(trace, span["tid"]))}
    return found | {event["fields"]["next_tid"] for event in trace.named("sched_switch")
                    if start <= event["time_ns"] <= end}


def answer(trace, query):
    """Differs: before a CPU's first switch Trace Compass says that it does not know who runs."""
    us = [int(number) * 1000 for number in re.findall(r"\d+", query)]
    first = trace.first_switches()
    if query == "thread ids in the trace":
        return {str(span["tid"]) for span in trace.spans()}
    if query.startswith("thread on cpu"):
        cpu, time = us[0] // 1000, us[1]
        ran = {str(run.tid) for run in trace.runs()
               if run.cpu == cpu and run.start <= time < run.end}
        return {"none"} if time < first[cpu]["time_ns"] else ran
    if query.startswith("threads on cpu"):
        return {str(run.tid) for run in trace.runs()
                if run.cpu == us[0] // 1000 and run.start <= us[2] and run.end > us[1]}
    if query.startswith("active threads"):
        return {str(tid) for tid in active(trace, us[0], us[1] if len(us) > 1 else trace.end)}
    tid = us[0] // 1000
    if query.startswith("ppid of"):
        return {told_parent(trace, tid, us[1])}
    key = "tgid" if query.startswith("pid of") else "comm"
    return {str(span[key]) for span in trace.spans() if span["tid"] == tid}


def queries(tap, trace):
    for row in rows("06-thread-states", "kernel_analysis.expected-queries.csv"):
        got = answer(trace, row["query"])
        tap.ok(got == set(row["answer"].split()), f"kernel_analysis: {row['query']}", got, row)
    before = trace.first_switches()[0]
    ran = [run.tid for run in trace.runs() if run.cpu == 0 and run.end == before["time_ns"]]
    tap.ok(ran == [before["fields"]["prev_tid"]],
           "kernel_analysis: before the first switch the thread that it switches out ran", ran)


# ------------------------------------------------------------------------ 07-io

def waiting_and_sectors(trace):
    """(time, attribute, value) after each event, by Trace Compass's rules: merged requests wait
    as one."""
    waiting, moved, steps = set(), collections.Counter(), []
    for event in trace.events:
        fields = event["fields"]
        if event["name"] == "block_rq_insert":
            waiting.add(fields["sector"])
        elif event["name"] == "block_bio_frontmerge":
            waiting = {fields["sector"] if sector == fields["sector"] + fields["nr_sector"]
                       else sector for sector in waiting}
        elif event["name"] == "addons_elv_merge_requests":
            waiting.discard(fields["nextrq_sector"])
        elif event["name"] == "block_rq_issue":
            waiting.discard(fields["sector"])
        elif event["name"] == "block_rq_complete":
            moved["WRITTEN" if fields["rwbs"] & 1 else "READ"] += fields["nr_sector"]
        steps += [(event["time_ns"], "WAITING_QUEUE_LENGTH", len(waiting)),
                  (event["time_ns"], "SECTORS_READ", moved["READ"]),
                  (event["time_ns"], "SECTORS_WRITTEN", moved["WRITTEN"])]
    return steps


def disk(tap, name):
    trace = unpacked("07-io", name + ".ctf.tar.zst")
    in_flight = [(time, "DRIVER_QUEUE_LENGTH", value)
                 for time, value in trace.counter("disk requests in flight")]
    steps = in_flight + waiting_and_sectors(trace)
    wrong, wanted = [], rows("07-io", name + ".expected.csv")
    for row in wanted:
        parts = row["attribute"].split("/")
        if len(parts) == 2:
            told = trace.named("statedump_block_device")[0]["fields"]
            got = [told["diskname"]] if str(told["dev"]) == parts[1] else []
        else:
            # At both ends: the last value by then, as nothing changes between. None yet is 0.
            got = [([value for time, what, value in steps if what == parts[2]
                     and time <= int(row[key]) * 1000] or [0])[-1]
                   for key in ("from_t", "to_t_inclusive")]
        if {str(value) for value in got} != {row["value"] or "0"}:
            wrong.append((dict(row), got))
    same_rows(tap, f"{name}: requests at the disk, waiting, sectors", wrong, len(wanted))
    ends = {int(row["from_t"]) * 1000 for row in wanted if "DRIVER" in row["attribute"]}
    tap.ok({time for time, _, _ in in_flight} <= ends,
           f"{name}: requests at the disk change at no other time", in_flight)


def bytes_read(tap):
    trace = unpacked("07-io", "io_syscall_read.ctf.tar.zst")
    wrong, wanted = [], rows("07-io", "io_syscall_read.expected.csv")
    for row in wanted:
        tid = int(row["attribute"].split("/")[1])
        got = {sum(call.ret for call in trace.calls() if call.tid == tid and call.ret > 0
                   and call.end <= int(row[key]) * 1000 and call.name in
                   ("read", "readv", "pread64", "preadv")) for key in ("from_t", "to_t_inclusive")}
        if got != {int(row["value"] or 0)}:
            wrong.append((dict(row), got))
    same_rows(tap, "io_syscall_read: bytes that each thread had read", wrong, len(wanted))


# ---------------------------------------------------------------- 09-statistics

def busy_shares(trace, start, end):
    """Of each CPU. Differs: lttng-analyses takes the time before a CPU's first switch for busy."""
    shares = {}
    for cpu, first in trace.first_switches().items():
        ran = sum(overlap(run, start, end) for run in trace.runs() if run.cpu == cpu
                  and run.start >= first["time_ns"])
        shares[cpu] = (ran + first["time_ns"] - start) / (end - start)
    return shares


def cpu_shares(tap, trace):
    folder, start = "09-statistics", "bug446190.lttng-analyses-cputop-"
    shares = busy_shares(trace, trace.start, trace.end)
    want = {int(row["cpu"][3:]): float(row["busy_ratio"])
            for row in rows(folder, start + "per-cpu.csv")}
    tap.ok(shares.keys() == want.keys() and
           all(math.isclose(shares[cpu], want[cpu], rel_tol=1e-9) for cpu in want),
           "bug446190: how busy each CPU was", shares, want)
    want = float(rows(folder, start + "total.csv")[0]["busy_ratio"])
    tap.ok(math.isclose(mean(shares.values()), want, rel_tol=1e-9),
           "bug446190: how busy all CPUs were", shares, want)


def cpu_top(tap):
    trace = unpacked("09-statistics", "lttng-analyses-cputop.tar.zst")
    start, end = 10**9, 11 * 10**9
    got = {f"cpu {cpu}": share for cpu, share in busy_shares(trace, start, end).items()}
    got["all cpus"] = mean(got.values())
    got |= {f"tid {tid}": sum(overlap(run, start, end) for run in trace.runs() if run.tid == tid)
            / (end - start) for tid in {run.tid for run in trace.runs()}}
    wrong = [(row, got.get(row["what"])) for row in
             rows("09-statistics", "lttng-analyses-cputop.expected.csv")
             if abs(got.get(row["what"], -1) - float(row["ratio"])) > 5e-5]
    tap.ok(not wrong, "lttng-analyses-cputop: shares of threads and CPUs", wrong, got)
    told = json.loads(holdup("stats", "--json", "--by", "thread", trace.path))
    moves = {row["tid"]: (row["name"], row["counts"]["migrations"]) for row in told["rows"]}
    text = text_of("09-statistics", "lttng-analyses-cputop.expected-cputop.txt")
    found = re.findall(r"([\d.]+) % +(\S+) \((\d+)\) +(\d+) ", text)
    wrong = [row for row in found if row[2] != "0" and
             (moves.get(int(row[2])) != (row[1], int(row[3])) or
              "%.2f" % (100 * got["tid " + row[2]]) != row[0])]
    wrong += [row for row in re.findall(r"([\d.]+) % CPU (\d+)", text)
              if "%.2f" % (100 * got["cpu " + row[1]]) != row[0]]
    tap.ok(len(found) == 4 and not wrong, "lttng-analyses-cputop: names, shares, moves as printed",
           wrong, found, moves)


def queued(trace, tid):
    """How long a thread was queued after each waking. Differs: lttng-analyses begins a new thread's
    first turn at sched_wakeup_new, holdup at the fork."""
    waits = []
    for span in trace.spans():
        if span["tid"] != tid or span["state"] != "waiting for a CPU":
            continue
        if waits and waits[-1][1] == span[BEGIN]:
            waits[-1][1] = span[END]
        else:
            waits.append([span[BEGIN], span[END]])
    born = [event["time_ns"] for event in trace.named("sched_process_fork")
            if event["fields"]["child_tid"] == tid]
    new = [event["time_ns"] for event in trace.named("sched_wakeup_new")
           if event["fields"]["tid"] == tid]
    return [end - (new[0] if [start] == born else start) for start, end in waits]


def same_spread(values, row, total):
    """Least, mean, greatest, sample deviation; and the sum, where 'total' names the column."""
    spread = [min(values), max(values)] == [int(row["min_ns"]), int(row["max_ns"])]
    if len(values) > 1:
        told = row.get("stdev_ns") or row.get("sample_stdev_ns")
        spread &= abs(deviation(values) - float(told)) < 0.06
    return spread and len(values) == int(row["count"]) and \
        abs(mean(values) - float(row["avg_ns"])) < 0.06 and \
        (not total or sum(values) == int(row[total]))


def wake_up_latency(tap, trace):
    wrong = []
    wanted = rows("09-statistics", "bug446190.lttng-analyses-schedstats-per_tid_stats.csv")
    for row in wanted:
        values = queued(trace, int(row["thread"].rsplit("(", 1)[1][:-1]))
        if not values or not same_spread(values, row, None):
            wrong.append((dict(row), values[:20]))
    same_rows(tap, "bug446190: from each waking to the CPU", wrong, len(wanted))


def call_latency(tap, trace):
    lengths = collections.defaultdict(list)
    for call in trace.calls():
        lengths[FUNCTIONS.get(call.name, call.name)].append(call.end - call.start)
    everything = [length for each in lengths.values() for length in each]
    wanted = rows("09-statistics", "bug446190.syscall-latency.csv")
    wrong = [dict(row) for row in wanted if not same_spread(
        everything if row["syscall"] == "TOTAL" else lengths.get(row["syscall"], [0]), row,
        "total_ns")]
    same_rows(tap, "bug446190: length of system calls, each kind and all", wrong, len(wanted))
    published = {row["syscall"]: row for row in
                 rows("09-statistics", "bug446190.tracecompass-syscall-latency.csv")}
    earliest = min(trace.calls(), key=lambda call: call.start)
    got = {"number of syscall types": ("count", len(lengths)),
           "shortest (ns)": ("min", min(everything)), "longest (ns)": ("max", max(everything)),
           "first segment in time order (ns)": ("min", earliest.end - earliest.start)}
    wrong = [(what, value) for what, (column, value) in got.items()
             if published[what][column] != str(value)]
    for what, values in (("Total", everything), ("select", lengths["select"])):
        row = published[what]
        values = {"min": min(values), "max": max(values), "avg": mean(values),
                  "stdev": deviation(values), "total": sum(values)}
        wrong += [(what, key, value) for key, value in values.items()
                  if row[key] and in_units(value, row[key].split()[1]) != row[key].split()[0]]
        if int(row["count"]) != len(everything if what == "Total" else lengths[what]):
            wrong.append((what, row))
    tap.ok(not wrong, "bug446190: what Trace Compass publishes of system calls", wrong)


def in_units(ns, unit):
    """With at most three decimals, as Trace Compass prints it."""
    return ("%.3f" % (ns / {"us": 1e3, "ms": 1e6, "s": 1e9}[unit])).rstrip("0").rstrip(".")


def cpu_points(tap, trace):
    """Differs: at a point before a CPU's first switch Trace Compass knows of nobody there."""
    first, before, wrong = trace.first_switches(), {}, []
    wanted = rows("09-statistics", "bug446190.tracecompass-cpu-usage.csv")
    runs = trace.runs()
    for row in wanted:
        window, series, point, time, percent = row.values()
        at, last = trace.start + int(time) - 1, before.get((window, series))
        before[window, series] = at
        tid = None if series.startswith("total:") else int(series.split(":")[1])
        ran = sum(overlap(run, last or at, at) for run in runs if tid in (None, run.tid)
                  and at >= first[run.cpu]["time_ns"])
        if abs((100 * ran / (at - last) if last else 0) - float(percent)) > 1e-9:
            wrong.append((window, series, point, percent, ran))
    same_rows(tap, "bug446190: share of the CPUs from point to point", wrong, len(wanted))


def call_lines(text):
    """Begin, end, call, length in us, size, name, tid, file and descriptor."""
    pattern = (r"^\[([\d:.]+), ([\d:.]+)\] +(\w+) +([\d.]+) +(N/A|\d+)(?: +B)? +(\S+) +(\d+) +"
               r"(\S+) \(fd=(\d+)\)")
    return re.findall(pattern, text, re.M)


def io_calls(tap, trace):
    """Files: by the event that names them, as a descriptor or as an argument."""
    text = text_of("09-statistics", "lttng-analyses-io.expected-iolatencytop.txt")
    comms = {span["tid"]: span["comm"] for span in trace.spans()}
    files = {(event["fields"]["pid"], event["fields"]["fd"]): event["fields"]["filename"]
             for event in trace.named("lttng_statedump_file_descriptor")}
    got = []
    for call in trace.calls():
        enter = next(event for event in trace.events if event["time_ns"] == call.start
                     and event["tid"] == call.tid)
        fd = enter["fields"].get("fd", call.ret)
        file = enter["fields"].get("filename") or files.get((call.tid, fd), "unknown")
        times = ["00:00:%02d.%09d" % divmod(time, 10**9) for time in (call.start, call.end)]
        got.append((*times, call.name, "%.3f" % ((call.end - call.start) / 1000),
                    "N/A" if call.name == "open" else str(call.ret), comms[call.tid],
                    str(call.tid), file, str(fd)))
    want = call_lines(text)
    tap.ok(len(want) == 4 and sorted(got) == sorted(want), "lttng-analyses-io: the calls", got,
           want)


def io_sums(trace):
    """What each section of the peer's text has: by the events."""
    sums = collections.defaultdict(collections.Counter)
    issued = {}
    for call in trace.calls():
        if call.name in ("read", "write"):
            sums[f"Per-process I/O {call.name.title()}"][str(call.tid)] += call.ret
    for event in trace.events:
        fields = event["fields"]
        if event["name"] == "block_rq_issue":
            disk_name = f"({fields['dev'] >> 20},{fields['dev'] & 0xfffff})"
            verb = "Write" if fields["rwbs"] & 1 else "Read"
            sums[f"Block I/O {verb}"][str(fields["tid"])] += fields["nr_sector"] * 512
            sums["Disk Requests Sector Count"][disk_name] += fields["nr_sector"]
            sums["Disk Request Count"][disk_name] += 1
            issued[fields["dev"], fields["sector"]] = (disk_name, event["time_ns"])
        elif event["name"] == "block_rq_complete":
            disk_name, begun = issued[fields["dev"], fields["sector"]]
            sums["Disk Request Average Latency"][disk_name] += (event["time_ns"] - begun) / 1e6
        elif event["name"] == "netif_receive_skb":
            sums["Network Received Bytes"][fields["name"]] += fields["len"]
        elif event["name"] == "net_dev_xmit":
            sums["Network Sent Bytes"][fields["name"]] += fields["len"]
    return sums


def io_use(tap, trace):
    """Each line is an amount, a unit and who: a thread, a disk or a network card. Those by file
    follow from io_calls()."""
    sums, section, count, wrong = io_sums(trace), "", 0, []
    for line in text_of("09-statistics",
                        "lttng-analyses-io.expected-iousagetop.txt").splitlines():
        title = re.match(r"(?:Per-process|Block|Disk|Network) [\w/ ]+?(?=  |$)", line)
        amount = re.match(r"[█ ]+([\d.]+) (?: *)(B|KiB|sectors|requests|ms) (.+)", line)
        if title or line.startswith("Per-file"):
            section = title[0] if title else ""
        elif amount and section:
            who = re.search(r"\((?:unknown \()?(?:pid=|tid=)?(?:unknown \(tid=)?(\d+)\)", amount[3])
            who = who[1] if who else amount[3].split()[0]
            value = float(amount[1]) * (1024 if amount[2] == "KiB" else 1)
            count += 1
            if sums[section][who] != value:
                wrong.append((section, line, sums[section]))
    tap.ok(count == 18 and not wrong, f"lttng-analyses-io: {count} amounts", *wrong, dict(sums))


def published_statistics(tap):
    trace = unpacked("01-ctf-real", "bug446190.tar.zst")
    cpu_shares(tap, trace)
    wake_up_latency(tap, trace)
    call_latency(tap, trace)
    cpu_points(tap, trace)
    cpu_top(tap)
    trace = unpacked("09-statistics", "lttng-analyses-io.tar.zst")
    io_calls(tap, trace)
    io_use(tap, trace)


# --------------------------------------------------------------- 11-ftrace-text

def blocked_reasons(tap):
    path = os.path.join(TRACES, "11-ftrace-text", "perfetto-sched_blocked.systrace")
    trace = Trace(path)
    for row in rows("11-ftrace-text", "perfetto-sched_blocked.expected.csv"):
        time, tid = round(float(row["t_s"]) * 10**9), int(row["tid"])
        spans = [json.loads(line) for line in holdup("states", "--json", row["tid"],
                                                     path).splitlines()]
        begun = [span for span in spans if span.get("state") and span[BEGIN] == time]
        tap.ok(len(begun) == 1 and begun[0]["wib"] == "blocked" and
               begun[0]["state"] == "uninterruptible sleep" and row["state"] == "D",
               f"sched_blocked: thread {tid} sleeps uninterruptibly", spans)
        told = [event["fields"]["iowait"] for event in trace.named("sched_blocked_reason")
                if event["fields"]["pid"] == tid and event["time_ns"] >= time]
        tap.ok(told[:1] == [int(row["io_wait"])], f"sched_blocked: thread {tid}, for I/O or not",
               told)


# ---------------------------------------------------------- 14-kernel-plus-ust

def both_sides(tap, name):
    """Each event of the program is by the thread that ran on its CPU by the kernel's events. A
    switch that the kernel left out may leave open who ran; another thread it cannot be."""
    ust = unpacked("14-kernel-plus-ust", name + ".ust-ctf.tar.zst", name + "-ust")
    packed = os.path.join(TRACES, "14-kernel-plus-ust", name + ".kernel.trace.dat.zst")
    subprocess.run(["zstd", "-qdfo", name + ".dat", packed], check=True)
    kernel_side = Trace(name + ".dat")
    want = {row["query"]: row["answer"] for row in rows("14-kernel-plus-ust",
                                                        name + ".expected.csv")}
    runs = collections.defaultdict(list)
    for run in kernel_side.runs():
        runs[run.cpu].append(run)
    agree, wrong = 0, []
    for event in ust.events:
        ran = {run.tid for run in runs[event["cpu"]] if run.start <= event["time_ns"] < run.end}
        agree += event["fields"]["vtid"] in ran
        if not ran & {event["fields"]["vtid"], -1}:
            wrong.append((event, ran))
    got = {"UST events": len(ust.events),
           "kernel events (trace-cmd, equal to the kernel text)": len(kernel_side.events),
           "first UST event, kernel clock ns": ust.start,
           "last UST event, kernel clock ns": ust.end,
           "UST events whose vtid is the running thread on cpu_id at that time in the kernel trace":
           agree, "UST events that do not agree": len(wrong)}
    got |= {f"UST events of vtid {tid}": count for tid, count in
            collections.Counter(event["fields"]["vtid"] for event in ust.events).items()}
    got |= {f"UST event {what}": count for what, count in
            collections.Counter(event["event"] for event in ust.events).items()}
    got |= {f"kernel event {what}": count for what, count in
            collections.Counter(event["name"] for event in kernel_side.events).items()}
    said = {query: value for query, value in want.items() if query != "workload"
            and not query.startswith("UST clock")}
    different = [(query, got.get(query), value) for query, value in said.items()
                 if str(got.get(query, 0)) != value]
    same_rows(tap, f"{name}: events, first and last, and who ran", different + wrong, len(said))
    tap.ok(len(got) == len(said), f"{name}: no events of other kinds", set(got) ^ set(said))


def main():
    if not os.path.isdir(os.path.join(TRACES, "07-io")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 07-io")
    if not shutil.which("zstd"):
        kernel.absent("zstd is not installed")
    tap = kernel.Tap()
    with kernel.workdir() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        trace = unpacked("06-thread-states", "cpu_analysis.ctf.tar.zst")
        cpu_usage(tap, trace)
        context_switches(tap, trace)
        trace = unpacked("06-thread-states", "kernel_analysis.ctf.tar.zst")
        arrows(tap, trace)
        threads(tap, trace)
        queries(tap, trace)
        disk(tap, "io_analysis")
        disk(tap, "io_req_merge")
        bytes_read(tap)
        published_statistics(tap)
        blocked_reasons(tap)
        both_sides(tap, "ust_xz")
        both_sides(tap, "ust_sort")
    tap.end()


main()
