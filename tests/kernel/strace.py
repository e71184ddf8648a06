#!/usr/bin/env python3
"""The number of system calls of a program, by name, is what `strace -c` counts.

Each program is counted twice. First both at once: strace runs it inside a
recording. Both count from the first execve() on, which strace counts and which is
before the window here. Then apart: recorded alone, from its birth on, against
strace alone. exit_group() never returns: strace does not count it, holdup does.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

PROGRAMS = [
    ["/bin/ls", "-lR", "/etc"],
    ["/usr/bin/find", "/usr/share/perl5", "-newer", "/etc/passwd"],
    ["/bin/tar", "cf", "out.tar", "/usr/include/linux"],
    ["/bin/sh", "-c", "for i in 1 2 3; do /bin/true; done"],
]
NEVER_RETURN = {"exit_group", "exit"}


def strace_counts(path):
    """The table that strace -c wrote, as {name: calls}."""
    counts = {}
    with open(path) as file:
        for line in file:
            words = line.split()
            if len(words) >= 5 and words[-1] != "total" and words[3].isdigit():
                counts[words[-1]] = int(words[3])
    return counts


def differences(ours, theirs):
    names = sorted(set(ours) | set(theirs))
    return ", ".join("%s: ours %d, theirs %d" % (name, ours.get(name, 0), theirs.get(name, 0))
                     for name in names if ours.get(name, 0) != theirs.get(name, 0))


def without(counts, names):
    return {name: count for name, count in counts.items() if name not in names}


def check_at_once(tap, argv, name):
    """strace inside a recording: one run, two counts."""
    subprocess.run(["rm", "-rf", "run.holdup"], check=True)
    script = "echo $$ >pid; exec \"$@\" >/dev/null"
    done = kernel.holdup("record", "-e", "full", "-o", "run.holdup", "--", "strace", "-c", "-o",
                         "counts", "/bin/sh", "-c", script, "sh", *argv)
    with open("pid") as file:
        pid = int(file.read())
    report, explained = kernel.why("--tid", pid, "--from",
                                   "first:sched_process_exec:pid == %d" % pid, "run.holdup")
    if not tap.ok(report, name + ": recorded under strace", done.stderr, explained.stderr):
        return
    ours = without(report.get("syscalls", {}), NEVER_RETURN | {"execve"})
    theirs = without(strace_counts("counts"), NEVER_RETURN | {"execve"})
    tap.ok(report["lost_events"] == 0, name + ": no events are lost", report["lost_events"])
    tap.ok(ours == theirs, "%s: %d system calls in one run" % (name, sum(theirs.values())),
           differences(ours, theirs))


def check_apart(tap, argv, name):
    """The program alone, twice with strace to see whether it repeats itself."""
    counts = []
    for _ in range(2):
        subprocess.run(["strace", "-c", "-o", "counts", *argv], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        counts.append(strace_counts("counts"))
    if counts[0] != counts[1]:
        tap.skipped(name + ": apart", "it does not repeat itself: "
                    + differences(counts[0], counts[1]))
        return
    report, done = kernel.why("-e", "full", "--", *argv, stdout=subprocess.DEVNULL)
    if not tap.ok(report, name + ": recorded alone", done.stderr):
        return
    ours = without(report.get("syscalls", {}), NEVER_RETURN)
    tap.ok(ours == counts[0], "%s: %d system calls, apart" % (name, sum(counts[0].values())),
           differences(ours, counts[0]))


def main():
    kernel.need("strace")
    tap = kernel.Tap()
    for argv in PROGRAMS:
        if not os.access(argv[0], os.X_OK):
            continue
        name = os.path.basename(argv[0])
        check_at_once(tap, argv, name)
        check_apart(tap, argv, name)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
