#!/usr/bin/env python3
"""A model learned from 20 good runs keeps quiet on 200 further ones, and finds each of six faults.

The program says which orders have a fault, and when they were.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

ORDERS = os.path.join(kernel.EXAMPLES, "model-orders")
GOOD_RUNS, AT_ONCE, TIMES = 20, 40, 5  # 200 further runs, 40 in a recording
ORDERS_OF_RUN = 30
CLOCKS_NS = 50_000  # the program's clock and the trace's may be so far apart
STEPS = ["orders:order_begin", "orders:parsed", "orders:paid", "orders:stored",
         "orders:order_end"]

# What each fault is found by: a word of one of the constraints, or of the reason.
FAULTS = {
    "sleep": "blocked(time)",
    "lock": "blocked(lock)",
    "disk": "blocked(disk)",
    "hog": "elapsed",  # time without a CPU is a part of it
    "calls": "syscalls",
    "skip": "no such transition",
}


def checked(*args):
    done = holdup("check", "--json", "--no-why", *args)
    try:
        return json.loads(done.stdout), done
    except json.JSONDecodeError:
        return None, done


def good_runs(tap):
    traces = []
    for run in range(GOOD_RUNS):
        done = holdup("record", "-o", "good-%d" % run, "--", ORDERS, "--truth", "truth.json")
        if done.returncode:
            tap.ok(False, "a good run is recorded", done.stderr)
        traces.append("good-%d" % run)
    return traces


def learned(tap, traces):
    done = holdup("learn", "-o", "orders.yaml", "--floor", "5ms", *traces)  # of a hypervisor
    tap.ok(done.returncode == 0, "learn makes a model of %d runs" % len(traces), done.stderr)
    with open("orders.yaml") as file:
        text = file.read()
    kernel.note(text)
    events = [line.split()[2] for line in text.splitlines() if "- event: " in line]
    tap.ok(events == STEPS, "its machine has the five steps in their order", events)
    report, done = checked("orders.yaml", traces[0])
    tap.ok(report and report["instances"] == ORDERS_OF_RUN and report["status"] == "valid",
           "a run that it was learned from is valid", done.stdout[:500], done.stderr)


def clocks_differ():
    """Does libholdup read another clock than the recording's? In guests whose kernel keeps time by kvm-clock."""
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as file:
        return not file.read().startswith("tsc")


def of_room(finding):
    """Is it about the calls that libholdup made to have room for an event?

    They are over before the event; but where clocks differ, its time may be a microsecond too early.
    """
    return clocks_differ() and (finding.get("constraint") or "").startswith("syscalls")


def false_alarms(tap):
    runs, bad = 0, []
    loop = "for i in $(seq %d); do %s --truth /dev/null; done" % (AT_ONCE, ORDERS)
    for _ in range(TIMES):
        stolen = kernel.steal_ns()
        report, done = checked("-o", "further", "orders.yaml", "--", "sh", "-c", loop)
        if report is None:
            tap.ok(False, "further runs are checked", done.stderr)
            return
        runs += len({instance["tid"] for instance in report["list"]})
        alarms = {finding["tid"] for finding in report["findings"]
                  if finding["status"] == "invalid" and not of_room(finding)}
        bad += alarms
        stolen = kernel.steal_ns() - stolen
        if alarms or stolen or report["lost_events"]:
            kernel.note("%d alarms, %d ms stolen, %d events lost" % (
                len(alarms), stolen // kernel.MS, report["lost_events"]))
        for finding in report["findings"][:4]:
            kernel.note(json.dumps(finding))
        os.system("rm -rf further")
    tap.ok(runs == AT_ONCE * TIMES, "there are %d further runs" % (AT_ONCE * TIMES), runs)
    tap.ok(len(bad) <= 1, "at most one of them is a false alarm: %d" % len(bad), bad)


def texts_of(report, finding):
    """What a finding is about: the constraint, or the reason."""
    return finding.get("constraint") or finding["reason"]


def fault(tap, name, word):
    report, done = checked("-o", name, "orders.yaml", "--", ORDERS, "--" + name, "--truth",
                           "truth.json")
    if not tap.ok(report is not None and done.returncode == 1, "--%s is found" % name,
                  done.stdout[:500], done.stderr):
        return
    with open("truth.json") as file:
        truth = json.load(file)
    found = {instance["instance"]: instance for instance in report["list"]
             if instance["status"] == "invalid"}
    planted = [[number for number, instance in found.items()
                if instance["start_ns"] < place["end_ns"]
                and instance["start_ns"] >= place["start_ns"] - CLOCKS_NS] for place in truth["planted"]]
    tap.ok(len(planted) == 2 and all(planted) and len(found) == 2,
           "--%s: in the two orders that have it" % name, planted, found)
    words = [text for text in (texts_of(report, finding) for finding in report["findings"])
             if word in text]
    tap.ok(words, "--%s: by %s" % (name, word), json.dumps(report["findings"])[:1500])


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"), kernel.spinners():
        os.system(ORDERS + " --prepare")
        learned(tap, good_runs(tap))
        false_alarms(tap)
        for name, word in FAULTS.items():
            fault(tap, name, word)
    tap.end()


if __name__ == "__main__":
    main()
