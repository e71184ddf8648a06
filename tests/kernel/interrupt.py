#!/usr/bin/env python3
"""Ctrl-C and signals at any moment: it ends in time, starts nothing, leaves nothing behind.

Moments are drawn between the start and the time by which recording has long begun; each
command runs in a pseudo terminal of its own, as for a person.
"""
import contextlib
import glob
import os
import pty
import random
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

DRAWS = int(os.environ.get("DRAWS", "5"))
BUSY_S = 3  # where CPUs are short
LIMIT_S = 8  # the command alone would take longer
SLEEP = "echo started >started; exec sleep 61.25"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def forms():
    long = ["--", "sh", "-c", SLEEP]
    model = os.path.join(kernel.ROOT, "examples", "models", "model-sleep.yaml")
    return {
        "record": ["record", "-o", "out", *long],
        "why": ["why", *long],
        "watch": ["watch", model, *long],
        "check": ["check", model, *long],
        "run": ["run", "--locks", "-o", "out", *long],
        "delays": ["delays", "listen", *long],
        "record without a command": ["record", "-o", "out"],
    }


def start(argv):
    """The program in a terminal: its id, the terminal's other end."""
    pid, master = pty.fork()
    if pid == 0:
        for sig in SIGNALS:
            signal.signal(sig, signal.SIG_DFL)
        os.execve(kernel.HOLDUP, [kernel.HOLDUP, *argv], dict(os.environ, TMPDIR=os.getcwd() + "/tmp"))
    return pid, master


def drain(master, text):
    try:
        while select.select([master], [], [], 0)[0]:
            got = os.read(master, 65536)
            if not got:
                return
            text += got
    except OSError:  # its other end is closed
        pass


def wait(pid, master, text, limit_s=LIMIT_S):
    """Status as subprocess has it; None when it took too long and was killed."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        drain(master, text)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    stack = "/proc/%d/stack" % pid
    with open(stack) as file:
        text += file.read().encode()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def sleepers():
    """Commands of ours that still run."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if file.read() == b"sleep\x0061.25\x00":
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def instances(pid):
    return glob.glob(kernel.TRACEFS + "/instances/holdup-%d-*" % pid)


def left_behind(pid, until_s=3):
    end = time.monotonic() + until_s
    while True:
        left = [str(path) for path in instances(pid) + os.listdir("tmp") + sleepers()]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


def strike(tap, name, argv, sig, after_s):
    """One run, ended by a key or a signal after some time."""
    text = bytearray()
    for path in ("out", "started"):
        subprocess.run(["rm", "-rf", path], check=True)
    pid, master = start(argv)
    time.sleep(after_s)
    if sig is None:
        os.write(master, b"\x03")
    else:
        os.kill(pid, sig)
    expected = sig or signal.SIGINT
    status = wait(pid, master, text)
    os.close(master)
    good = status in (-expected, 128 + expected)
    if "--" not in argv and os.path.exists("out"):
        good = good or status == 0  # it recorded, and what there is is whole
    if name in ("watch", "check") and os.path.exists("started"):
        good = good or status in (0, 1, 4)  # the command was watched, and that is the answer
    left = left_behind(pid)
    for sleeper in sleepers():
        os.kill(sleeper, signal.SIGKILL)
    tap.ok(good and not left, "%s: %s after %.3f s ends it, and nothing stays"
           % (name, "Ctrl-C" if sig is None else sig.name, after_s), "status %s" % status,
           "left: %s" % left, text.decode(errors="replace"))
    return status


def check_drawn(tap):
    random.seed(int(os.environ.get("SEED", "0")) or None)
    for name, argv in forms().items():
        for _ in range(DRAWS):
            strike(tap, name, argv, None, random.uniform(0.01, 0.6))
        strike(tap, name, argv, random.choice(SIGNALS), random.uniform(0.01, 0.6))


def check_hang_up(tap):
    """A terminal that is closed tells the session's leader alone: the command hears it from us."""
    for name, argv in forms().items():
        if "--" not in argv:
            continue
        subprocess.run(["rm", "-rf", "out", "started"], check=True)
        pid, master = start(argv)
        text, end = bytearray(), time.monotonic() + LIMIT_S
        while not os.path.exists("started") and time.monotonic() < end:
            drain(master, text)
            time.sleep(0.01)
        os.close(master)
        null = os.open(os.devnull, os.O_RDONLY)
        status = wait(pid, null, text)
        os.close(null)
        left = left_behind(pid)
        for sleeper in sleepers():
            os.kill(sleeper, signal.SIGKILL)
        tap.ok(status is not None and not left, "%s: ends with its terminal" % name,
               "status %s" % status, "left: %s" % left, text.decode(errors="replace"))


def is_tracing(pid):
    try:
        with open(instances(pid)[0] + "/tracing_on") as file:
            return file.read() == "1\n"
    except (IndexError, OSError):
        return False


def check_busy(tap):
    """Events that come as fast as they are read, and nobody wants: they are not read to an end."""
    busy = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none"]
    with contextlib.ExitStack() as loads:
        for _ in range(os.cpu_count()):
            loads.enter_context(kernel.running(*busy))
        for _ in range(DRAWS):
            pid, master = start(["record", "-o", "out", "--", "sh", "-c", SLEEP])
            text, end = bytearray(), time.monotonic() + LIMIT_S
            while not is_tracing(pid) and time.monotonic() < end:
                drain(master, text)
            time.sleep(random.uniform(0, 0.1))
            os.write(master, b"\x03")
            begun = time.monotonic()
            status = wait(pid, master, text, 4 * LIMIT_S)
            took_s = time.monotonic() - begun
            os.close(master)
            left = left_behind(pid)
            tap.ok(status in (-signal.SIGINT, 128 + signal.SIGINT) and not left
                   and took_s < BUSY_S, "a busy machine: Ctrl-C while it begins ends it",
                   "status %s after %.2f s" % (status, took_s), "left: %s" % left,
                   text.decode(errors="replace"))


def check_words(tap):
    """A terminal is told what takes long; a file is not."""
    argv = ["why", "-o", "out", "--", "true"]
    silent = subprocess.run([kernel.HOLDUP, *argv], stdin=subprocess.DEVNULL,
                            capture_output=True, check=False)
    tap.ok(b"preparing" not in silent.stderr and b"\r" not in silent.stderr,
           "nothing is said of progress when nobody looks", silent.stderr)


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir():
        os.mkdir("tmp")
        check_drawn(tap)
        check_hang_up(tap)
        check_busy(tap)
        check_words(tap)
    tap.end()


if __name__ == "__main__":
    main()
