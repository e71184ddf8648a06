#!/usr/bin/env python3
"""What holdup check costs: time over events, states, constraints of each kind, length of the
windows, and transitions side by side; writes bench/RESULTS.md and the plots bench/models-*.svg.

usage: models.py [--events MILLIONS] [--rounds N] [--print]

These are figures 18 to 22 and tables 2 to 4 of "Model-based constraints over execution traces"
(Beamonte, Ezzati-Jivan, Dagenais). A program of our own (model_events) is recorded with the
kernel's events; each run is the whole command with the report, without "why". CPU time, user and
system, of the fastest of the rounds, since what disturbs a run only adds to it; the points of a
series are measured in turn. Needs root, and 1 GB below $TMPDIR or /var/tmp.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import record_cost as cost

PROGRAM = os.path.join(os.path.dirname(cost.HOLDUP), "bench", "model_events")
KINDS = {  # by the paper's names
    "deadline": "elapsed <= 10s",
    "preemption": "preemptions <= 1000000",
    "usage": "on_cpu >= 0%",
    "wait": "blocked <= 10s",
    "calls": "syscalls <= 1000000",
}


def model_text(checks=(), states=1, kinds=0):
    """begin, the steps through their states, end; everything is checked since the begin."""
    lines = ["model: load", "key: id", "initial: out", "variables: { all: elapsed }", "states:",
             "  out: { transitions: [ { event: 'load:begin', to: s0, start: [all] } ] }"]
    for i in range(states):
        lines.append("  s%d:\n    transitions:" % i)
        events = ["k%o%o" % (k // 8, k % 8) for k in range(kinds)] or ["step"]
        lines += ["      - { event: 'load:%s', to: s%d }" % (event, i + 1) for event in events]
    lines.append("  s%d:\n    transitions:\n      - event: 'load:end'\n        to: out" % states)
    if checks:
        lines.append("        check:")
        lines += ["          - { that: '%s', since: all }" % check for check in checks]
    return "\n".join(lines) + "\n"


class Bench:
    def __init__(self, folder, rounds):
        self.folder, self.rounds, self.peak_mib = folder, rounds, 0

    def trace(self, name, **options):
        path = os.path.join(self.folder, name)
        argv = [PROGRAM] + ["%s=%d" % item for item in options.items()]
        done = subprocess.run([cost.HOLDUP, "record", "--stack-min", "off", "--sample", "off", "-o", path, "--", *argv], check=False,
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit("models: cannot record: %s" % done.stderr.strip())
        return path

    def check(self, model, trace):
        """CPU seconds of one run."""
        path = os.path.join(self.folder, "model.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(model)
        with open(os.path.join(self.folder, "report"), "w", encoding="utf-8") as report:
            process = subprocess.Popen([cost.HOLDUP, "check", "--no-why", path, trace],
                                       stdout=report, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 4):
            with open(os.path.join(self.folder, "report"), encoding="utf-8") as report:
                sys.exit("models: holdup check ended with %d: %s" % (process.returncode, report.read(2000)))
        self.peak_mib = max(self.peak_mib, usage.ru_maxrss / 1024)
        return usage.ru_utime + usage.ru_stime

    def series(self, runs):
        """The fastest round of each (model, trace), in turn."""
        best = [1e9] * len(runs)
        for model, trace in runs[-1:]:
            self.check(model, trace)
        for _ in range(self.rounds):
            for i, (model, trace) in enumerate(runs):
                best[i] = min(best[i], self.check(model, trace))
        return best

    def drop(self, *traces):
        for trace in traces:
            shutil.rmtree(trace)


# ------------------------------------------------------------------------ plots

COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 360, 60, 48, 34


def plot(name, title, x_name, lines, is_log=False):
    """lines: {name: [(x, ns of an event)]}. The x axis has one step for each point."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    top = max(y for points in lines.values() for _, y in points) * 1.15
    steps = max(1, len(xs) - 1)

    def place(x, y):
        share = xs.index(x) / steps if is_log else (x - xs[0]) / max(1e-9, xs[-1] - xs[0])
        return LEFT + share * (WIDTH - LEFT - 20), HEIGHT - BOTTOM - y / top * (HEIGHT - BOTTOM - TOP)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
           'font-size="12">' % (WIDTH, HEIGHT), '<rect width="100%" height="100%" fill="white"/>',
           '<text x="%d" y="20" font-size="14">%s</text>' % (LEFT, title)]
    for i in range(5):
        y = top * i / 4
        at = place(xs[0], y)[1]
        out.append('<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.4g</text>'
                   % (LEFT, at, WIDTH - 20, LEFT - 6, at + 4, y))
    for x in xs:
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%g</text>' % (place(x, 0)[0], HEIGHT - BOTTOM + 16, x))
    out.append('<text x="%d" y="%d" text-anchor="middle">%s</text>' % (WIDTH / 2, HEIGHT - 10, x_name))
    for i, (label, points) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join("%s%.1f %.1f" % ("L" if n else "M", *place(x, y)) for n, (x, y) in enumerate(points))
        out.append('<path d="%s" fill="none" stroke="%s" stroke-width="2"/>' % (path, colour))
        out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (WIDTH - 150, HEIGHT - BOTTOM - 12 - 16 * i, colour, label))
    out.append("</svg>\n")
    with open(os.path.join(cost.HERE, "models-%s.svg" % name), "w", encoding="utf-8") as file:
        file.write("\n".join(out))


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] +
                     ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def note(text):
    print(text, file=sys.stderr, flush=True)


