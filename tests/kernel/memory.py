#!/usr/bin/env python3
"""How much resident memory grew or shrank in spans, as models have it (rss_grown), against the
kernel's own walk over the page tables of the program, and against a plain reading of the events.
"""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import holdup  # noqa: E402

STEPS = 200
MODEL = """
model: memory
initial: out
states:
  out: { transitions: [ { syscall_exit: getppid, to: in } ] }
  in:
    transitions:
      - syscall: getppid
        to: leaving
        check: [ "%s" ]
  leaving: { transitions: [ { syscall_exit: getppid, to: out } ] }
"""
RESIDENT = ("MM_FILEPAGES", "MM_ANONPAGES", "MM_SHMEMPAGES")


def findings(trace, check="rss_grown <= -1024GiB"):
    with open("model.yaml", "w", encoding="utf-8") as file:
        file.write(MODEL % check)
    done = holdup("check", "--json", "--no-why", "model.yaml", trace)
    return json.loads(done.stdout)["findings"]


def events_of(trace):
    return [json.loads(line) for line in holdup("list", "--json", trace).stdout.splitlines()]


def plain(events, tid, tids, start_ns, end_ns):
    """The counters of the address space that its threads call their own, at both times."""
    space, counters, at = None, {}, {}
    for event in events:
        for edge in (start_ns, end_ns):
            if event["time_ns"] > edge and edge not in at:
                at[edge] = sum(counters.get((space, member), 0) for member in RESIDENT)
        if event["event"] != "kmem:rss_stat":
            continue
        fields = event["fields"]
        counters[(fields["mm_id"], member_of(fields))] = fields["size"]
        if fields["curr"] and event["tid"] in tids:
            space = fields["mm_id"]
    return at[end_ns] - at[start_ns]


def member_of(fields):
    names = ("MM_FILEPAGES", "MM_ANONPAGES", "MM_SWAPENTS", "MM_SHMEMPAGES")
    return fields["member"] if isinstance(fields["member"], str) else names[fields["member"]]


def values(tap):
    program = os.path.join(kernel.PROGRAMS, "memory-steps")
    done = holdup("record", "-e", "full,kmem:rss_stat", "-b", "8M", "-o", "run", "--", program, str(STEPS))
    truth = [int(line) for line in done.stdout.split()]
    found = findings("run")
    # Other recorders make such calls as well, to measure what an event costs.
    tid, _ = collections.Counter(finding["tid"] for finding in found).most_common(1)[0]
    found = [finding for finding in found if finding["tid"] == tid]
    got = [finding["value"]["low"] for finding in found]
    exact = [finding for finding in found if finding["value"]["low"] == finding["value"]["high"]]
    tap.ok(len(truth) == STEPS and len(exact) == STEPS, "%d of %d are exact" % (len(exact), STEPS), done.stderr)
    tap.ok(got == truth, "rss_grown is by how much the kernel's walk over page tables grew",
           [(i, a, b) for i, (a, b) in enumerate(zip(got, truth)) if a != b][:5])
    tap.ok(min(truth) < 0 < max(truth), "some grew, some shrank", min(truth), max(truth))
    events = [event for event in events_of("run") if event["event"] in ("kmem:rss_stat", "raw_syscalls:sys_enter")]
    tids = {finding["tid"] for finding in found}
    some = exact[::20]
    slow = [plain(events, f["tid"], tids, f["start_ns"], f["end_ns"]) for f in some]
    tap.ok(slow == [f["value"]["low"] for f in some], "a plain reading of the events says the same",
           slow, [f["value"]["low"] for f in some])


def missing(tap):
    program = os.path.join(kernel.PROGRAMS, "memory-steps")
    holdup("record", "-o", "plain", "--", program, "3")
    reasons = {finding["reason"] for finding in findings("plain", "rss_grown <= 1GiB")}
    tap.ok(reasons == {"rss_grown is unknown: kmem:rss_stat was not recorded"},
           "without the event it is uncertain, and why", reasons)


def main():
    kernel.need()
    if not kernel.tells_memory():
        kernel.absent("this kernel has no kmem:rss_stat that says whose memory it is")
    tap = kernel.Tap()
    with kernel.workdir():
        values(tap)
        missing(tap)
    tap.end()


main()
