#!/usr/bin/env python3
"""stats, breakdown and states of live recordings agree with strace, the kernel and themselves.

- System calls and errors of a program, by name, are those that `strace -c` counts in the
  same run. Calls that never return are counted by holdup only.
- Time on a CPU and without one is what /proc/PID/schedstat says (see lib/displaced.py for
  what differs).
- What a program measured of itself between the ticks of the clock is what stats says, and the
  figure by ticks is far below.
- All that must add up does, and the three commands tell the same times.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import displaced  # noqa: E402
import kernel  # noqa: E402

PROGRAMS = [
    ["/bin/ls", "-lR", "/etc"],
    ["/usr/bin/find", "/usr/share/perl5", "-newer", "/etc/passwd"],
    ["/bin/tar", "cf", "out.tar", "/usr/include/linux"],
]
NEVER_RETURN = {"exit_group", "exit", "execve"}
SECONDS = 3
FLOOR_NS = 1_000_000
SWITCH_NS = 20_000  # a wait, from the waking to the switch
SLOW_SWITCH_NS = 100_000  # the same, at most, where a slow hypervisor takes part in it


def ask(command, *args):
    """The JSON of `holdup COMMAND ARGS`: one object, or for states a list of them."""
    done = kernel.holdup(command, "--json", *args)
    if done.returncode != 0:
        raise RuntimeError("holdup %s: %s" % (command, done.stderr))
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    return objects if command == "states" else objects[0]


def record(*args):
    subprocess.run(["rm", "-rf", "run.holdup"], check=True)
    return kernel.holdup("record", "-o", "run.holdup", *args)


def bad_row(row):
    """What does not add up in a row of stats, in words."""
    parts = [row["on_cpu"]["ns"], row["waiting_for_cpu"]["ns"], row["blocked"]["ns"],
             row["uncertain"]["ns"]]
    on_cpu = sum(ns for key, ns in row["on_cpu"].items() if key != "ns")
    kinds = sum(kind["ns"] for kind in row["blocked"]["kinds"].values())
    reasons = sum(row["uncertain"]["reasons"].values())
    if (sum(parts) != row["life_ns"] or on_cpu != row["on_cpu"]["ns"] or
            kinds != row["blocked"]["ns"] or reasons != row["uncertain"]["ns"]):
        return "%s: %s" % (row["name"], row)
    return ""


def bad_stats(stats):
    window = kernel.window_ns(stats)
    bad = [bad_row(row) for row in stats["rows"] + [stats["all"]]]
    bad += ["CPU %d: %d of %d" % (cpu["cpu"], known, window) for cpu in stats["system"]["cpus"]
            for known in [sum(ns for key, ns in cpu.items() if key.endswith("_ns"))]
            if known != window]
    if sum(row["life_ns"] for row in stats["rows"]) != stats["all"]["life_ns"]:
        bad.append("the rows are not all")
    return "\n".join(line for line in bad if line)


def row_of(stats, tid):
    return next((row for row in stats["rows"] if row["tid"] == tid), None)


# ------------------------------------------------------------------- strace


def strace_table(path):
    """What strace -c wrote, as {name: (calls, errors)}."""
    table = {}
    with open(path) as file:
        for line in file:
            words = line.split()
            if len(words) >= 5 and words[-1] != "total" and words[3].isdigit():
                table[words[-1]] = (int(words[3]), int(words[4]) if len(words) == 6 else 0)
    return table


def check_strace(tap, argv):
    name = os.path.basename(argv[0])
    script = "echo $$ >pid; exec \"$@\" >/dev/null"
    done = record("-e", "full", "-b", "16M", "--", "strace", "-c", "-o", "counts", "/bin/sh", "-c",
                  script, "sh", *argv)
    with open("pid") as file:
        pid = int(file.read())
    stats = ask("stats", "--from", "first:sched_process_exec:pid == %d" % pid, "run.holdup")
    row = row_of(stats, pid)
    if not tap.ok(row, name + ": recorded under strace", done.stderr):
        return
    theirs = {call: counts for call, counts in strace_table("counts").items()
              if call not in NEVER_RETURN}
    ours = {call["name"]: (call["count"], sum(call["errors"].values()))
            for call in row["syscalls"] if call["name"] not in NEVER_RETURN and call["count"]}
    tap.ok(stats["lost_events"] == 0, name + ": no events are lost", stats["lost_events"])
    tap.ok(ours == theirs, "%s: %d calls, %d errors, by name"
           % (name, sum(c for c, _ in theirs.values()), sum(e for _, e in theirs.values())),
           *["%s: ours %s, theirs %s" % (call, ours.get(call), theirs.get(call))
             for call in sorted(set(ours) | set(theirs)) if ours.get(call) != theirs.get(call)])
    tap.ok(not bad_stats(stats), name + ": the statistics add up", bad_stats(stats))
    down = ask("breakdown", "--from", "first:sched_process_exec:pid == %d" % pid, pid, "run.holdup")
    tap.ok(down["adds_up"] and down["life"]["ns"] == row["life_ns"],
           name + ": the breakdown adds up to the same life", down["life"], row["life_ns"])
    calls = {line["name"]: (line["count"], line["errors"]) for line in down["lines"]
             if line["kind"] == "syscall" and line["count"] and line["name"] not in NEVER_RETURN}
    tap.ok(calls == ours, name + ": the breakdown has the same calls", calls, ours)
    inside = sum(line["events"] for line in down["lines"] + down["interrupts"])
    tap.ok(inside == down["events"], "%s: each of %d events is in one line" % (name, inside),
           down["events"])


# ---------------------------------------------------------------- schedstat


def check_schedstat(tap):
    threads, stolen = displaced.record_undisturbed(SECONDS, "run.holdup")
    shifts = displaced.Displaced("run.holdup", threads)
    for thread in threads:
        name = "%s[%d]" % (thread["comm"], thread["tid"])
        window = ("--from", kernel.seconds(thread["start_ns"]),
                  "--to", kernel.seconds(thread["end_ns"]))
        stats = ask("stats", "--by", "thread", *window, "run.holdup")
        row = row_of(stats, thread["tid"])
        shifts.check(tap, name, thread, (row["on_cpu"]["ns"], row["waiting_for_cpu"]["ns"]), stolen)
        check_states(tap, name, thread["tid"], window, row)


def check_states(tap, name, tid, window, row):
    *spans, last = ask("states", *window, tid, "run.holdup")
    sums = {"working": 0, "interrupted": 0, "blocked": 0, "uncertain": 0}
    for span in spans:
        sums[span["wib"]] += span["ns"]
    touch = all(a["end_ns"] == b["start_ns"] for a, b in zip(spans, spans[1:]))
    tap.ok(touch and last["ns"] == row["life_ns"] and last["intervals"] == len(spans),
           name + ": the intervals touch and are its life", last, row["life_ns"])
    irq = row["on_cpu"]["irq_ns"] + row["on_cpu"]["softirq_ns"]
    tap.ok(sums["blocked"] == row["blocked"]["ns"] and sums["uncertain"] == row["uncertain"]["ns"]
           and sums["working"] + irq == row["on_cpu"]["ns"],
           name + ": states and statistics tell the same times", sums, row)


# -------------------------------------------------------------------- ticks


def check_ticks(tap):
    done = record("--", os.path.join(kernel.EXAMPLES, "tick-dodger"), "--truth", "truth.json")
    if not tap.ok(done.returncode == 0, "tick-dodger is recorded", done.stderr):
        return
    with open("truth.json") as file:
        truth = json.load(file)
    numbers = re.match(r"on a CPU (\d+) ns, (\d+) bursts, (\d+) ticks met, a tick every (\d+) ns",
                       truth["note"])
    cpu_ns, bursts, met, tick_ns = (int(number) for number in numbers.groups())
    stats = ask("stats", "--ps", "--from", kernel.seconds(truth["start_ns"]), "--to",
                kernel.seconds(truth["end_ns"]), "run.holdup")
    row = row_of(stats, truth["tid"])
    by_ticks = sum(row["ticks"][key] for key in ("user_ns", "system_ns", "user_or_system_ns"))
    tap.ok(stats["ps"] == {"tick_ns": tick_ns, "source": "ticks"},
           "the ticks of the clock are found: one every %d us" % (tick_ns // 1000), stats["ps"])
    # The kernel counts from when it chose the thread: with the clock as it was read at the waking, maybe.
    earlier_ns = min(max(row["waiting_for_cpu"]["ns"], bursts * SWITCH_NS), bursts * SLOW_SWITCH_NS)
    tap.near(row["on_cpu"]["ns"], cpu_ns, "tick-dodger: on a CPU",
             floor=FLOOR_NS + earlier_ns + truth["steal_ns"])
    # What it could not help: ticks on its way to sleep and back.
    tap.ok(by_ticks <= (met + 3 + bursts // 50) * tick_ns,
           "tick-dodger: %.1f ms by ticks, it met %d" % (by_ticks / kernel.MS, met), row["ticks"])
    if met < bursts // 20 and cpu_ns > bursts * tick_ns // 5:
        tap.ok(by_ticks < row["on_cpu"]["ns"] // 4, "tick-dodger: ticks miss most of its %.1f ms"
               % (row["on_cpu"]["ns"] / kernel.MS), by_ticks)
    tap.ok(not bad_stats(stats), "tick-dodger: the statistics add up", bad_stats(stats))


# ------------------------------------------------------------------- system


def cpu_ticks():
    with open("/proc/stat") as file:
        return [int(word) for word in file.readline().split()[1:]]


def check_system(tap):
    """For information: /proc/stat counts by ticks, on most kernels."""
    before = cpu_ticks()
    done = record("-d", "2")
    spent = [after - start for start, after in zip(before, cpu_ticks())]
    if not tap.ok(done.returncode == 0, "2 s of the system are recorded", done.stderr):
        return
    stats = ask("stats", "--events", "run.holdup")
    tap.ok(not bad_stats(stats), "the statistics of the system add up", bad_stats(stats))
    tap.ok(stats["events"]["count"] == sum(stats["events"]["types"].values()),
           "%d events of %d types" % (stats["events"]["count"], len(stats["events"]["types"])))
    total = sum(stats["system"]["sum"][key] for key in stats["system"]["sum"])
    kernel.note("idle: %.1f %%, by /proc/stat %.1f %%" % (
        100 * stats["system"]["sum"]["idle_ns"] / total,
        100 * (spent[3] + spent[4]) / max(1, sum(spent[:8]))))


def main():
    kernel.need("strace")
    tap = kernel.Tap()
    for argv in kernel.turn(PROGRAMS):
        if os.access(argv[0], os.X_OK):
            check_strace(tap, argv)
    check_schedstat(tap)
    check_ticks(tap)
    check_system(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
