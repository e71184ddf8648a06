#!/usr/bin/env python3
"""SIGKILL at any moment: what the program knew to be logged is there, and every reader reads it, and
finds as many events as the others do.

Without restartable sequences a thread that dies in the middle of an event hides what is behind it
in its packet: there, only what is read must be right. PROBE_KILLS=N kills so often, PROBE_SEED=N
at the same moments as far as they are chosen here, PROBE_WAYS="WAY,..." only in these ways.
"""
import contextlib
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

KILLS = int(os.environ.get("PROBE_KILLS", "120"))
BATCH = 30
PACKET_EVENTS = 4676  # of the same short length, in a packet
STEPS = 150  # of the helper's calls


def at_any_time():
    """From outside; one in ten while it begins, however busy the machine is."""
    return ["-n", 1 << 40, "-s", "-c", "-t", random.choice([1, 2, 8])], {}


def at_a_switch():
    """One or two threads log events of one length: near the end of a packet."""
    count = PACKET_EVENTS * random.randrange(1, 12) + random.randrange(-200, 30)
    return ["-n", 1 << 40, "-p", "-t", random.choice([1, 1, 2]), "-k", count], {}


def at_a_count():
    return ["-n", 1 << 40, "-s", "-c", "-m", "-t", random.choice([1, 2, 2, 3, 8]),
            "-k", random.randrange(60000)], {}


def in_a_thread():
    """By the handler of one that logs: it may be in the middle of an event, or of a switch."""
    return ["-n", 1 << 40, "-s", "-c", "-a", "-t", random.choice([1, 2, 8]),
            "-k", random.randrange(40000)], {}


def in_the_helper():
    """The thread that prepares files, at one of its calls."""
    return ["-n", 1 << 40, "-s", "-c", "-t", random.choice([1, 2, 4])], {
        "LD_PRELOAD": os.path.join(probe.PROGRAMS, "probe-steps.so"),
        "STEPS_KILL": str(random.randrange(STEPS)), "HOLDUP_FILE": "256K"}


def while_forking():
    """Children log, too, and are killed with it."""
    return ["-n", 1 << 40, "-c", "-F", "-t", random.choice([1, 2, 4]),
            "-k", random.randrange(30000)], {}


WAYS = {"any time": at_any_time, "switch": at_a_switch, "count": at_a_count,
        "thread": in_a_thread, "helper": in_the_helper, "fork": while_forking}
if os.environ.get("HOLDUP_SANITIZED"):  # its runtime would have to be preloaded before what that preloads
    del WAYS["helper"]
WAIT_S = dict(dict.fromkeys(WAYS, 60), **{"any time": 0, "helper": 5})


def has_events(folder):
    """Is there a file of packets?"""
    return any(name.startswith("cpu") for _, _, names in os.walk(folder) for name in names)


def wait_outside(process, folder):
    end = time.monotonic() + (0 if random.random() < 0.1 else 20)
    while not has_events(folder) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.0005)
    time.sleep(random.uniform(0, 0.004))


def killed(method, mode, way, folder):
    """Log and be killed. Returns what is wrong with that, or ""."""
    args, more = WAYS[way]()
    if mode == "flight":  # so that what is behind must be there
        args += ["-p", "-t", os.cpu_count() * random.choice([1, 4])]
        args = [arg for arg in args if arg != "-m"]
    env = dict({"HOLDUP_FILE": random.choice(["256K", "512K", "4M"]),
                "HOLDUP_SIZE": "512K" if mode == "flight" else "0"}, **more)
    if mode == "stream" and way != "helper" and random.random() < 0.25:
        env["HOLDUP_HELPER"] = "0"  # the threads that log prepare files
    env = probe.environment(method, mode, os.path.abspath(folder), **env)
    os.makedirs(folder)
    alive, held = os.pipe()  # open as long as the program or one of its children is there
    with kernel.running(probe.program("probe-load"), "-f", folder + "/.counters", *map(str, args),
                        env=env, pass_fds=[held], stdout=subprocess.DEVNULL) as process:
        os.close(held)
        if way == "any time":
            wait_outside(process, folder)
        # Where no file is ever copied the helper does not come to its step.
        late = not select.select([alive], [], [], WAIT_S[way])[0] and WAIT_S[way] > 5
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        os.read(alive, 1)
    os.close(alive)
    return "it is not killed by itself" if late else "" if status == -9 else "status %d" % status


