"""CPUs that go and come back under the flight recorder, which stays on, also where one is away as it begins."""
import json
import os
import subprocess

import away
import flight
import kernel

CPU1 = "/sys/devices/system/cpu/cpu1/online"
NAP = "sleep 0.3; i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; exec sleep 0.3"


def planted(tap, name, cpu, has_events):
    """A program that works and sleeps on that CPU, then a snapshot: it is in it, as it was. 'has_events': CPU 1 has some of the time that is kept."""
    program = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", NAP])
    program.wait()
    done = flight.flight("snapshot", name)
    trace = done.stdout.strip()
    if not tap.ok(done.returncode == 0 and os.path.isdir(trace), name + ": a snapshot", done.stderr):
        return
    report, explained = kernel.why("--pid", program.pid, trace)
    if not tap.ok(report is not None, name + ": is explained", explained.stderr):
        return
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    kernel.note("%s: %s" % (name, kernel.show_roots(report)))
    slept = [row["ns"] for row in report["verdict"] if row["kind"] == "timer" and row["what"] == "clock_nanosleep"]
    tap.ok(slept and max(slept) >= 290 * kernel.MS, name + ": it slept twice, and that is told", slept)
    with open(trace + "/trace.json") as file:
        events = {one["cpu"]: one["events"] for one in json.load(file)["cpus"]}
    tap.ok((events.get(1, 0) > 0) == has_events, name + ": CPU 1 has events" if has_events else name + ": CPU 1 has none", events)


def begun(tap, name):
    return flight.Recorder(tap, name, "--memory", "32M", "--pause", "0")


def check_goes(tap):
    """It goes while the recorder is on, and comes back, several times."""
    with begun(tap, "flight-goes"):
        planted(tap, "before it goes", 1, True)
        tap.ok(away.switch(CPU1, False), "the CPU goes")
        planted(tap, "while it is away", 0, True)
        tap.ok(flight.status() is not None, "while it is away: it tells its state")
        tap.ok(away.switch(CPU1, True), "the CPU comes back")
        planted(tap, "when it is back", 1, True)
        for _ in range(5):
            away.switch(CPU1, False)
            away.switch(CPU1, True)
        planted(tap, "after some more times", 1, True)


def check_comes(tap):
    """It is away as the recorder begins."""
    away.switch(CPU1, False)
    try:
        with begun(tap, "flight-comes"):
            planted(tap, "before it comes", 0, False)
            away.switch(CPU1, True)
            planted(tap, "when it has come", 1, True)
    finally:
        if not away.state(CPU1):
            away.switch(CPU1, True)


def check(tap):
    if not os.path.exists(CPU1):
        tap.skipped("flight-hotplug", "one CPU only, or it cannot be taken away")
        return
    check_goes(tap)
    check_comes(tap)
