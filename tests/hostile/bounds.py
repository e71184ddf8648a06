#!/usr/bin/env python3
"""bounds.py - memory and time of every command are bounded, whatever a trace, a model or a word says.

Small traces that say much: spans of years, ids beyond all machines, thousands of names, a name of
megabytes, events that never end. Every command over each of them must end within 20 s and 256 MiB, by
itself: done, or with a reason. Then expressions, patterns and models that cost more than they say.
Prints TAP. With names as arguments only those traces are tried, and what each run took is printed.
"""
import os
import re
import shutil
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "mutate"), os.path.join(HERE, "..", "kernel", "lib")]
import commands  # noqa: E402
import kernel  # noqa: E402
import operate  # noqa: E402
from commands import text_line  # noqa: E402

SECONDS = 20
MEMORY_KIB = 256 << 10
OUT_BYTES = 256 << 20
ADDRESSES = 2 << 30  # what may be asked of the kernel at all; stacks of threads are in it
DAY_US = 86400 * 1000000

SWITCH = b"prev_comm=a prev_pid=%d prev_prio=120 prev_state=%s ==> next_comm=b next_pid=%d next_prio=120"
WAKING = b"comm=b pid=%d prio=120 target_cpu=%03d"


def switch(at_us, cpu, old, new, state=b"S"):
    return text_line(b"a", old, cpu, at_us, b"sched_switch", SWITCH % (old, state, new))


def waking(at_us, cpu, tid, woken):
    return text_line(b"a", tid, cpu, at_us, b"sched_waking", WAKING % (woken, cpu))


def years():
    """A few events, each months behind the other."""
    for i in range(8):
        at_us = i * 104 * DAY_US
        yield waking(at_us + 1, i % 2, 7, 8)
        yield switch(at_us + 2, i % 2, 7, 8)
        yield switch(at_us + 900, i % 2, 8, 7)


def days():
    yield switch(1, 0, 7, 8, b"R")
    yield switch(104 * DAY_US, 0, 8, 7, b"R")


def end_of_time():
    for at in (0, 1, 9223372036, 18446744073, 9999999999999):
        yield b"  a-7 [000] d..2. %d.000001: sched_switch: %s\n" % (at, SWITCH % (7, b"S", 8))
        yield b"  b-8 [001] d..2. %d.999999: sched_waking: %s\n" % (at, WAKING % (7, 1))


def cpus():
    """CPUs that no machine has, and many of them."""
    for i, cpu in enumerate([0, 4095, 65535, 1 << 20, (1 << 31) - 1, (1 << 32) - 1, 1 << 40]):
        yield switch(i * 10 + 1, cpu, 7, 8)
        yield waking(i * 10 + 2, cpu, 8, 7)
        yield switch(i * 10 + 3, cpu, 8, 7)


def many_cpus():
    for i in range(4000):
        yield switch(i + 1, i, 7 + i, 8 + i)


def tids():
    for i, tid in enumerate([1, 4194304, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40]):
        yield switch(i * 10 + 1, 0, 7, tid)
        yield waking(i * 10 + 2, 0, tid, 7)
        yield switch(i * 10 + 3, 0, tid, 7)


def many_tids():
    for i in range(7000):
        yield switch(i + 1, i % 4, 10 + i, 11 + i)


def a_chain():
    """Each wakes the next: as deep as the trace is long."""
    for i in range(4000):
        yield waking(10 * i + 1, i % 2, 10 + i, 11 + i)
        yield switch(10 * i + 2, i % 2, 10 + i, 11 + i)


def a_long_name():
    yield switch(1, 0, 7, 8)
    yield text_line(b"a", 7, 0, 2, b"tracing_mark_write", b"B|7|" + b"x" * 3000000)
    yield text_line(b"a", 7, 0, 3, b"y" * 1000000, b"z=1")
    yield text_line(b"c" * 1000000, 7, 0, 4, b"sched_waking", WAKING % (8, 0))
    yield switch(5, 0, 8, 7)


def many_names():
    for i in range(9000):
        yield text_line(b"c%d" % i, 7, 0, i + 1, b"event%d" % i, b"field%d=%d text=%s" % (i, i, b"v%d" % i))


def many_fields():
    for i in range(20):
        yield text_line(b"a", 7, 0, i + 1, b"wide", b" ".join(b"f%d=%d" % (j, i) for j in range(3000)))


