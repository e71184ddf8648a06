#!/usr/bin/env python3
"""One thread is stopped before each instruction of the library in turn, and another one logs
meanwhile on the same CPU: in the first event, where another packet or file begins, where a flight
recorder's file is used again, while another trace begins, rules change, a child is forked or the
process ends. Then both are stopped, each at some place. Each event is there once, in order, and
nobody waits for anybody but where a trace begins or rules change. And the process is killed at each
of these places.

Instructions that touch no memory but the thread's own are left out; pairs, and places to be killed
at, are drawn. PROBE_LONG=1000 has all of them. PART=K/N: every N-th case, from the K-th on.
"""
import itertools
import multiprocessing
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

BATCH = 25
SPACE = 256 << 20  # of a batch
PAIRS = 50 * probe.LONG  # of a case and a method
KILLS = 100 * probe.LONG
ALL = 1000
NOT_TRACED = 77
AFTERWARDS = 100  # as in between.c
LIBRARY = "libholdup.so"
CASES = ("packet", "file", "large", "round", "first", "late-first", "late", "anew", "rules", "fork", "exit")
KILLED = ("first", "packet", "file", "large", "round", "anew")
ALONE = ("fork", "exit")  # no pairs: a child is not traced, and one that ends does not go on
# What works on texts and empty files of the thread's own.
OWN = re.compile(r"text_|name_of|read_|find_out|take_pair|__udiv|write_metadata|add_line|registry_|"
                 r"clear_packets|probe_clock_read")


def is_shared(instruction):
    """May another thread see it, or be seen by it?"""
    if instruction.startswith(("lea", "nop")):
        return False
    return (instruction.startswith(("call", "syscall", "lock", "xchg", "rdtsc", "rep")) or
            any(not inner.startswith(("%rsp", "%rbp"))
                for inner in re.findall(r"\(([^)]*)\)", instruction)))


def instructions(path, module, only=None):
    """Places of its instructions."""
    done = probe.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", path], os.environ)
    if done.returncode != 0:
        sys.exit(done.stdout)
    places, function = [], None
    for line in done.stdout.split("\n"):
        begin = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        code = re.match(r" +([0-9a-f]+):\t(.*)", line)
        if begin:
            function = begin[1]
        elif code and only in (None, function) and (
                probe.LONG >= ALL or (is_shared(code[2]) and not OWN.match(function))):
            places.append("%s %s" % (module, code[1]))
    return places


def between(case, method, places, numbers, *more):
    with open("places", "w") as file:
        file.write("".join(place + "\n" for place in places))
    env = probe.environment(method, "stream", "unused", HOLDUP_HELPER="0", HOLDUP_SIZE="512K"
                            if case == "round" else "0")
    done = probe.run([probe.program("probe-between"), *more, case, "places",
                      *map(str, numbers)], env, 600)
    return done.returncode, re.findall(r"^(\d+) (\w+)$", done.stdout, re.M), done.stdout


def met_places(case, method, places):
    status, met, said = between(case, method, places, [])
    shutil.rmtree(str(len(places)), ignore_errors=True)
    return [places[int(number)] for number, _ in met], status, said


def in_order(folder):
    """Its traces, the first one first."""
    if not os.path.isdir(folder):
        return []
    return sorted((os.path.join(folder, name) for name in os.listdir(folder)
                   if os.path.exists(os.path.join(folder, name, "metadata"))),
                  key=lambda name: (len(name), name))


def options(case, method, ends):
    """'ends': thread 0 may have logged one event more, or be in the middle of it."""
    some = (["-k"] if ends else []) + (["-i"] if ends and method == "cas" else [])
    return some + (["-g"] if case == "round" else [])


def name_of(number, places):
    other = number // len(places)
    return places[number % len(places)] + (" and " + places[other - 1] if other else "")


def clear(number):
    shutil.rmtree(number, ignore_errors=True)
    os.unlink("counters." + number)


def only_the_tail(counters, counts, report):
    """Thread 0 logged on when the trace had ended by exit(): from the event of interest on, at most."""
    with open(counters, "rb") as file:
        logged = int.from_bytes(file.read(8), "little")
    faults = [line for line in report.split("\n") if line.startswith("wrong: ")]
    return (0 < counts["missing"] <= 1 + 2 * AFTERWARDS and faults == [
        "wrong: - packet 0: first missing number %d" % (logged - counts["missing"])])


