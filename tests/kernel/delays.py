#!/usr/bin/env python3
"""holdup delays on programs with a known answer, against schedstat and /proc/PID/io.

kernel.task_delayacct is turned on for the test and put back afterwards.
"""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SWITCH = "/proc/sys/kernel/task_delayacct"
HOG = "import os; os.sched_setaffinity(0, {0})\nwhile True: pass"


@contextlib.contextmanager
def accounting(on="1"):
    with open(SWITCH) as file:
        before = file.read()
    with open(SWITCH, "w") as file:
        file.write(on)
    try:
        yield
    finally:
        with open(SWITCH, "w") as file:
            file.write(before)


def delays(*words):
    done = subprocess.run([kernel.HOLDUP, "delays", "--json", *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    return reports, done


def task(pid, *words):
    reports, done = delays(*words, pid)
    if not reports:
        raise RuntimeError(done.stderr)
    return next(row for row in reports[-1]["tasks"] if row["pid"] == pid and row["process"])


def schedstat(pid):
    with open("/proc/%d/schedstat" % pid) as file:
        return [int(word) for word in file.read().split()]


def between(tap, before, value, after, name):
    tap.ok(before <= value <= after, "%s: %d" % (name, value),
           "not between %d and %d" % (before, after))


def hogs(tap):
    """Two hogs on one CPU: each waits for about half of the time, and schedstat says the same."""
    with kernel.running(sys.executable, "-c", HOG) as one, \
            kernel.running(sys.executable, "-c", HOG):
        time.sleep(2)
        before = schedstat(one.pid)
        row = task(one.pid)
        after = schedstat(one.pid)
        cpu = row["delays"]["cpu"]
        between(tap, before[0], row["run_ns"], after[0], "run time is that of schedstat")
        between(tap, before[1], cpu["total_ns"], after[1], "time without a CPU is schedstat's")
        between(tap, before[2], cpu["count"], after[2], "so often")
        share = cpu["total_ns"] / row["base_ns"]
        tap.ok(share > 0.3, "a hog beside another waits for a CPU: %.3f" % share, row)
        tap.ok(row["delays"]["disk"] is not None and row["coverage"] == "covered",
               "it is covered by the accounting", row)
        reports, _ = delays("--interval", "300ms", "--count", "2", one.pid)
        spans = [report["span_ns"] for report in reports]
        tap.ok(len(reports) == 2 and all(200e6 <= span < 400e6 for span in spans),
               "two intervals of 300 ms", spans)
        row = reports[1]["tasks"][0]
        spent = row["run_ns"] + row["delays"]["cpu"]["total_ns"]
        tap.ok(abs(spent - row["base_ns"]) < 0.1 * row["base_ns"],
               "in an interval it runs or waits for a CPU: %.3f" % (spent / row["base_ns"]), row)


# Of 1 MiB: what is read faster may be there before the thread gets to sleep.
READER = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 20)
for i in range(400):
    os.preadv(fd, [page], (i * 7919 % 32) << 20)
print("done", flush=True)
sys.stdin.read()
"""


def reader(tap):
    """Direct reads wait for the disk, each once."""
    path = "data"
    with open(path, "wb") as file:
        for _ in range(32):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    with kernel.running(sys.executable, "-c", READER, path, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        row = task(process.pid)
        with open("/proc/%d/io" % process.pid) as file:
            io = dict(line.strip().split(": ") for line in file)
        disk = row["delays"]["disk"]
        tap.ok(disk["count"] >= 300 and disk["total_ns"] > 0,
               "400 direct reads wait for disk: %d times" % disk["count"], disk)
        tap.ok(disk["max_ns"] is None or
               disk["min_ns"] <= disk["average_ns"] <= disk["max_ns"], "min, average, max", disk)
        tap.ok(row["io"]["exact"] and row["io"]["read_bytes"] == int(io["read_bytes"]) and
               row["io"]["read_calls"] == int(io["syscr"]), "I/O is that of /proc", row["io"], io)


COW = """
import os, sys, time
data = bytearray(64 << 20)
for i in range(0, len(data), 4096): data[i] = 1
if os.fork() == 0:
    for i in range(0, len(data), 4096): data[i] = 2
    print(os.getpid(), flush=True)
    time.sleep(60)
os.wait()
"""


def cow(tap):
    with kernel.running(sys.executable, "-c", COW, stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        delay = task(child)["delays"]["cow"]
        if delay is None:
            tap.skipped("copies on write", "this kernel does not count them")
        else:
            tap.ok(16384 <= delay["count"] < 16384 * 1.2,
                   "16384 pages are copied: %d copies" % delay["count"], delay)


THREADS = """
import threading, time, sys
def spin():
    end = time.thread_time() + 0.1
    while time.thread_time() < end: pass
for _ in range(5):
    thread = threading.Thread(target=spin); thread.start(); thread.join()
living = [threading.Thread(target=time.sleep, args=(60,), daemon=True) for _ in range(3)]
for thread in living: thread.start()
print("ready", flush=True)
time.sleep(60)
"""


def threads(tap):
    """What ended threads ran stays in the account of the process."""
    with kernel.running(sys.executable, "-c", THREADS, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        reports, _ = delays("--threads", process.pid)
        rows = reports[0]["tasks"]
        whole = [row for row in rows if row["process"]]
        parts = [row for row in rows if not row["process"]]
        tap.ok(len(whole) == 1 and len(parts) == 4 and whole[0]["threads"] == 4,
               "a process and its four threads", len(whole), len(parts))
        ran = whole[0]["run_ns"] - sum(row["run_ns"] for row in parts)
        tap.ok(0.4e9 < ran < 0.7e9, "500 ms of ended threads count: %.3f" % (ran / 1e9))
        with open("/proc/%d/task/%d/schedstat" % (process.pid, parts[1]["tid"])) as file:
            tap.ok(int(file.read().split()[0]) == parts[1]["run_ns"],
                   "a thread that sleeps ran as schedstat says")


def older(tap):
    """A task that started before the accounting is told as not counted, not as zero."""
    with accounting("0"), kernel.running("sleep", "60") as early:
        time.sleep(0.2)
        done = subprocess.run([kernel.HOLDUP, "delays", str(early.pid)], stdout=subprocess.PIPE,
                              text=True, check=False)
        tap.ok("task_delayacct is off" in done.stdout, "off is said", done.stdout)
        done = subprocess.run([kernel.HOLDUP, "delays", "--enable"], stderr=subprocess.PIPE,
                              text=True, check=False)
        with open(SWITCH) as file:
            tap.ok(file.read().strip() == "1" and done.returncode == 0, "--enable", done.stderr)
        with kernel.running("bash", "-c", "sleep 60; true") as late:
            time.sleep(0.3)
            row = task(early.pid)
            tap.ok(row["coverage"] == "older" and row["delays"]["disk"] is None and
                   row["delays"]["cpu"] is not None, "an older task is not covered", row)
            row = task(late.pid)
            tap.ok(row["coverage"] == "covered" and row["delays"]["disk"] is not None,
                   "a younger one is", row)


def without_rights(tap):
    with kernel.running("sleep", "60") as process:
        done = subprocess.run(["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin",
                               kernel.HOLDUP, "delays", str(process.pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        tap.ok(done.returncode == 0 and "CAP_NET_ADMIN" in done.stdout,
               "without the right it says what is needed", done.stdout, done.stderr)
        done = subprocess.run(["unshare", "--net", kernel.HOLDUP, "delays", str(process.pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        tap.ok(done.returncode == 0 and
               ("network namespace" in done.stdout or "copying on write" in done.stdout),
               "another network namespace: it works, or says so", done.stdout, done.stderr)
    done = subprocess.run([kernel.HOLDUP, "delays", str(process.pid)], stderr=subprocess.PIPE,
                          text=True, check=False)
    tap.ok(done.returncode == 3 and "no process" in done.stderr, "a process that is gone",
           done.stderr)


def listen(*words):
    """Words with "--" and a command: the report, and the exit status."""
    done = subprocess.run([kernel.HOLDUP, "delays", "--json", "listen", *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return json.loads((done.stderr or done.stdout).splitlines()[-1]), done.returncode


STORM = os.path.join(kernel.PROGRAMS, "exit-storm")


def storm(tap):
    """Each of 40,003 exits is heard; with a tiny buffer they are heard or counted as lost."""
    report, status = listen("--", STORM, 20000)
    total = report["sum"]
    tap.ok(status == 0 and report["certain"] and report["lost_records"] == 0, "none is lost",
           report)
    tap.ok(total["processes"] == 40003 and total["threads"] == 40003,
           "40,003 exits: %d" % total["processes"])
    parts = total["run_ns"] + total["rest_ns"]
    parts += sum(total["delays"][name]["total_ns"] for name in ("cpu", "disk"))
    tap.ok(abs(parts - total["base_ns"]) < 0.01 * total["base_ns"],
           "the parts add up to the lives of the threads", parts, total["base_ns"])
    report, _ = listen("--buffer", "4K", "--output", "exits", "--", STORM, 20000)
    with open("exits") as file:
        heard = [json.loads(line)["name"] for line in file]
    ours = heard.count("exit-storm") + heard.count("holdup")
    others = len(heard) - ours
    tap.ok(not report["certain"] and report["lost_records"] > 0 and report["losses"],
           "a buffer of 4K loses records, and says so: %d" % report["lost_records"])
    tap.ok(all(loss["cpus"] and loss["time_ns"] for loss in report["losses"]),
           "each loss has CPUs and a time")
    tap.ok(40003 <= ours + report["lost_records"] <= 40003 + 500,
           "what was heard and what was lost are all: %d and %d, of others %d"
           % (ours, report["lost_records"], others))


TREE = """
sleep 0.2 &
(setsid bash -c 'sleep 0.1; exec sleep 0.3' &)
bash -c 'exit 3' ; wait; sleep 0.5
(setsid sleep 5 >/dev/null 2>&1 &)
sleep 0.1; exit 7
"""


def tree(tap):
    report, status = listen("--", "bash", "-c", TREE)
    names = {group["name"]: group for group in report["names"]}
    tap.ok(status == 7, "the status is that of the command", status)
    tap.ok(report["living"] == 1, "the daemon that lives on is told", report["living"])
    tap.ok(names["sleep"]["processes"] == 5, "five sleeps ended, two of a daemon",
           names["sleep"]["processes"])
    lived = names["sleep"]["base_ns"]
    tap.ok(1.2e9 < lived < 1.8e9, "all sleeps lived 1.3 s: %.3f" % (lived / 1e9))
    report, status = listen("--duration", "300ms")
    tap.ok(status == 0 and 0.3e9 <= report["wall_ns"] < 0.5e9, "all exits of 300 ms", report)
    done = subprocess.run([kernel.HOLDUP, "delays", "listen", "--cpus", "70000", "--", "true"],
                          stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(done.returncode == 3 and "CPU" in done.stderr, "a CPU that is not there", done.stderr)
    done = subprocess.run(["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin",
                           kernel.HOLDUP, "delays", "listen", "--", "true"],
                          stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(done.returncode == 3 and "CAP_NET_ADMIN" in done.stderr, "no right to listen",
           done.stderr)


def compare(tap):
    """A hog alone, then beside another on its CPU: the difference is waiting for a CPU."""
    spin = "import time, os; os.sched_setaffinity(0, {0})\n" \
           "while time.process_time() < 0.5: pass"
    for name, beside in (("alone1", 0), ("alone2", 0), ("both1", 1), ("both2", 1)):
        with contextlib.ExitStack() as stack:
            for _ in range(beside):
                stack.enter_context(kernel.running(sys.executable, "-c", HOG))
            listen("--save", name, "--", sys.executable, "-c", spin)
    done = kernel.holdup("delays", "--json", "compare", "alone1", "alone2", "--", "both1", "both2")
    parts = {part["part"]: part for part in json.loads(done.stdout)["parts"]}
    cpu, ran = parts["waiting for a CPU"], parts["running"]
    tap.ok(cpu["difference_ns"] > 0.25e9, "two saved runs each: the second waited longer for a CPU",
           cpu)
    with open("alone1") as one, open("alone2") as two:
        sums = [json.load(file)["sum"]["run_ns"] for file in (one, two)]
    tap.ok(abs(ran["first_ns"] - sum(sums) / 2) < 1, "the mean is that of the files", ran, sums)
    done = kernel.holdup("delays", "compare", "alone1", "both1")
    # What the kernel counts of disks may be impossible, and then is not known.
    said = done.stdout.replace(" in parts known in all runs", "")
    tap.ok("most of the difference: waiting for a CPU" in said and "deviation of one run" not in said,
           "of one run each no deviation is told", done.stdout)
    with open("one", "w") as file:
        file.write('{"sum":{"delays":{"cpu":{"total_ns":1}}}}')
    for name, text in (("empty", '{"tasks":[]}'), ("negative", '{"sum":{"run_ns":-4}}'),
                       ("other", '{"sum":{"delays":{"irq":{"total_ns":1}}}}'), ("cut", '{"sum":')):
        with open(name, "w") as file:
            file.write(text)
        done = kernel.holdup("delays", "compare", "one", name)
        tap.ok(done.returncode == 3 and not done.stdout and kernel.clear_error(done),
               "a saved file that cannot be compared is refused: " + done.stderr.strip(),
               done.stdout, done.stderr)


def close(tap, ours, theirs, name, share, floor):
    tap.ok(abs(ours - theirs) <= share * theirs + floor, "%s: %.3f and %.3f ms"
           % (name, ours / 1e6, theirs / 1e6))


def trace(tap):
    """What the events tell of a process is what its own account says when it is asked at its end."""
    program = "import os, mmap, resource, time\nos.sched_setaffinity(0, {0})\n" \
              "def waits(): return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw\n" \
              "fd = os.open('data', os.O_RDONLY | os.O_DIRECT)\npage = mmap.mmap(-1, 1 << 20)\n" \
              "before = waits()\n" \
              "for i in range(500): os.preadv(fd, [page], (i * 7919 % 32) << 20)\n" \
              "waited = waits() - before\n" \
              "while time.process_time() < 0.6: pass\n" \
              "print(open('/proc/self/schedstat').read(), os.getpid(), waited, flush=True)\n"
    with open("data", "wb") as file:
        file.write(os.urandom(32 << 20))
        os.fsync(file.fileno())
    stolen_ns = kernel.steal_ns()   # a thread has the CPU then, and the kernel does not count it
    with kernel.running(sys.executable, "-c", HOG):
        done = kernel.holdup("delays", "listen", "--output", "exits", "--", kernel.HOLDUP, "record",
                             "-o", "run.holdup", "--", sys.executable, "-c", program)
    stolen_ns = kernel.steal_ns() - stolen_ns
    words = done.stdout.split()
    pid = int(words[3])
    with open("exits") as file:
        told = next(row for row in map(json.loads, file) if row["tid"] == pid)
    reports, ended = delays("--threads", "run.holdup", pid)
    if not tap.ok(reports and reports[0]["source"] == "trace", "a recording", ended.stderr):
        return
    row = next(row for row in reports[0]["tasks"] if row["process"])
    allowed = reports[0]["uncertain_ns"] + stolen_ns + 40e6  # it is told at exit, but waits for a CPU after that
    close(tap, row["run_ns"], told["run_ns"], "running, by events and by the kernel", 0.05, allowed)
    ours, theirs = row["delays"], told["delays"]
    close(tap, ours["cpu"]["total_ns"], theirs["cpu"]["total_ns"],
          "waiting for a CPU, by events and by the kernel", 0.03, allowed)
    close(tap, ours["disk"]["average_ns"], theirs["disk"]["average_ns"],
          "a wait for disk, by events and by the kernel", 0.1, 80e3)  # its I/O is issued within the account
    # A read that is over before the thread gets to sleep is no wait: it knows how often it slept. Linux 6.18 was
    # seen to count 1,591 of 2,000 such waits: so its total is no measure.
    waited, count = int(words[4]), ours["disk"]["count"]
    tap.ok(200 < waited and waited - 20 <= count <= waited + 100 and count >= theirs["disk"]["count"],
           "500 reads wait for disk %d times: %d waits; the kernel counted %d"
           % (waited, count, theirs["disk"]["count"]))
    tap.ok(row["delays"]["cow"] is None, "what events do not tell is null")
    parts = row["run_ns"] + row["rest_ns"]
    parts += sum(row["delays"][name]["total_ns"] for name in ("cpu", "disk"))
    tap.ok(parts == row["base_ns"], "the parts add up to the time", parts, row["base_ns"])
    done = kernel.holdup("delays", "run.holdup", "--comm", "nobody")
    tap.ok(done.returncode == 3 and kernel.clear_error(done), "nobody of that name", done.stderr)
    done = kernel.holdup("delays", "no-such-file")
    tap.ok(done.returncode == 2 and "neither" in done.stderr, "no such recording", done.stderr)


def cpu_cgroup():
    """A new cgroup for CPU limits: its folder, and the file and text that give it a fifth."""
    for top, name, limit in (("/sys/fs/cgroup", "cpu.max", "20000 100000"),
                             ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "20000")):
        path = os.path.join(top, "holdup-test-%d" % os.getpid())
        with contextlib.suppress(OSError):
            os.mkdir(path)
            if os.path.exists(os.path.join(path, name)):
                return path, name, limit
            os.rmdir(path)
    return None, None, None


def advice_for(pid):
    reports, done = delays("advise", pid)
    tasks = reports[0]["tasks"] if reports else []
    return {row["knob"]: row for row in tasks[0]["advice"]} if tasks else {}, done


def advise(tap):
    """What holds a process back is named; what waits for nothing gets no advice."""
    with kernel.running("nice", "-n", "7", sys.executable, "-c", HOG) as one, \
            kernel.running(sys.executable, "-c", HOG):
        time.sleep(1.5)
        advice, done = advice_for(one.pid)
        waited = schedstat(one.pid)[1]
        tap.ok("nice" in advice and " 7" in advice["nice"]["words"], "a nice value of 7", advice, done)
        if os.cpu_count() > 1:
            tap.ok("affinity" in advice, "an affinity to one CPU", advice)
        gain = advice.get("nice", {"at_most_ns": 0})["at_most_ns"]
        tap.ok(0.2e9 < gain <= waited, "the gain is at most the delay: %d" % gain, waited)
        with open("/proc/%d/stat" % one.pid) as file:
            tap.ok(file.read().split()[18] == "7", "nothing was changed")
    with kernel.running("sleep", "60") as process:
        time.sleep(0.5)
        advice, done = advice_for(process.pid)
        tap.ok(not advice and done.returncode == 0, "nothing is worth it for a sleeper", advice)
    path, name, limit = cpu_cgroup()
    if not path:
        tap.skipped("a limit of a cgroup", "no cgroup with CPU limits can be made")
        return
    try:
        with kernel.running(sys.executable, "-c", HOG) as process:
            with open(os.path.join(path, name), "w") as file:
                file.write(limit)
            with open(os.path.join(path, "cgroup.procs"), "w") as file:
                file.write(str(process.pid))
            time.sleep(2)
            advice, done = advice_for(process.pid)
            found = advice.get("cpu.max", {})
            with open(os.path.join(path, "cpu.stat")) as file:
                stat = dict(line.split() for line in file)
            tap.ok(found.get("cgroup") == path and found["held_back"] and
                   5 <= found["hits"] <= int(stat["nr_throttled"]),
                   "a limit of its cgroup, and how often it was hit: %s" % found.get("hits"),
                   advice, stat)
            tap.ok(found.get("at_most_ns", 0) > 0.5e9,
                   "being throttled is waiting for a CPU", found)
    finally:
        os.rmdir(path)


class Metrics:
    """OpenMetrics 1.0.0, read strictly: families whole and once, types, units, labels, the end."""

    SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? ([0-9.]+)')
    LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, text):
        self.types, self.units, self.values = {}, {}, {}
        family = None
        lines = text.split("\n")
        if lines[-2:] != ["# EOF", ""]:
            raise ValueError("no # EOF at the end")
        for line in lines[:-2]:
            if line.startswith("# "):
                _, what, name, rest = line.split(" ", 3)
                if what == "TYPE":
                    if name in self.types:
                        raise ValueError("twice: " + name)
                    family = name
                    self.types[name] = rest
                elif name != family or what not in ("UNIT", "HELP"):
                    raise ValueError("out of place: " + line)
                if what == "UNIT":
                    if not name.endswith("_" + rest):
                        raise ValueError("the name does not end in the unit: " + line)
                    self.units[name] = rest
            else:
                self.sample(line, family)

    def sample(self, line, family):
        match = self.SAMPLE.fullmatch(line)
        if not match or match[1] != family + ("_total" if self.types[family] == "counter" else ""):
            raise ValueError("no sample of %s: %s" % (family, line))
        labels = tuple((name, re.sub(r"\\(.)", lambda hit: {"n": "\n"}.get(hit[1], hit[1]), value))
                       for name, value in self.LABEL.findall(match[2] or ""))
        if (family, labels) in self.values:
            raise ValueError("twice: " + line)
        self.values[family, labels] = float(match[3])

    def get(self, family, **labels):
        return self.values.get((family, tuple(labels.items())))


def peer_parses(text):
    """What the parser of Prometheus' own library says; None without it."""
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        return None
    return len(list(text_string_to_metric_families(text))) > 0


@contextlib.contextmanager
def server(*words, after=None):
    """A server on a port of its own; started when 'after' has given a line."""
    if after:
        after.readline()
    with kernel.running(kernel.HOLDUP, "delays", "serve", "0", *map(str, words),
                        stderr=subprocess.PIPE, text=True) as process:
        where = re.match(r"serving http://127\.0\.0\.1:(\d+)/metrics", process.stderr.readline())
        yield process, int(where[1])


def ask(port, request=b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", timeout=20):
    """Status and body of the answer; the body must be as long as it says."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as sock:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            sock.sendall(request)
        answer = b""
        while True:
            piece = sock.recv(1 << 16)
            if not piece:
                break
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
    if not request.startswith(b"HEAD") and length != len(body):
        raise ValueError("%d bytes of %d" % (len(body), length))
    return int(head.split()[1]), body.decode()


def resident_kb(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


ODD = 'a"b\\c\nd'


def serve(tap):
    """Numbers over HTTP are those of schedstat, and never count backwards."""
    rename = "import ctypes, sys\nctypes.CDLL(None).prctl(15, %r, 0, 0, 0)\n" \
             "print('renamed', flush=True)\n" % ODD.encode()
    with kernel.running(sys.executable, "-c", rename + HOG, stdout=subprocess.PIPE) as one, \
            kernel.running(sys.executable, "-c", HOG), kernel.running("sleep", "60"), \
            server(after=one.stdout) as (process, port):
        time.sleep(1.2)
        before = schedstat(one.pid)
        status, text = ask(port)
        after = schedstat(one.pid)
        first = Metrics(text)
        name = ODD.replace("\n", "\\n")
        tap.ok(status == 200 and len(first.types) > 10 and "seconds" in first.units.values(),
               "the text is valid: %d families" % len(first.types), text[:500])
        if peer_parses(text) is not None:  # where prometheus_client is installed
            tap.ok(peer_parses(text), "another parser reads it")
        waited = first.get("holdup_command_delay_seconds", command=name, **{"class": "cpu"})
        tap.ok(waited is not None and before[1] <= waited * 1e9 <= after[1] + 1,
               "a command with an odd name waited as schedstat says: %s" % waited, before, after)
        sums = [sum(value for (family, labels), value in first.values.items()
                    if family == "holdup_%s_run_seconds" % kind) for kind in ("command", "cgroup")]
        tap.ok(abs(sums[0] - sums[1]) < 1e-6, "commands and cgroups add up to the same", sums)
        os.kill(one.pid, signal.SIGKILL)
        one.wait()
        time.sleep(1.2)
        later = Metrics(ask(port)[1])
        down = [key for key, value in first.values.items()
                if first.types[key[0]] == "counter" and later.values.get(key, -1) < value]
        tap.ok(not down, "no counter goes back when a process ends", down[:5])
        tap.ok(later.get("holdup_command_processes", command=name) == 0 and
               later.get("holdup_ended_processes") >= 1, "the one that ended is told")
        process.send_signal(signal.SIGINT)
        tap.ok(process.wait(5) == 0, "SIGINT ends it", process.returncode)


def few_labels(tap):
    with server("--labels", "2") as (process, port):
        values = Metrics(ask(port)[1]).values
        for kind in ("command", "cgroup"):
            names = {dict(labels)[kind] for _, labels in values if kind in dict(labels)}
            tap.ok(len(names) <= 2, "two names of each %s at most" % kind, names)
        rest = values["holdup_command_processes", (("other", "commands"),)]
        tap.ok(rest > 2, "the rest is summed: %d processes" % rest)
        process.send_signal(signal.SIGTERM)
        tap.ok(process.wait(5) == 0, "SIGTERM ends it, too")


def hostile(tap):
    """Slow, long and damaged requests are bounded, and others are answered meanwhile."""
    host = b"Host: localhost\r\n\r\n"
    with server() as (process, port):
        before = resident_kb(process.pid)
        for request, wanted in ((b"GET /x HTTP/1.1\r\n" + host, 404), (b"\r\n\r\n", 400),
                                (b"GET / HTTP/1.1\r\n\r\n", 400),
                                (b"POST /metrics HTTP/1.1\r\n" + host, 405),
                                (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
                                (b"GET /" + b"a" * 1000 + b" HTTP/1.1\r\n" + host, 414),
                                (b"a" * 1000000, 431), (b"\0" * 100 + b"\r\n\r\n", 400)):
            status, _ = ask(port, request)
            tap.ok(status == wanted, "%r: %d" % (request[:30], wanted), status)
        tap.ok(ask(port, b"HEAD /metrics HTTP/1.0\r\n\r\n") == (200, ""), "HEAD has no body")
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        for sock in slow:
            with contextlib.suppress(OSError):
                sock.sendall(b"GET /metr")
        start = time.monotonic()
        results = []
        askers = [threading.Thread(target=lambda: results.append(ask(port)[0])) for _ in range(20)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        took = time.monotonic() - start
        tap.ok(results == [200] * 20 and took < 2,
               "20 are answered beside 200 that dawdle: in %.3f s" % took, results)
        time.sleep(max(0.0, start + 6.5 - time.monotonic()))
        files = len(os.listdir("/proc/%d/fd" % process.pid))
        tap.ok(files < 20, "who dawdles is gone after some seconds: %d files" % files)
        for sock in slow:
            sock.close()
        grown = resident_kb(process.pid) - before
        tap.ok(grown < 4096, "it grew by %d KiB" % grown)
    for where in ("70000", "x", "999.1.1.1:80", "host.example:80", ":"):
        done = kernel.holdup("delays", "serve", where, timeout=10)
        tap.ok(done.returncode == 2 and kernel.clear_error(done, 2), "no address: " + where,
               done.stderr)


def main():
    kernel.need()
    if not os.path.exists(SWITCH):
        kernel.skip("this kernel has no " + SWITCH)
    tap = kernel.Tap()
    with accounting():
        hogs(tap)
        reader(tap)
        cow(tap)
        threads(tap)
        older(tap)
        without_rights(tap)
        storm(tap)
        tree(tap)
        compare(tap)
        trace(tap)
        advise(tap)
        serve(tap)
        few_labels(tap)
        hostile(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
