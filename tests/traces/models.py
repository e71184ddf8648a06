#!/usr/bin/env python3
"""Models over other people's traces whose answers others worked out.

$HOLDUP_CTF_TRACES, or ../shared/traces beside the project, has 08-models (a state machine of Trace
Compass and how often it was completed) and 14-kernel-plus-ust (constraints on sections between
calls of a library: how many kept them, from a plain reading of both traces; and each section with
the time it ran, waited and was blocked). Neither root nor a kernel is needed. Skipped when the
folder is not there.
"""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

TRACES = os.environ.get("HOLDUP_CTF_TRACES") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../../../shared/traces")

FSM = """
model: consuming
key: all
initial: start
instances: %s
states:
  start: { transitions: [ { event: entry, to: s1 } ] }
  s1: { transitions: [ { event: exit, to: done } ] }
  done: { final: true }
"""

# In the order of *.model.expected.csv.
SECTION = """
model: section
initial: out
states:
  out:
    transitions:
      - { event: "lttng_ust_pthread:pthread_mutex_unlock", to: working }
  working:
    transitions:
      - { event: "lttng_ust_pthread:pthread_mutex_unlock", to: working }
      - event: "lttng_ust_pthread:pthread_mutex_lock_req"
        to: out
        check: [ %s ]
"""
CONSTRAINTS = ["elapsed <= 1ms", "elapsed <= 10ms", "preemptions == 0", "on_cpu >= 99%",
               "blocked <= 15%", "wait_cpu <= 10%"]
PARTS = {"on_cpu": "running_ns", "wait_cpu": "waiting_for_cpu_ns", "blocked": "blocked_ns",
         "preemptions": "preemptions"}


def checked(model, *args):
    with open("model.yaml", "w", encoding="utf-8") as file:
        file.write(model)
    done = subprocess.run([kernel.HOLDUP, "check", "--json", "--no-why", *args],
                          capture_output=True, text=True, check=False, timeout=300)
    return (json.loads(done.stdout) if done.stdout else None), done


def unpack(archive):
    subprocess.run(["tar", "-xf", archive], check=True)


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def scenarios(tap):
    """One scenario at a time, or one for each event that begins it."""
    unpack(os.path.join(TRACES, "08-models/consuming_fsm.ctf.tar.zst"))
    expected = rows_of(os.path.join(TRACES, "08-models/consuming_fsm.expected.csv"))
    for word, row in zip(("one", "overlap"), expected):
        result, _ = checked(FSM % word, "model.yaml", "consuming_fsm")
        ended = [i for i in result["list"] if i["end"] == "ended"]
        tap.ok(len(ended) == int(row[2]), f"consuming_fsm, instances: {word}", len(ended), row[2])


def decided(result):
    return [(c["valid"], c["invalid"]) for c in result["transitions"][-1]["constraints"]]


def without_kernel(tap, name, expected):
    result, done = checked(SECTION % ", ".join(CONSTRAINTS), "model.yaml", name + "-ust")
    tap.ok(decided(result)[:2] == expected[:2], f"{name}: deadlines by events of the program alone",
           decided(result)[:2], expected[:2])
    rest = result["transitions"][-1]["constraints"][2:]
    tap.ok(all(c["uncertain"] == sum(expected[0]) for c in rest),
           f"{name}: all else is uncertain without the kernel's events", rest)
    tap.ok(done.returncode == 1, f"{name}: exit status 1", done.returncode)


def values_of(name, kernel_trace):
    """Each section's metrics: constraints that none keeps name the values."""
    model = SECTION % ", ".join(f"{metric} < 0" for metric in PARTS)
    result, _ = checked(model, "--kernel", kernel_trace, "model.yaml", name + "-ust")
    spans = {}
    for finding in result["findings"]:
        if "constraint" in finding:
            metric = finding["constraint"].split()[0]
            span = spans.setdefault((finding["start_ns"], finding["end_ns"], finding["tid"]), {})
            span[metric] = (finding["value"]["low"], finding["value"]["high"])
    return spans


# A wait ends for us where its waker decides (sched_waking), for the plain rule where the thread
# is queued (sched_wakeup), some microseconds later.
SLACK_NS = {"wait_cpu": 20_000, "blocked": 20_000}


def is_within(bounds, value, slack):
    low, high = bounds
    return low - slack <= value and (high is None or value <= high + slack)


def same_sum(found, wanted):
    low, high = (sum(found[m][end] for m in SLACK_NS if found[m][1] is not None) for end in (0, 1))
    return any(found[m][1] is None for m in SLACK_NS) or \
        low <= sum(wanted[m] for m in SLACK_NS) <= high


def each_section(tap, name, kernel_trace):
    path = os.path.join(TRACES, f"14-kernel-plus-ust/{name}.work-section-instances.csv")
    rows = kernel.csv_rows(path)
    spans = values_of(name, kernel_trace)
    different = []
    for row in rows:
        key = tuple(int(list(row.values())[i]) for i in range(3))
        found = spans.get(key)
        wanted = {metric: int(row[column]) for metric, column in PARTS.items()}
        if not found or not all(is_within(found[m], value, SLACK_NS.get(m, 0))
                                for m, value in wanted.items()) or not same_sum(found, wanted):
            different.append((key, found, wanted))
    tap.ok(not different, f"{name}: what each of {len(rows)} sections did", len(different),
           different[:3])


def with_kernel(tap, name, expected):
    packed = os.path.join(TRACES, f"14-kernel-plus-ust/{name}.kernel.trace.dat.zst")
    kernel_trace = name + ".dat"
    subprocess.run(["zstd", "-qdfo", kernel_trace, packed], check=True)
    result, done = checked(SECTION % ", ".join(CONSTRAINTS), "--kernel", kernel_trace, "model.yaml",
                           name + "-ust")
    if not result:
        tap.skipped(f"{name}: with the kernel's events", done.stderr.strip())
        return
    rows = result["transitions"][-1]["constraints"]
    # What a switch that the kernel left out could change is uncertain: never the other way.
    tap.ok(all(c["valid"] <= e[0] and c["invalid"] <= e[1] for c, e in zip(rows, expected)),
           f"{name}: no constraint is decided wrongly", rows, expected)
    tap.ok(decided(result) == expected, f"{name}: all constraints", decided(result), expected)
    each_section(tap, name, kernel_trace)


def sections(tap):
    for archive in sorted(glob.glob(os.path.join(TRACES, "14-kernel-plus-ust/*.ust-ctf.tar.zst"))):
        name = os.path.basename(archive).split(".")[0]
        unpack(archive)
        expected = [(int(row[1]), int(row[2])) for row in rows_of(os.path.join(
            TRACES, f"14-kernel-plus-ust/{name}.model.expected.csv"))]
        without_kernel(tap, name, expected)
        with_kernel(tap, name, expected)


def main():
    if not os.path.isdir(os.path.join(TRACES, "08-models")):
        print("1..0 # SKIP the traces are not here")
        return 0
    tap = kernel.Tap()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        scenarios(tap)
        sections(tap)
        os.chdir("/")
    tap.end()


main()
