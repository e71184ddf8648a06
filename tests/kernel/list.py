#!/usr/bin/env python3
"""holdup list against the kernel's own text, trace-cmd report, and plain searches in its output.

A mixed load is recorded with every event that this kernel has. The kernel prints the ring's
content, then the pages are taken out and read by holdup and by trace-cmd.
"""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
import rawtrace  # noqa: E402

LOAD = r"""
ls -R /etc /usr/include >/dev/null
head -c 1000000 /dev/urandom >data; sync data; cat data >/dev/null
(echo x; sleep 0.02) | cat >/dev/null
python3 -c '
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
client.send(b"x" * 1000); peer.recv(1000)'
"""

# "  make-123  [001] d..2.  12.345678: sched_waking: comm=..."
OF_KERNEL = re.compile(r"^\s*(.{1,16})-(\d+)\s+\[(\d+)\] (\S{5})\s+(\d+)\.(\d+): (\w+)(?::|\b)(.*)$")
OF_TRACE_CMD = re.compile(r"^\s*(.{1,16})-(\d+)\s+\[(\d+)\] +(\d+)\.(\d+): (\w+): *(.*)$")
OURS = re.compile(r"^ *(\d+)\.(\d{9}) +\+([\d.]+)  (\d+)  (\S{5}) (.*?) +([\w-]+):(\w+): ?(.*)$")

ATTEMPTS = 3

Line = collections.namedtuple("Line", "ns delta_us cpu flags thread system event text")


def ours(folder, *args):
    """Our lines, as tuples."""
    process = subprocess.Popen([kernel.HOLDUP, "list", *args, folder], stdout=subprocess.PIPE,
                               text=True, errors="surrogateescape")
    for line in process.stdout:
        if line[0] == "#":
            continue
        found = OURS.match(line)
        if not found:
            raise ValueError("no line of the list: " + line)
        yield Line(int(found[1]) * kernel.S + int(found[2]), float(found[3]), int(found[4]),
                   *found.groups()[4:])
    if process.wait() != 0:
        raise ValueError("holdup list failed")


def normal(text):
    """What the kernel writes otherwise on purpose: pointers, sizes of functions, zeros."""
    text = re.sub(r"(\+0x[0-9a-f]+)/0x[0-9a-f]+( \[\w+\])?", r"\1", text)
    text = text.replace("(nil)", "0" * 16)
    text = re.sub(r"\b(?:0x)?0*([0-9a-f]{9,16})\b", r"\1", text)
    return re.sub(r"\b0x0\b", "0", text).strip()


# Names of these values are not in their formats: numbers stand there, for trace-cmd as well.
NAMELESS = re.compile(r"\b(state|flags)=?\s?\S*")


def shown(line, text):
    return NAMELESS.sub("", text) if line.system == "writeback" else text


def kernel_lines(trace):
    """Per CPU: (tid, flags, us, event, text)."""
    cpus = collections.defaultdict(collections.deque)
    for line in trace.text:
        found = OF_KERNEL.match(line) if line[:1] != "#" else None
        if found:
            cpus[int(found[3])].append((found[2], found[4], int(found[5] + found[6]), found[7],
                                        found[8]))
    return cpus


def trace_cmd_lines(trace):
    cpus = collections.defaultdict(collections.deque)
    path = trace.trace_dat()
    if not path:
        return None
    process = subprocess.Popen(["trace-cmd", "report", "-N", "-t", "-i", path], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, errors="surrogateescape")
    for line in process.stdout:
        found = OF_TRACE_CMD.match(line)
        if found:
            cpus[int(found[3])].append((found[2], int(found[4]) * kernel.S + int(found[5]), found[6],
                                        found[7]))
    if process.wait() == 0:
        return cpus
    kernel.note("trace-cmd report ended with status %d" % process.returncode)
    return None


class Comparison:
    def __init__(self):
        self.count = 0
        self.heads = []		# wrong thread, time, flags, event
        self.as_kernel = 0
        self.as_trace_cmd = 0
        self.other = collections.Counter()
        self.examples = {}
        self.types = set()

    def add(self, line, theirs, peer):
        tid, flags, us, event, text = theirs
        self.count += 1
        self.types.add(line.system + ":" + line.event)
        # System calls have a text of the kernel's own, beside their print formats.
        syscall = line.system == "syscalls"
        if (event != line.event and not syscall or flags != line.flags or us != (line.ns + 500) // 1000
                or not line.thread.endswith("[%s]" % tid)):
            self.heads.append((theirs, line))
            return
        same = not syscall and shown(line, normal(text)) == shown(line, normal(line.text))
        also = peer and (peer[0], peer[1], peer[2]) == (tid, line.ns, line.event) and \
            peer[3].rstrip() == line.text.strip()
        self.as_kernel += bool(same)
        self.as_trace_cmd += bool(also)
        if not same and not also:
            self.other[line.event] += 1
            self.examples.setdefault(line.event, (text, peer and peer[3], line.text))