# ----------------------------------------------------------------------- series

def over_events(bench, events):
    """Figure 18: the whole time, with one constraint of each kind."""
    points, checks = [], list(KINDS.values())
    for share in (0.25, 0.5, 0.75, 1):
        trace = bench.trace("events", instances=int(events * share) // 3, calls=200)
        seconds = bench.series([(model_text(checks), trace)])[0]
        points.append((events * share / 1e6, seconds))
        bench.drop(trace)
    plot("events", "CPU seconds over million events, one constraint of each kind", "million events of the program",
         {"seconds": points})
    return "### Events (figure 18)\n\n![](models-events.svg)\n\n" + table(
        ["million events", "CPU", "events/s"],
        [["%g" % x, "%.2f s" % s, "**%.2f million**" % (x / s)] for x, s in points])


def over_states(bench, events):
    """Figure 19: states on the way, as many events."""
    points = []
    for states in (1, 4, 16, 64):
        count = events // (states + 2)
        trace = bench.trace("states", instances=count, steps=states, calls=max(1, count // 10000))
        seconds = bench.series([(model_text(list(KINDS.values()), states), trace)])[0]
        points.append((states, seconds / (count * (states + 2)) * 1e9))
        bench.drop(trace)
    plot("states", "ns per event over states on the way", "states", {"ns": points}, True)
    return "### States on the way (figure 19)\n\n![](models-states.svg)\n\n" + table(
        ["states", "ns per event"], [["%d" % x, "%.0f" % y] for x, y in points])


def over_constraints(bench, trace, events):
    """Figure 20, tables 3 and 4: constraints of each kind."""
    counts = (0, 1, 8, 32)
    runs = [(model_text([check] * count), trace) for check in KINDS.values() for count in counts]
    seconds = bench.series(runs)
    lines = {}
    for i, kind in enumerate(KINDS):
        lines[kind] = [(count, seconds[i * len(counts) + j] / events * 1e9) for j, count in enumerate(counts)]
    plot("constraints", "ns per event over constraints, all of one kind", "constraints", lines)
    rows = [[kind] + ["%.0f" % y for _, y in points] +
            ["%.1f" % ((points[-1][1] - points[1][1]) * 3 / (counts[-1] - counts[1]))] for kind, points in lines.items()]
    return "### Constraints of each kind (figure 20)\n\n![](models-constraints.svg)\n\nns per event; each third " \
        "event is checked.\n\n" + table(["kind"] + ["%d" % count for count in counts] +
                                       ["ns per constraint and check"], rows)


def over_windows(bench, events):
    """Figure 21: the same events, longer windows."""
    points = []
    for depth in (0, 10, 100, 1000, 10000):
        trace = bench.trace("windows", instances=events // 3, depth=depth, calls=200)
        seconds = bench.series([(model_text(list(KINDS.values())), trace)])[0]
        points.append((depth, seconds / events * 1e9))
        bench.drop(trace)
    plot("windows", "ns per event over the length of the windows", "instances that begin in one", {"ns": points}, True)
    return "### Length of the windows (figure 21)\n\n![](models-windows.svg)\n\n" + table(
        ["instances that begin while one is open", "ns per event"], [["%d" % x, "%.0f" % y] for x, y in points])


def over_parallel(bench, events):
    """Figure 22: transitions out of one state, of which one is taken."""
    points = []
    for kinds in (1, 4, 16, 64):
        trace = bench.trace("parallel", instances=events // 3, kinds=kinds, calls=200)
        seconds = bench.series([(model_text(list(KINDS.values()), kinds=kinds), trace)])[0]
        points.append((kinds, seconds / events * 1e9))
        bench.drop(trace)
    plot("parallel", "ns per event over transitions side by side", "transitions out of the state", {"ns": points}, True)
    return "### Transitions side by side (figure 22)\n\n![](models-parallel.svg)\n\n" + table(
        ["transitions", "ns per event"], [["%d" % x, "%.0f" % y] for x, y in points])


def first_and_next(bench, trace):
    """Tables 2 to 4: the first run builds the index; each kind on and off."""
    checks = list(KINDS.values())
    first = []
    for _ in range(bench.rounds):
        shutil.rmtree(os.path.join(trace, "timeline"), ignore_errors=True)
        first.append(bench.check(model_text(checks), trace))
    names = ["no constraint"] + ["all but %s" % kind for kind in KINDS] + ["all"]
    choices = [[]] + [[c for c in checks if c != check] for check in checks] + [checks]
    seconds = bench.series([(model_text(choice), trace) for choice in choices])
    rows = [["all, first run: the index is built, too", "%.2f s" % min(first)]]
    rows += [[name, "%.2f s" % s] for name, s in zip(names, seconds)]
    return "### First run, next runs, each kind on and off (tables 2 to 4)\n\n" + table(["constraints", "CPU"], rows)


def never_ending(bench, events):
    """Memory, when a million and more instances begin and none ends."""
    trace = bench.trace("open", instances=max(1000000, events // 2), open=1)
    before, bench.peak_mib = bench.peak_mib, 0
    bench.check(model_text(list(KINDS.values())), trace)
    peak, bench.peak_mib = bench.peak_mib, max(before, bench.peak_mib)
    with open(os.path.join(bench.folder, "report"), encoding="utf-8") as report:
        said = "".join("    " + line for line in report.read().split("\n\n")[0].splitlines(True))
    bench.drop(trace)
    return "### Instances that never end\n\nPeak memory %.0f MiB. The report begins:\n\n%s\n" % (peak, said)


def measure(bench, events):
    parts = []
    for series in (over_events, over_states, over_windows, over_parallel):
        note(series.__doc__)
        parts.append(series(bench, events))
    note("constraints")
    trace = bench.trace("constraints", instances=events // 3, calls=200)
    parts.append(over_constraints(bench, trace, events))
    parts.append(first_and_next(bench, trace))
    parts.append(never_ending(bench, events))
    bench.drop(trace)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=float, default=6, help="of the program, in millions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", os.path.dirname(cost.HOLDUP), "--quiet", "bench/model_events"], check=True)
    base = os.environ.get("TMPDIR") or "/var/tmp"
    with tempfile.TemporaryDirectory(dir=base, prefix="holdup-models-") as folder:
        bench = Bench(folder, args.rounds)
        parts = measure(bench, int(args.events * 1e6))
    text = "%s. CPU time of the fastest of %d rounds; %g million events of a program, with the kernel's. " \
        "Peak memory of all runs %.0f MiB.\n\n%s" % (cost.machine(),
                                                    args.rounds, args.events, bench.peak_mib, "\n".join(parts))
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Models", text)


if __name__ == "__main__":
    main()
