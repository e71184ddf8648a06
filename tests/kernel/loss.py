#!/usr/bin/env python3
"""With a buffer far too small, what is lost is counted, and nothing false is claimed."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

LOAD_SECONDS = 3
STOP_SECONDS = float(os.environ.get("STOP_SECONDS", "0.1"))


def start_holdup():
    return subprocess.Popen([kernel.HOLDUP, "record", "-e", "full", "-b", "64K", "-o", "run.holdup",
                             "--", "tbench", "-t", str(LOAD_SECONDS), "2", "127.0.0.1"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, text=True)


def record():
    """tbench with 64 KiB per CPU, under a recorder that is stopped now and then.

    Without that it keeps up, small as the buffer is. Returns its status and stderr.
    """
    with kernel.running("tbench_srv", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        time.sleep(0.3)
        process = start_holdup()
        end = time.monotonic() + 30
        while not os.path.exists("run.holdup/kernel/cpu0.ring") and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        for _ in range(4):
            process.send_signal(signal.SIGSTOP)
            time.sleep(STOP_SECONDS)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.3)
        said = process.communicate(timeout=60)[1]
    return process.returncode, said


def threads_of(comm):
    """The reports of all threads of that name."""
    report, done = kernel.why("--comm", comm, "run.holdup")
    if report is None:
        return [], done
    return (report if isinstance(report, list) else [report]), done


def check_thread(tap, name, report):
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    window = kernel.window_ns(report)
    for state, ns in report["wib"].items():
        tap.ok(0 <= ns <= window, "%s: %s is within the window" % (name, state), ns)
    unknown = sum(root["ns"] for root in report["verdict"] if root["kind"] == "unknown")
    tap.ok(unknown >= report["wib"]["uncertain_ns"], name + ": what is uncertain is unknown",
           "%d ns are uncertain, %d unknown" % (report["wib"]["uncertain_ns"], unknown))
    for root in report["verdict"]:
        if root["kind"] == "unknown" and "why" in root:
            tap.ok(root["why"] or root["what"], name + ": unknown has a reason", root)


def check_text(tap):
    done = kernel.holdup("why", "run.holdup")
    tap.ok(done.returncode == 0 and re.search(r"\blost\b", done.stdout + done.stderr),
           "the text says that events were lost", done.stdout, done.stderr)


def main():
    kernel.need("tbench", "tbench_srv")
    tap = kernel.Tap()
    status, said = record()
    if not tap.ok(status == 0, "tbench is recorded", status, said):
        tap.end()
    tap.ok(re.search(r"[1-9][\d,]* events? lost", said), "the summary counts lost events", said)
    reports, done = threads_of("tbench")
    if tap.ok(reports, "the trace opens and tbench is in it", done.returncode, done.stderr):
        for number, report in enumerate(reports):
            check_thread(tap, "tbench %d" % number, report)
        busiest = max(reports, key=lambda report: report["wib"]["uncertain_ns"])
        tap.ok(busiest["lost_events"] > 0, "lost events are counted", busiest["lost_events"])
        tap.ok(busiest["wib"]["uncertain_ns"] > 0, "the spans they touch are uncertain")
    check_text(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
