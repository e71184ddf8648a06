#!/usr/bin/env python3
"""Callstack contexts of LTTng: traces written byte by byte as its kernel tracer and LTTng-UST lay them out.

Fields are held against babeltrace2; stacks, places and names against what was planted. No tracer, no other traces and no rights are needed.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
from ctf import kernel  # noqa: E402

MS = 10**6
ALL_ONES = 2**64 - 1
KERNEL = [0xffffffff81a00000 + 0x100 * i for i in range(3)]
BASE = 0x7f0000001000  # of the program's image
OTHER = 0x7f9900000000  # of no image

HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
trace {
	major = 1; minor = 8; uuid = "%s"; byte_order = le;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };
};
env { hostname = "vm"; domain = "%s"; tracer_name = "%s"; tracer_major = 2; tracer_minor = 13; %s };
clock { name = "monotonic"; uuid = "eb4a1e46-88ef-4752-bc69-66bc42ee87ba"; freq = 1000000000; offset = 0; };
typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } := uint32_clock_monotonic_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_monotonic_t;
struct packet_context {
	uint64_clock_monotonic_t timestamp_begin; uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num; unsigned long events_discarded; uint32_t cpu_id;
};
struct event_header_large {
	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
	variant <id> {
		struct { uint32_clock_monotonic_t timestamp; } compact;
		struct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended;
	} v;
} align(8);
"""
INT = "integer { size = %d; align = 8; signed = %d; encoding = none; base = %d; } "
TEXT = "integer { size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; } "
STACK = INT % (32, 0, 10) + "__callstack_%s_length; " + INT % (64, 0, 16) + "_callstack_%s[ __callstack_%s_length ]; "
# What fields are: how they are declared, and how they are written.
KINDS = {"i": (INT % (32, 1, 10) + "_%s; ", lambda v: struct.pack("<i", v)),
         "q": (INT % (64, 0, 16) + "_%s; ", lambda v: struct.pack("<Q", v)),
         "b": (INT % (8, 0, 10) + "_%s; ", lambda v: struct.pack("<B", v)),
         "c": (TEXT + "_%s[16]; ", lambda v: v.encode().ljust(16, b"\0")),
         "s": ("string _%s; ", lambda v: v.encode() + b"\0")}


def addresses(words):
    return struct.pack("<I", len(words)) + b"".join(struct.pack("<Q", word) for word in words)


class Stream:
    """A channel of one CPU: events of the same contexts."""

    def __init__(self, trace, number, contexts, cpu=0):
        self.trace, self.number, self.contexts, self.cpu = trace, number, contexts, cpu
        self.kinds, self.events, self.cut = {}, [], []

    def add(self, ns, name, fields, *contexts):
        """'fields': (name, kind, value); a sequence of bytes is ("build_id", "seq", bytes)."""
        known = self.kinds.setdefault(name, (len(self.kinds), [field[:2] for field in fields]))
        body = struct.pack("<HIQ", 65535, known[0], ns)
        for context, value in zip(self.contexts, contexts):
            body += addresses(value) if isinstance(value, list) else KINDS["i"][1](value)
        for _, kind, value in fields:
            body += (struct.pack("<Q", len(value)) + value if kind == "seq" else KINDS[kind][1](value))
        self.events.append((ns, body))

    def metadata(self):
        text = "stream { id = %d; event.header := struct event_header_large; packet.context := struct packet_context; event.context := struct { " % self.number
        for context in self.contexts:
            part = context.split("_")[-1]
            text += STACK % (part, part, part) if context.startswith("callstack") else KINDS["i"][0] % context
        text += "}; };\n"
        for name, (number, fields) in self.kinds.items():
            text += "event { name = \"%s\"; id = %d; stream_id = %d; fields := struct { " % (name, number, self.number)
            for field, kind in fields:
                if kind == "seq":
                    text += INT % (64, 0, 10) + "__%s_length; " % field + INT % (8, 0, 16) + "_%s[ __%s_length ]; " % (field, field)
                else:
                    text += KINDS[kind][0] % field
            text += "}; };\n"
        return text

    def packet(self, events, sequence, discarded):
        body = b"".join(event[1] for event in events)
        bits = 8 * (32 + 52 + len(body))
        return (struct.pack("<I", 0xc1fc1fc1) + self.trace.uuid + struct.pack("<IQ", self.number, self.cpu) +
                struct.pack("<QQQQQQI", events[0][0], events[-1][0], bits, bits, sequence, discarded, self.cpu) + body)

    def bytes(self):
        """'cut': before which events a new packet begins. An event was discarded there: LTTng counts it in the packet before."""
        edges = [0] + self.cut + [len(self.events)]
        return b"".join(self.packet(self.events[a:b], i, min(i + 1, len(self.cut))) for i, (a, b) in enumerate(zip(edges, edges[1:])))


