#!/usr/bin/env python3
"""heavy.py - small files that stand for much: none takes long, or much memory.

Each trace has less than 1 MB. What it is made of is chosen so that something in it is as many as it can be:
threads, CPUs, names, fields, types made of types, values without a bit, what a chunk unpacks to. Each
command must end within 20 s on a CPU and 256 MiB, whether it refuses or tells.

	ONLY=NAME   of this one only; all commands are told then
	PART=K/N    every N-th of them, from the K-th on
"""
import os
import re
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import judge  # noqa: E402
import mutate  # noqa: E402
import operate  # noqa: E402
import sources  # noqa: E402

MOST = 950_000
COMMANDS = [["info", "--all", "TRACE"], ["check-trace", "TRACE"], ["stats", "--all", "--events", "--json", "TRACE"],
            ["list", "--count-by", "event,comm,cpu", "TRACE"], ["why", "--all", "--json", "--tid", "2", "TRACE"],
            ["export", "--format", "folded", "TRACE"], ["export", "--format", "perfetto", "-o", "OUT", "TRACE"],
            ["cut", "--from", "+1us", "-o", "OUT", "TRACE"], ["learn", "--from-events", "*", "TRACE"]]
MODEL_COMMANDS = [["model", "check", "TRACE"], ["model", "draw", "TRACE"], ["check", "--no-why", "TRACE", "GOOD"]]


def until_full(make, head=""):
    """make(0), make(1), ... as much as fits."""
    parts, length, i = [head], len(head), 0
    while length < MOST:
        parts.append(make(i))
        length += len(parts[-1])
        i += 1
    return "".join(parts[:-1]).encode()


def text(make):
    return {"": until_full(make, "# tracer: nop\n#\n")}


