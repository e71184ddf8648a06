#!/usr/bin/env python3
"""What lean events cost a load, beside core and full, in one run; writes bench/RESULTS.md.

usage: lean.py [--rounds N] [--loads A,B] [--print]

Every round runs every load under each set of events, and plain twice, in a new random order. Shown are
medians of the ratio to the plain run of the same round; plain against plain is the noise.
"""
import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile

import record_cost as cost

SETS = ["core", "lean", "full"]


def rounds(loads, count):
    """{(load, run): [seconds]}, by round; and what was lost."""
    runs = {"plain": cost.plain, "plain again": cost.plain}
    runs.update({name: (lambda name=name: cost.holdup(name)) for name in SETS})
    seconds, lost = {}, []
    for number in range(count):
        for load in loads:
            for run in random.sample(list(runs), len(runs)):
                took, stolen, said = cost.measure(cost.LOADS[load], runs[run])
                seconds.setdefault((load, run), []).append(took)
                lost += [said] if said else []
                print("round %d %-9s %-12s %.3f s stolen %.1f %% %s" % (number + 1, load, run, took, 100 * stolen, said),
                      file=sys.stderr, flush=True)
    return seconds, lost


def ratio(seconds, load, run, to):
    return statistics.median(a / b for a, b in zip(seconds[load, run], seconds[load, to]))


def table(seconds, loads):
    lines = ["| load | plain | plain again | core | lean | full | lean / core |", "|" + "---|" * 7]
    for load in loads:
        cells = ["%.2f s" % statistics.median(seconds[load, "plain"])]
        cells += ["%+.1f %%" % (100 * (ratio(seconds, load, run, "plain") - 1)) for run in ["plain again", *SETS]]
        cells.append("%.3f" % ratio(seconds, load, "lean", "core"))
        lines.append("| %s | %s |" % (load, " | ".join(cells)))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loads", default="tbench,pipe,compile")
    parser.add_argument("--note", default="", help="a sentence about the machine, for RESULTS.md")
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    loads = args.loads.split(",")
    if "compress" in loads:
        cost.make_data()
    with contextlib.ExitStack() as stack:
        if "tbench" in loads:
            server = subprocess.Popen(["tbench_srv"], **cost.QUIET)
            stack.callback(server.kill)
        seconds, lost = rounds(loads, args.rounds)
    text = "%s. %d rounds. Time of the load more than plain:\n\n%s" % (cost.machine(), args.rounds,
                                                                     table(seconds, loads))
    text += "\n\n" + ("Runs that lost events: %d." % len(lost) if lost else "No event was lost.")
    text += " " + args.note if args.note else ""
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Lean events", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder:
        os.chdir(folder)
        main()
