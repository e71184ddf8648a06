#!/usr/bin/env python3
"""What must hold on the stock kernel of a distribution, in the guest of tools/vm-test.

usage: guest.py PART...      see the table at the end

Nothing here knows which kernel it is: what the guest is to be is asked of the guest.
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kernel"), os.path.join(HERE, "..", "kernel", "lib")]
import away  # noqa: E402
import bad  # noqa: E402
import flight_hotplug  # noqa: E402
import kernel  # noqa: E402
import limits  # noqa: E402
import live  # noqa: E402

CPU1 = "/sys/devices/system/cpu/cpu1/online"
FLOOR = live.FLOOR
# Between their turns these look at /proc, for which an emulated CPU needs a millisecond each time;
# and what a fault costs beside the disk is most of it.
SLACK_MS = {"fifo-preempts": 40, "cond-pingpong": 120, "poll-loop": 60, "fault-storm": 60}
# Here the disk is faster than the emulated CPU, and not the answer.
NO_ANSWER = ("fsync-kworker", "lock-then-disk")
# What this project can do without, by the beginning of its name in trace.json.
MAY_MISS = ("event ipi:ipi_send_cpu", "pressure (PSI)")


def manifest(folder):
    with open(folder + "/trace.json") as file:
        return json.load(file)


def has(path):
    return os.path.exists(kernel.TRACEFS + "/" + path)


def check_exact(tap, name, report, done, left_out=0):
    """Explained, with exact sums, and nothing uncertain as nothing was lost or left out."""
    if not tap.ok(report is not None and done.returncode == 0, name + ": is explained",
                  done.returncode, done.stderr):
        return False
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    tap.ok(report["lost_events"] == 0, name + ": no event is lost", report["lost_events"])
    tap.ok(report["repairs"]["count"] <= left_out,
           name + ": no switch is thought to be left out", report["repairs"])
    tap.ok(report["wib"]["uncertain_ns"] == 0, name + ": nothing is uncertain",
           report["wib"], report.get("uncertain"))
    return True


def first_root(tap, name, report, kind, comm, what):
    root = report["verdict"][0]
    who = (root["who"] or {}).get("comm")
    tap.ok((root["kind"], who, root["what"]) == (kind, comm, what),
           "%s: the first root is %s of %s" % (name, what, comm), kernel.show_roots(report))


def check_doctor(tap):
    done = kernel.holdup("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    kernel.note(", ".join("%s: %s" % (name, check["state"]) for name, check in checks.items()
                          if check["state"] != "ok"))
    tap.ok(done.returncode in (0, 1), "doctor: this kernel can be recorded", done.stdout)
    for name, good in (("switches from idle", True), ("kernel symbols", True),
                       ("names by BPF", os.path.exists("/sys/kernel/btf/vmlinux")),
                       ("sub-buffers", has("buffer_subbuf_size_kb")),
                       ("interrupts between CPUs", has("events/ipi/ipi_send_cpu"))):
        tap.ok((checks[name]["state"] == "ok") == good,
               "doctor: %s is %s" % (name, checks[name]["state"]), checks[name])


def check_record(tap):
    done = kernel.holdup("record", "-o", "plain", "--", "true")
    if not tap.ok(done.returncode == 0, "record: true is recorded", done.stderr):
        return
    trace = manifest("plain")
    kernel.note("clock %s, sub-buffers of %d bytes" % (trace["clock"], trace["page_bytes"]))
    tap.ok(not trace["omits_idle_switches"], "record: the kernel leaves no switch out")
    tap.ok("sched:sched_stat_runtime" not in trace["events"], "record: so no run time is recorded")
    tap.ok(sum(cpu["lost"] + cpu["dropped"] for cpu in trace["cpus"]) == 0, "record: nothing is lost",
           trace["cpus"])
    missing = [miss for miss in trace["missing"] if not miss["what"].startswith(MAY_MISS)]
    tap.ok(not missing, "record: nothing is missing but what this kernel has not", missing)
    report, done = kernel.why("plain")
    check_exact(tap, "record", report, done)


def check_small(tap):
    """Small commands, of every set of events, with and without BPF."""
    command = ["sh", "-c", "sleep 0.05; ls / | wc -l >/dev/null; dd if=/dev/zero of=f bs=4k count=50 "
               "conv=fsync 2>/dev/null; cat f >/dev/null"]
    for name, args in (("full", []), ("no BPF", ["--no-bpf"]), ("core", ["-e", "core"]),
                       ("stacks", ["--stacks"])):
        report, done = kernel.why(*args, "-o", "small", "--", *command)
        check_exact(tap, name, report, done)
        told = any("names of files" in miss["what"] for miss in manifest("small")["missing"])
        tap.ok(told == (name == "no BPF"), name + ": says whether names are missing",
               manifest("small")["missing"])


def check_live(tap):
    live.prepare()
    start = time.monotonic()
    for line in live.EXAMPLES:
        if line in NO_ANSWER:
            run = live.record(line, False)
            check_exact(tap, line, run.report, run.done)
            continue
        run = live.record_undisturbed(line, False)
        live.FLOOR = FLOOR + SLACK_MS.get(line, 0) * kernel.MS
        live.check_run(tap, line, run)
        if run.report:
            tap.ok(run.report["repairs"]["count"] == 0, line + ": no switch is thought to be left out",
                   run.report["repairs"])
    kernel.note("the examples took %.0f s" % (time.monotonic() - start))


def check_some(tap):
    """Where time is not exact: sums and certainty of a few examples, not their roots."""
    for line in ("wait-child", "futex-convoy", "tcp-server-sleeps", "poll-loop", "two-hogs",
                 "fsync-kworker"):
        run = live.record(line, False)
        check_exact(tap, line, run.report, run.done)


def check_nobody(tap):
    bad.check_nobody(tap)


def check_compat(tap):
    program = os.path.join(kernel.PROGRAMS, "compat32")
    if not os.path.exists(program):
        tap.skipped("32-bit program", "the host could not build it")
        return
    report, done = kernel.why("-o", "compat", "--", program)
    if check_exact(tap, "32-bit program", report, done):
        first_root(tap, "32-bit program", report, "timer", "compat32", "nanosleep")
        calls = {name for name in report["syscalls"] if name in ("nanosleep", "open", "exit")}
        tap.ok(len(calls) == 3, "32-bit program: its calls have the right names", report["syscalls"])


def check_namespace(tap):
    inner = ["unshare", "-pf", "--mount-proc"]
    report, done = kernel.why("--", *inner, "sh", "-c", "sleep 0.15; true")
    if check_exact(tap, "a pid namespace inside", report, done):
        first_root(tap, "a pid namespace inside", report, "timer", "sleep", "clock_nanosleep")
    out = os.path.realpath("inside.json")
    done = subprocess.run(["timeout", "-s", "KILL", "100", *inner, kernel.HOLDUP, "why", "--json",
                           "--output", out, "--", "sh", "-c", "sleep 0.15; true"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    report = None
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        with open(out) as file:
            report = json.load(file)
    if check_exact(tap, "within a pid namespace", report, done):
        first_root(tap, "within a pid namespace", report, "timer", "sleep", "clock_nanosleep")


def check_hotplug(tap):
    """A CPU goes and comes back while it is recorded; the last load runs on it."""
    if not os.path.exists(CPU1):
        tap.skipped("hotplug", "one CPU only, or it cannot be taken away")
        return
    script = ("sleep 0.2; echo 0 >%s; sleep 0.2; echo 1 >%s; sleep 0.2; taskset -c 1 sh -c "
              "'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done'; cat %s" % (CPU1, CPU1, CPU1))
    done = kernel.holdup("record", "-o", "hotplug", "--", "sh", "-c", script)
    with open(CPU1, "r+") as file:
        back = file.read().strip()
        if back != "1":
            file.write("1")
    tap.ok(back == "1" and done.returncode == 0 and done.stdout.strip() == "1",
           "hotplug: a CPU went and came back", back, done.stdout, done.stderr)
    trace = manifest("hotplug")
    tap.ok(trace["complete"] and len(trace["cpus"]) == 2, "hotplug: the trace is whole", trace["cpus"])
    tap.ok(trace["cpus"][1]["events"] > 0, "hotplug: the CPU has events", trace["cpus"])
    report, done = kernel.why("hotplug")
    # The kernel records nothing on a CPU that is marked as away: so not its last switch to idle.
    check_exact(tap, "hotplug", report, done, left_out=1)
    if report:
        kernel.note(kernel.show_roots(report))
    for comm in ("migration/1", "ksoftirqd/1", "cpuhp/1"):
        report, done = kernel.why("--comm", comm, "hotplug")
        if report is None and re.search("no thread|nothing|no such", done.stderr):
            kernel.note("%s: %s" % (comm, done.stderr.strip()))
            continue
        for one in report if isinstance(report, list) else [report]:
            tap.ok(one and not kernel.bad_sums(one), "hotplug: sums of %s are exact" % comm,
                   done.stderr)
    shutil.rmtree("hotplug")
    # Begun with the CPU away: it is not there at first, and is when it comes.
    with open(CPU1, "w") as file:
        file.write("0")
    script = "sleep 0.2; echo 1 >%s; taskset -c 1 sleep 0.2" % CPU1
    done = kernel.holdup("record", "-o", "hotplug", "--", "sh", "-c", script)
    with open(CPU1, "r+") as file:
        if file.read().strip() != "1":
            file.write("1")
    report, explained = kernel.why("hotplug")
    check_exact(tap, "a CPU that comes later", report, explained)
    events = {cpu["cpu"]: cpu["events"] for cpu in manifest("hotplug")["cpus"]}
    tap.ok(events.get(1, 0) > 0, "a CPU that comes later: its events are recorded", events,
           done.stderr)


PARTS = {
    "doctor": check_doctor,
    "record": check_record,
    "small": check_small,
    "live": check_live,
    "some": check_some,
    "nobody": check_nobody,
    "compat": check_compat,
    "namespace": check_namespace,
    "hotplug": check_hotplug,
    "flight-hotplug": flight_hotplug.check,
    "away": away.check,
    "limits": limits.check,
}


def main():
    kernel.need()
    tap = kernel.Tap()
    for part in sys.argv[1:] or PARTS:
        start = time.monotonic()
        try:
            PARTS[part](tap)
        except Exception as error:  # pylint: disable=broad-except
            tap.ok(False, part + ": the test itself works", repr(error))
        kernel.note("%s: %.0f s of the guest" % (part, time.monotonic() - start))
    tap.end()


if __name__ == "__main__":
    with kernel.workdir("/var/tmp"):
        main()