def whole(bits, *roles, signed=False, base=10):
    field = {"type": "fixed-length-%s-integer" % ("signed" if signed else "unsigned"), "length": bits, "alignment": 8,
             "byte-order": "little-endian", "preferred-display-base": base}
    return dict(field, roles=list(roles)) if roles else field


def members(*pairs):
    return {"type": "structure", "member-classes": [{"name": name, "field-class": field} for name, field in pairs]}


def sequence(name, count, element, origin):
    return [(name + "_length", count), (name, {"type": "dynamic-length-array", "element-field-class": element, "length-field-location": {
        "origin": origin, "path": [name + "_length"]}})]


def of_ctf2(trace):
    """The metadata of the same bytes in CTF 2."""
    kinds = {"i": whole(32, signed=True), "q": whole(64, base=16), "b": whole(8), "s": {"type": "null-terminated-string"},
             "c": {"type": "static-length-string", "length": 16}}
    yield {"type": "preamble", "version": 2, "uuid": list(trace.uuid)}
    yield {"type": "trace-class", "environment": {"hostname": "vm", "domain": trace.domain, "tracer_name": trace.tracer},
           "packet-header-field-class": members(
               ("magic", whole(32, "packet-magic-number")), ("uuid", {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}),
               ("stream_id", whole(32, "data-stream-class-id")), ("stream_instance_id", whole(64, "data-stream-id")))}
    yield {"type": "clock-class", "id": "m", "frequency": 10**9, "origin": "unix-epoch", "name": "monotonic"}
    for stream in trace.streams:
        contexts = []
        for context in stream.contexts:
            contexts += (sequence(context, whole(32), whole(64, base=16), "event-record-common-context")
                         if context.startswith("callstack") else [(context, kinds["i"])])
        yield {"type": "data-stream-class", "id": stream.number, "default-clock-class-id": "m", "packet-context-field-class": members(
            ("timestamp_begin", whole(64, "default-clock-timestamp")), ("timestamp_end", whole(64, "packet-end-default-clock-timestamp")),
            ("content_size", whole(64, "packet-content-length")), ("packet_size", whole(64, "packet-total-length")),
            ("packet_seq_num", whole(64, "packet-sequence-number")),
            ("events_discarded", whole(64, "discarded-event-record-counter-snapshot")), ("cpu_id", whole(32))),
            "event-record-header-field-class": members(("kind", whole(16)), ("id", whole(32, "event-record-class-id")),
                                                       ("timestamp", whole(64, "default-clock-timestamp"))),
            "event-record-common-context-field-class": members(*contexts)}
        for name, (number, fields) in stream.kinds.items():
            payload = []
            for field, kind in fields:
                payload += (sequence(field, whole(64), whole(8, base=16), "event-record-payload") if kind == "seq" else [(field, kinds[kind])])
            yield {"type": "event-record-class", "id": number, "data-stream-class-id": stream.number, "name": name,
                   "payload-field-class": members(*payload)}


class Trace:
    def __init__(self, path, domain, tracer, env=""):
        self.path, self.uuid, self.streams = path, os.urandom(16), []
        self.domain, self.tracer = domain, tracer
        text = self.uuid.hex()
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        self.head = HEAD % (text, domain, tracer, env)

    def stream(self, contexts, cpu=0):
        self.streams.append(Stream(self, len(self.streams), contexts, cpu))
        return self.streams[-1]

    def write(self, ctf2=False):
        os.makedirs(self.path)
        with open(self.path + "/metadata", "w") as out:
            if ctf2:
                out.write("".join("\x1e%s\n" % json.dumps(one) for one in of_ctf2(self)))
            else:
                out.write(self.head + "".join(stream.metadata() for stream in self.streams))
        for stream in self.streams:
            with open("%s/channel%d_%d" % (self.path, stream.number, stream.cpu), "wb") as out:
                out.write(stream.bytes())


