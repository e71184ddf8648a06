#!/usr/bin/env python3
"""Forks, ends, threads that come and go, plugins, traces one after the other, while others log."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

# The search for leaks at the end of a child of fork() waits for the allocator, which another thread
# of the parent may have locked; in a child of clone(), which exec goes on to make, it stops the
# threads of the parent, as it knows of no child, and reads memory that is written to.
SANITIZED = os.environ.get("HOLDUP_SANITIZED")
PACKET_EVENTS = (128 << 10) // 16  # at most
CASES = ["fork", "clone", "vfork", "exec", "threads", "cancel", "dlclose", "switches", "ends",
         "exit", "sessions", "many", "anew"]


def events_of(trace):
    """{name: (count, largest number)} of a trace's events, and what is wrong with it."""
    done = probe.run([probe.program("probe-check"), trace], os.environ)
    return ({name: (int(count), int(most)) for name, count, most
             in re.findall(r"^([a-z:]+) (\d+) (\d+)$", done.stdout, re.M)},
            done.stdout if done.returncode else "")


def told(text):
    """(what, trace, steps, lost) of each trace."""
    for what, trace, steps, lost in re.findall(r"^(\w+) (\S+) (\d+) (\d+)$", text, re.M):
        yield what, trace, int(steps), int(lost)


def wrong_in(method, case, what, trace, steps, lost):
    counts, wrong = events_of(trace)
    found = counts.get("life:step", (0, 0))[0]
    least = {"trace": steps - lost, "partly": steps - lost - 4, "session": 0, "last": 0}[what]
    if method == "cas" and case == "exec" and what == "partly":
        least = 1  # threads end in the middle of an event, and hide what is behind it
    if method == "cas" and case == "exit" and what == "partly":
        least -= counts["stuck"][0] * PACKET_EVENTS  # the same, but it is known in how many packets
    most = {"trace": steps + 1, "partly": 1 << 60, "session": 1 << 60, "last": steps}[what]
    if not wrong and not least <= found <= most:
        return "%s: %d of %d events, %d lost" % (trace, found, steps, lost)
    if case == "ends" and found != 4:
        return "%d events of 4" % found
    if case == "dlclose" and counts["plugin:step"][0] != 200 * 100:
        return "%d events of the plugin" % counts["plugin:step"][0]
    if case == "switches" and counts["other:step"] != (2000, 1999):
        return "%d switched events, up to %d" % counts["other:step"]
    return wrong


def wrong_in_all(folder, steps, lost):
    """All events are in the traces of a folder, or lost."""
    found = 0
    for name in os.listdir(folder):
        if not name.startswith("."):
            counts, wrong = events_of(os.path.join(folder, name))
            found += counts.get("life:step", (0, 0))[0]
            if wrong:
                return wrong
    return "%d of %d events, %d lost" % (found, steps, lost) if found != steps - lost else ""


def one(tap, method, case):
    shutil.rmtree("traces", ignore_errors=True)
    plugin = os.path.join(probe.PROGRAMS, "probe-plugin.so")
    env = probe.environment(method, "stream", os.path.abspath("traces"))
    if case in ("sessions", "many", "anew"):
        del env["HOLDUP"]
    if SANITIZED and case in ("fork", "clone", "exec"):
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    try:
        done = probe.run([probe.program("probe-life"), case, plugin], env)
        status, said = done.returncode, done.stdout
    except probe.subprocess.TimeoutExpired:
        status, said = "it hangs", ""
    wrong = [] if status == 0 else ["ended with %s: %s" % (status, said[-500:])]
    traces = list(told(said))
    for what, trace, steps, lost in traces[:30]:
        wrong += filter(None, [wrong_in(method, case, what, trace, steps, lost)])
    if case == "anew" and traces:
        wrong += filter(None, [wrong_in_all("anew", *traces[0][2:])])
    if not traces and case != "many":
        wrong.append("no trace: " + said[-500:])
    if os.path.isdir("runtime") and os.listdir("runtime") and case not in ("fork", "exec"):
        wrong.append("left behind: %s" % os.listdir("runtime"))
    tap.ok(not wrong, "%s, %s" % (case, method), *wrong[:5])
    for folder in ("sessions", "many", "anew", "runtime"):
        shutil.rmtree(folder, ignore_errors=True)


def main():
    tap = kernel.Tap()
    with kernel.workdir():
        for method in probe.METHODS:
            for case in sys.argv[1:] or CASES:
                one(tap, method, case)
    tap.end()


main()