def never_ends():
    """Entries without exits, of all that nests."""
    for i in range(1500):
        yield text_line(b"a", 7, 0, 10 * i + 1, b"sys_enter", b"NR %d (0, 0, 0, 0, 0, 0)" % (i % 400))
        yield text_line(b"a", 7, 0, 10 * i + 2, b"irq_handler_entry", b"irq=%d name=x%d" % (i, i))
        yield text_line(b"a", 7, 0, 10 * i + 3, b"softirq_entry", b"vec=%d [action=X]" % (i % 10))
        yield text_line(b"a", 7, 0, 10 * i + 4, b"hrtimer_expire_entry", b"hrtimer=%x function=f now=%d" % (i, i))


def blocks():
    """Requests to a disk that are never done, of all sectors."""
    for i in range(8000):
        yield text_line(b"a", 7, 0, i + 1, b"block_rq_issue",
                        b"%d,%d R 4096 () %d + 8 [a]" % (i % 4096, i, (i << 40) + i))


def orders():
    """No two sequences are the same."""
    number = 1
    for i in range(9000):
        number = number * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        yield text_line(b"a", 7 + i % 3, 0, i + 1, b"step%d" % (number >> 55), b"n=%d" % (number >> 40))


TRACES = [years, days, end_of_time, cpus, many_cpus, tids, many_tids, a_chain, a_long_name, many_names,
          many_fields, never_ends, blocks, orders]

MORE = ["list --count-by tid,cpu,time,comm,event,text --top 5 TRACE", "list --filter text~*1*2*3*4*5*6*7*8*9* TRACE",
        "why --comm a --instances TRACE", "why --comm b --causality --depth 100000 TRACE",
        "learn --from-events step* TRACE", "learn --from-events * --key all TRACE",
        "list --follow 7,8,9,10 --children --state TRACE", "stats --by cgroup --ps --json TRACE",
        "stats --from +1ns --to +100000000s --ps TRACE", "export --format folded --measure waiting TRACE",
        "why --tid TID --top 4294967295 --depth 4294967295 --all TRACE", "breakdown --top 4294967295 TID TRACE",
        "list --last 1 TRACE", "states --count 5 TID TRACE"]


def problem_of(done, seconds=SECONDS):
    """Why this run is out of bounds; None when it is not."""
    if done.status < 0 or done.status > 4:
        return "status %d after %.1f s, %d MiB: %r" % (done.status, done.seconds, done.peak_kib >> 10, done.err[-200:])
    if done.seconds > seconds or done.peak_kib > MEMORY_KIB or done.out_bytes > OUT_BYTES:
        return "%.1f s, %d MiB, %d bytes printed" % (done.seconds, done.peak_kib >> 10, done.out_bytes)
    return None


def told(done, verbose):
    if verbose:
        print("# %6.2f s %5d MiB status %2d out %8d: %s" % (
            done.seconds, done.peak_kib >> 10, done.status, done.out_bytes,
            " ".join(str(word)[:60] for word in done.words[:6])), flush=True)


def test_trace(tap, make, scratch, model, verbose):
    trace, out, found = os.path.join(scratch, make.__name__), os.path.join(scratch, "out"), []
    with open(trace, "wb") as file:
        file.write(b"# tracer: nop\n")
        file.writelines(make())
    for command in [row[0] for row in commands.COMMANDS] + MORE:
        if os.path.isdir(out):
            shutil.rmtree(out)
        elif os.path.exists(out):
            os.unlink(out)
        done = commands.run(commands.words_of(command, trace, model, 7, out), ADDRESSES, 3 * SECONDS, most=4096)
        told(done, verbose)
        problem = problem_of(done)
        if problem:
            found.append("holdup %s: %s" % (command, problem))
    tap.check("every command over %s has bounds" % make.__name__.replace("_", " "), found)


# ------------------------------------------------------- fields that take no byte of a file

