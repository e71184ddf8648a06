#!/usr/bin/env python3
"""holdup top in a terminal, as a person uses it, on programs with known shares.

Two hogs share a CPU: each runs and waits for it, and schedstat says how much. One sleeps.
"""
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
import terminal  # noqa: E402

HOG = "import os; os.sched_setaffinity(0, {0})\nwhile True: pass"
READER = "import sys; sys.stdin.read()"
ROW = re.compile(r"\s*(\d+)\s+(\d+|-)((?:\s+(?:[0-9.]+|-)){5})\s")
KEYS = {"up": "\x1bOA", "down": "\x1bOB", "page down": "\x1b[6~", "F1": "\x1bOP", "F4": "\x1bOS",
        "F5": "\x1b[15~", "F6": "\x1b[17~"}
NOBODY = 65534


def schedstat(pid):
    with open("/proc/%d/schedstat" % pid) as file:
        return [int(word) for word in file.read().split()[:2]]


def shares(lines, pid):
    """Run, CPU, disk, memory, else; None = not counted. None when it has no row."""
    for line in lines:
        found = ROW.match(line)
        if found and int(found.group(1)) == pid:
            return [None if word == "-" else float(word) for word in found.group(3).split()]
    return None


def batch(*words, **options):
    done = kernel.holdup("top", "--batch", *words, **options)
    return [frame.splitlines() for frame in done.stdout.split("\n\n") if frame.strip()], done


def numbers(tap, pids):
    """An interval's shares are those of schedstat over the same time."""
    hog, other, sleeper = pids
    before, begin = schedstat(hog), time.monotonic()
    frames, done = batch("-i", "3", "-n", "1", "-p", hog, "-p", other, "-p", sleeper)
    after, wall = schedstat(hog), time.monotonic() - begin
    if not tap.ok(len(frames) == 1 and done.returncode == 0, "one frame of text", done):
        return
    row = shares(frames[0], hog)
    run, wait = ((now - then) / wall / 1e7 for now, then in zip(after, before))
    tap.ok(row and abs(row[0] - run) < 6, "a hog runs: %s %%, schedstat %.1f" % (row[0], run),
           frames[0])
    tap.ok(row and abs(row[1] - wait) < 6,
           "it waits for a CPU: %s %%, schedstat %.1f" % (row[1], wait), frames[0])
    tap.ok(row and row[4] < 5, "and nothing else", row)
    row = shares(frames[0], sleeper)
    tap.ok(row and row[4] > 99, "a sleeper does something else: %s %%" % (row and row[4]), row)
    frames, _ = batch("-i", "0.2", "-n", "3", "-H")
    sums = [sum(share or 0 for share in shares([line], int(ROW.match(line).group(1))))
            for frame in frames for line in frame if ROW.match(line)]
    tap.ok(len(frames) == 3 and sums and all(99.85 < total < 100.15 for total in sums),
           "the shares of each of %d rows add up to 100 %%" % len(sums), min(sums), max(sums))
    tap.ok(all(len(line) <= 80 for frame in frames for line in frame), "80 columns")


OWN = re.compile(r"Top itself: ([0-9.]+) % of a CPU")


def own_cost(tap):
    """What it says of its own cost is no more than the kernel's count of the whole run."""
    interval, before = 0.3, resource.getrusage(resource.RUSAGE_CHILDREN)
    frames, _ = batch("-i", interval, "-n", "5", "-H", "--chain")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = [float(found.group(1)) for frame in frames for found in map(OWN.match, frame) if found]
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ours = sum(told) / 100 * interval
    tap.ok(len(told) == len(frames) == 5 and 0 < ours <= used + len(told) * 0.0005 * interval,
           "its own cost: %.4f s in 5 intervals of %.4f s in all" % (ours, used), told, frames[:1])


