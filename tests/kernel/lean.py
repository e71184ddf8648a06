#!/usr/bin/env python3
"""Lean events: what a thread waits in, and for whom, is told as with all events, and no call is traced.

usage: lean.py [NAME...]      all examples, or those whose line contains NAME
       lean.py --all          those, too, that need no more than core events
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import kernel  # noqa: E402
import live  # noqa: E402

# Where the call, its arguments or its descriptor make the answer.
EXAMPLES = """
wait-child
fork-chain
slow-writer --sleep
futex-convoy
lock-then-disk
tcp-server-sleeps
fault-storm
signal-wait --sleep
idle-server
unix-request --sleep
cond-slices
eventfd-wait
terminal-read
sysv-sem
flock-wait
vfork-exec
wait-many
join-workers
poll-timeout
poll-timeout --timerfd
""".split("\n")[1:-1]

NEEDS_RESULTS = ["lock-poll", "flag-poll"]  # their answers rest on calls that do not wait
WORKED = ("ran ", "running", "own code")  # lean events do not tell these apart
SEEN_IN = re.compile(r", first seen in \S+")
CHILD = re.compile(r"^child [^[]*\[")
NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9]+")
# These are recorded with all events as well, and their waits compared.
COMPARED = ["slow-writer --sleep", "futex-convoy", "tcp-server-sleeps", "wait-child", "flock-wait"]


def record(line, events):
    """Record an example with these events, and explain it. Returns truth, report and what was printed."""
    name, *args = line.split()
    command = [os.path.join(kernel.EXAMPLES, name), "--truth", "truth.json", *args]
    meter = kernel.ForeignMeter()
    with kernel.spinners(True):
        report, done = kernel.why("-e", events, "-o", "example.holdup", "--", *command)
    foreign = meter.share()
    truth = None
    if os.path.exists("truth.json"):
        with open("truth.json") as file:
            truth = json.load(file)
        os.unlink("truth.json")
    return live.Run(truth, report, done, foreign)


def first_root(run):
    """The largest row that is neither its own work nor what others did to its CPUs."""
    rows, _ = live.own_rows(run)
    planted = run.truth["root"]["kind"]
    return next((row for row in rows if row["kind"] == planted or
                 row["kind"] not in ("working", "preempted", "cpu_queue")), None)


def waits_of(run):
    """In which calls, and for what, those of the chain waited: (call, object without numbers,
    without the name of a child, which it may change meanwhile, and without the function that a
    futex was first seen in: before Linux 6.18 short waits have no stack with lean events)."""
    return sorted({(hop["what"], SEEN_IN.sub("", CHILD.sub("child [", NUMBERS.sub("N", hop["object"]))))
                   for hop in run.report["chain"]
                   if not hop["what"].startswith(WORKED)})


def check_example(tap, line):
    run = record(line, "lean")
    name = line + ", lean"
    if run.truth is None and run.done.returncode == 77:
        tap.skipped(name, run.done.stderr.strip().split("\n")[0])
        return
    if not tap.ok(run.report is not None and run.truth is not None and run.done.returncode == 0,
                  name + ": is recorded and explained", run.done.returncode, run.done.stderr):
        return
    tap.ok(not kernel.bad_sums(run.report), name + ": sums are exact", kernel.bad_sums(run.report))
    root = first_root(run)
    tap.ok(root is not None and live.right_root(root, run.truth),
           name + ": the first root is the planted one", "planted: %s" % run.truth["root"],
           kernel.show_roots(run.report))
    if line in COMPARED:
        full = record(line, "full")
        tap.ok(full.report is not None and waits_of(run) == waits_of(full),
               name + ": its chain waits in the same calls, for the same things, as with all events",
               waits_of(run), full.report and waits_of(full))


def check_refusal(tap):
    """Without BPF there are none: that is said, and nothing is recorded in their place."""
    done = kernel.holdup("record", "-e", "lean", "--no-bpf", "-o", "none.holdup", "--", "true")
    tap.ok(done.returncode == 3 and "lean events need a BPF program" in done.stderr and
           not os.path.exists("none.holdup"), "without BPF lean events are refused, with the reason",
           done.returncode, done.stderr)


def check_cut(tap):
    """A cut of the trace has the same calls, and the same answer."""
    count = {}
    for trace in ("example.holdup", "cut.holdup"):
        if trace == "cut.holdup":
            kernel.holdup("cut", "--from", "+50ms", "--to", "+250ms", "-o", trace, "example.holdup")
        window = [] if trace == "cut.holdup" else ["--from", "+50ms", "--to", "+250ms"]
        done = kernel.holdup("list", *window, trace)
        count[trace] = done.stdout.count("holdup:blocked_in")
        whole = kernel.holdup("check-trace", trace)
        tap.ok(whole.returncode == 0, trace + " is whole", whole.stdout)
    tap.ok(count["example.holdup"] == count["cut.holdup"] > 0, "a cut has the same calls", count)


def check_names(tap):
    """What descriptors name is the same where the kernel has no faster way to look at them."""
    run = {}
    for way in ("fast", "slow"):
        if way == "slow":
            os.environ["HOLDUP_NO_CAST"] = "1"
        run[way] = record("tcp-server-sleeps", "lean")
    del os.environ["HOLDUP_NO_CAST"]
    told = {way: waits_of(one) for way, one in run.items() if one.report}
    tap.ok(len(told) == 2 and told["fast"] and told["fast"] == told["slow"],
           "descriptors are told the same as before Linux 6.2", told, [one.done.stderr for one in run.values()])


def check_record(tap):
    """The trace says that it is lean, what it cost, and has no event of a system call."""
    info = json.loads(kernel.holdup("info", "--json", "example.holdup").stdout)
    traced = [name for name in info["events_by_type"] if "sys" in name.split(":")[0]]
    tap.ok(info["lean"] and not traced, "info says that it is lean, and no call was traced", traced)
    kept_out = [one for one in info["missing"] if "polls watch" in one["what"]]
    tap.ok(not kept_out, "the kernel took the look at all threads", kept_out)
    done = kernel.holdup("why", "example.holdup")
    tap.ok("Recorded with lean events" in done.stdout, "so does why", done.stdout[-500:])
    cost = info["cost"]
    length = info["window"]["end_ns"] - info["window"]["start_ns"]
    cpus = os.cpu_count()
    tap.ok(cost and 0 < cost["recorder_cpu_ns"] < cpus * length,
           "the recorder's own CPU time is told, and possible", cost, length)
    tap.ok(cost and cost["bpf_runs"] > 0 and 0 < cost["bpf_ns"] < cpus * cost["bpf_window_ns"],
           "so is that of its BPF programs", cost)


def main():
    kernel.need()
    tap = kernel.Tap()
    wanted = [word for word in sys.argv[1:] if word != "--all"]
    live.prepare()
    for line in live.EXAMPLES if "--all" in sys.argv else EXAMPLES:
        if line in NEEDS_RESULTS:
            tap.skipped(line + ", lean", "what was asked for in vain between sleeps is not known")
        elif not wanted or any(word in line for word in wanted):
            check_example(tap, line)
    if not wanted:
        check_refusal(tap)
        check_names(tap)
        record("slow-writer --sleep", "lean")
        check_record(tap)
        check_cut(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
