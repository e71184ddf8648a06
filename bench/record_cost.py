#!/usr/bin/env python3
"""What recording costs the load, beside its rivals, in one run; writes bench/RESULTS.md.

usage: record_cost.py [--rounds N] [--loads A,B] [--print]

Every round runs every load once plain and once under each recorder, in a new random
order, so that drift of the machine hits all alike. Shown are medians of the ratio to
the plain run of the same round. Rounds in which a hypervisor took CPU time are run
again, up to a limit.

  ring     the same events, same clock, same options, in a buffer that nobody reads
  holdup   holdup record
  perf     perf record -a with the same events
"""
import argparse
import contextlib
import os
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
HOLDUP = os.environ.get("HOLDUP") or os.path.join(HERE, "..", "build", "holdup")
INSTANCES = "/sys/kernel/tracing/instances"
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
STEAL_LIMIT = 0.01  # share of all CPU time of a run that may be stolen
RETRIES = 3


def steal_s():
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def run_timed(*argv):
    start = time.monotonic()
    subprocess.run(argv, check=True, **QUIET)
    return time.monotonic() - start


# Loads: each returns seconds for a fixed amount of work.

def load_tbench():
    out = subprocess.run(["tbench", "-t", "3", "-c", "/usr/share/dbench/client.txt", "2", "127.0.0.1"], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return 1000 / float(re.search(r"Throughput ([\d.]+)", out)[1])  # seconds per GB


def load_pipe():
    return run_timed("perf", "bench", "sched", "pipe", "-l", "150000")


def load_compile():
    sources = [os.path.join(HERE, "..", "examples", name)
               for name in ("slow-writer.c", "futex-convoy.c", "two-hogs.c", "poll-loop.c")]
    return sum(run_timed("gcc", "-std=gnu17", "-O2", "-D_GNU_SOURCE", "-c", "-o", "out.o", source)
               for source in sources * 4)


def load_compress():
    return run_timed("gzip", "-kf", "data")


def make_data():
    """60 MB of text that compresses as text does."""
    rng = random.Random(1)
    words = ["%x" % rng.getrandbits(rng.choice([8, 16, 24])) for _ in range(5000)]
    with open("data", "w") as file:
        for _ in range(60):
            file.write(" ".join(rng.choices(words, k=170000)))


LOADS = {"tbench": load_tbench, "pipe": load_pipe, "compile": load_compile,
         "compress": load_compress}


# Recorders: context managers around a run.

def wait_until_ready():
    """A recorder runs its own command, which makes this file, once its events are on."""
    end = time.monotonic() + 60
    while not os.path.exists("ready"):
        if time.monotonic() > end:
            raise RuntimeError("the recorder does not start")
        time.sleep(0.05)
    os.unlink("ready")


class Mirror:
    """What a running holdup has set up in its instance: events, clock, sizes, options."""

    def __init__(self, events):
        process = subprocess.Popen([HOLDUP, "record", "-e", events, "-o", "mirror", "--", "sh", "-c", ": >ready; sleep 1"], **QUIET)
        wait_until_ready()
        name = next(n for n in os.listdir(INSTANCES) if n.startswith("holdup-%d-" % process.pid))
        self.path = os.path.join(INSTANCES, name)
        self.clock = re.search(r"\[(\S+)\]", self.read("trace_clock"))[1]
        self.buffer_kb = self.read("buffer_size_kb").split()[0]
        self.subbuf_kb = self.read("buffer_subbuf_size_kb").strip()
        self.options = self.read("trace_options").split()
        self.events = [line.strip().replace("/", ":") for line in self.read("set_event").split()]
        self.filters = self.find_filters()
        process.wait()
        shutil.rmtree("mirror", ignore_errors=True)

    def read(self, name):
        with contextlib.suppress(OSError):
            with open(os.path.join(self.path, name)) as file:
                return file.read()
        return ""

    def find_filters(self):
        filters = {}
        for event in self.events:
            text = self.read("events/%s/filter" % event.replace(":", "/")).strip()
            if text and text != "none":
                filters[event] = text
        return filters


def put(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


@contextlib.contextmanager
def ring(mirror):
    path = os.path.join(INSTANCES, "bench-%d" % os.getpid())
    os.mkdir(path)
    try:
        for name, text in (("buffer_subbuf_size_kb", mirror.subbuf_kb),
                           ("buffer_size_kb", mirror.buffer_kb), ("trace_clock", mirror.clock)):
            if text:
                put(path, name, text)
        for option in mirror.options:
            with contextlib.suppress(OSError):
                put(path, "trace_options", option)
        for event in mirror.events:
            put(path, "events/%s/enable" % event.replace(":", "/"), "1")
        yield None
    finally:
        os.rmdir(path)


@contextlib.contextmanager
def background(*argv):
    """A recorder that runs until SIGINT; gives its stderr in a list when it has ended."""
    said = []
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(1)
        yield said
    finally:
        process.send_signal(signal.SIGINT)
        said.append(process.communicate()[1])


@contextlib.contextmanager
def holdup(events):
    shutil.rmtree("trace", ignore_errors=True)
    with background(HOLDUP, "record", "-e", events, "--stack-min", "off", "--sample", "off", "-o", "trace") as said:
        yield said


@contextlib.contextmanager
def perf(mirror):
    """perf runs its own command once its events are on: opening them takes it seconds."""
    # The kernel refuses this one to perf: each of its events would raise the next.
    events = [event for event in mirror.events if "irq_work" not in event]
    with background("perf", "record", "-q", "-a", "-o", "perf.data", "-m", "8M", "-e",
                    ",".join(events), "--", "sh", "-c", ": >ready; exec sleep 600") as said:
        wait_until_ready()
        yield said
    os.unlink("perf.data")


@contextlib.contextmanager
def plain():
    time.sleep(0.5)
    yield None


def measure(load, recorder):
    """Seconds of the load, and the lost events the recorder spoke of. Retried while CPUs are stolen."""
    for _ in range(RETRIES):
        stolen, start = steal_s(), time.monotonic()
        with recorder() as said:
            result = load()
        stolen = (steal_s() - stolen) / ((time.monotonic() - start) * os.cpu_count())
        if stolen <= STEAL_LIMIT:
            break
    lost = re.search(r"(\d[\d ,']*) (?:events )?lost", said[0]) if said else None
    return result, stolen, lost[0] if lost else ""


def rounds(loads, recorders, count):
    """{(load, recorder): [ratio to plain]}; plain: seconds."""
    ratios = {}
    stolen_runs = runs = 0
    for number in range(count):
        for name in loads:
            times = {}
            for recorder in random.sample(list(recorders), len(recorders)):
                times[recorder], stolen, lost = measure(LOADS[name], recorders[recorder])
                runs += 1
                stolen_runs += stolen > STEAL_LIMIT
                print("round %d %-9s %-12s %.3f s stolen %.1f %% %s"
                      % (number + 1, name, recorder, times[recorder], stolen * 100, lost),
                      file=sys.stderr, flush=True)
            for recorder, seconds in times.items():
                ratios.setdefault((name, recorder), []).append(seconds / times["plain"])
                ratios.setdefault((name, recorder, "seconds"), []).append(seconds)
            ratios.setdefault((name, "seconds"), []).append(times["plain"])
            for events in ("full", "core"):
                ratios.setdefault((name, "ours/ring " + events), []).append(
                    times["holdup " + events] / times["ring " + events])
    return ratios, stolen_runs, runs


def table(ratios, loads):
    columns = ["ring full", "holdup full", "perf full", "ring core", "holdup core", "perf core"]
    lines = ["| load | plain | " + " | ".join(columns)
             + " | holdup / ring, full | holdup / ring, core |",
             "|" + "---|" * (len(columns) + 4)]
    for load in loads:
        cells = ["%.2f s" % statistics.median(ratios[load, "seconds"])]
        cells += ["%+.1f %%" % (100 * (statistics.median(ratios[load, c]) - 1)) for c in columns]
        cells += ["%.3f" % statistics.median(ratios[load, "ours/ring " + e]) for e in ("full", "core")]
        lines.append("| %s | %s |" % (load, " | ".join(cells)))
    return "\n".join(lines)


def fastest(ratios, loads):
    """The same with the fastest run of each kind: what disturbs a run only adds to it."""
    columns = ["plain", "ring full", "holdup full", "perf full", "ring core", "holdup core",
               "perf core"]
    lines = ["| load | " + " | ".join(columns) + " | holdup / ring, full | holdup / ring, core |",
             "|" + "---|" * (len(columns) + 3)]
    for load in loads:
        best = {c: min(ratios[load, c, "seconds"]) for c in columns}
        cells = ["%.2f s" % best["plain"]]
        cells += ["%+.1f %%" % (100 * (best[c] / best["plain"] - 1)) for c in columns[1:]]
        cells += ["%.3f" % (best["holdup " + e] / best["ring " + e]) for e in ("full", "core")]
        lines.append("| %s | %s |" % (load, " | ".join(cells)))
    return "\n".join(lines)


def machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return "%s, %d CPUs (%s), Linux %s" % (time.strftime("%Y-%m-%d"), os.cpu_count(),
                                          model[1] if model else platform.machine(),
                                          platform.release())


def write_section(path, title, text):
    """Replace the section of that title, or add it."""
    old = ""
    with contextlib.suppress(FileNotFoundError):
        with open(path) as file:
            old = file.read()
    if not old:
        old = "# Results\n\nMeasured side by side in one run; ratios are medians.\n"
    parts = re.split(r"(?m)^(?=## )", old)
    parts = [part for part in parts if not part.startswith("## %s\n" % title)]
    with open(path, "w") as file:
        file.write("".join(parts).rstrip("\n") + "\n\n## %s\n\n%s\n" % (title, text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    loads = args.loads.split(",")
    make_data()
    full, core = Mirror("full"), Mirror("core")
    recorders = {
        "plain": plain,
        "ring full": lambda: ring(full), "ring core": lambda: ring(core),
        "holdup full": lambda: holdup("full"), "holdup core": lambda: holdup("core"),
        "perf full": lambda: perf(full), "perf core": lambda: perf(core),
    }
    with contextlib.ExitStack() as stack:
        if "tbench" in loads:
            server = subprocess.Popen(["tbench_srv"], **QUIET)
            stack.callback(server.kill)
        ratios, stolen, runs = rounds(loads, recorders, args.rounds)
    text = "%s. %d rounds; %d of %d runs lost more than %d %% of the CPUs to the hypervisor.\n" % (
        machine(), args.rounds, stolen, runs, STEAL_LIMIT * 100)
    text += "Time of the load more than plain:\n\n" + table(ratios, loads)
    text += "\n\nThe fastest run of each kind (what disturbs a run only adds to it):\n\n"
    text += fastest(ratios, loads)
    print(text)
    if not args.print:
        write_section(os.path.join(HERE, "RESULTS.md"), "Recording cost", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder:
        os.chdir(folder)
        main()
