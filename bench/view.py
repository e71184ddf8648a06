#!/usr/bin/env python3
"""The viewer over a large trace in a cgroup of 256 MiB: time to the first picture, time of a zoom step
with 200 lanes, memory; writes bench/RESULTS.md.

usage: view.py [--trace DIR] [--bytes 1200M] [--limit 256] [--steps N] [--perfetto FOLDER] [--quiet] [--print]

The trace is a real one: tbench beside a process whose 200 threads wake 50 times a second, made longer out of its own
pages (repeat_trace). The cgroup limits all memory, that of the page cache, too; what is told is the part
that cannot be dropped: anonymous and shared. A zoom step is what the page asks for one: columns of the lanes in sight,
then of the others, and their long spans; the time of an answer is from the request to the last byte, with the server's own wait.
--perfetto names tools/get-perfetto's folder: the same pages, before they are repeated, as Perfetto has them. "--quiet" runs the
server and this script before all else (SCHED_RR), as if the machine were quiet.
"""
import argparse
import contextlib
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time

import record_cost as cost

BUILD = os.path.dirname(cost.HOLDUP)
SECONDS = 8
ROWS, SIGHT, WIDTH = 200, 25, 1600
MEMORY = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")


class Cgroup:
    """v1 or v2, for the time of the block."""

    def __init__(self, limit_bytes):
        self.is_v1 = os.path.exists(MEMORY[0] + "/memory.limit_in_bytes")
        self.path = "%s/holdup-bench-%d" % (MEMORY[0] if self.is_v1 else MEMORY[1], os.getpid())
        os.mkdir(self.path)
        self.write("memory.limit_in_bytes" if self.is_v1 else "memory.max", limit_bytes)
        self.most = 0

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(str(value))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):  # its processes have ended; the kernel takes a moment
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
                return
            time.sleep(0.05)

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def look(self):
        """Anonymous and shared memory now, bytes."""
        with open(self.path + "/memory.stat") as file:
            told = dict(line.split() for line in file)
        names = ("rss", "shmem") if self.is_v1 else ("anon", "shmem")
        self.most = max(self.most, sum(int(told.get(name, 0)) for name in names))

    def kills(self):
        with open(self.path + ("/memory.oom_control" if self.is_v1 else "/memory.events")) as file:
            return int(re.search(r"oom_kill (\d+)", file.read()).group(1))


