#!/usr/bin/env python3
"""What holdup export writes of recordings made here and now, held against other commands."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import exported  # noqa: E402
import kernel  # noqa: E402


def record(name, *options):
    trace = name + ".holdup"
    subprocess.run([kernel.HOLDUP, "record", "-o", trace, *options, "--",
                    os.path.join(kernel.EXAMPLES, name)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=120)
    return trace


def check_requests(tap):
    """user-requests logs shop:request_begin and _end: 100 slices, with the fields of both."""
    trace = record("user-requests")
    _, slices, *_ = exported.check(tap, "user-requests", trace)
    requests = [each for each in slices if each[0] == "user" and each[2] == "shop:request"]
    tap.ok(len(requests) == 100 and sorted(each[6]["request"] for each in requests)
           == list(range(100)) and all(each[6]["kind"] for each in requests),
           "its 100 requests are slices with their fields", len(requests))


def check_locks(tap):
    """Under --locks a wait names its lock and, within it, who held it: that adds up to the wait."""
    trace = record("futex-convoy", "--locks")
    trace_, slices, *_ = exported.check(tap, "futex-convoy --locks", trace)
    waits = [each for each in slices if each[0] == "waits" and "lock" in each[6]]
    held = [each for each in slices if each[0] == "waits" and each[2].startswith("held by")]
    sums = {(each[1], each[3]): each[4] - each[3] for each in waits
            if any(inner[1] == each[1] and each[3] <= inner[3] and inner[4] <= each[4]
                   for inner in held)}
    within = sum(each[4] - each[3] for each in held)
    tap.ok(sums and within == sum(sums.values()),
           "%d waits for locks; who held them adds up to them" % len(sums), within,
           sum(sums.values()))
    tids = {thread["name"]: tid for tid, thread in trace_.threads.items()}
    tap.ok(any("convoy-holder[%d]" % tids["convoy-holder"] in each[2] for each in held),
           "the holder is named", sorted({each[2] for each in held}))


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir():
        for name in kernel.turn(("futex-convoy", "slow-writer")):
            exported.check(tap, name, record(name))
        check_requests(tap)
        check_locks(tap)
    tap.end()


main()
