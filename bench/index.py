#!/usr/bin/env python3
"""The timeline on disk: speed, memory, size and answers, beside its rivals, in one run; writes
bench/RESULTS.md.

usage: index.py [--rounds N] [--events MILLIONS] [--sizes 200M,600M,1500M,5G] [--skip PART,...]
                [--print]

The trace is a real one: tbench, all events of "-e full". Longer ones are made of the real pages of a
shorter one, with shifted times (repeat_trace). Rivals see the same load: perf.data with the same
events; for trace-cmd the raw pages of an own instance, which "trace-cmd restore" makes a trace.dat.
Everything is run in turn, and what is shown are medians. Commands that do not exist yet are left out.

parts to skip: peers, window, sizes
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import record_cost as cost

BUILD = os.path.dirname(cost.HOLDUP)
FREE_NEEDED = 2.2  # times the largest size
TBENCH = ["tbench", "-c", "/usr/share/dbench/client.txt"]


class Demands:
    """Lines of the result: what was asked for, what came out."""

    def __init__(self):
        self.lines = []

    def add(self, what, measured, target, good, unit=""):
        """'good': does it pass; None = it could not be measured."""
        shown = measured if isinstance(measured, str) else "%s%s" % (digits(measured), unit)
        verdict = "-" if good is None else "pass" if good else "**fail**"
        self.lines.append("| %s | %s | %s | %s |" % (what, shown, target, verdict))
        print(self.lines[-1], flush=True)

    def at_least(self, what, measured, target, unit=""):
        self.add(what, measured, ">= %s%s" % (digits(target), unit), measured >= target, unit)

    def at_most(self, what, measured, target, unit=""):
        self.add(what, measured, "<= %s%s" % (digits(target), unit), measured <= target, unit)

    def skip(self, what, why):
        self.add(what, why, "-", None)

    def table(self):
        return "\n".join(["| what | measured | target | |", "|---|---|---|---|"] + self.lines)


def digits(number):
    return "%d" % number if number >= 1000 else "%.3g" % number


def note(text):
    print(text, file=sys.stderr, flush=True)


class Run:
    """A finished program: seconds, peak memory in MiB, output."""

    def __init__(self, argv, keep=False):
        out = tempfile.TemporaryFile() if keep else open(os.devnull, "wb")
        with out, tempfile.TemporaryFile() as err:
            start = time.monotonic()
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            self.status = process.returncode
            self.mib = usage.ru_maxrss / 1024
            self.cpu = usage.ru_utime + usage.ru_stime
            err.seek(0)
            self.err = err.read().decode(errors="replace")
            self.out = b""
            if keep:
                out.seek(0)
                self.out = out.read()

    def must(self):
        if self.status != 0:
            raise RuntimeError("exit %d: %s" % (self.status, self.err[-2000:]))
        return self


def holdup(*args, keep=False):
    return Run([cost.HOLDUP] + list(args), keep)


def has(command):
    return holdup("help", command).status == 0


def median(runs, what):
    return statistics.median(getattr(run, what) for run in runs)


# Traces.

@contextlib.contextmanager
def server():
    process = subprocess.Popen(["tbench_srv"], **cost.QUIET)
    try:
        time.sleep(0.5)
        yield
    finally:
        process.kill()
        process.wait()


def record(trace, seconds):
    shutil.rmtree(trace, ignore_errors=True)
    with server():
        holdup("record", "-e", "full", "-b", "32M", "-o", trace, "--",
               *TBENCH, "-t", str(seconds), "2", "127.0.0.1").must()
    cpus = told_of(trace)["cpus"]
    return {"events": sum(cpu["events"] for cpu in cpus), "bytes": sum(cpu["bytes"] for cpu in cpus),
            "lost": sum(cpu["lost"] + cpu["dropped"] for cpu in cpus)}


def record_events(trace, wanted):
    """Longer until there are enough events."""
    seconds = 12
    while True:
        told = record(trace, seconds)
        note("%s: %d s, %.1f million events, %.0f MiB, %d lost" % (
            trace, seconds, told["events"] / 1e6, told["bytes"] / 2**20, told["lost"]))
        if told["events"] >= wanted:
            return told
        seconds = int(seconds * wanted / told["events"] * 1.15) + 1


def perf_data(events):
    """The same load under perf, for a while; returns the number of its samples."""
    with server():
        done = Run(["perf", "record", "-q", "-a", "-o", "perf.data", "-m", "32M", "-e",
                    ",".join(event for event in events if "irq_work" not in event), "--",
                    *TBENCH, "-t", "2", "2", "127.0.0.1"])
    if done.status != 0 or not os.path.exists("perf.data"):
        return 0
    stats = Run(["perf", "report", "--stats", "-i", "perf.data"], keep=True)
    total = re.search(rb"SAMPLE events:\s+(\d+)", stats.out)
    return int(total[1]) if total else 0


def trace_dat(events):
    """Pages of 4 KiB out of an own instance, made a trace.dat; returns the number of events."""
    path = os.path.join(cost.INSTANCES, "bench-%d" % os.getpid())
    os.mkdir(path)
    try:
        for name, text in (("tracing_on", "0"), ("buffer_size_kb", "131072"), ("trace_clock", "mono")):
            cost.put(path, name, text)
        for event in events:
            with contextlib.suppress(OSError):
                cost.put(path, "events/%s/enable" % event.replace(":", "/"), "1")
        with server():
            cost.put(path, "tracing_on", "1")
            subprocess.run(TBENCH + ["-t", "1", "2", "127.0.0.1"], check=True, **cost.QUIET)
            cost.put(path, "tracing_on", "0")
        files = [drain(path, cpu) for cpu in range(os.cpu_count())]
    finally:
        os.rmdir(path)
    Run(["trace-cmd", "restore", "-c", "-o", "head.dat"]).must()
    Run(["trace-cmd", "restore", "-i", "head.dat", "-o", "trace.dat"] + files).must()
    return count_lines(["trace-cmd", "report", "-i", "trace.dat"]) - 1


def count_lines(argv):
    """Without keeping them: a child's peak memory is at least that of its parent."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: process.stdout.read(65536), b""))