# Their texts point into the kernel's memory: the string is not in the trace.
POINT_AWAY = {"ma_op", "ma_read", "ma_write", "wbt_step", "wbt_timer", "wbt_stat", "wbt_lat"}


def check_texts(tap, trace, by_trace_cmd):
    by_kernel = kernel_lines(trace)
    result = Comparison()
    for line in ours(trace.folder):
        if line.system == "holdup":
            continue
        peer = by_trace_cmd[line.cpu].popleft() if by_trace_cmd else None
        result.add(line, by_kernel[line.cpu].popleft(), peer)
    left = sum(len(lines) for lines in by_kernel.values())
    tap.ok(result.count >= 50_000 and left == 0, "%d events of %d types, none left out"
           % (result.count, len(result.types)), "%d are left" % left)
    tap.ok(not result.heads, "thread, CPU, context, time and event of each are the kernel's",
           *result.heads[:5])
    foreign = {name: count for name, count in result.other.items()
               if name not in POINT_AWAY and (by_trace_cmd or not name.startswith("sys_"))}
    if by_trace_cmd is None:
        tap.skipped("texts", "no trace-cmd (tools/setup check), or it cannot read these pages")
        return
    tap.ok(not foreign, "each text is the kernel's (%d) or trace-cmd's (%d)"
           % (result.as_kernel, result.as_trace_cmd), foreign,
           *[(name,) + result.examples[name] for name in list(foreign)[:5]])


FILTERS = [
    ("sched_switch", lambda line: line.event == "sched_switch"),
    ("sched:* and cpu == 0", lambda line: line.system == "sched" and line.cpu == 0),
    ("sched_switch and prev_state == S",
     lambda line: line.event == "sched_switch" and " prev_state=S " in line.text),
    ("sched_switch and not prev_state == R",
     lambda line: line.event == "sched_switch" and " prev_state=R " not in line.text
     and " prev_state=R+" not in line.text),
    ("softirq_entry: vec == TIMER || vec == SCHED",
     lambda line: line.event == "softirq_entry"
     and ("TIMER]" in line.text and "HRTIMER" not in line.text or "SCHED]" in line.text)),
    ("sys_enter and id >= 3 and id < 10",
     lambda line: line.event == "sys_enter" and 3 <= int(line.text.split()[1]) < 10),
    ("kmalloc: bytes_req & 0x10 == 0x10",
     lambda line: line.event == "kmalloc" and int(re.search(r"bytes_req=(\d+)", line.text)[1]) & 16),
    ("event =~ \"_exit$\" || event ~ *_end",
     lambda line: line.event.endswith("_exit") or line.event.endswith("_end")),
    ("comm ~ \"ls*\" && !system == raw_syscalls",
     lambda line: line.thread.startswith("ls") and line.system != "raw_syscalls"),
]


def check_filters(tap, trace):
    whole = [line for line in ours(trace.folder)]
    for text, holds in FILTERS:
        wanted = [line for line in whole if holds(line)]
        got = list(ours(trace.folder, "--filter", text))
        same = [line._replace(delta_us=0) for line in got] == \
            [line._replace(delta_us=0) for line in wanted]
        deltas = all(abs((after.ns - before.ns) / 1000 - after.delta_us) < 0.0011
                     for before, after in zip(got, got[1:]))
        tap.ok(same and deltas, "--filter '%s': %d of %d lines" % (text, len(got), len(whole)),
               "%d by hand" % len(wanted),
               *list(set(line._replace(delta_us=0) for line in wanted)
                     ^ set(line._replace(delta_us=0) for line in got))[:3])
    counts = json.loads(subprocess.run(
        [kernel.HOLDUP, "list", "--json", "--count-by", "event", "--top", "100000", trace.folder],
        stdout=subprocess.PIPE, check=True).stdout)
    by_hand = collections.Counter(line.system + ":" + line.event for line in whole)
    tap.ok({row["event"]: row["count"] for row in counts["counts"]} == by_hand,
           "--count-by event: %d kinds" % len(by_hand))
    return whole