def switch(stream, ns, prev, state, after, *contexts):
    stream.add(ns, "sched_switch", [
        ("prev_comm", "c", "t%d" % prev), ("prev_tid", "i", prev), ("prev_prio", "i", 20), ("prev_state", "i", state),
        ("next_comm", "c", "t%d" % after), ("next_tid", "i", after), ("next_prio", "i", 20)], prev, prev, *contexts)


def waking(stream, ns, waker, tid, *contexts):
    stream.add(ns, "sched_waking", [("comm", "c", "t%d" % tid), ("tid", "i", tid), ("prio", "i", 20), ("target_cpu", "i", 0)],
               waker, waker, *contexts)


def image(stream, ns, pid, base, size, path, build_id, pic=1):
    stream.add(ns, "lttng_ust_statedump:bin_info", [
        ("baddr", "q", base), ("memsz", "q", size), ("path", "s", path), ("is_pic", "b", pic), ("has_build_id", "b", 1),
        ("has_debug_link", "b", 0)], pid)
    stream.add(ns + 1, "lttng_ust_statedump:build_id", [("baddr", "q", base), ("build_id", "seq", build_id)], pid)


def plant(folder, program, spaces=0, ctf2=False):
    """100 sleeps with all of its stack (twice, the second as its image was another one), in a call with the user's at its entry,
    and behind lost events; 200 with the kernel's alone."""
    made = Trace(folder + "/kernel", "kernel", "lttng-modules")
    both = made.stream(["tid", "pid", "callstack_kernel", "callstack_user"])
    calls = made.stream(["tid", "pid", "callstack_user"])
    ust = Trace(folder + "/ust", "ust", "lttng-ust")
    told = ust.stream(["vpid"])
    image(told, 1 * MS, 100, BASE, 1 << 24, program["path"], program["build_id"])
    user = [BASE + program["main"] + 4, BASE + program["main"] + 9, OTHER]
    both.add(2 * MS, "lttng_statedump_process_pid_ns", [("tid", "i", 100), ("ns_level", "i", spaces)], 1, 1, [], [])
    switch(both, 10 * MS, 100, 1, 0, KERNEL, user)
    waking(both, 15 * MS, 0, 100, KERNEL[:1], [])
    switch(both, 16 * MS, 0, 0, 100, KERNEL, [])
    calls.add(17 * MS, "syscall_entry_read", [("fd", "i", 3)], 100, 100, user[1:])
    switch(both, 18 * MS, 100, 1, 200, KERNEL[:2], [])
    switch(both, 19 * MS, 200, 2, 0, KERNEL + [ALL_ONES], [])
    waking(both, 24 * MS, 0, 200, KERNEL[:1], [])
    switch(both, 25 * MS, 0, 0, 200, KERNEL, [])
    waking(both, 28 * MS, 200, 100, KERNEL[:1], [])
    switch(both, 29 * MS, 200, 2, 100, KERNEL + [ALL_ONES], [])
    calls.add(30 * MS, "syscall_exit_read", [("ret", "i", 1)], 100, 100, [])
    switch(both, 31 * MS, 100, 1, 0, KERNEL[:2], [])  # in no call any more
    switch(both, 36 * MS, 0, 0, 100, KERNEL, [])
    calls.add(37 * MS, "syscall_entry_read", [("fd", "i", 3)], 100, 100, user[1:])
    both.cut.append(len(both.events))  # the call may have ended there
    switch(both, 40 * MS, 100, 1, 0, KERNEL[:2], [])
    switch(both, 45 * MS, 0, 0, 100, KERNEL, [])
    told.add(50 * MS, "lttng_ust_lib:unload", [("baddr", "q", BASE)], 100)
    switch(both, 60 * MS, 100, 1, 0, KERNEL, user)
    switch(both, 65 * MS, 0, 0, 100, KERNEL, [])
    made.write(ctf2)
    ust.write(ctf2)


def program_of(path):
    """Where its main() is, and what build it is; None where nobody says."""
    symbols = subprocess.run(["readelf", "-nsW", path], capture_output=True, text=True, check=False).stdout
    main = re.search(r"^ *\d+: ([0-9a-f]+) .* FUNC .* main$", symbols, re.M)
    build = re.search(r"Build ID: ([0-9a-f]+)", symbols)
    return main and build and {"path": os.path.realpath(path), "main": int(main[1], 16), "build_id": bytes.fromhex(build[1])}