def drain(path, cpu):
    name = "raw.cpu%d" % cpu
    source = os.open(os.path.join(path, "per_cpu/cpu%d/trace_pipe_raw" % cpu), os.O_RDONLY | os.O_NONBLOCK)
    try:
        with open(name, "wb") as file, contextlib.suppress(BlockingIOError):
            while True:
                page = os.read(source, 4096)
                if not page:
                    break
                file.write(page)
    finally:
        os.close(source)
    return name


def told_of(trace):
    with open(os.path.join(trace, "trace.json")) as file:
        return json.load(file)


# Measurements.

def index_once(trace, *prefix):
    done = Run(list(prefix) + [cost.HOLDUP, "index", "--force", "--json", trace], keep=True).must()
    return json.loads(done.out)


def speed(demands, args):
    """How fast the index is built, beside rivals on the same load, in turn."""
    peers, counts = {}, {}
    if "peers" not in args.skip:
        events = told_of("real")["events"]
        counts["perf"] = perf_data(events)
        if counts["perf"]:
            peers["perf sched timehist"] = ("perf", 3, ["perf", "sched", "timehist", "-i", "perf.data"])
            peers["perf script"] = ("perf", 25, ["perf", "script", "-i", "perf.data"])
        if shutil.which("trace-cmd"):
            counts["trace-cmd"] = trace_dat(events)
            peers["trace-cmd report"] = ("trace-cmd", 25, ["trace-cmd", "report", "-i", "trace.dat"])
    two, one, rivals = [], [], {name: [] for name in peers}
    for number in range(args.rounds):
        two.append(index_once("real"))
        one.append(index_once("real", "taskset", "-c", "0"))
        for name, (_, _, argv) in peers.items():
            rivals[name].append(Run(argv).must().seconds)
        note("round %d: two %.1f M/s, one %.1f M/s, %s" % (
            number + 1, two[-1]["events_per_second"] / 1e6, one[-1]["events_per_second"] / 1e6,
            ", ".join("%s %.1f s" % (name, times[-1]) for name, times in rivals.items())))
    rate = statistics.median(run["events_per_second"] for run in two) / 1e6
    demands.at_least("index, two cores", rate, 20, " M events/s")
    demands.at_least("index, one core", statistics.median(run["events_per_second"] for run in one) / 1e6,
                     10, " M events/s")
    for name, (kind, target, _) in peers.items():
        peer = counts[kind] / statistics.median(rivals[name]) / 1e6
        demands.at_least("index, two cores, per event against %s (%.2g M events/s)" % (name, peer),
                         rate / peer, target, " times")
    demands.at_most("index / trace, bytes", two[-1]["index_bytes"] / two[-1]["trace_bytes"], 0.5)


def window_of(trace):
    """10 s in the middle, or what there is."""
    told = told_of(trace)
    length = (told["end_ns"] - told["begin_ns"]) / 1e9
    start = max(0, length / 2 - 5)
    return ["--from", "+%.6fs" % start, "--to", "+%.6fs" % min(start + 10, length)]


def answers(demands, args):
    """A window of 10 s after indexing, and single questions."""
    index_once("real")
    window = window_of("real")
    for command in ("why", "stats"):
        what = "%s of a 10 s window, process and all" % command
        if not has(command):
            demands.skip(what, "no such command yet")
            continue
        runs = [holdup(command, *window, "real").must() for _ in range(max(5, args.rounds))]
        demands.at_most(what, median(runs, "seconds") * 1000, 100, " ms")
    query = os.path.join(BUILD, "bench", "query_speed")
    if not os.access(query, os.X_OK):
        demands.skip("state at t", "bench/query_speed is not built")
        return
    told = json.loads(Run([query, "-n", "50000", "real"], keep=True).must().out)
    demands.at_most("state at t, random threads and times, mean", told["state_at"]["mean_us"], 50, " us")
    demands.at_most("state at t, the 99th of 100", told["state_at"]["p99_us"], 50, " us")
    demands.at_most("who ran on a CPU at t, mean", told["running_at"]["mean_us"], 50, " us")
    demands.at_most("sums of all threads in 10 s, median", told["totals_of_all_threads_10s"]["p50_us"] / 1000,
                    100, " ms")


