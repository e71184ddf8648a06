#!/usr/bin/env python3
"""How fast holdup list prints events beside trace-cmd report, on the same pages; writes bench/RESULTS.md.

usage: list_rate.py [--seconds N] [--rounds N] [--print]

Each load is recorded once, by hand, in the kernel's own pages; both read those. All
output goes to /dev/null. Rounds take turns; shown are the fastest run of each, by the
clock and in time on all CPUs.
"""
import argparse
import os
import resource
import subprocess
import sys
import time

import record_cost as cost

sys.path.insert(0, os.path.join(cost.HERE, "..", "tests", "kernel", "lib"))
import rawtrace  # noqa: E402

FULL = ["sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup_new", "sched/sched_process_fork",
        "sched/sched_process_exec", "sched/sched_process_exit", "sched/sched_migrate_task", "task",
        "irq", "irq_vectors", "ipi/ipi_send_cpu", "timer/hrtimer_expire_entry",
        "timer/hrtimer_expire_exit", "timer/hrtimer_start", "signal", "workqueue", "block/block_rq_insert",
        "block/block_rq_issue", "block/block_rq_complete", "net/net_dev_queue", "net/netif_rx",
        "net/netif_receive_skb", "lock", "raw_syscalls", "exceptions"]


def tbench(seconds):
    server = subprocess.Popen(["tbench_srv"], **cost.QUIET)
    try:
        subprocess.run(["timeout", str(seconds), "tbench", "-t", str(seconds), "2", "127.0.0.1"],
                       check=False, **cost.QUIET)
    finally:
        server.terminate()
        server.wait()


def mixed(seconds):
    end = time.time() + seconds
    while time.time() < end:
        subprocess.run("ls -R /etc; head -c 2000000 /dev/zero | gzip -1 >out; sync out; cat out; "
                       "(sleep 0.01; echo x) | cat", shell=True, check=False, **cost.QUIET)


LOADS = {
    "tbench, events of -e full": (tbench, FULL),
    "mixed, all events of the kernel": (mixed, ["*"]),
}

LISTERS = {
    "holdup list": lambda trace, data: [cost.HOLDUP, "list", trace],
    "holdup list --json": lambda trace, data: [cost.HOLDUP, "list", "--json", trace],
    "holdup list --filter sched_switch": lambda trace, data: [
        cost.HOLDUP, "list", "--filter", "sched_switch and prev_state == S", trace],
    "holdup list --count-by comm,event": lambda trace, data: [
        cost.HOLDUP, "list", "--count-by", "comm,event", trace],
    "trace-cmd report": lambda trace, data: ["trace-cmd", "report", "-i", data],
    "trace-cmd report -N": lambda trace, data: ["trace-cmd", "report", "-N", "-i", data],
}


def run_once(argv):
    """Seconds by the clock, seconds on CPUs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(argv, check=True, **cost.QUIET)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(trace, rounds):
    data = trace.trace_dat()
    names = [name for name in LISTERS if data or not name.startswith("trace-cmd")]
    times = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            times[name].append(run_once(LISTERS[name](trace.folder, data)))
    return {name: (min(wall for wall, _ in runs), min(cpu for _, cpu in runs))
            for name, runs in times.items()}


def count_events(trace):
    out = subprocess.run([cost.HOLDUP, "list", trace.folder], stdout=subprocess.PIPE, check=True).stdout
    return out.count(b"\n") - 1


def rows(load, events, best):
    peer = best.get("trace-cmd report -N")
    for name, (wall, cpu) in best.items():
        ratio = "%.1f; %.1f" % (peer[0] / wall, peer[1] / cpu) if peer else "-"
        yield "| %s | %s | %.3f s | %.2f | %.3f s | %s |" % (
            load, name, wall, events / wall / 1e6, cpu, ratio)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=120, help="of buffer for each CPU")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    lines = ["| load | what | by the clock | million events/s | on CPUs | times as fast as trace-cmd "
             "report -N: by the clock; on CPUs |", "|---|---|---|---|---|---|"]
    for load, (run, events) in LOADS.items():
        with rawtrace.recorded(events, lambda run=run: run(args.seconds), args.megabytes * 1024,
                               with_text=False) as trace:
            count = count_events(trace)
            lines += rows("%s (%.2f million)" % (load, count / 1e6), count, measure(trace, args.rounds))
    text = "%s.\n\n%s" % (cost.machine(), "\n".join(lines))
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Listing events", text)


if __name__ == "__main__":
    main()
