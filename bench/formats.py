#!/usr/bin/env python3
"""Traces of other tools, read by holdup and by the tools themselves, in one run and in turn; writes
bench/RESULTS.md.

usage: formats.py [--rounds N] [--events MILLIONS] [--skip FORMAT,...] [--print]

The CTF trace is written here: two CPUs, packets of LTTng's form, in which the same events come again
and again, later each time. trace.dat and perf.data are of tbench, made here by their own tools,
and the text is what trace-cmd says of that trace.dat. A format that holdup cannot open yet is left
out, and so is one whose tool is not installed. What is shown are medians; ratios are those of one
run each, the tool's by holdup's: of the times on the CPUs, which is what is asked for, since other
work on the machine changes it least and holdup's threads gain nothing by it; and by the clock.
A smaller trace of each format, with a quarter of the events or so, shows whether memory grows.

formats to skip: ctf, dat, perf, text
"""
import argparse
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

import index
import record_cost as cost

sys.path.insert(0, os.path.join(cost.HERE, "../tests/kernel/lib"))
import rawtrace  # noqa: E402

DECODE = os.path.join(index.BUILD, "bench", "decode")
SECONDS = (2, 4, 8, 16)  # that a load runs, until there are enough events
STEP_SECONDS = "240"  # no program takes longer, or it is ended
PACKET_EVENTS = 4000
PACKET_NS = 1 << 27  # a compact header has so many bits of the time: they are the same in each packet
EVENTS = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup", "irq:softirq_entry",
          "irq:softirq_exit", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"]

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; } := uint64_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
trace { major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { domain = "kernel"; tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; };
clock { name = monotonic; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 27; align = 1; map = clock.monotonic.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := uint64_clock_t;
stream { id = 0;
	packet.context := struct { uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end;
		uint64_t content_size; uint64_t packet_size; uint64_t events_discarded; uint32_t cpu_id; };
	event.header := struct {
		enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;
		variant <id> {
			struct { uint27_clock_t timestamp; } compact;
			struct { uint32_t id; uint64_clock_t timestamp; } extended;
		} v;
	} align(8);
};
event { name = "sched_switch"; id = 0; stream_id = 0; fields := struct {
	integer { size = 8; align = 8; encoding = UTF8; } prev_comm[16]; int32_t prev_tid; int32_t prev_prio;
	int64_t prev_state; integer { size = 8; align = 8; encoding = UTF8; } next_comm[16];
	int32_t next_tid; int32_t next_prio; }; };
event { name = "sched_waking"; id = 1; stream_id = 0; fields := struct {
	integer { size = 8; align = 8; encoding = UTF8; } comm[16]; int32_t tid; int32_t prio;
	int32_t target_cpu; }; };
event { name = "irq_handler_entry"; id = 2; stream_id = 0; fields := struct { int32_t irq; string name; }; };
event { name = "irq_handler_exit"; id = 3; stream_id = 0; fields := struct { int32_t irq; int32_t ret; }; };
event { name = "syscall_entry_read"; id = 4; stream_id = 0; fields := struct {
	uint32_t fd; uint64_t count; }; };
event { name = "syscall_exit_read"; id = 5; stream_id = 0; fields := struct {
	int64_t ret; uint64_t buf; }; };
"""


def ctf_event(number, cpu):
    """One event behind its header: a thread reads, sleeps and is woken, again and again."""
    tid = 1000 + number // 8 % 50 * 2 + cpu
    kind = (0, 4, 5, 2, 1, 3, 4, 5)[number % 8]
    comm = b"worker-%d" % tid
    return kind, {
        0: lambda: struct.pack("<16siiq16sii", b"worker-%d" % (tid - 2), max(tid - 2, 1000 + cpu), 120, 1,
                               comm, tid, 120),
        1: lambda: struct.pack("<16siii", b"worker-%d" % (tid + 2), tid + 2, 120, cpu),
        2: lambda: struct.pack("<i", 24) + b"virtio0-input.0\0",
        3: lambda: struct.pack("<ii", 24, 1),
        4: lambda: struct.pack("<IQ", number % 20, 4096),
        5: lambda: struct.pack("<qQ", 512, 0x7f0000000000),
    }[kind]()


def ctf_packet(cpu):
    out = bytearray()
    for number in range(PACKET_EVENTS):
        kind, fields = ctf_event(number, cpu)
        time = number * (PACKET_NS // (PACKET_EVENTS + 1)) + cpu
        out += struct.pack("<I", kind | time << 5) + fields
    return bytes(out)


def make_ctf(path, events):
    os.mkdir(path)
    with open(path + "/metadata", "w") as file:
        file.write(METADATA)
    packets = int(events / 2 / PACKET_EVENTS) + 1
    for cpu in range(2):
        content = ctf_packet(cpu)
        bits = (len(content) + 52) * 8
        with open("%s/stream_%d" % (path, cpu), "wb") as file:
            for number in range(1, packets + 1):
                begin = number * PACKET_NS
                file.write(struct.pack("<IIQQQQQI", 0xc1fc1fc1, 0, begin, begin + PACKET_NS - 1, bits, bits,
                                       0, cpu) + content)
    return packets * PACKET_EVENTS * 2


def events_of(path):
    return json.loads(index.holdup("info", "--json", path, keep=True).out)["events"]


def longer(make_once, path, events):
    """A longer load each time, until there are enough events. Returns how many."""
    for seconds in SECONDS:
        make_once(path, seconds)
        count = events_of(path)
        index.note("%s: %d s, %.1f million events" % (path, seconds, count / 1e6))
        if count >= events:
            break
    return count


def make_dat(path, events):
    """trace-cmd makes it of the pages of a ring: recording by itself needs more than some systems allow."""
    kilobytes = int(events * 96 / 1000 / (os.cpu_count() or 1))  # an event takes 40 bytes

    def once(path, seconds):
        def load():
            with index.server():
                index.Run(index.TBENCH + ["-t", str(seconds), "2", "127.0.0.1"]).must()

        with rawtrace.recorded([event.replace(":", "/") for event in EVENTS], load, kilobytes=kilobytes,
                               with_text=False, where=os.getcwd()) as trace:
            # It reads all formats of the kernel: another program's probes may come and go meanwhile.
            made = trace.trace_dat() or trace.trace_dat() or trace.trace_dat()
            if not made:
                raise RuntimeError("trace-cmd restore cannot make a trace.dat")
            os.rename(made, path)

    return longer(once, path, events)


def make_perf(path, events):
    def once(path, seconds):
        # perf script gives up at what other people's programs of BPF have recorded.
        with index.server():
            index.Run(["perf", "record", "-q", "--no-bpf-event", "-a", "-o", path, "-m", "32M", "-e",
                       ",".join(EVENTS), "--"] + index.TBENCH + ["-t", str(seconds), "2", "127.0.0.1"]).must()

    return longer(once, path, events)


def make_text(path, events):
    dat = path.replace(".txt", ".dat")
    if not os.path.exists(dat):
        make_dat(dat, events)
    with open(path, "wb") as file:
        subprocess.run(["trace-cmd", "report", "-i", dat], stdout=file, stderr=subprocess.DEVNULL,
                       check=True)
    return index.count_lines(["cat", path]) - 1


def listing(trace):
    return [cost.HOLDUP, "list", trace]


def counting(trace):
    return [cost.HOLDUP, "list", "--count-by", "event", trace]


# Format, what, the tool's command, holdup's, how many times as fast it should be (None: nothing asked).
ROWS = [
    ("ctf", "CTF, decoding", ["babeltrace2", "ctf", "-o", "dummy"], [DECODE, "ctf"], 10),
    ("ctf", "CTF, counted by event", ["babeltrace2", "ctf", "-o", "dummy"], counting("ctf"), 10),
    ("ctf", "CTF, list as text", ["babeltrace2", "ctf"], listing("ctf"), 8),
    ("dat", "trace.dat, list as text", ["trace-cmd", "report", "-i", "trace.dat"], listing("trace.dat"), 10),
    ("dat", "trace.dat, counted by event", ["trace-cmd", "report", "-i", "trace.dat"],
     counting("trace.dat"), 10),
    ("perf", "perf.data, counted by event", ["perf", "script", "-i", "perf.data"], counting("perf.data"), 10),
    ("perf", "perf.data, list as text", ["perf", "script", "-i", "perf.data"], listing("perf.data"), 10),
    ("text", "ftrace text, decoding", None, [DECODE, "trace.txt"], None),
    ("text", "ftrace text, list as text", None, listing("trace.txt"), None),
]
MAKERS = {"ctf": (make_ctf, "babeltrace2", "ctf"), "dat": (make_dat, "trace-cmd", "trace.dat"),
          "perf": (make_perf, "perf", "perf.data"), "text": (make_text, "trace-cmd", "trace.txt")}


def why_not(name, tool):
    """Why a format is left out; None: it is not."""
    if not shutil.which(tool):
        return "%s is not installed" % tool
    if os.geteuid() != 0 and name != "ctf":
        return "recording needs root"
    return None


def bounded(argv):
    return index.Run(["timeout", STEP_SECONDS] + argv).must()


def measure(rows, rounds):
    """For each of the rows a pair for each round: the tool's run is shared by those it is the same in."""
    runs = {row[1]: [] for row in rows}
    for number in range(rounds):
        peer, last = None, None
        for _, what, theirs, ours, _ in rows:
            if theirs != last:
                peer, last = bounded(theirs) if theirs else None, theirs
            runs[what].append((peer, bounded(ours)))
            index.note("%s, round %d: %s, holdup %.2f s" % (
                what, number + 1, "%.2f s" % peer.cpu if peer else "-", runs[what][-1][1].cpu))
    return runs


def times(runs):
    """'0.52 s, 0.31 s by the clock, 6 MiB'"""
    return "%.2f s, %.2f s by the clock, %.0f MiB" % (
        index.median(runs, "cpu"), index.median(runs, "seconds"), max(run.mib for run in runs))


def line(row, events, runs):
    _, what, theirs, _, target = row
    ours = [run for _, run in runs]
    cells = [what, "%.1f M" % (events / 1e6)]
    if theirs:
        by_cpu = statistics.median(peer.cpu / run.cpu for peer, run in runs)
        by_clock = statistics.median(peer.seconds / run.seconds for peer, run in runs)
        cells += [times([peer for peer, _ in runs])]
        verdict = ["%.1f" % by_cpu, "%.1f" % by_clock, ">= %d" % target,
                   "pass" if by_cpu >= target else "**fail**"]
    else:
        cells, verdict = cells + ["-"], ["-", "-", "-", "-"]
    rate = "%.1f M/s" % (events / index.median(ours, "cpu") / 1e6)
    return "| %s |" % " | ".join(cells + [times(ours), rate] + verdict)


def bytes_of(path):
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))