def traces_in(folder):
    """(trace, counters) of the process and its children."""
    for name in sorted(os.listdir(folder)):
        trace = os.path.join(folder, name)
        if name.startswith(".") or not os.path.exists(trace + "/metadata"):
            continue
        counters = "%s/.counters.%s" % (folder, name.rsplit("-", 1)[-1])
        if not os.path.exists(counters):
            counters = folder + "/.counters"
        yield trace, counters


def said_by_check(method, mode, trace, counters):
    """The number of events and of hidden ones by the layout alone, and what is wrong."""
    options = (["-i"] if method == "cas" else []) + (["-g"] if mode == "flight" else [])
    good, numbers, said = probe.check("-k", *options, counters, trace)
    return numbers.get("events", 0), numbers.get("missing", 0), "" if good else said


def said_by_holdup(trace, events):
    """What our reader says that is wrong, or how many it finds when there are not so many."""
    done = kernel.holdup("list", "--count-by", "event", trace)
    if done.returncode or done.stderr:
        return "holdup list: status %d: %s" % (done.returncode, done.stderr)
    found = re.search(r"^([\d,]+) events?\.", done.stdout, re.M)
    found = int(found[1].replace(",", "")) if found else 0
    return "" if found == events else "holdup list finds %d of %d" % (found, events)


def said_by_babeltrace(traces, events):
    if not shutil.which("babeltrace2") or not traces:
        return ""
    done = probe.run(["babeltrace2", *traces, "-c", "sink.utils.counter", "-p", "step=+0"],
                     os.environ, timeout=600)
    found = int((re.findall(r"(\d+) Event message", done.stdout) or [0])[-1])
    if done.returncode == 0 and found == events:
        return ""
    return "finds %d of %d\n%s" % (found, events, done.stdout[-2000:])


def keep(folder):
    """What is wrong is looked at later: PROBE_KEEP is a folder for it."""
    if os.environ.get("PROBE_KEEP"):
        shutil.copytree(folder, os.path.join(os.environ["PROBE_KEEP"], "%d-%s" % (
            time.time_ns(), folder)), dirs_exist_ok=True)


def moment(method, mode, way, folder, sums):
    """One program, killed once. Returns what is wrong."""
    wrong = killed(method, mode, way, folder)
    wrong = [wrong] if wrong else []
    for trace, counters in traces_in(folder):
        events, hidden, said = said_by_check(method, mode, trace, counters)
        said = said or said_by_holdup(trace, events)
        wrong += [said] if said else []
        sums["events"] += events
        sums["hidden"] += hidden
        sums["traces"].append(trace)
    if wrong:
        keep(folder)
    return ["%s, %s: %s" % (folder, way, said) for said in wrong]


def batch(tap, method, mode, ways):
    wrong, sums, ran = [], {"events": 0, "hidden": 0, "traces": []}, {}
    for number, way in enumerate(ways):
        wrong += moment(method, mode, way, "k%d" % number, sums)
        ran[way] = ran.get(way, 0) + 1
    tap.ok(not wrong and sums["events"], "%s, %s: killed %d times, %d traces, %d events, %d hidden"
           % (method, mode, len(ways), len(sums["traces"]), sums["events"], sums["hidden"]),
           *wrong[:3])
    kernel.note(", ".join("%s: %d" % one for one in sorted(ran.items())))
    said = said_by_babeltrace(sums["traces"], sums["events"])
    tap.ok(not said, "%s, %s: babeltrace2 reads all of them, and as many events"
           % (method, mode), said)
    for number in range(len(ways)):
        if said:
            keep("k%d" % number)
        shutil.rmtree("k%d" % number, ignore_errors=True)


def main():
    tap = kernel.Tap()
    seed = os.environ.get("PROBE_SEED", "%d" % random.randrange(1 << 30))
    random.seed(seed)
    kernel.note("PROBE_SEED=" + seed)
    wanted = os.environ.get("PROBE_WAYS", ",".join(WAYS)).split(",")
    kinds = [(method, mode) for method in probe.METHODS for mode in ["stream", "flight"]]
    with kernel.workdir(os.environ.get("PROBE_DIR")):
        for _ in range(max(1, KILLS // BATCH // len(kinds))):
            for method, mode in kinds:
                # Only streams have a helper, and only where there are two CPUs.
                ways = [way for way in wanted if way != "helper" or
                        (mode == "stream" and os.cpu_count() > 1)]
                batch(tap, method, mode, [random.choice(ways) for _ in range(min(BATCH, KILLS))])
    tap.end()


main()
