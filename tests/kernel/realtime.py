#!/usr/bin/env python3
"""Threads that could run and do not: real-time ones that are held back are told with whose limit it is, and how much that allows.

One has a runtime of its own (SCHED_DEADLINE), one is the only thread of a cgroup that may use a tenth of a CPU, one
that of the machine, or the time that a CPU keeps for others. Two threads may use the same CPU only.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SPIN = """
import time
end = time.monotonic() + %f
while time.monotonic() < end: pass
"""
GROUP = "/sys/fs/cgroup/cpu/holdup-test-rt-%d"
RUNTIME_MS, PERIOD_MS = 5, 20


def setting(name):
    with open("/proc/sys/kernel/" + name) as file:
        return file.read().strip()


def command(seconds, *before):
    return [*before, sys.executable, "-S", "-c", SPIN % seconds]


def throttles(tap, name, words):
    """What is said of them, and for how long."""
    report, done = kernel.why("--", *words)
    if not tap.ok(report is not None and done.returncode == 0, name + ": is explained", done.stderr):
        return {}
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    told = {}
    for root in report["verdict"]:
        if root["kind"] == "throttled":
            told[root["what"]] = told.get(root["what"], 0) + root["ns"]
    return told


def check_deadline(tap):
    words = ["chrt", "-d", "--sched-runtime", str(RUNTIME_MS * kernel.MS), "--sched-deadline", str(PERIOD_MS * kernel.MS),
             "--sched-period", str(PERIOD_MS * kernel.MS), "0"]
    if subprocess.run([*words, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        tap.skipped("SCHED_DEADLINE", "not for us")
        return
    told = throttles(tap, "SCHED_DEADLINE", command(0.5, *words))
    expected = "runtime of its SCHED_DEADLINE (5.00 ms in each 20.0 ms)"
    tap.ok(list(told) == [expected], "SCHED_DEADLINE: with its runtime and period", told)


def check_group(tap):
    folder = GROUP % os.getpid()
    try:
        os.mkdir(folder)
    except OSError:
        tap.skipped("group", "no CPU controller of version 1")
        return
    try:
        try:
            with open(folder + "/cpu.rt_runtime_us", "w") as file:
                file.write("200000")
        except OSError:
            tap.skipped("group", "no limits of real-time threads of groups")
            return
        told = throttles(tap, "group", ["sh", "-c", 'echo $$ >%s/cgroup.procs; exec "$@"' % folder, "sh",
                                        *command(2.5, "chrt", "-f", "20")])
    finally:
        os.rmdir(folder)
    expected = "limit of real-time threads of cgroup /%s (cpu.rt_runtime_us 200000, cpu.rt_period_us 1000000)" \
        % os.path.basename(folder)
    tap.ok(told.get(expected, 0) >= 0.5 * kernel.S, "group: with its setting", told)


def check_machine(tap):
    """Beside another one that wants the CPU: what it may have otherwise differs between kernels."""
    cpu = str(min(os.sched_getaffinity(0)))
    if subprocess.run(["chrt", "-f", "20", "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        tap.skipped("machine", "no real-time thread in this cgroup")
        return
    other = subprocess.Popen(command(20, "taskset", "-c", cpu))
    try:
        told = throttles(tap, "machine", command(3, "taskset", "-c", cpu, "chrt", "-f", "20"))
    finally:
        other.kill()
        other.wait()
    whole = "limit of real-time threads of the machine (sched_rt_runtime_us %s, sched_rt_period_us %s)" \
        % (setting("sched_rt_runtime_us"), setting("sched_rt_period_us"))
    server = r"time that each CPU keeps for other than real-time threads \(fair_server: [\d.]+ m?s in each [\d.]+ m?s\)"
    known = [what for what in told if what == whole or re.fullmatch(server, what)]
    tap.ok(known == list(told), "machine: whose limit it is, with its setting", told)


def gave_way_ns(report, pid, words):
    """For how long 'pid' ran instead, with these words said of that."""
    return sum(root["ns"] for root in report["verdict"] if root["who"] and root["who"]["tgid"] == pid and
               root["kind"] in ("preempted", "cpu_queue") and root["why"] == words)


def check_pinned(tap):
    """Two share a CPU, as they may use no other: set as it runs, or before. Told is which CPU that is."""
    words = "who waited may use CPU 0 only"
    with subprocess.Popen(command(60, "taskset", "-c", "0")) as other:
        try:
            for name, before, after in (("sets it", [], ["taskset", "-c", "0"]), ("has it", ["taskset", "-c", "0"], [])):
                done = subprocess.run([*before, kernel.HOLDUP, "why", "--json", "--", *command(0.5, *after)],
                                      capture_output=True, text=True, check=False)
                report = json.loads(done.stdout) if done.returncode == 0 else None
                tap.ok(report and gave_way_ns(report, other.pid, words) >= 0.1e9, "a thread that may use one CPU, %s: it is told which" % name,
                       done.stderr, report and kernel.show_roots(report))
        finally:
            other.kill()


def main():
    kernel.need("chrt", "taskset")
    tap = kernel.Tap()
    check_deadline(tap)
    check_group(tap)
    check_machine(tap)
    if os.cpu_count() > 1:
        check_pinned(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