def json_of(*args):
    status, out, message = ctf.run(*args)
    return [json.loads(line) for line in out.decode().splitlines()] if status in (0, 1) else [message]


def stacks_of(trace, tid):
    """The stacks of switches of a thread to sleep, by their time in ms."""
    lines = json_of("list", "--json", "--stack", "-f", "name == \"sched_switch\" && prev_tid == %d" % tid, trace)
    return {line["time_ns"] // MS: line.get("stack") for line in lines}


def waited_in(trace, tid):
    return {line["start_ns"] // MS: line["waited_in"] for line in json_of("states", "--json", str(tid), trace) if "waited_in" in line}


def plain(stack):
    return stack and [(frame["module"], frame["function"], frame["offset"]) for frame in stack]


def check_stacks(tap, trace, program):
    kernel_part = [("[kernel]", None, word) for word in KERNEL]
    module = os.path.basename(program["path"])
    at = program["main"] + 4
    stacks, places = {ms: plain(stack) for ms, stack in stacks_of(trace, 100).items()}, waited_in(trace, 100)
    # Calls return to the address, so the code is before it.
    tap.ok(stacks.get(10) == kernel_part + [(module, "main", at), (module, "main", at + 4), (None, None, OTHER)],
           "a switch has the kernel's frames, and the program's by its own image", stacks.get(10))
    tap.ok(places.get(10, {}).get("function") == "main" and places[10]["build_id"] == program["build_id"].hex(),
           "its place is named from the file of that build", places.get(10))
    tap.ok(stacks.get(18) == kernel_part[:2] + [(module, "main", at + 5), (None, None, OTHER)],
           "a sleep in a call has the user's part of the call's entry", stacks.get(18))
    tap.ok(stacks.get(31) == kernel_part[:2], "not once the call has ended", stacks.get(31))
    tap.ok(stacks.get(40) == kernel_part[:2], "not across lost events", stacks.get(40))
    tap.ok(stacks.get(60) == kernel_part + [(None, None, word) for word in (BASE + at, BASE + at + 5, OTHER)] and 60 not in places,
        "an image that was unloaded names nothing, and no address is called a place", stacks.get(60), places.get(60))
    others = plain(stacks_of(trace, 200).get(19))
    tap.ok(others == kernel_part and not waited_in(trace, 200), "the mark of a deep stack is no frame", others)
    text = ctf.run("list", "--stack", "-f", "name == \"sched_switch\" && prev_tid == 200", trace)[1].decode()
    tap.ok("deeper than the tracer follows" in text, "and says that there is more", text)
    verdict = json.loads(ctf.run("why", "--json", "--tid", "100", trace)[1])["verdict"]
    tap.ok(any(place["function"] == "main" for row in verdict for place in row["waited_in"]) and
           all(row["code_seen"] == 0 for row in verdict if row["ns"] and not row["waited_in"] and not row["code"]),
           "why tells the place", verdict)


def main():
    if not shutil.which("readelf"):
        kernel.skip("readelf is not installed")
    tap = kernel.Tap()
    program = program_of(kernel.HOLDUP)
    if not program:
        kernel.skip("the program has no symbols")
    work = tempfile.mkdtemp(prefix="holdup-ctf-stacks-")
    try:
        plant(work + "/plain", program)
        check_stacks(tap, work + "/plain", program)
        if shutil.which("babeltrace2"):
            wrong, first = ctf.compare_fields(work + "/plain/kernel", ctf.listed(work + "/plain/kernel").events)
            tap.ok(not wrong, "fields are as babeltrace2 reads them", wrong, first)
        plant(work + "/ctf2", program, ctf2=True)
        kernel.note("CTF 2:")
        check_stacks(tap, work + "/ctf2", program)
        plant(work + "/spaces", program, spaces=1)
        stack = plain(stacks_of(work + "/spaces", 100).get(10))
        tap.ok(stack and len(stack) == 6 and not any(module and module != "[kernel]" for module, _, _ in stack),
               "with a second pid namespace no number says which process it is", stack)
        plant(work + "/other", dict(program, build_id=b"\1" * 20))
        place = waited_in(work + "/other", 100).get(10, {})
        tap.ok(place.get("function") is None and place.get("module") == os.path.basename(program["path"]) and
               place.get("offset") == program["main"] + 4, "a file of another build names nothing", place)
    finally:
        shutil.rmtree(work)
    tap.end()


if __name__ == "__main__":
    main()