class Server:
    def __init__(self, trace, cgroup):
        self.began, self.cgroup = time.monotonic(), cgroup
        self.process = subprocess.Popen([cost.HOLDUP, "view", "--no-open", trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, preexec_fn=cgroup.enter)
        _, _, self.host, self.token, _ = self.process.stdout.readline().strip().split("/")
        self.link = http.client.HTTPConnection(self.host)

    def ask(self, text):
        """(answer, seconds)"""
        start = time.monotonic()
        self.link.request("GET", "/%s/%s" % (self.token, text))
        try:
            answer = self.link.getresponse()
        except http.client.RemoteDisconnected:
            raise RuntimeError("the server has gone: %s, %d killed for want of memory" % (self.process.wait(5), self.cgroup.kills())) from None
        body = answer.read()
        if answer.status not in (200, 404):
            raise RuntimeError("%s: %d %s" % (text[:60], answer.status, body[:200]))
        return body, time.monotonic() - start

    def cpu_s(self):
        """That the server has run by now, by the kernel's count."""
        ns = 0
        for task in os.listdir("/proc/%d/task" % self.process.pid):
            with open("/proc/%d/task/%s/schedstat" % (self.process.pid, task)) as file:
                ns += int(file.readline().split()[0])
        return ns / 1e9

    def end(self):
        self.process.terminate()
        self.process.wait()


def record(trace, size):
    server = subprocess.Popen(["tbench_srv"], **cost.QUIET)
    threads = subprocess.Popen([BUILD + "/bench/many_threads", "300", str(ROWS), "20"], **cost.QUIET)
    try:
        subprocess.run([cost.HOLDUP, "record", "-e", "full", "-o", "short", "--", "tbench", "-c", "/usr/share/dbench/client.txt",
                        "-t", str(SECONDS), "2", "127.0.0.1"], check=True, **cost.QUIET)
    finally:
        for process in (server, threads):
            process.kill()
            process.wait()
    subprocess.run([BUILD + "/bench/repeat_trace", "short", trace, size], check=True, **cost.QUIET)
    return bytes_of(trace)


def bytes_of(trace):
    return sum(os.path.getsize(os.path.join(trace, "kernel", name)) for name in os.listdir(trace + "/kernel") if name.endswith(".ring"))


def index(trace, cgroup):
    start = time.monotonic()
    process = subprocess.Popen([cost.HOLDUP, "index", "--force", trace], preexec_fn=cgroup.enter, **cost.QUIET)
    while process.poll() is None:
        cgroup.look()
        time.sleep(0.02)
    return time.monotonic() - start, process.returncode


def first_picture(trace, cgroup):
    """From the start of the program to lanes of the busiest threads, as the page draws them first; and to the verdict."""
    server = Server(trace, cgroup)
    while json.loads(server.ask("start")[0])["state"] != "ready":
        time.sleep(0.005)
    rows = [lane["lane"] for lane in json.loads(server.ask("rows?most=24")[0])["lanes"]]
    server.ask("lanes?width=%d&rows=%s" % (WIDTH, ",".join(rows)))
    first, ran = time.monotonic() - server.began, server.cpu_s()
    cgroup.look()
    server.ask("verdict")
    cgroup.look()
    return server, first, ran, time.monotonic() - server.began


ANSWERS = ("columns of the %d in sight" % SIGHT, "columns of the others", "spans of all")


def zoom(server, cgroup, steps):
    """Steps in and out at random places, from the whole down to 100 us: of each answer of each step (seconds, seconds that the server ran)."""
    start = json.loads(server.ask("start")[0])
    rows = [lane["lane"] for lane in json.loads(server.ask("rows?most=%d" % ROWS)[0])["lanes"]][:ROWS]
    origin, whole = int(start["origin_ns"]), start["end_ns"]
    names, rng, seen = ",".join(rows), random.Random(1), []
    while len(seen) < steps:
        length, at = whole, rng.randrange(whole)
        while length > 100000 and len(seen) < steps:
            begin = max(0, min(whole - length, at - length // 2))
            window = "from=%d&to=%d" % (origin + begin, origin + begin + length)
            seen.append([])
            for question in ("lanes?%s&width=%d&rows=%s" % (window, WIDTH, ",".join(rows[:SIGHT])),
                             "lanes?%s&width=%d&rows=%s" % (window, WIDTH, ",".join(rows[SIGHT:])),
                             "spans?%s&least=%d&rows=%s" % (window, length * 44 // WIDTH, names)):
                before = server.cpu_s()
                seconds = server.ask(question)[1]
                seen[-1].append((seconds, server.cpu_s() - before))
            length //= 2
        cgroup.look()
    return len(rows), seen


def told_steps(rows, steps):
    """A row for each answer, and for the three together."""
    for name, of in [(name, lambda step, i=i: step[i:i + 1]) for i, name in enumerate(ANSWERS)] + [("all three", lambda step: step)]:
        times = []
        for kind in (0, 1):
            values = [sum(answer[kind] for answer in of(step)) * 1000 for step in steps]
            times.append("%.1f ms, %.1f ms, %.1f ms" % tuple(percentile(values, share) for share in (0.5, 0.9, 0.99)))
        yield "| zoom step with %d lanes, %s: median, p90, p99 of %d | %s; the server ran %s | p99 < 50 ms |" % (rows, name, len(steps), *times)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def perfetto(folder):
    """Seconds and MiB that trace_processor needs to open the recording before it was repeated, exported for it."""
    subprocess.run([cost.HOLDUP, "export", "--format", "perfetto", "-o", "short.pftrace", "short"], check=True, **cost.QUIET)
    script = os.path.join(cost.HERE, "../tests/kernel/lib/perfetto_sql.mjs")
    start = time.monotonic()
    process = subprocess.Popen(["node", script, folder, "short.pftrace"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, errors = process.communicate(b'{"slices": "select count(*) from slice"}')
    return time.monotonic() - start, os.path.getsize("short.pftrace"), process.returncode, errors.decode(errors="replace").strip().splitlines()[-1:]


def main(work):
    parser = argparse.ArgumentParser()
    parser.add_argument("--trace", help="use this one, whose index may be built again")
    parser.add_argument("--bytes", default="1200M")
    parser.add_argument("--limit", type=int, default=256, help="MiB")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--perfetto")
    parser.add_argument("--quiet", action="store_true", help="before all else")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "bench/many_threads", "bench/repeat_trace"], check=True)
    trace = os.path.abspath(args.trace) if args.trace else "trace"
    os.chdir(work)
    size = bytes_of(trace) if args.trace else record(trace, args.bytes)
    mib = lambda count: "%.0f MiB" % (count / 2**20)  # noqa: E731
    lines = ["| what | measured | target |", "|---|---|---|"]
    with Cgroup(args.limit << 20) as cgroup:
        seconds, status = index(trace, cgroup)
        lines.append("| index of %s built in the cgroup | %s, %.1f s, %s at most | |" % (mib(size), "done" if status == 0 else "status %d" % status, seconds, mib(cgroup.most)))
        cgroup.most, firsts = 0, []
        if args.quiet:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        for _ in range(5):
            server, first, ran, verdict = first_picture(trace, cgroup)
            firsts.append((first, ran, verdict))
            if len(firsts) < 5:
                server.end()
        middle = [statistics.median(values) for values in zip(*firsts)]
        lines.append("| first picture, once indexed, median of 5 | %.2f s, of which the server ran %.2f s | < 1 s |" % (middle[0], middle[1]))
        lines.append("| verdict behind it, median of 5 | %.2f s | |" % middle[2])
        lines += told_steps(*zoom(server, cgroup, args.steps))
        lines.append("| anonymous and shared memory, at most | %s | < %d MiB |" % (mib(cgroup.most), args.limit))
        lines.append("| killed for want of memory | %d | 0 |" % cgroup.kills())
        server.end()
    if args.perfetto and not args.trace:
        seconds, count, status, errors = perfetto(args.perfetto)
        lines.append("| trace_processor (WebAssembly), the recording before it was repeated, %s exported: to open it | %s | |" % (
            mib(count), "%.1f s" % seconds if status == 0 else "fails: %s" % " ".join(errors)[:120]))
    text = "%s. A cgroup of %d MiB; load average %.1f at the end%s.\n\n%s" % (
        cost.machine(), args.limit, os.getloadavg()[0], ", the server and who asks it before all else" if args.quiet else "", "\n".join(lines))
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "The viewer in little memory", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as work:
        main(work)