CTF = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { u8 id; }; };
event { name = "e"; id = 0; fields := struct { %s }; };
"""
NOTHING = [("arrays of arrays of nothing", "struct { struct { struct {} c[65535]; } b[65535]; } a[65535];", 3),
           ("an array of nothing in each event", "struct {} a[4000000000];", 100000),
           ("thousands of members of nothing", "".join("struct {} a%d;" % i for i in range(30000)), 100000)]


def test_nothing(tap, scratch, model, verbose):
    trace, out, found = os.path.join(scratch, "nothing"), os.path.join(scratch, "out"), []
    os.mkdir(trace)
    for name, fields, count in NOTHING:
        with open(os.path.join(trace, "metadata"), "w", encoding="utf-8") as file:
            file.write(CTF % fields)
        with open(os.path.join(trace, "stream"), "wb") as file:
            file.write(bytes(count))
        for command in ("check-trace TRACE", "list --count-by event,text TRACE", "export --format jsonl --what events TRACE"):
            done = commands.run(commands.words_of(command, trace, model, 7, out), ADDRESSES, 3 * SECONDS, most=4096)
            told(done, verbose)
            if problem_of(done):
                found.append("%s: %s: %s" % (name, command, problem_of(done)))
    tap.check("fields that take no byte have bounds", found)


# ----------------------------------------------------------- chunks that unpack to much more

SEED = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "fuzz", "seeds", "trace_dat", "zstd")
CHUNK = 16 << 20  # the largest that is unpacked


def bomb():
    """A trace.dat of less than 1 MB, whose CPUs share chunks of 25 GB: the sample's own chunks are replaced."""
    pack, sample = operate.Zstd(), open(SEED, "rb").read()
    data = bytearray(sample)
    heads = [match.start() - 8 for match in re.finditer(rb"\x28\xb5\x2f\xfd", sample)]
    for head in heads:
        packed, size = struct.unpack_from("<II", data, head)
        inside = bytearray(pack.unpack(data[head + 8:head + 8 + packed], size))
        for pages in heads:  # where the data of CPUs is: four bytes before, the number of its chunks
            at = inside.find(struct.pack("<Q", pages - 4))
            if at >= 0:
                struct.pack_into("<Q", inside, at, len(sample))
        small = pack.pack(inside)
        if len(small) <= packed:
            struct.pack_into("<II", data, head, len(small), size)
            data[head + 8:head + 8 + packed] = small + bytes(packed - len(small))
    chunk = pack.pack(bytes(CHUNK))
    return bytes(data) + struct.pack("<I", 1500) + 1500 * (struct.pack("<II", len(chunk), CHUNK) + chunk)


def test_chunks(tap, scratch, model, verbose):
    trace, out, found = os.path.join(scratch, "chunks.dat"), os.path.join(scratch, "out"), []
    with open(trace, "wb") as file:
        file.write(bomb())
    for command in ("info TRACE", "check-trace TRACE", "list --count-by event TRACE"):
        done = commands.run(commands.words_of(command, trace, model, 7, out), ADDRESSES, 3 * SECONDS, most=4096)
        told(done, verbose)
        if problem_of(done):
            found.append("%s: %s" % (command, problem_of(done)))
    found += [] if b"is left out: unpacked" in done.err else ["it is not told: %r" % done.err[-300:]]
    tap.check("chunks that unpack to 25 GB have bounds", found)


# ------------------------------------------------------------- expressions and patterns

PATTERNS = ["((a{1,200}){1,200}){1,200}", "(((a*)*)*)*b", "a{1,32767}", "(" * 5000 + "a" + ")" * 5000, "a|" * 9000,
            "(.*)(.*)(.*)(.*)(.*)\\1\\2\\3\\4\\5x", "[a-z]*" * 3000, "(a|aa)+$", "x" * 100000, "(a?){900}a{900}",
            "(.*.*.*.*.*.*.*.*.*.*=)", "((a{0,100}){0,100}b)", "[[:alpha:]]{0,255}" * 10, "[[=a=]]{255}" * 20]


def test_patterns(tap, scratch, verbose):
    trace, found = os.path.join(scratch, "patterns"), []
    with open(trace, "wb") as file:
        for i in range(100):
            file.write(text_line(b"a" * 15, 7, 0, i + 1, b"wide", b"text=" + b"a" * 4000))
    for pattern in PATTERNS:
        for operator in ("=~", "~"):
            text = 'text %s "%s"' % (operator, pattern.replace("\\", "\\\\"))
            done = commands.run(["list", "--filter", text, trace], ADDRESSES, 3 * SECONDS, most=4096)
            told(done, verbose)
            problem = problem_of(done)
            if problem:
                found.append("%s %.60s: %s" % (operator, pattern, problem))
    for text in ("(" * 50000 + "cpu == 1" + ")" * 50000, "not " * 30000 + "cpu == 1",
                 " or ".join(["cpu == 1"] * 9000), "text ~ \"" + "*a" * 20000 + "\"",
                 "cpu == " + "9" * 100000, "text == \"" + "x" * 120000 + "\""):
        done = commands.run(["list", "--filter", text, trace], ADDRESSES, 3 * SECONDS, most=4096)
        told(done, verbose)
        if problem_of(done):
            found.append("%.60s: %s" % (text, problem_of(done)))
    tap.check("expressions and patterns have bounds", found)


