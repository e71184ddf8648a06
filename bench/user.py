#!/usr/bin/env python3
"""What one event of libholdup costs the thread that logs it, beside the floor and LTTng-UST, in
one run, in turn; writes bench/RESULTS.md, and with JSON=FILE in the environment one JSON object.

usage: user.py [--rounds N] [--events N] [--print] [--rate]

ns of the logging thread's CPU time per event; the median over rounds of each round's fastest of
five. The floor reads the counter and stores 16 bytes into a ring of the thread's own of 4 MiB.
"stream" keeps every event in /dev/shm, as fast as it can; "flight" overwrites the oldest; "cas" is
flight without restartable sequences. LTTng-UST runs in the modes of the same names (session daemon
of our own, snapshot mode for flight). A stream needs new memory for all that it keeps: what that takes
by itself, with mapping and unmapping, is a line of its own (pages_floor in the JSON; 0 where there are
no large pages). With TRACY=DIR in the environment (a source tree of Tracy) its client is built and
measured, too: it has no events of four numbers, and cannot switch one off.
--rate logs 20 million events a second for 10 seconds, 4 GB of them, and lets babeltrace2 and
holdup list count them: two minutes.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import record_cost as cost

BUILD = os.path.dirname(cost.HOLDUP)
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(BUILD, "bench", "user_cost")
KINDS = ["off", "u64", "u64x4", "str15"]


def run(command, env=None, check=True):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env=dict(os.environ, **(env or {})))
    if check and done.returncode:
        sys.exit("user: %s: %s" % (" ".join(command), done.stderr.strip()))
    return done.stdout


class Holdup:
    """Our own library in one of its ways."""

    def __init__(self, name, env):
        self.name, self.env = name, env

    def measure(self, kind, events):
        with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdup-bench-") as folder:
            return float(run([PROGRAM, kind, str(events), "5"], dict(self.env, BENCH_DIR=folder)))

    def end(self):
        """Nothing runs."""


class LttngDaemon:
    """A session daemon that ends with us. As root there can be only one."""

    def __init__(self):
        self.process = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(100):
            if subprocess.run(["lttng", "--no-sessiond", "list"], check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.05)

    def end(self):
        self.process.terminate()
        self.process.wait()


class Lttng:
    """One session of LTTng-UST, which runs while it is measured."""

    def __init__(self, mode, folder):
        self.name, self.program = "lttng-ust " + mode, os.path.join(folder, "user_lttng")
        self.session = "holdup-bench-" + mode
        kind = ["--snapshot"] if mode == "flight" else ["--output", os.path.join(folder, mode)]
        run(["lttng", "--no-sessiond", "create", self.session] + kind)
        run(["lttng", "enable-channel", "-s", self.session, "-u", "c", "--subbuf-size=1M", "--num-subbuf=4"] +
            (["--overwrite"] if mode == "flight" else []))
        for event in ("u64", "u64x4", "str15"):
            run(["lttng", "enable-event", "-s", self.session, "-u", "-c", "c", "bench:" + event])

    def measure(self, kind, events):
        run(["lttng", "start", self.session])
        try:
            return float(run([self.program, kind, str(events // 4), "5"]))
        finally:
            run(["lttng", "stop", self.session])

    def end(self):
        run(["lttng", "destroy", self.session], check=False)


class Tracy:
    """Tracy's client, to which no server is connected."""
    name = "tracy"

    def __init__(self, program):
        self.program = program

    def measure(self, kind, events):
        if kind not in ("u64", "str15"):
            return float("nan")
        return float(run([self.program, kind, str(events // 4), "5"]))

    def end(self):
        """Nothing runs."""


def tracy_peers(folder):
    tree = os.environ.get("TRACY")
    if not tree:
        return []
    program = os.path.join(folder, "user_tracy")
    built = subprocess.run(["g++", "-O2", "-DTRACY_ENABLE", "-I", os.path.join(tree, "public"),
                            os.path.join(HERE, "user_tracy.cpp"), os.path.join(tree, "public/TracyClient.cpp"),
                            "-o", program, "-lpthread", "-ldl"], check=False)
    return [] if built.returncode else [Tracy(program)]


def lttng_peers(folder):
    if not shutil.which("lttng-sessiond"):
        return []
    built = subprocess.run(["gcc", "-O2", "-I", HERE, os.path.join(HERE, "user_lttng.c"), "-o",
                            os.path.join(folder, "user_lttng"), "-llttng-ust", "-ldl"], check=False)
    if built.returncode:
        return []
    daemon = LttngDaemon()
    return [Lttng("stream", folder), Lttng("flight", folder), daemon]


def pages():
    """What the kernel takes to find new memory for each event of four numbers, by its ways."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdup-bench-") as folder:
        return json.loads(run([PROGRAM, "pages"], {"BENCH_DIR": folder}))


def pages_line(medians):
    return ("- new memory of /dev/shm, CPU time of the kernel for the 44 bytes of four u64: small pages %.1f ns, "
            "a copy of them %.1f, large pages %.1f." % tuple(
                medians["pages", kind] for kind in ("small_ns", "copied_ns", "large_ns")))


def measure_all(ways, args):
    """name -> kind -> median ns"""
    values = {}
    for _ in range(args.rounds):
        for kind in ("empty", "floor"):
            values.setdefault(("floor", kind), []).append(float(run([PROGRAM, kind, str(args.events), "5"])))
        for kind, ns in pages().items():
            values.setdefault(("pages", kind), []).append(ns)
        for way in ways:
            for kind in KINDS:
                values.setdefault((way.name, kind), []).append(way.measure(kind, args.events))
    return {key: statistics.median(value) for key, value in values.items()}


def number(value):
    return "-" if value != value else "%.2f" % value


def table(medians, ways):
    floor = medians["floor", "floor"]
    lines = ["| | off | one u64 | four u64 | 15 letters | one u64 / floor | four u64 / floor |",
             "|---|---|---|---|---|---|---|",
             "| empty loop; floor | %.2f | %.2f | | | 1.00 | |" % (medians["floor", "empty"], floor)]
    for way in ways:
        lines.append("| %s | %s | %.2f | %s |" % (
            way.name, " | ".join(number(medians[way.name, kind]) for kind in KINDS),
            medians[way.name, "u64"] / floor, number(medians[way.name, "u64x4"] / floor)))
    return "\n".join(lines)


def beside(name, env, events):
    """Threads beside each other, that log as many events in all as one does: medians of rounds in turn."""
    rounds = [[json.loads(run([PROGRAM, "threads", str(threads), str(10 * events // threads), "1"], env))
               for threads in (1, 2, 8)] for _ in range(5)]
    for of_each in zip(*rounds):
        mean, worst, process = (statistics.median(told[key] for told in of_each)
                                for key in ("mean_ns", "worst_ns", "process_ns"))
        yield ("%s, %d threads: CPU time per event %.1f ns, of the slowest thread %.1f, with the helper's %.1f; "
               "%d lost." % (name, of_each[0]["threads"], mean, worst, process, max(told["lost"] for told in of_each)))


def more(events):
    """Latency of single calls, and threads beside each other."""
    lines = []
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdup-bench-") as folder:
        for millions in (20, 40):
            ns = float(run([PROGRAM, "paced", str(millions), str(events)],
                           {"BENCH_DIR": folder, "BENCH_MODE": "stream"}))
            lines.append("stream, four u64, %d million events/s: %.1f ns." % (millions, ns))
    for mode in ("stream", "flight"):
        with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdup-bench-") as folder:
            env = {"BENCH_DIR": folder, "BENCH_MODE": mode}
            told = [json.loads(run([PROGRAM, "latency", str(events)], env)) for _ in range(9)]
            p50, p99, p999, p9999 = (statistics.median(of_run[key] for of_run in told)
                                     for key in ("p50_ns", "p99_ns", "p999_ns", "p9999_ns"))
            each = [of_run["p999_ns"] for of_run in told]
            lines.append("%s: one call %.0f ns at the median, 99th %.0f, 99.9th %.0f (%.0f to %.0f in %d runs), "
                         "99.99th %.0f." % (mode, p50, p99, p999, min(each), max(each), len(told), p9999))
            for memory in ("", ", memory at hand") if mode == "stream" else ("",):
                lines += beside(mode + memory, dict(env, **({"BENCH_MEMORY": "1"} if memory else {})), events)
    return "\n".join("- " + line for line in lines)


def counted_by_babeltrace(trace):
    if not shutil.which("babeltrace2"):
        return None
    said = run(["babeltrace2", "--component=c:sink.utils.counter", "--params=step=+0", trace], check=False)
    found = re.search(r"(\d+) Event messages", said)
    return int(found[1]) if found else 0


RATE_BYTES = 6 << 30  # of 20 million events of 20 bytes a second for 10 s, twice over


def rate():
    """20 million events a second for 10 s: none lost, and readers find all."""
    space = os.statvfs("/dev/shm")
    if space.f_bavail * space.f_frsize < RATE_BYTES:
        return "- stream, 20 million events/s for 10 s: not measured, /dev/shm has no %d GiB free." % (
            RATE_BYTES >> 30)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdup-bench-") as folder:
        told = json.loads(run([PROGRAM, "rate", "1", "20", "10"],
                              {"BENCH_DIR": folder, "BENCH_MODE": "stream"}))
        files = len(os.listdir(told["dir"])) - 1
        ours = re.match(r"([\d,]+) events", run([os.path.join(BUILD, "holdup"), "list", "--count-by", "event",
                                                told["dir"]]))
        theirs = counted_by_babeltrace(told["dir"])
    return ("- stream, 20 million events/s for 10 s: %d events in %.2f s, at most %.1f ms late, %d lost, "
            "%d files; holdup list counts %s, babeltrace2 %s." % (
                told["events"], told["seconds"], told["late_ms"], told["lost"], files,
                ours and int(ours[1].replace(",", "")), theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=4000000)
    parser.add_argument("--print", action="store_true", help="do not write bench/RESULTS.md")
    parser.add_argument("--rate", action="store_true", help="also 20 million events/s for 10 s")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "bench/user_cost"], check=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdup-bench-") as folder:
        ways = [Holdup("holdup stream", {"BENCH_MODE": "stream"}), Holdup("holdup flight", {"BENCH_MODE": "flight"}),
                Holdup("holdup cas", {"BENCH_MODE": "flight", "HOLDUP_RSEQ": "0"})]
        peers = lttng_peers(folder)
        ways += peers[:-1] + tracy_peers(folder)
        try:
            medians = measure_all(ways, args)
        finally:
            for way in ways + peers[-1:]:
                way.end()
    text = "%s. ns of the thread's CPU time per event, medians of %d rounds.\n\n%s\n\n%s" % (
        cost.machine(), args.rounds, table(medians, ways), pages_line(medians) + "\n" + more(args.events))
    if args.rate:
        text += "\n" + rate()
    print(text)
    if os.environ.get("JSON"):
        result = {"floor_ns": medians["floor", "floor"], "empty_ns": medians["floor", "empty"]}
        result.update({kind + "_ns": medians["holdup stream", kind] for kind in KINDS})
        result["pages_floor"] = {kind: medians["pages", kind] for kind in ("small_ns", "copied_ns", "large_ns")}
        result["variants"] = {way.name: {kind + "_ns": medians[way.name, kind] for kind in KINDS
                                          if medians[way.name, kind] == medians[way.name, kind]}
                              for way in ways}
        with open(os.environ["JSON"], "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    if not args.print:
        cost.write_section(os.path.join(HERE, "RESULTS.md"), "One event from user space", text)


if __name__ == "__main__":
    main()