WRITER = """
import os, threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
fd = os.open("written", os.O_CREAT | os.O_WRONLY)
print("ready", flush=True)
while True:
    os.pwrite(fd, bytes(4 << 20), 0)
    os.fsync(fd)
    time.sleep(0.1)
"""
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def written(tap):
    """What a process of two threads writes, with threads and without, as /proc/PID/io says."""
    def total():
        with open("/proc/%d/io" % process.pid) as file:
            return int(dict(line.split(": ") for line in file)["write_bytes"])

    with kernel.running(sys.executable, "-c", WRITER, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        for words in ([], ["-H"]):
            before, begin = total(), time.monotonic()
            frames, _ = batch("-n", "2", "-i", "3", "-p", process.pid, *words)
            each_s = (total() - before) / (time.monotonic() - begin)
            rows = [next(line for line in frame if line.split()[:1] == [str(process.pid)])
                    for frame in frames]
            shown = [float(row.split()[-3]) * UNITS[row.split()[-2]] for row in rows]
            ours = sum(shown) / len(shown)
            tap.ok(abs(ours - each_s) < 0.25 * each_s, "%.1f MiB written each second"
                   % (ours / (1 << 20)), rows, each_s)


MANY = """
import sys, threading, time
def wake():
    print(threading.get_native_id(), flush=True)
    for _ in sys.stdin:
        end = time.thread_time() + 0.1
        while time.thread_time() < end: pass
        time.sleep(0.02)
threading.stack_size(65536)
for _ in range(300):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
threading.Thread(target=wake).start()
"""


def many(tap):
    """Of 300 threads that sleep one wakes: it ran what schedstat says, and no other did."""
    with kernel.running(sys.executable, "-c", MANY, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE) as process:
        tid = int(process.stdout.readline())
        waker = threading.Timer(4.2, lambda: os.write(process.stdin.fileno(), b"\n"))
        waker.start()
        before = schedstat(tid)[0]
        begin = time.monotonic()
        frames, _ = batch("-H", "-n", "14", "-i", "0.5", "-p", process.pid)
        wall = time.monotonic() - begin
        waker.join()
        ran = (schedstat(tid)[0] - before) / 1e9
        ours = sum(shares(frame, tid)[0] for frame in frames) / 100 * wall / len(frames)
        tap.ok(ran > 0.09 and abs(ours - ran) < 0.1 * ran + 0.01,
               "a thread of many wakes and runs %.3f s, shown %.3f s" % (ran, ours))
        rows = [found for frame in frames for found in map(ROW.match, frame) if found]
        idle = [row for row in rows if int(row[1]) != tid and int(row[1]) != process.pid]
        tap.ok(len(idle) == 300 * len(frames) and all(row[3].split()[0] == "0.0" for row in idle),
               "the others did not: %d rows" % len(idle), [row[0] for row in idle][:3])


def click(top, row, column):
    """As the terminal tells of it, in the way that it was asked for."""
    if 1006 in top.screen.modes:
        return "\x1b[<0;%d;%dM" % (column + 1, row + 1)
    return "\x1b[M " + chr(33 + column) + chr(33 + row)


def screens(tap, pids):
    hog, _, sleeper = pids
    top = terminal.Terminal([kernel.HOLDUP, "top", "-i", "0.5"])
    try:
        row = top.until(lambda lines: shares(lines, hog))
        tap.ok(row and row[0] + row[1] > 90, "a hog is in the first page, sorted by waiting",
               *top.screen.text())
        top.send(KEYS["F1"])
        tap.ok(top.shows("any key: back"), "F1 helps")
        top.send("x" + KEYS["F4"] + str(sleeper) + "\r")
        tap.ok(top.shows('only "%d"' % sleeper) and
               top.until(lambda lines: shares(lines, sleeper) and not shares(lines, hog)),
               "F4 filters by number", *top.screen.text())
        top.send(KEYS["F4"] + "\x1b")
        tap.ok(top.until(lambda lines: shares(lines, hog)), "Esc shows all again",
               *top.screen.text())
        top.send(KEYS["F6"])
        tap.ok(top.shows("Sort by"), "F6 is the menu")
        top.send(KEYS["down"] + "\r")
        tap.ok(top.shows("by run"), "it chooses an order", *top.screen.text())
        header = next(i for i, line in enumerate(top.screen.text()) if "DISK%" in line)
        top.send(click(top, header, top.screen.text()[header].index("DISK%")))
        tap.ok(top.shows("by disk"), "so does a click on a title", *top.screen.text())
        top.resize(50, 200)
        tap.ok(top.shows("RAN, WAITED"), "a wide screen has more columns", *top.screen.text())
        tap.ok(top.screen.text()[49].startswith("F1Help"), "the last line is the last")
        top.resize(10, 60)
        tap.ok(top.until(lambda lines: lines[9].startswith("F1Help") and "PID" in lines[4] + lines[5]),
               "a small screen is filled", *top.screen.text())
        top.send(KEYS["F5"] + "H" + "c")
        tap.ok(top.shows("threads") and top.shows("- /"), "threads by cgroup", *top.screen.text())
        top.resize(24, 80)
        tap.ok(top.shows("WRITE/s"), "back to 80 columns")
        top.send("cH")
        top.settle(0.3, 3)
        tap.ok(not top.screen.unknown, "nothing but what a terminal knows", top.screen.unknown)
        top.send("q")
        tap.ok(top.wait() == 0 and top.is_restored(), "q ends it, the terminal is as before",
               top.status, top.screen.modes)
    finally:
        top.close()


def followed(tap):
    """A reader of a pipe is followed until it dies."""
    with kernel.running(sys.executable, "-c", READER, stdin=subprocess.PIPE) as process:
        top = terminal.Terminal([kernel.HOLDUP, "top", "-i", "0.3", "-p", str(process.pid)])
        try:
            top.until(lambda lines: shares(lines, process.pid))
            top.send("\r")
            tap.ok(top.shows("read(0, ...)") and top.shows("pipe:["),
                   "one task: its system call and file", *top.screen.text())
            process.kill()
            process.wait()
            tap.ok(top.shows("HAS ENDED"), "it is told that it has ended", *top.screen.text())
            top.send("\x1b")
            tap.ok(top.shows("F1Help"), "Esc goes back to the list", *top.screen.text())
            top.kill(signal.SIGTERM)
            tap.ok(top.wait() == 0 and top.is_restored(), "SIGTERM: the terminal is as before",
                   top.status, top.screen.modes)
        finally:
            top.close()


# A shell in small: the program in a group of its own, in front. Says when it stops and ends.
SHELL = """
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
modes = termios.tcgetattr(0)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    print("STOPPED", termios.tcgetattr(0) == modes, flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, pid)
    os.kill(pid, signal.SIGCONT)
"""


def stopped(tap):
    """Ctrl-Z gives the terminal back, and fg takes it again; Ctrl-C ends it."""
    top = terminal.Terminal([sys.executable, "-c", SHELL, kernel.HOLDUP, "top", "-i", "0.3"])
    try:
        tap.ok(top.shows("F1Help"), "it runs under a shell")
        top.send("\x1a")
        tap.ok(top.shows("STOPPED True") and top.is_restored(),
               "Ctrl-Z stops it, the terminal is as before", *top.screen.text())
        top.send("\n")
        tap.ok(top.shows("F1Help") and 1049 in top.screen.modes, "it comes back",
               *top.screen.text())
        top.send("\x03")
        tap.ok(top.wait() == 0 and top.is_restored(), "Ctrl-C ends it, the terminal is as before",
               top.status, top.screen.modes)
    finally:
        top.close()


def recorded(tap, hog):
    """r records the task and shows why it waited."""
    before = kernel.instances()
    top = terminal.Terminal([kernel.HOLDUP, "top", "-i", "0.3", "-p", str(hog)],
                            env={"PAGER": "echo \"pager of $(id -u) $(grep -c 'CapEff:.*0000000000000000' /proc/self/status)\"; "
                                          "head -n 14; echo SHOWN",
                                 "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
    try:
        top.until(lambda lines: shares(lines, hog))
        top.send("r")
        tap.ok(top.shows("Recording for 5 s"), "r records", *top.screen.text())
        found = top.until(lambda lines: any("Enter: back" in line for line in lines), 60)
        text = "\n".join(top.screen.text())
        tap.ok(found and "SHOWN" in text and "python3" in text and "CPU" in text,
               "then it says why", text)
        tap.ok("pager of %d 1" % NOBODY in text, "in a pager that is the user's, not root's", text)
        top.send("\n")
        tap.ok(top.shows("F1Help"), "and comes back", *top.screen.text())
        top.send("q")
        tap.ok(top.wait() == 0 and top.is_restored(), "the terminal is as before", top.status)
        left = {name for name in kernel.instances() - before if kernel.is_stale(name)}
        tap.ok(not left, "no tracing is left on", left)
    finally:
        top.close()


def terminals(tap, hog):
    """Terminals that can less; those that can too little are refused, and left as they were."""
    for kind, colours in (("vt100", False), ("xterm-256color", True)):
        top = terminal.Terminal([kernel.HOLDUP, "top", "-i", "0.3", "-p", str(hog)],
                                env={"TERM": kind})
        try:
            tap.ok(top.until(lambda lines: shares(lines, hog)) and top.shows("F1Help"),
                   "TERM=%s shows the list" % kind, *top.screen.text())
            top.send("\r")
            tap.ok(top.shows("system call"), "TERM=%s follows one" % kind, *top.screen.text())
            top.send("q")
            tap.ok(top.wait() == 0 and top.is_restored(), "TERM=%s is as before" % kind,
                   top.status, top.screen.modes)
        finally:
            top.close()
    for kind, words in (("dumb", "cannot move"), ("no-such-terminal", "unknown terminal type")):
        top = terminal.Terminal([kernel.HOLDUP, "top"], env={"TERM": kind})
        try:
            status = top.wait()
            text = "".join(top.screen.text())
            tap.ok(status == 3 and words in text and "--batch" in text and top.is_restored(),
                   "TERM=%s: %s" % (kind, text.strip()), status, top.screen.modes)
        finally:
            top.close()
    top = terminal.Terminal([kernel.HOLDUP, "top", "-i", "0.3", "-p", str(hog)],
                            env={"LC_ALL": "C"})
    try:
        top.until(lambda lines: shares(lines, hog))
        top.send("\r")
        tap.ok(top.shows("waited for CPU") and
               all(letter < "\x7f" for line in top.screen.text() for letter in line),
               "without UTF-8 all is ASCII", *top.screen.text())
    finally:
        top.close()


def sizes(tap, hog):
    """Made smaller and larger while it runs: no row is cut off, no name is lost."""
    top = terminal.Terminal([kernel.HOLDUP, "top", "-i", "0.2", "-p", str(hog), "-t"])
    try:
        top.until(lambda lines: shares(lines, hog))
        for rows, columns in ((10, 40), (24, 80), (60, 200), (5, 20), (1, 1), (3, 80), (24, 80)):
            top.resize(rows, columns)
            good = top.until(lambda lines, rows=rows: lines[rows - 1].startswith(
                "F1Help F3Find"[:columns]) and (rows < 10 or any(
                    str(hog) in line and "python3" in line for line in lines)), 5)
            tap.ok(good, "%d columns by %d rows" % (columns, rows), *top.screen.text())
        top.send("q")
        tap.ok(top.wait() == 0 and top.is_restored(), "q ends it", top.status)
    finally:
        top.close()


def mistakes(tap):
    done = kernel.holdup("top")
    tap.ok(done.returncode == 3 and "--batch" in done.stderr, "no terminal: says what to do", done)
    top = terminal.Terminal([kernel.HOLDUP, "top"], env=None)
    try:
        top.shows("F1Help")
        top.kill(signal.SIGINT)
        tap.ok(top.wait() == 0 and top.is_restored(), "SIGINT: the terminal is as before")
    finally:
        top.close()
    done = kernel.holdup("top", "--batch", "-n", "1", "-i", "1ms")
    tap.ok(done.returncode == 2 and kernel.clear_error(done, 3), "too short an interval", done)


READS = "sleep 1000 | { read line; }"


def chains(tap):
    """Whom tasks wait for: a shell's children, the other end of a pipe; and in a terminal, by keys."""
    with kernel.running("sh", "-c", READS) as shell, \
            kernel.running(sys.executable, "-c", READER, stdin=subprocess.PIPE) as reader:
        os.environ["COLUMNS"] = "150"
        for _ in range(40):  # until both sleep
            frames, done = batch("-i", "0.3", "-n", "1", "--chain", "-p", shell.pid, "-p", reader.pid)
            if sum(" > " in line for line in frames[0]) == 2:
                break
        del os.environ["COLUMNS"]
        waits = {int(line.split()[0]): line for line in frames[0] if line.split()[:1] and line.split()[0].isdigit()}
        tap.ok("wait" in waits.get(shell.pid, "") and "> " in waits[shell.pid] and "sleep[" in waits[shell.pid],
               "a shell waits for its children", frames[0], done)
        tap.ok("read > " in waits.get(reader.pid, "") and "[%d]" % os.getpid() in waits[reader.pid],
               "a reader of a pipe waits for this test", frames[0])
        top = terminal.Terminal(["/usr/bin/env", "PAGER=cat", kernel.HOLDUP, "top", "-i", "0.3", "-p", str(reader.pid)])
        try:
            top.until(lambda lines: shares(lines, reader.pid) or any("READ/s" in line for line in lines))
            top.send("w")
            tap.ok(top.shows("WAITS FOR") and top.shows("read > "), "w shows it", *top.screen.text())
            top.send("s")
            tap.ok(top.shows("inspected in") and top.shows("Enter: back"), "s shows what holdup stuck says",
                   *top.screen.text())
            top.send("\n")
            tap.ok(top.shows("WAITS FOR"), "Enter goes back", *top.screen.text())
            top.send("w")
            tap.ok(top.shows("READ/s"), "w again takes it away", *top.screen.text())
            top.send("q")
            tap.ok(top.wait() == 0 and top.is_restored(), "q ends it", top.status)
        finally:
            top.close()


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir(), kernel.running(sys.executable, "-c", HOG) as hog, \
            kernel.running(sys.executable, "-c", HOG) as other, \
            kernel.running("sleep", "1000") as sleeper:
        time.sleep(0.5)
        pids = hog.pid, other.pid, sleeper.pid
        numbers(tap, pids)
        own_cost(tap)
        written(tap)
        many(tap)
        screens(tap, pids)
        followed(tap)
        chains(tap)
        stopped(tap)
        terminals(tap, hog.pid)
        sizes(tap, hog.pid)
        mistakes(tap)
        recorded(tap, hog.pid)
    tap.end()


if __name__ == "__main__":
    main()