def check_windows(tap, trace, whole):
    rng = random.Random(5)
    for _ in range(5):
        first, last = sorted((rng.randrange(len(whole)), rng.randrange(len(whole))))
        begin, end = whole[first].ns, whole[last].ns
        wanted = [line._replace(delta_us=0) for line in whole if begin <= line.ns <= end]
        # Names of threads are learnt while reading: a later start may know fewer.
        got = [line._replace(delta_us=0) for line in
               ours(trace.folder, "--from", "%d.%09d" % divmod(begin, kernel.S),
                    "--to", "%d.%09d" % divmod(end, kernel.S))]
        bare = [line._replace(thread=line.thread.split("[")[-1]) for line in got]
        tap.ok(bare == [line._replace(thread=line.thread.split("[")[-1]) for line in wanted],
               "a window of %d lines" % len(wanted), "got %d" % len(got))
    tail = [line.ns for line in ours(trace.folder, "--last", "1000")]
    tap.ok(tail == [line.ns for line in whole[-1000:]], "--last 1000")
    tid = collections.Counter(line.thread for line in whole).most_common(1)[0][0]
    number = tid.split("[")[-1].rstrip("]")
    follow = list(ours(trace.folder, "--follow", number)) if number != "0" else []
    own = [line for line in whole if line.thread.endswith("[%s]" % number)]
    about = [line for line in follow if not line.thread.endswith("[%s]" % number)]
    tap.ok(number == "0" or len(follow) - len(about) == len(own)
           and all(re.search(r"\b%s\b" % number, line.text) for line in about),
           "--follow %s: %d lines of its own, %d about it" % (number, len(own), len(about)))


def check_places(tap, trace, whole):
    done = subprocess.run([kernel.HOLDUP, "list", "--fields", "place,time,event,text", trace.folder],
                          stdout=subprocess.PIPE, text=True, errors="surrogateescape", check=True)
    lines = done.stdout.splitlines()
    bad = []
    for line in random.Random(6).sample(lines, 30):
        place = line.split()[0]
        again = subprocess.run([kernel.HOLDUP, "list", "--from", place, "-n", "1", "--fields",
                                "place,time,event,text", trace.folder], stdout=subprocess.PIPE,
                               text=True, errors="surrogateescape", check=True).stdout.rstrip("\n")
        if again != line:
            bad.append((line, again))
    tap.ok(not bad and len(lines) == len(whole), "30 places lead back to their events", *bad[:3])


def check_json(tap, trace, whole):
    done = subprocess.Popen([kernel.HOLDUP, "list", "--json", trace.folder], stdout=subprocess.PIPE)
    count, wrong = 0, 0
    for text, line in zip(done.stdout, whole):
        record = json.loads(text)
        count += 1
        wrong += record["time_ns"] != line.ns or record["event"] != line.system + ":" + line.event
        if line.event == "sys_enter":
            wrong += record["fields"]["id"] != int(line.text.split()[1])
    done.stdout.close()
    done.wait()
    tap.ok(count == len(whole) and not wrong, "%d lines of JSON" % count, "%d are wrong" % wrong)


def check_output(tap, trace):
    done = subprocess.run("'%s' list '%s' | head -n 1" % (kernel.HOLDUP, trace.folder), shell=True,
                          capture_output=True, text=True, check=False)
    tap.ok(done.stderr == "" and done.stdout.count("\n") == 1, "who has seen enough is no accident",
           done.stderr)
    with open("/dev/full", "w") as full:
        done = subprocess.run([kernel.HOLDUP, "list", trace.folder], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(done.returncode == 3 and "No space left" in done.stderr, "a full disk is said",
           done.returncode, done.stderr)
    one = subprocess.run(["taskset", "-c", "0", kernel.HOLDUP, "list", trace.folder],
                         stdout=subprocess.PIPE, check=True).stdout
    all_ = subprocess.run([kernel.HOLDUP, "list", trace.folder], stdout=subprocess.PIPE,
                          check=True).stdout
    tap.ok(one == all_, "one thread prints what several do")
    process = subprocess.Popen([kernel.HOLDUP, "list", trace.folder], stdout=subprocess.PIPE)
    process.stdout.read(len(all_) - 1_000_000)
    with open("/proc/%d/status" % process.pid) as status:
        peak = int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024
    process.stdout.close()
    process.wait()
    tap.ok(peak < 256, "memory stays below 256 MiB: %.0f" % peak)


def check_all(tap, trace, by_trace_cmd):
    check_texts(tap, trace, by_trace_cmd)
    trace.text = []
    check_output(tap, trace)
    whole = check_filters(tap, trace)
    check_windows(tap, trace, whole)
    check_places(tap, trace, whole)
    check_json(tap, trace, whole)


def main():
    kernel.need("taskset")
    tap = kernel.Tap()
    with kernel.workdir():
        def load():
            subprocess.run(LOAD, shell=True, check=False, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        # Some pages trace-cmd cannot read: then others may be.
        for left in range(ATTEMPTS, 0, -1):
            with rawtrace.recorded(["*"], load, kilobytes=3000) as trace:
                by_trace_cmd = trace_cmd_lines(trace)
                if by_trace_cmd is None and left > 1 and shutil.which("trace-cmd"):
                    continue
                check_all(tap, trace, by_trace_cmd)
                break
    tap.end()


if __name__ == "__main__":
    main()
