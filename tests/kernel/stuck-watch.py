#!/usr/bin/env python3
"""`holdup stuck --watch`: what is met is told once, and acted on; what is healthy is not.

The programs are those of stuck-programs.c, whose waits are known.
"""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

PROGRAM = os.path.join(kernel.PROGRAMS, "stuck-programs")
NOBODY = 65534
MANY = 1000
AGAIN_S = 1.0 # in which nothing is told a second time


def program(kind):
    process = subprocess.Popen([PROGRAM, kind], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, process_group=0, text=True)
    process.stdout.readline()
    return process


def end(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def watch(*words, **options):
    """Reports until there were as many as --count says, or the program has ended."""
    done = kernel.holdup("stuck", "--json", "--watch", "50ms", *words, timeout=60, **options)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def one(tap, kind, words, judge, what):
    process = program(kind)
    try:
        done, reports = watch("--count", 1, *words, process.pid)
        tap.ok(len(reports) == 1 and judge(process, done, reports[0]), what, done.returncode, done.stdout[:1500], done.stderr)
        return reports
    finally:
        end(process)


def cycle_of(process, done, report):
    return done.returncode == 1 and report["on"] == "deadlock" and [report["tids"]] == report["stuck"]["cycles"] and \
        len(report["tids"]) == 2 and process.pid not in report["tids"]


def waits_long(process, done, report):
    return done.returncode == 0 and report["tids"][0] == process.pid and report["tid"] != process.pid and \
        report["stuck"]["cycles"] == [] and report["time_ns"] > 0 and report["since_ns"] + 300e6 < kernel.monotonic_ns()


def sleeps_in_d(process, done, report):
    return done.returncode == 0 and report["tids"] == [process.pid] and report["on"] == "D>200ms"


def is_convoy(process, done, report):
    return done.returncode == 0 and report["tid"] == process.pid and len(report["tids"]) == 4


def conditions(tap):
    one(tap, "normal", ["--on", "deadlock"], cycle_of, "a deadlock, with its threads")
    one(tap, "fcntl", ["--on", "chain>300ms"], waits_long, "a wait for another process, once it is long")
    one(tap, "vfork", ["--on", "D>200ms"], sleeps_in_d, "a sleep in state D")
    one(tap, "convoy", ["--on", "convoy>3"], is_convoy, "more than three behind one")
    one(tap, "normal", ["--on", "convoy>1000", "--on", "deadlock"], cycle_of, "of several conditions, the one that is met")


def until(seconds, *words):
    """What is told until then, by somebody who presses Ctrl-C."""
    process = subprocess.Popen([kernel.HOLDUP, "stuck", "--watch", "50ms", *map(str, words)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def once(tap):
    process = program("normal")
    try:
        status, out, err = until(AGAIN_S, "--json", process.pid)
        tap.ok(status == 1 and len(out.splitlines()) == 1, "what lasts is told once", status, out[:500], err)
        status, out, err = until(AGAIN_S, process.pid)
        tap.ok(status == 1 and out.count("deadlock: 2 threads wait for each other") == 1 and "lock_both" in out,
               "in words, with the function", status, out, err)
    finally:
        end(process)


def healthy(tap):
    for kind in ("busy-locks", "busy-ring"):
        process = program(kind)
        try:
            status, out, err = until(AGAIN_S, "--on", "deadlock", "--on", "chain>30s", "--on", "D>30s", process.pid)
            tap.ok(status == 0 and not out, "%s: nothing is told" % kind, status, out, err)
        finally:
            end(process)


def commands(tap):
    """Once for each report, by the user who called sudo, with what is met in the environment."""
    os.chmod(".", 0o777)
    process = program("normal")
    command = 'echo "$(id -u) $HOLDUP_ON $HOLDUP_PID $HOLDUP_TIDS $HOLDUP_WHY" >>said'
    try:
        user = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}
        done, reports = watch("--count", 1, "--exec", command, process.pid, env=user)
    finally:
        end(process)
    with open("said", encoding="utf-8") as file:
        said = file.read().splitlines()
    wanted = "%d deadlock %d %s deadlock: 2 threads" % (NOBODY, process.pid, ",".join(map(str, reports[0]["tids"])))
    tap.ok(len(said) == 1 and said[0].startswith(wanted), "a command is run by the user who called", said, wanted, done.stderr)


def ends(tap):
    """The one who is watched exits; one of a name may come later."""
    process = program("normal")
    watcher = subprocess.Popen([kernel.HOLDUP, "stuck", "-w", "50ms", "--on", "D>1h", str(process.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    time.sleep(0.3)
    end(process)
    out, err = watcher.communicate(timeout=30)
    tap.ok(watcher.returncode == 0 and not out, "it ends when nobody is left", watcher.returncode, out, err)
    name = "stuck-%d" % os.getpid()
    os.symlink(PROGRAM, name)
    watcher = subprocess.Popen([kernel.HOLDUP, "stuck", "-w", "50ms", "--count", "1", "--json", "--comm", name],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.2)
    process = subprocess.Popen([os.path.abspath(name), "normal"], stdout=subprocess.PIPE, process_group=0, text=True)
    try:
        out, err = watcher.communicate(timeout=60)
        report = json.loads(out)
        tap.ok(watcher.returncode == 1 and {one["tgid"] for one in report["stuck"]["threads"]} == {process.pid},
               "a process of that name that comes later", out[:1000], err)
    finally:
        end(process)


def cost(tap):
    """Idle threads: after the first look none is inspected as a whole again. What it takes is told, not judged."""
    code = ("import threading, time\nthreading.stack_size(65536)\nevent = threading.Event()\n"
            "for i in range(%d): threading.Thread(target=event.wait, daemon=True).start()\n"
            "print('ready', flush=True)\ntime.sleep(60)" % MANY)
    with kernel.running(sys.executable, "-c", code, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        before = os.times()
        status, out, err = until(4, process.pid)
        after = os.times()
        tap.ok(status == 0 and not out, "%d idle threads: nothing is told" % MANY, status, out, err)
        kernel.note("%.2f s of CPU in 4 s, looks every 50 ms; %s" % (
            after.children_user + after.children_system - before.children_user - before.children_system, err.strip()))


def wrong_words(tap):
    for words in (["--on", "deadlock", "1"], ["--exec", "true", "1"], ["--watch", "1s"], ["--watch", "1us", "1"],
                  ["--watch", "x", "1"], ["--watch", "1s", "--on", "chain", "1"], ["--watch", "1s", "--on", "D>", "1"],
                  ["--watch", "1s", "--on", "deadlock>3s", "1"], ["--watch", "1s", "--on", "convoy>x", "1"]):
        done = kernel.holdup("stuck", *words)
        tap.ok(done.returncode == 2 and kernel.clear_error(done, lines=2) and not done.stdout,
               "%s: status 2" % " ".join(words), done)
    done = kernel.holdup("stuck", "--watch", "1s", 2 ** 31 - 1)
    tap.ok(done.returncode == 3 and kernel.clear_error(done, lines=2), "no such process: status 3", done)


def main():
    if os.geteuid() != 0:
        kernel.skip("not root")
    tap = kernel.Tap()
    with kernel.workdir():
        conditions(tap)
        once(tap)
        healthy(tap)
        commands(tap)
        ends(tap)
        cost(tap)
        wrong_words(tap)
    tap.end()


if __name__ == "__main__":
    main()
