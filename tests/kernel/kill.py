#!/usr/bin/env python3
"""kill -9 of the recorder at any moment leaves a trace or a clear error, and no instance.

KILLS=N sets how many moments are tried, KILL_SECONDS=FROM-TO when.
"""
import glob
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

KILLS = int(os.environ.get("KILLS", "40"))
FIRST_S, LONGEST_S = map(float, os.environ.get("KILL_SECONDS", "0-2").split("-"))
LOAD_S = 1.6  # and then the recording is finished
# Little happens: what is recorded waits in the kernel for long. The recorder fetches it once a
# second; a busy machine may delay that.
LIGHT_LOAD = "while :; do : >began; sleep 0.05; done"
LIGHT_S = 1.0
LATEST_S = 1.0 + 0.5


def mine(pid):
    """The instances that recorder left."""
    return [path for path in glob.glob(kernel.TRACEFS + "/instances/holdup-%d-*" % pid)]


def killed_recorder(folder, delay):
    """Record a load of a few threads and kill only the recorder. Returns its pid."""
    load = os.path.join(kernel.PROGRAMS, "mixed-load")
    with kernel.running(kernel.HOLDUP, "record", "-o", folder, "--", load, str(LOAD_S), os.devnull,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                        stdin=subprocess.DEVNULL) as process:
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return process.pid


def check_trace(tap, name, folder):
    """Returns what came of it, in a word."""
    if not os.path.exists(folder):
        tap.ok(True, name + ": nothing was written yet")
        return "nothing"
    target = []
    report, done = kernel.why(folder)
    if done.returncode == 3 and kernel.clear_error(done):  # it may not know the command yet
        target = ["--comm", "mix-pong"]
        error = done.stderr
        report, done = kernel.why(*target, folder)
    if done.returncode == 3:
        tap.ok(kernel.clear_error(done), name + ": a clear error", done.stderr)
        kernel.note(error.strip())
        return "error"
    if not tap.ok(done.returncode == 0 and report, name + ": a partial report",
                  "exit status %d" % done.returncode, done.stderr):
        return "failure"
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    if report.get("complete", True):
        return "whole"
    text = kernel.holdup("why", *target, folder)
    tap.ok(any(word in (text.stdout + text.stderr).lower()
               for word in ("partial", "killed", "did not finish", "not finished", "not complete",
                            "incomplete", "cut")),
           name + ": the text says that it is not whole", text.stdout, text.stderr)
    return "partial, by name" if target else "partial"


def check_light_load(tap):
    """Killed a second after its command began, it leaves all but the last second of a quiet one."""
    name = "light load, killed after %.1f s" % LIGHT_S
    with kernel.running(kernel.HOLDUP, "record", "-o", "light", "--", "sh", "-c", LIGHT_LOAD,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                        stdin=subprocess.DEVNULL) as process:
        end = time.monotonic() + 30
        while not os.path.exists("began") and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(LIGHT_S)
        killed_ns = kernel.monotonic_ns()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    report, done = kernel.why("light")
    if not tap.ok(done.returncode == 0 and report, name + ": the command is known",
                  "exit status %d" % done.returncode, done.stderr):
        return
    tap.ok(not report["complete"], name + ": the report says that it is not whole")
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    missing = (killed_ns - report["window"]["end_ns"]) / kernel.S
    tap.ok(missing <= LATEST_S, name + ": the last %.3f s are missing" % missing, report["window"])
    uncertain = report["wib"]["uncertain_ns"] / kernel.S
    tap.ok(uncertain <= LATEST_S, name + ": %.3f s are uncertain" % uncertain, report["wib"])
    tap.ok(kernel.summary_ns(report, "blocked") > 0, name + ": it slept",
           kernel.show_roots(report))


def main():
    kernel.need()
    tap = kernel.Tap()
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    kernel.note("SEED=%d" % seed)
    random.seed(seed)
    outcomes = {}
    pids = []
    for number in range(KILLS):
        delay = random.uniform(FIRST_S, LONGEST_S) if number else 0.0
        folder = "killed-%d" % number
        pids.append(killed_recorder(folder, delay))
        outcome = check_trace(tap, "killed after %3d ms" % (delay * 1000), folder)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        subprocess.run(["rm", "-rf", folder], check=True)
    kernel.note("outcomes: %s" % outcomes)
    tap.ok(outcomes.get("partial", 0) > 0, "some were killed in the middle", outcomes)

    check_light_load(tap)

    done = kernel.holdup("record", "-o", "after", "-d", "0.1")
    tap.ok(done.returncode == 0, "the next record works", done.stderr)
    left = [path for pid in pids for path in mine(pid)]
    tap.ok(not left, "no instance is left", left)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