# --------------------------------------------------------------------------- models

def models():
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    bomb += ["a%d: &a%d [%s]" % (i, i, ", ".join(["*a%d" % (i - 1)] * 9)) for i in range(1, 12)]
    head = "model: any\nkey: thread\ninitial: out\nstates:\n"
    yield "aliases", "\n".join(bomb)
    yield "nesting", "[" * 100000
    yield "nested maps", "{a: " * 50000
    yield "a long name", commands.MODEL.replace("any", "n" * 3000000)
    yield "a long state", commands.MODEL.replace("out", "o" * 1000000)
    yield "a long event", commands.MODEL.replace("sched_waking", "e" * 3000000)
    yield "a long key", commands.MODEL.replace("deadline", "d" * 3000000)
    yield "a long number", commands.MODEL.replace("1ns", "1" * 1000000 + "ns")
    yield "many states", head + "".join("  s%d:\n    transitions:\n      - event: sched_waking\n        to: s%d\n" % (
        i, i + 1) for i in range(8000))
    yield "many ways", head + "  out:\n    transitions:\n" + "      - {event: sched_waking, to: out}\n" * 30000
    yield "many constraints", commands.MODEL + "          - deadline: 1ns\n" * 20000
    for pattern in PATTERNS:
        yield "pattern %.20s" % pattern, commands.MODEL.replace(
            "event: sched_waking", "event: sched_waking\n        when: 'text =~ \"%s\"'" % pattern)
    for text in ("(" * 20000 + "elapsed" + ")" * 20000, "-" * 20000 + "1", "1 + " * 20000 + "1", "9" * 100000):
        yield "formula %.20s" % text, commands.MODEL.replace("deadline: 1ns", "that: '%s < 1'" % text)


def test_models(tap, scratch, verbose):
    trace, path, found = os.path.join(scratch, "for-models"), os.path.join(scratch, "bomb.yaml"), []
    with open(trace, "wb") as file:
        file.writelines(waking(10 * i + 1, 0, 7, 8) + switch(10 * i + 2, 0, 7, 8) + switch(10 * i + 3, 0, 8, 7)
                        for i in range(300))
    for name, text in models():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        for command in ("model check MODEL", "check MODEL TRACE", "model draw MODEL TRACE", "model draw --dot MODEL"):
            done = commands.run(commands.words_of(command, trace, path, 7, "-"), ADDRESSES, 3 * SECONDS, most=4096)
            if verbose:
                print("# " + name)
            told(done, verbose)
            if problem_of(done):
                found.append("%s: %s: %s" % (name, command, problem_of(done)))
    tap.check("models have bounds", found)


def main():
    if os.environ.get("HOLDUP_SANITIZED"):
        print("1..0 # SKIP a sanitizer's own memory and time are beyond the bounds")
        return
    tap, chosen = commands.Tap(), sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="holdup-bounds-") as scratch:
        os.chdir(scratch)  # what a hostile word makes lies there
        model = os.path.join(scratch, "model.yaml")
        with open(model, "w", encoding="utf-8") as file:
            file.write(commands.MODEL)
        for make in TRACES if chosen else kernel.turn(TRACES):
            if not chosen or make.__name__ in chosen:
                test_trace(tap, make, scratch, model, bool(chosen))
        if not chosen or "nothing" in chosen:
            test_nothing(tap, scratch, model, bool(chosen))
        if not chosen or "chunks" in chosen:
            test_chunks(tap, scratch, model, bool(chosen))
        for name, test in (("patterns", test_patterns), ("models", test_models)):
            if not chosen or name in chosen:
                test(tap, scratch, bool(chosen))
    tap.end()


if __name__ == "__main__":
    main()