def line(i, event, tid=1, cpu=0):
    return " x-%d [%03d] d..2. %d.%06d: %s\n" % (tid, cpu, 1 + i // 10**6, i % 10**6, event)


def switch(i, prev, following, cpu=0):
    return line(i, "sched_switch: prev_comm=x prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=x next_pid=%d next_prio=120" %
                (prev, following), prev, cpu)


def waking(i, by, tid):
    return line(i, "sched_waking: comm=x pid=%d prio=120 target_cpu=0" % tid, by)


def texts():
    yield "threads", text(lambda i: switch(i, i + 1, i + 2))
    yield "cpus", text(lambda i: switch(i, 1, 2, i))
    yield "names", text(lambda i: line(i, "ev%x: a=1" % i))
    yield "fields", text(lambda i: line(i, "ev: f%x=1" % i))
    yield "calls", text(lambda i: line(i, "sys_call%d(a: 1)" % i))
    yield "interrupts", text(lambda i: line(i, "irq_handler_entry: irq=%d name=n%d" % (i, i)))
    yield "births", text(lambda i: line(i, "sched_process_fork: comm=x pid=%d child_comm=x child_pid=%d" % (i + 1, i + 2), i + 1))
    yield "a-chain-of-wakers", text(lambda i: switch(2 * i, i % 900 + 1, i % 900 + 2) + waking(2 * i + 1, i % 900 + 2, i * 7 % 900 + 1))
    yield "far-times", text(lambda i: switch(i * 10**12, 1 + i % 2, 2 - i % 2))
    yield "brackets", {"": b"# tracer: nop\n#\n" + line(0, "ev: ").encode() + b"(" * 900000}


CTF_HEAD = "/* CTF 1.8 */ typealias integer { size = 8; } := u8; trace { major = 1; minor = 8; byte_order = le; };\n"


def fields(inside, before=""):
    return CTF_HEAD + before + "event { name = e; fields := struct { %s }; };\n" % inside


def ctf():
    double = "struct s0 { u8 a; };\n" + "".join("struct s%d { struct s%d a; struct s%d b; };\n" % (i, i - 1, i - 1) for i in range(1, 40))
    bomb = fields("struct s39 x;", double).encode()
    yield "types-of-types", {"metadata": bomb, "stream": b"abc"}
    yield "types-of-types-often", {"t%d/%s" % (i, name): data for i in range(MOST // len(bomb))
                                   for name, data in (("metadata", bomb), ("stream", b"abc"))}
    nothing = "".join("struct { " for _ in range(6)) + "struct { } a[60000];" + "".join(" } a[60000];" for _ in range(6))
    yield "arrays-of-nothing", {"metadata": fields("u8 id; " + nothing).encode(), "stream": bytes(300000)}
    many = "struct n { " + "struct { } x,y;" + " };\n"
    yield "fields-of-nothing", {"metadata": until_full(lambda i: "struct n f%d;" % i, fields("u8 id; @", many).split("@")[0])[:MOST // 2] \
                                .rsplit(b";", 1)[0] + b"; }; };\n", "stream": bytes(MOST // 2)}
    yield "small-packets", {"metadata": (CTF_HEAD + "stream { packet.context := struct { u8 packet_size; u8 content_size; }; };\n"
                                         "event { name = e; fields := struct { u8 a; }; };\n").encode(), "stream": b"\x18\x18\x01" * 300000}
    shared = "typealias struct { u8 a,b,c,d,e,f,g,h; } := q; stream { id = 0; event.header := struct { u8 id; }; };\n"
    yield "kinds", {"metadata": until_full(lambda i: "event{name=e;id=%d;stream_id=0;fields:=q;};" % i, CTF_HEAD + shared),
                    "stream": bytes(900)}
    yield "labels", {"metadata": fields("enum : u8 { " + ",".join("l%d" % i for i in range(90000)) + " } e;").encode(), "stream": bytes(9)}
    yield "deep", {"metadata": (CTF_HEAD + "event { fields := " + "struct { " * 90000).encode(), "stream": b"abc"}


def streams():
    """As many streams as can be: each has a place where its next events are."""
    plain = fields("u8 a;").encode()
    yield "streams", {"metadata": plain, **{"s%d" % i: bytes(200) for i in range(4000)}}
    yield "traces", {"t%d/%s" % (i, name): data for i in range(4000) for name, data in (("metadata", plain), ("s", bytes(50)))}
    files, page = own(), own()["kernel/cpu0.ring"][:256]
    cpus = b",".join(b'{"cpu":%d,"bytes":256}' % i for i in range(3000))
    files["trace.json"] = re.sub(rb'"page_bytes":\s*\d+', b'"page_bytes":256', re.sub(rb'"cpus":\s*\[.*?\]', b'"cpus":[%s]' % cpus, files["trace.json"], flags=re.S))
    yield "rings", {**files, **{"kernel/cpu%d.ring" % i: page for i in range(3000)}}
    folder = [source for source in sources.traces_of_others() if source.name == "perf-folder"][0].files
    yield "threads-of-perf", {"data": folder["data"], **{"data.%d" % i: folder["data.0"] for i in range(1020)}}
    yield "raw-rings", {**sources.raw_of("", own()).files, **{"cpu%d.raw" % i: page for i in range(3000)}}


def dat_options(data, at):
    count, size = struct.unpack_from("<II", data, at + 16)
    body, at = operate.Zstd().unpack(data[at + 24:at + 24 + count], size), 0
    while at + 6 <= size:
        kind, length = struct.unpack_from("<HI", body, at)
        yield kind, body[at + 6:at + 6 + length]
        at += 6 + length


def packed(event, page=4096):
    """A trace.dat of one CPU, whose chunks have 16 MiB of pages with nothing but this event."""
    data = dict(sources.seeds("trace_dat"))["zstd"]
    second, first = data.rindex(struct.pack("<HH", 0, 1), 0, len(data) - 90), struct.unpack_from("<Q", data, 25)[0]
    count = (page - 16) // len(event)
    raw = (struct.pack("<QQ", 100, len(event) * count) + event * count).ljust(page, b"\0") * ((16 << 20) // page)
    small = operate.Zstd().pack(raw)
    chunk = struct.pack("<II", len(small), len(raw)) + small
    times = (MOST - 50000) // len(chunk)
    area = struct.pack("<I", times) + chunk * times
    begin = second + 16
    buffer = struct.pack("<Q", second) + b"\0local\0" + struct.pack("<IIIQQ", page, 1, 0, begin, len(area))
    options = [(3, buffer)] + [(kind, body) for kind, body in dat_options(data, second) if kind in (2, 5, 7)] + \
        [(kind, body) for kind, body in dat_options(data, first) if kind] + [(0, bytes(8))]
    body = b"".join(struct.pack("<HI", kind, len(body)) + body for kind, body in options)
    made = bytearray(data[:second] + struct.pack("<HHIQ", 3, 1, 0, len(area)) + area)
    struct.pack_into("<Q", made, 25, len(made))
    return {"": bytes(made) + struct.pack("<HHIQ", 0, 0, 0, len(body)) + body}


def packed_ring(event, page=4096):
    """The same as a ring file of our own that was packed."""
    raw = (struct.pack("<QQ", 100, page - 16) + event * ((page - 16) // len(event))) * ((16 << 20) // page)
    small = operate.Zstd().pack(raw)
    chunk = struct.pack("<II", len(small), len(raw)) + small
    times = (MOST - 90000) // len(chunk)
    manifest = b'{"version":3,"complete":true,"arch":"x86_64","clock":"mono","page_bytes":%d,"long_bytes":8,"begin_ns":1}' % page
    return {"trace.json": manifest, "kernel/formats": own()["kernel/formats"],
            "kernel/cpu0.packed": struct.pack("<I", times) + chunk * times}


def own(**changed):
    files = dict(sources.read_tree(os.path.join(sources.TESTS, "data", "read", "mono-4k")))
    files = {name: data for name, data in files.items() if name != "kernel.txt" and not name.startswith("timeline/")}
    files.update({"kernel/" + name.replace("_", "."): data for name, data in changed.items()})
    return files


def records():
    event = struct.pack("<IHBBIII", 3, 7, 0, 0, 11, 1, 3230)
    yield "chunks", packed(event[:16])
    yield "chunks-of-extends", packed(struct.pack("<II", 30 | 1 << 5, 0))
    yield "chunks-of-nothing", packed(struct.pack("<I", 29))
    yield "a-packed-ring", packed_ring(event[:16])
    formats = own()["kernel/formats"].decode()
    number = int(re.search(r"name: sched_switch\nID: (\d+)", formats).group(1))
    ring = b""
    for page in range(MOST // 4096 - 10):
        ring += struct.pack("<QQ", 10**9 + page * 10**5, 68 * 60)
        for i in range(page * 60 + 1, page * 60 + 61):
            ring += struct.pack("<IHBBi16siiq16sii", 16 | 100 << 5, number, 0, 0, i, b"x", i, 120, 1, b"x", i + 1, 120)
    manifest = b'{"version":1,"complete":false,"arch":"x86_64","clock":"mono","page_bytes":4096,"long_bytes":8,"begin_ns":1,' \
               b'"cpus":[{"cpu":0,"bytes":%d}]}' % len(ring)
    yield "threads-in-pages", {"trace.json": manifest, "kernel/cpu0.ring": ring, "kernel/formats": formats.encode()}
    yield "formats", own(formats=formats.encode() + until_full(lambda i: "=== x/e%d 99\nname: e%d\nID: %d\nformat:\nprint fmt: \"%%d\", REC->a\n"
                                                               % (i, i, i + 2000)))
    deep = 'name: e\nID: 9\nformat:\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: "%d", ' + "(" * 300000 + "REC->a" + ")" * 300000
    yield "a-deep-print-format", own(formats=formats.encode() + b"=== x/e %d\n%s\n" % (len(deep), deep.encode()))
    yield "dump", own(dump_jsonl=until_full(lambda i: '{"thread":{"tid":%d,"tgid":1,"ppid":%d,"comm":"c%d","state":"S"}}\n' % (i, i + 1, i)))


def model(states, transitions):
    def state(i):
        return "  s%d:\n    transitions:\n" % i + "".join("      - {event: e%d, to: s%d}\n" % (j, (i * 7 + j * 13 + 1) % states)
                                                            for j in range(transitions))
    return {"": ("model: m\ninitial: s0\nstates:\n" + "".join(map(state, range(states)))).encode()[:MOST]}


def models():
    yield "states", model(17000, 1)
    yield "a-dense-model", model(150, 140)
    yield "aliases", {"": ("a0: &a0 [x,x]\n" + "".join("a%d: &a%d [%s]\n" % (i, i, ",".join(["*a%d" % (i - 1)] * 9)) for i in range(1, 12))).encode()}
    yield "lists", {"": b"model: " + b"[" * 400000}


def run_all(server, folder, name, files, loud):
    """Returns what is wrong."""
    trace, wrong = os.path.join(folder, "TRACE"), []
    mutate.remove(trace)
    sources.Source(name, "any", files).put(trace)
    for words in MODEL_COMMANDS if list(files) == [""] and files[""][:1] in b"ma" else COMMANDS:
        reason, run = judge.judge(server, folder, words, "text")
        if loud:
            print("# holdup %s: status %s, %d MiB, %.2f s" % (mutate.shown(words), run.status, run.kib >> 10, run.seconds))
        if reason:
            wrong.append("holdup %s: %s" % (mutate.shown(words), reason))
        if words[0] == "info" and run.status == 3:
            break # all others say the same
    return wrong


def main():
    folder = tempfile.mkdtemp(prefix="holdup-heavy-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    os.environ["TMPDIR"] = folder
    os.environ.pop("MALLOC_PERTURB_", None) # meson's: memory that is only asked for would be written, and counted
    only, count, failed = os.environ.get("ONLY"), 0, 0
    try:
        server = judge.Server(mutate.SERVER, folder)
        sources.Source("good", "dir", own()).put(os.path.join(folder, "GOOD"))
        part, parts = map(int, os.environ.get("PART", "0/1").split("/"))
        for i, (name, files) in enumerate([*texts(), *ctf(), *streams(), *records(), *models()]):
            if only not in (None, name) or i % parts != part:
                continue
            wrong = run_all(server, folder, name, files, bool(only))
            count, failed = count + 1, failed + bool(wrong)
            print("%s - %s: %d bytes take neither long nor much memory" %
                  ("not ok" if wrong else "ok", name, sum(map(len, files.values()))))
            for reason in wrong:
                print("#   " + reason, flush=True)
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("1..%d" % count)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
