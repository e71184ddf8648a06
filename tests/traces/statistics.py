#!/usr/bin/env python3
"""Hold holdup stats against what Trace Compass and lttng-analyses publish of the same traces.

$HOLDUP_CTF_TRACES, or ../shared/traces beside the project, has 01-ctf-real and 09-statistics.
Neither root nor a kernel is needed. Skipped when the folder is not there.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

TRACES = os.environ.get("HOLDUP_CTF_TRACES") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../../../shared/traces")
# The peers name some calls by the function in the kernel.
FUNCTIONS = {"uname": "newuname", "arm_sync_file_range": "sync_file_range2"}

results = []


def check(name, good, why=""):
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")
    if not good and why:
        print(f"# {why}")


def rows(name):
    return kernel.csv_rows(TRACES, "09-statistics", name)


def unpack(folder, name, into):
    archive = os.path.join(TRACES, folder, name + ".tar.zst")
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", into], check=True)
    return os.path.join(into, name)


def stats(trace, *args):
    done = subprocess.run([kernel.HOLDUP, "stats", "--json", *args, trace], check=True,
                          capture_output=True)
    return json.loads(done.stdout)


def events(trace):
    done = subprocess.run([kernel.HOLDUP, "list", "--json", trace], check=True,
                          capture_output=True)
    for line in done.stdout.splitlines():
        event = json.loads(line)
        event["name"] = event["event"].split(":", 1)[1]
        yield event


def open_calls(trace):
    """How many calls of each name do not end within the trace. One that begins with the last
    event takes no time, and is in nobody's sums."""
    where, under_way, left = {}, {}, {}
    last = 0
    for event in events(trace):
        cpu, last = event["cpu"], event["time_ns"]
        if event["name"] == "sched_switch":
            where[cpu] = event["fields"]["next_tid"]
        tid = where.get(cpu)
        if tid is None:
            continue
        if event["name"] == "exit_syscall":
            under_way.pop(tid, None)
        elif event["name"].startswith("sys_"):
            under_way[tid] = (event["name"][4:], last)
    for name, begun in under_way.values():
        left[name] = left.get(name, 0) + (begun < last)
    return left


def system_calls(trace):
    """A call that the peer counts ended within the trace, and was not on a CPU that no switch
    had been seen of; ours has those that did not end, too."""
    left = open_calls(trace)
    ours = {FUNCTIONS.get(call["name"], call["name"]): call
            for call in stats(trace)["all"]["syscalls"]}
    total = 0
    for row in rows("bug446190.syscall-latency.csv"):
        name, count = row["syscall"], int(row["count"])
        if name in ("TOTAL", "unknown"):
            continue
        call = ours.get(name)
        total += count
        good = call is not None and call["count"] - left.get(name, 0) == count \
            and call["max_ns"] == int(row["max_ns"]) \
            and (left.get(name, 0) > 0 or name == "clone" or call["ns"] == int(row["total_ns"]))
        check(f"system call {name}: count, sum and longest are the peer's", good,
              f"{call} with {left.get(name, 0)} open, peer {dict(row)}")
    check("these are all the calls that Trace Compass published", total == 1801 - unknown_calls(),
          str(total))


def unknown_calls():
    return sum(int(row["count"]) for row in rows("bug446190.syscall-latency.csv")
               if row["syscall"] == "unknown")


def processes(trace):
    """CPU time of threads. lttng-analyses also counts what ran before a CPU's first switch."""
    window = stats(trace, "--by", "thread")
    length = window["window"]["end_ns"] - window["window"]["start_ns"]
    by_tid = {row["tid"]: row for row in window["rows"]}
    for row in rows("bug446190.lttng-analyses-cputop-per-process.csv"):
        tid = int(row["thread"].rsplit("(", 1)[1][:-1])
        if tid == 0:
            continue
        ours = by_tid[tid]["on_cpu"]["ns"] / length
        check(f"{row['thread']}: share of a CPU is lttng-analyses'",
              abs(ours - float(row["cpu_ratio"])) < 2e-5, f"{ours} {row['cpu_ratio']}")


def cpu_top(trace):
    told = stats(trace, "--by", "thread", "--from", "1", "--to", "11")
    by_tid = {row["tid"]: row for row in told["rows"]}
    for row in rows("lttng-analyses-cputop.expected.csv"):
        kind, number = row["what"].split()
        if kind != "tid":
            continue
        ours = by_tid[int(number)]["on_cpu"]["ns"] / 10e9
        check(f"thread {number} was on a CPU as lttng-analyses says",
              abs(ours - float(row["ratio"])) < 0.001, f"{ours} {row['ratio']}")


def interrupts(trace):
    """Per interrupt, from the events themselves: count and mean, as breakdown has no such list;
    and the sum of all over the CPUs, which stats has."""
    system = stats(trace)["system"]["sum"]
    for what, file in (("irq_ns", "hard"), ("softirq_ns", "soft")):
        peer = sum(int(row["count"]) * float(row["avg_ns"])
                   for row in rows(f"bug446190.lttng-analyses-irqstats-{file}-stats.csv"))
        check(f"{what[:-3]}: all CPUs together are lttng-analyses'",
              abs(system[what] - peer) < 0.02 * peer, f"{system[what]} {peer}")


def main():
    if not os.path.isdir(os.path.join(TRACES, "09-statistics")) or not shutil.which("zstd"):
        print("1..0 # SKIP the traces or zstd are not here")
        return 0
    with tempfile.TemporaryDirectory(prefix="holdup-") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        trace = unpack("01-ctf-real", "bug446190", folder)
        system_calls(trace)
        processes(trace)
        interrupts(trace)
        cpu_top(unpack("09-statistics", "lttng-analyses-cputop", folder))
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
