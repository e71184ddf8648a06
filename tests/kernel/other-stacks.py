#!/usr/bin/env python3
"""Stacks that ftrace writes behind its events are the stacks of waits: in a trace.dat, pages, the kernel's text and trace-cmd's.

The oracle is the kernel's own text of the same ring: of each switch to sleep that a stack follows, its functions and its addresses of the
program, no more and no fewer. Then a list of mappings, as trace-cmd has it of a process, names the program's files.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
import rawtrace  # noqa: E402

PLANTED = "import select, time; print(open('/proc/self/maps').read(), flush=True); time.sleep(.03); select.poll().poll(40)"
PAGE = 4096
LINE = re.compile(r" *(.{1,16})-(\d+) +(?:\([ \d-]+\) )?\[\d+\] (?:\S{4,5} +)?(\d+\.\d+): (.*)$")
SLEEP = re.compile(r"sched_switch: .*prev_pid=(\d+) .*prev_state=([A-Z])(?!\+)")


class Load:
    """A process that sleeps and polls, while each switch to sleep has a stack, and each event one of the program."""

    def __init__(self):
        self.pid, self.maps = 0, ""

    def __call__(self):
        instance = "%s/instances/holdup-test-%d" % (kernel.TRACEFS, os.getpid())
        with open(instance + "/events/sched/sched_switch/trigger", "w") as out:
            out.write("stacktrace")
        with open(instance + "/options/userstacktrace", "w") as out:
            out.write("1")
        process = subprocess.Popen([sys.executable, "-c", PLANTED], stdout=subprocess.PIPE, text=True)
        self.pid, (self.maps, _) = process.pid, process.communicate()


def of_kernel(lines):
    """(time in us, thread): (functions, addresses) of each switch to sleep."""
    found, last, frames = {}, {}, None
    for line in lines:
        if line.startswith(" =>"):
            if frames is not None:
                frames.append(line[3:].strip().split(" ")[0])
            continue
        head, frames = LINE.match(line), None
        if not head:
            continue
        cpu = re.search(r"\[(\d+)\]", line)[1]
        pid, text = int(head[2]), head[4]
        sleep = SLEEP.match(text)
        if text in ("<stack trace>", "<user stack trace>"):
            mine = last.get(cpu)
            if mine and mine[0] == pid:
                frames = mine[1][text != "<stack trace>"]
        elif sleep and sleep[2] not in "RXZ" and pid:
            last[cpu] = (pid, found.setdefault((round(float(head[3]) * 1e6), pid), ([], [])))
        else:
            last.pop(cpu, None)
    return {key: (functions, [int(address.strip("<>"), 16) for address in addresses if "<" in address])
            for key, (functions, addresses) in found.items() if functions or addresses}


def of_holdup(trace):
    done = subprocess.run([kernel.HOLDUP, "list", "--json", "--stack", "-f", "name == \"sched_switch\"", trace],
                          capture_output=True, text=True, check=False)
    found = {}
    for line in map(json.loads, done.stdout.splitlines()):
        stack = line.get("stack")
        if not stack:
            continue
        found[(line["time_ns"] // 1000, line["tid"])] = (
            [frame["signature"] for frame in stack if frame["module"] == "[kernel]"],
            [frame for frame in stack if frame["module"] != "[kernel]"])
    return found, done.stderr


def aliases():
    """Of each name of the kernel's: its address, which others may have, too."""
    with open("/proc/kallsyms") as file:
        return {parts[2]: parts[0] for parts in (line.split() for line in file)}


def same(ours, theirs, names):
    return len(ours) == len(theirs) and all(
        a == b or names.get(a) == names.get(b) for a, b in zip(ours, theirs))


def compare(tap, what, trace, wanted, names, most=None):
    got, message = of_holdup(trace)
    near = {(us + by, tid): stack for (us, tid), stack in got.items() for by in (1, 0)}  # the kernel rounds
    wrong = []
    for key, (functions, addresses) in wanted.items():
        mine = near.get(key)
        if not mine or not same(mine[0][:most], functions[:most], names) or [frame["offset"] for frame in mine[1]] != addresses:
            wrong.append((key, functions, addresses, mine))
    tap.ok(not wrong and len(got) == len(wanted) and "damaged" not in message,
           "%s: %d stacks are those of the kernel's text" % (what, len(wanted)), len(got), wrong[:2], message)


def raw_folder(trace, folder):
    for cpu, ring in enumerate(trace.rings):
        os.makedirs("%s/per_cpu/cpu%d" % (folder, cpu))
        shutil.copy(ring, "%s/per_cpu/cpu%d/trace_pipe_raw" % (folder, cpu))
    systems = [(system, event) for system in ("sched", "raw_syscalls", "ftrace")
               for event in os.listdir("%s/events/%s" % (kernel.TRACEFS, system))]
    for system, event in systems:
        text = "%s/events/%s/%s/format" % (kernel.TRACEFS, system, event)
        if os.path.exists(text):
            os.makedirs("%s/events/%s/%s" % (folder, system, event))
            with open(text) as file, open("%s/events/%s/%s/format" % (folder, system, event), "w") as out:
                out.write(file.read())
    for name in ("header_page", "header_event"):
        with open("%s/events/%s" % (kernel.TRACEFS, name)) as file, open("%s/events/%s" % (folder, name), "w") as out:
            out.write(file.read())
    shutil.copy("/proc/kallsyms", folder + "/kallsyms")


