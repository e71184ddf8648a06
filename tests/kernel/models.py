#!/usr/bin/env python3
"""The examples of models: what a program planted is found in every instance that has it, in no
other one, and for the right reason; without events of the kernel, times are still decided.

The programs say which instances have a fault, whose it is, and when they were.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

MODELS = os.path.join(kernel.ROOT, "examples", "models")

# Name of the program, instances with a fault, and what the first root may be called besides.
EXAMPLES = [
    ("model-deadline", 3, ()),
    ("model-inversion", 3, ()),
    ("model-sleep", 3, ()),
    ("model-mmap", 12, ("lock", "preempted", "cpu_queue")),  # it may be on the waiting one's CPU
    ("model-device", 3, ()),
]


def overlaps(instance, planted):
    """Mostly in one: the program's clock and the trace's may be some us apart."""
    common = (min(instance["end_ns"], planted["end_ns"])
              - max(instance["start_ns"], planted["start_ns"]))
    return (instance["tid"] == planted["tid"]
            and common > (instance["end_ns"] - instance["start_ns"]) / 2)


def checked(*args):
    done = holdup("check", "--json", *args)
    try:
        return json.loads(done.stdout), done
    except json.JSONDecodeError:
        return None, done


def planted_instances(report, truth):
    """Numbers of the instances that the program says have a fault, with what it says."""
    return {instance["instance"]: planted for planted in truth["planted"]
            for instance in report["list"] if overlaps(instance, planted)}


def same_instances(tap, name, report, truth, expected):
    """Invalid are those with a fault. Returns what the program says of each."""
    planted = planted_instances(report, truth)
    invalid = {instance["instance"] for instance in report["list"]
               if instance["status"] == "invalid"}
    tap.ok(len(planted) == expected and report["instances"] == truth["instances"],
           "%s: the report has the instances of the program" % name,
           report["instances"], truth["instances"], sorted(planted))
    tap.ok(invalid == set(planted), "%s: the planted fault is found where it is, and nowhere else"
           % name, "invalid %s" % sorted(invalid), "planted %s" % sorted(planted),
           json.dumps(report["transitions"])[:1500])
    return planted


def who_of(root):
    return (root["who"] or {"comm": None})["comm"]


def right_reasons(tap, name, report, planted, others):
    """The first root of each verdict is the one that the program says."""
    wrong, told = [], set()
    for finding in report["findings"]:
        verdict = finding.get("verdict")
        if not verdict or finding["instance"] not in planted:
            continue
        told.add(finding["instance"])
        truth, first = planted[finding["instance"]], verdict[0]
        if (first["kind"] not in (truth["kind"],) + others or who_of(first) != truth["comm"]
                or who_of(finding["unlike_valid"]["root"]) != truth["comm"]):
            wrong.append((truth, verdict[:3]))
    tap.ok(told == set(planted) and not wrong, "%s: and why, in each" % name,
           "explained %s" % sorted(told), *wrong)


def without_kernel(tap, name, planted):
    """The same trace without events of the kernel."""
    report, done = checked(os.path.join(MODELS, name + ".yaml"), name + ".holdup/user")
    if not tap.ok(report is not None, "%s: its own events alone are checked" % name, done.stderr):
        return
    missed = {instance["instance"] for instance in report["list"]
              if instance["status"] == "invalid"}
    tap.ok(missed == set(planted) and done.returncode == 1,
           "%s: deadlines are decided without the kernel" % name,
           "invalid %s" % sorted(missed), "planted %s" % sorted(planted))
    rows = [row for transition in report["transitions"] for row in transition["constraints"]]
    decided = [row for row in rows if "elapsed" in row["text"]]
    others = [row for row in rows if "elapsed" not in row["text"]]
    tap.ok(decided and all(row["uncertain"] == 0 for row in decided) and others
           and all(row["valid"] == row["invalid"] == 0 and row["uncertain"] > 0 for row in others),
           "%s: and nothing else is" % name, rows)


def check_example(tap, name, expected, others):
    program = os.path.join(kernel.EXAMPLES, name)
    report, done = checked("--top", "100", "-o", name + ".holdup",
                           os.path.join(MODELS, name + ".yaml"), "--", program, "--truth",
                           name + ".json")
    if not tap.ok(report is not None and done.returncode == 1, "%s is checked" % name, done.stderr):
        return
    with open(name + ".json") as file:
        truth = json.load(file)
    if report["lost_events"] or truth["steal_ns"]:
        kernel.note("%s: %d events lost, %d ms stolen" % (
            name, report["lost_events"], truth["steal_ns"] // kernel.MS))
    planted = same_instances(tap, name, report, truth, expected)
    right_reasons(tap, name, report, planted, others)
    without_kernel(tap, name, planted)


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"), kernel.spinners():
        for name, expected, others in EXAMPLES:
            check_example(tap, name, expected, others)
    tap.end()


if __name__ == "__main__":
    main()