def batch(case, method, places, numbers):
    """What is wrong at some places; at how many of them thread 0 was stopped, as it may take another
    way than the last time; and how often thread 1 had not to wait for it then."""
    _, ends, said = between(case, method, places, numbers)
    wrong, stopped, met = [], 0, 0
    for number, how in ends:
        stopped += how != "missed"
        met += how == "met"
        right, counts, report = probe.check(*options(case, method, case == "exit"),
                                            "counters." + number, *in_order(number))
        # Whether it was stopped or took another way: between the trace's end and the process's, there is time.
        if case == "exit" and how in ("missed", "met") and not right:
            right = only_the_tail("counters." + number, counts, report)
        if how not in ("met", "missed", "waited") or not right or counts["lost"]:
            wrong.append("%s: %s %s" % (name_of(int(number), places), how, report))
        clear(number)
    if len(ends) != len(numbers):
        wrong.append("only %d of %d: %s" % (len(ends), len(numbers), said))
    return wrong, stopped, met


def listed(folder):
    """How many events "holdup list" finds in all traces there; or what it says."""
    done = kernel.holdup("list", "--count-by", "event", folder)
    count = re.search(r"% +([\d,]+) +load:plain$", done.stdout, re.M)
    return int(count[1].replace(",", "")) if done.returncode == 0 and count else done.stderr


def killed_batch(case, method, places, numbers):
    """What is wrong with traces of processes that were killed at these places, and how many were."""
    _, ends, said = between(case, method, places, numbers, "-k")
    wrong, killed, events = [], 0, 0
    os.mkdir("killed")
    for number, how in ends:
        killed += how == "killed"
        traces = in_order(number)
        # The very first event may have no trace yet.
        right, counts, report = case == "first", {}, "no trace"
        if traces:
            right, counts, report = probe.check(*options(case, method, True), "counters." + number,
                                                *traces)
        if how not in ("killed", "missed") or not right:
            wrong.append("%s: %s %s" % (name_of(int(number), places), how, report))
        events += counts.get("events", 0)
        for trace in traces:
            os.rename(trace, "killed/" + trace.replace("/", "-"))
        clear(number)
    said = probe.babeltrace("killed") if events else ""
    found = listed("killed") if events else 0
    if said or found != events:
        wrong.append("%d events, holdup list: %s; babeltrace2: %s" % (events, found, said[-800:]))
    shutil.rmtree("killed")
    if len(ends) != len(numbers):
        wrong.append("only %d of %d: %s" % (len(ends), len(numbers), said))
    return wrong, killed, 0


def begin_worker():
    """A folder and a CPU of its own."""
    number = multiprocessing.current_process()._identity[0]
    os.mkdir("worker-%d" % number)
    os.chdir("worker-%d" % number)
    cpus = sorted(os.sched_getaffinity(0))
    os.environ["BETWEEN_CPU"] = str(cpus[number % len(cpus)])


def all_of(tap, pool, run, name, case, method, places, numbers):
    parts = [(case, method, places, numbers[i:i + BATCH]) for i in range(0, len(numbers), BATCH)]
    wrong, stopped, met = [], 0, 0
    for more, some, others in pool.starmap(run, parts):
        wrong += more
        stopped += some
        met += others
    tap.ok(not wrong and stopped > len(numbers) / 2, "%s, %s: %s" % (case, method, name.format(
        len(numbers), stopped, met)), len(wrong), *wrong[:5])


def one(tap, pool, case, method, places):
    places, status, said = pool.apply(met_places, (case, method, places))
    if status == NOT_TRACED:
        kernel.absent("a process cannot trace another one here")
    if not places:
        tap.ok(False, "%s, %s: no place" % (case, method), said)
        return
    numbers = range(len(places))
    all_of(tap, pool, batch, "stopped at {1} of {0} places, nobody waits at {2}", case, method,
           places, numbers)
    if case in KILLED:
        all_of(tap, pool, killed_batch, "killed at {1} of {0} places", case, method, places,
               random.sample(numbers, min(KILLS, len(numbers))))
    if case not in ALONE:
        pairs = range(len(places), len(places) * (len(places) + 1))
        all_of(tap, pool, batch, "stopped at {1} of {0} pairs of places, nobody waits at {2}", case,
               method, places, random.sample(pairs, min(PAIRS, len(pairs))))


def main():
    tap = kernel.Tap()
    if not shutil.which("objdump"):
        kernel.absent("no objdump")
    places = (instructions(os.path.join(probe.LIBRARY, LIBRARY), LIBRARY) +
              instructions(probe.program("probe-between"), "probe-between", "log_one"))
    seed = random.randrange(1 << 32)
    random.seed(seed)
    print("# seed %d" % seed)
    part, parts = map(int, os.environ.get("PART", "0/1").split("/"))
    with kernel.workdir(probe.memory(SPACE * os.cpu_count())):
        with multiprocessing.Pool(initializer=begin_worker) as pool:
            for number, (method, case) in enumerate(itertools.product(probe.METHODS, CASES)):
                if number % parts == part:
                    one(tap, pool, case, method, places)
    tap.end()


main()