def with_maps(dat, path, pid, maps):
    """A file of version 6 with trace-cmd's list of what the process had mapped."""
    subprocess.run(["trace-cmd", "convert", "-i", dat, "-o", path, "--file-version", "6"], check=True, capture_output=True)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    rows = [re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+ +(\S+)", line) for line in maps.splitlines()]
    rows = [row.groups() for row in rows if row]
    body = "".join("%s %s %s\n" % row for row in rows)
    head = "%x %x " % (pid, len(rows))
    spare = -(6 + len(head) + 1 + len(body) + 1) % PAGE  # data of CPUs begins at pages
    text = (head + "x" * spare + "\n" + body).encode() + b"\0"
    at = data.index(b"options  \0") + 10
    data[at:at] = struct.pack("<HI", 10, len(text)) + text
    table = data.index(b"flyrecord\0") + 10
    cpus = struct.unpack_from("<I", data, at - 14)[0]
    for cpu in range(cpus):
        offset = struct.unpack_from("<Q", data, table + 16 * cpu)[0]
        struct.pack_into("<Q", data, table + 16 * cpu, offset + 6 + len(text))
    with open(path, "wb") as out:
        out.write(data)
    return [(int(start, 16), int(end, 16), name) for start, end, name in rows]


def check_maps(tap, trace, rows, wanted, pid):
    bases = {}
    for start, _, name in rows:
        bases.setdefault(name, start)
    got, message = of_holdup(trace)
    wrong, named = [], 0
    for (us, tid), (_, addresses) in wanted.items():
        frames = got.get((us, tid), got.get((us - 1, tid), ([], [])))[1]
        if tid != pid:
            wrong += [frame for frame in frames if frame["module"]]
            continue
        for i, (address, frame) in enumerate(zip(addresses, frames)):
            code = address - (i > 0)
            name = next((row[2] for row in rows if row[0] <= code < row[1]), None)
            module = name and os.path.basename(name)
            offset = code - bases[name] if name else address
            named += bool(name) and (frame["module"], frame["offset"]) == (module, offset)
            if (frame["module"], frame["offset"]) != (module, offset):
                wrong.append((us, hex(address), name, frame))
    # What it did before it ran the program that was mapped has other files, or none.
    wrong = [one for one in wrong if not isinstance(one, tuple) or one[3]["module"]]
    tap.ok(not wrong and named >= 2, "mappings of trace-cmd name %d frames of their process, and none of others" % named, wrong[:3], message)


def check_places(tap, trace, pid):
    done = subprocess.run([kernel.HOLDUP, "states", "--json", str(pid), trace], capture_output=True, text=True, check=False)
    places = {line["waited_in"]["function"]: line["ns"] for line in map(json.loads, done.stdout.splitlines())
              if "waited_in" in line and line["ns"] > 25e6}
    tap.ok(any("nanosleep" in name for name in places) and any("poll" in name for name in places) and
           not any("schedule" in name for name in places), "the place is the kernel's function behind the scheduler", places)
    done = subprocess.run([kernel.HOLDUP, "why", "--json", "--tid", str(pid), trace], capture_output=True, text=True, check=False)
    rows = [row for row in json.loads(done.stdout)["verdict"] if row["ns"] > 25e6]
    tap.ok(any(row["code_seen"] > 0.9 and row["waited_in"] for row in rows), "why tells it", rows)


def main():
    kernel.need("trace-cmd")
    tap, load = kernel.Tap(), Load()
    work = tempfile.mkdtemp(prefix="holdup-other-stacks-", dir="/var/tmp")
    try:
        with rawtrace.recorded(["sched/sched_switch", "sched/sched_waking", "sched/sched_process_exec"], load, where=work) as trace:
            wanted, names = of_kernel(trace.text), aliases()
            # Events that others make and take away meanwhile disturb it.
            dat = next(filter(None, (trace.trace_dat() for _ in range(8))), None)
            if not dat:
                kernel.skip("trace-cmd puts no file together")
            compare(tap, "trace.dat", dat, wanted, names)
            check_places(tap, dat, load.pid)
            raw_folder(trace, work + "/raw")
            compare(tap, "pages", work + "/raw", wanted, names)
            with open(work + "/text", "w") as out:
                out.write("\n".join(trace.text) + "\n")
            compare(tap, "the kernel's text", work + "/text", wanted, names)
            with open(work + "/report", "w") as out:
                subprocess.run(["trace-cmd", "report", dat], stdout=out, stderr=subprocess.DEVNULL, check=True)
            compare(tap, "trace-cmd's text", work + "/report", wanted, names, most=8)
            rows = with_maps(dat, work + "/maps.dat", load.pid, load.maps)
            check_maps(tap, work + "/maps.dat", rows, wanted, load.pid)
    finally:
        shutil.rmtree(work)
    tap.end()


if __name__ == "__main__":
    main()