def memory(path, events):
    """'5.0 M, 120 MiB: 17, 17': the trace, and the peak memory of list and of decoding alone."""
    return "%.1f M, %.0f MiB: %.0f; %.0f MiB" % (
        events / 1e6, bytes_of(path) / 2**20, bounded(listing(path)).mib, bounded([DECODE, path]).mib)


def small_of(path):
    return path.replace(".", "-small.") if "." in path else path + "-small"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=float, default=5, help="millions, at least")
    parser.add_argument("--skip", default="", help="formats")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", index.BUILD, "--quiet", "bench/decode"], check=True)
    lines = ["| what | events | the tool, on CPUs | holdup, on CPUs | holdup's rate on a CPU "
             "| times as fast on CPUs | by the clock | wanted | |", "|---|---|---|---|---|---|---|---|---|"]
    left_out, peaks = [], ["| trace | a smaller one: list; decoding alone | the large one |", "|---|---|---|"]
    for name, (make, tool, path) in MAKERS.items():
        reason = "not asked for" if name in args.skip.split(",") else why_not(name, tool)
        if not reason:
            events = make(path, args.events * 1e6)
            if index.holdup("list", "-n", "1", path).status != 0:
                reason = "holdup cannot open it yet"
        if reason:
            left_out.append("%s: %s" % (path, reason))
            index.note(left_out[-1])
            continue
        small = small_of(path)
        small_events = make(small, args.events * 1e6 / 4)
        peaks.append("| %s | %s | %s |" % (path, memory(small, small_events), memory(path, events)))
        rows = [row for row in ROWS if row[0] == name]
        runs = measure(rows, args.rounds)
        lines += [line(row, events, runs[row[1]]) for row in rows]
    busy = os.getloadavg()[0] - 2 > (os.cpu_count() or 1)
    text = "%s. Medians of %d rounds, all written to /dev/null.%s\n\n%s" % (
        cost.machine(), args.rounds,
        " Much else ran on the machine: times by the clock say little." if busy else "",
        "\n".join(lines))
    text += "\n\nPeak memory over the size:\n\n%s" % "\n".join(peaks)
    if left_out:
        text += "\n\nLeft out: %s." % "; ".join(left_out)
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Traces of other tools", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder:
        os.chdir(folder)
        main()