CURVE = {
    "why": lambda trace: ["why", *window_of(trace), trace],
    "stats": lambda trace: ["stats", trace],
    "breakdown": lambda trace: ["breakdown", str(told_of(trace)["target_tid"]), trace],
    "list": lambda trace: ["list", trace],
    "check-trace": lambda trace: ["check-trace", trace],
}


def measure_size(size, args):
    """One point of the curve: {column: (seconds, MiB)}, and its bytes and events."""
    shutil.rmtree("long", ignore_errors=True)
    Run([os.path.join(BUILD, "bench", "repeat_trace"), "short", "long", size]).must()
    point = {}
    told = index_once("long")
    point["bytes"], point["events"] = told["trace_bytes"], told["events"]
    point["index"] = (told["took_ns"] / 1e9, told["peak_rss_bytes"] / 2**20)
    for command in CURVE:
        if not has(command):
            continue
        done = holdup(*CURVE[command]("long"))
        if done.status in (0, 1):
            point[command] = (done.seconds, done.mib)
        else:
            note("%s on %s: %s" % (command, size, done.err.strip()))
    if has("list") and size == args.sizes[-1]:
        trace = told_of("long")
        middle = (trace["end_ns"] - trace["begin_ns"]) / 2e9
        runs = [holdup("list", "--from", "+%.6fs" % middle, "-n", "100", "long").must() for _ in range(5)]
        point["seek"] = median(runs, "seconds") * 1000
    note("%s: %s" % (size, point))
    return point


def curve(demands, args):
    """Memory and time over the size of the trace."""
    points = {}
    for size in args.sizes:
        points[size] = measure_size(size, args)
        shutil.rmtree("long", ignore_errors=True)
    columns = ["index"] + [command for command in CURVE if command in points[args.sizes[0]]]
    for command in columns:
        worst = max(point[command][1] for point in points.values() if command in point)
        demands.at_most("peak memory of %s, %s to %s" % (command, args.sizes[0], args.sizes[-1]),
                        worst, 256, " MiB")
    for command in [command for command in CURVE if command not in columns]:
        demands.skip("peak memory of %s" % command, "no such command yet")
    first, last = points[args.sizes[0]], points[args.sizes[-1]]
    per_byte = (last["index"][0] / last["bytes"]) / (first["index"][0] / first["bytes"])
    demands.at_most("index time a byte, %s against %s" % (args.sizes[-1], args.sizes[0]), per_byte, 1.25,
                    " times")
    if "seek" in last:
        demands.at_most("list 100 events in the middle of %s" % args.sizes[-1], last["seek"], 50, " ms")
    else:
        demands.skip("list 100 events in the middle of %s" % args.sizes[-1], "no such command yet")
    return curve_table(points, columns)


def curve_table(points, columns):
    lines = ["| trace | events | " + " | ".join(columns) + " |", "|" + "---|" * (len(columns) + 2)]
    for point in points.values():
        cells = ["%.2f s, %.0f MiB" % point[column] if column in point else "-" for column in columns]
        lines.append("| %.0f MiB | %.1f M | %s |" % (
            point["bytes"] / 2**20, point["events"] / 1e6, " | ".join(cells)))
    return "\n".join(lines)


def bytes_of(size):
    return float(size[:-1]) * {"K": 2**10, "M": 2**20, "G": 2**30}[size[-1]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=float, default=20, help="millions, at least")
    parser.add_argument("--sizes", default="200M,600M,1500M,5G")
    parser.add_argument("--skip", default="", help="parts")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    args.sizes, args.skip = args.sizes.split(","), args.skip.split(",")
    needed = bytes_of(args.sizes[-1]) * FREE_NEEDED
    if "sizes" not in args.skip and shutil.disk_usage(".").free < needed:
        sys.exit("index.py: %.0f GiB must be free in %s" % (needed / 2**30, os.getcwd()))
    for name in ("repeat_trace", "query_speed"):
        subprocess.run(["ninja", "-C", BUILD, "--quiet", "bench/" + name], check=False)
    demands, long_text = Demands(), ""
    told = record_events("real", args.events * 1e6)
    speed(demands, args)
    if "window" not in args.skip:
        answers(demands, args)
    shutil.rmtree("real")
    if "sizes" not in args.skip:
        record("short", 1)
        long_text = "\n\nTime and peak memory over the size:\n\n" + curve(demands, args)
    text = ("%s. tbench, -e full: %.1f million events, %.0f MiB, %d lost; medians of %d rounds.\n\n%s%s" % (
        cost.machine(), told["events"] / 1e6, told["bytes"] / 2**20, told["lost"], args.rounds,
        demands.table(), long_text))
    print("\n" + text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "The timeline on disk", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder:
        os.chdir(folder)
        main()
