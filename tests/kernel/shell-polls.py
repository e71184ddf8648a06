#!/usr/bin/env python3
"""Shells that ask for a lock, a connection or a process again and again: who had it, listened or ended is held up for.

The lock is taken by a flock(1) that has ended since: the shell that it was taken for has it, and what that one runs.
The holder prints who it is, and for how long the lock is known to be taken.
"""
import os
import shutil
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

HOLDER = """exec 9>%s
flock 9
sleep 1.2 & echo $$ $! >holder
wait
"""
ASKERS = {
    "opens the file each time": "until flock -n %s true; do sleep 0.1; done",
    "has it open all the time": "exec 8>%s; until flock -n 8; do sleep 0.1; done",
}


# Questions that the shell itself asks. Whose end answers them is a child, as the sleeps are; the first time it also
# looks for sleep in PATH, by the call that looks for the file.
OWN = {
    "signal 0": (False, "while kill -0 $holds 2>/dev/null; do sleep 0.1; done", "found it there until it ended"),
    "a file that goes": (True, ">there; while [ -e there ]; do sleep 0.1; done", "found it until it called unlinkat()"),
    "its children": (False, 'while [ -n "$(jobs -r)" ]; do sleep 0.1; done', "found nothing until it ended"),
    "a file of a process": (False, "while read -r s </proc/$holds/stat; do sleep 0.1; done 2>/dev/null",
                            "found it until it ended"),
    "a file": (True, "while [ ! -s there ]; do sleep 0.1; done", "failed with ENOENT until it called openat()"),
}


LISTENER = """import socket, time
time.sleep(1.2)
with socket.socket() as listener:
    listener.bind(("127.0.0.1", %d))
    listener.listen()
    listener.settimeout(20)
    connection, _ = listener.accept()
    ping = b"HTTP" not in connection.recv(4096)
    connection.sendall(b"+PONG\\r\\n" if ping else b"HTTP/1.0 200 OK\\r\\n\\r\\n")
    connection.close()
"""


# What refuses them is told at another moment each: SO_ERROR, or a second connect(); nc asks fcntl() behind it.
CONNECTORS = {
    "curl": "curl -so /dev/null http://127.0.0.1:%d/",
    "nc": "nc -z 127.0.0.1 %d",
    "redis-cli": "redis-cli -p %d ping",
}
OPTIONAL = ("redis-cli",)


def connect(tap, program, command):
    """It does not wait in connect(): it is refused later, and its exit status is the shell's question."""
    if program in OPTIONAL and not shutil.which(program):
        print("# %s is not installed" % program)
        return
    if not shutil.which(program):
        tap.skipped("a shell that tries to connect by " + program, program + " is not installed")
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open("listener.py", "w", encoding="ascii") as file:
        file.write(LISTENER % port)
    with open("asker.sh", "w", encoding="ascii") as file:
        file.write("%s listener.py &\necho $! >listener\n" % sys.executable)
        file.write("until [ $SECONDS -gt 60 ] || %s >/dev/null 2>&1; do sleep 0.1; done\n" % (command % port))
        file.write("%s >/dev/null 2>&1 || true\n" % (command % port))
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "asker.sh")
    with open("listener", encoding="ascii") as file:
        listener = int(file.read())
    waits = [wait for wait in (report or {}).get("causality", []) if wait.get("inferred")]
    words = "connect() of 127.0.0.1:%d failed with ECONNREFUSED until it called listen()" % port
    tap.ok(len(waits) >= 3 and all(wait["inferred"] == words and wait["answerer"]["tid"] == listener for wait in waits),
           program + " in a loop: each sleep is for who listens in the end, as inferred", words, listener,
           [(wait["inferred"], wait.get("answerer")) for wait in waits], done.stderr)


def own(tap, what, makes, loop, words):
    with open("asker.sh", "w", encoding="ascii") as file:
        if makes:
            end = "rm there" if "unlink" in words else "echo there >there"
            file.write("(sleep 1.2 & echo $! >holder; wait; %s) &\n%s\nwait\n" % (end, loop))
        else:
            file.write("sleep 1.2 & holds=$!\necho $holds >holder\n%s\n" % loop)
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "asker.sh")
    with open("holder", encoding="ascii") as file:
        holder = int(file.read())
    os.unlink("holder")
    rows = [row for row in (report or {}).get("verdict", [])
            if (row.get("inferred") or "").endswith(words) and row["who"] and row["who"]["tid"] == holder]
    ns = sum(row["ns"] for row in rows if row["kind"] == "timer")
    tap.ok(ns > 0.6 * kernel.S, "a shell asks for %s: its sleeps are for who sleeps meanwhile, as inferred" % what,
           holder, kernel.show_roots(report) if report else done.stderr,
           [row.get("inferred") for row in (report or {}).get("verdict", [])][:5])


# A wait with a limit, for which the shell redirects each time; it is no sleep.
# Its end is in the middle of a slice: what comes between two slices no wait tells of.
READS = {
    "read -t": "mkfifo pipe; (sleep 1.25 & echo $! >holder; wait; echo there >pipe) & exec 7<>pipe; "
               "until read -t 0.1 x <&7; do :; done",
    # It ends later: where that interrupts bash as it reads, the line is lost, and bash reads for ever.
    "read -t of a coprocess": "coproc C { sleep 1.25 & echo $! >holder; wait; echo there; sleep 1; }; "
                              "until read -t 0.1 x <&${C[0]}; do :; done",
}


def reads(tap, what, script):
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "-c", script)
    with open("holder", encoding="ascii") as file:
        holder = int(file.read())
    os.unlink("holder")
    ns = sum(row["ns"] for row in (report or {}).get("verdict", []) if row["who"] and row["who"]["tid"] == holder)
    tap.ok(ns > 0.6 * kernel.S, "a shell waits by %s: that is one wait, for who writes" % what, holder,
           kernel.show_roots(report) if report else done.stderr)


# Only the exit status of a program answers: which one ended, or made the file, is told by what the last two did.
PROGRAMS = {
    "pgrep": ("./planted 1.2", "while pgrep -x planted >/dev/null; do sleep 0.1; done",
              "'pgrep -x planted' found it until it ended"),
    "ps and grep": ("./planted 1.2", "while ps -A | grep -q planted; do sleep 0.1; done",
                    "'grep -q planted' found it until it ended"),
    "cat": ("sleep 1.2", "while cat /proc/$ends/stat >/dev/null 2>&1; do sleep 0.1; done", "found it until it ended"),
    "test": ("sleep 1.2", "until env test -e there; do sleep 0.1; done", "failed with ENOENT until it called openat()"),
}


def programs(tap, what, runs, loop, words):
    if not shutil.which(loop.split()[1]):
        tap.skipped("a shell that runs " + what, loop.split()[1] + " is not installed")
        return
    shutil.copy(shutil.which("sleep"), "planted")
    with open("there.sh", "w", encoding="ascii") as file:
        file.write("%s & echo $! $$ >holder\nwait\necho there >there\n" % runs)
    with open("asker.sh", "w", encoding="ascii") as file:
        file.write("bash there.sh &\nuntil [ -s holder ]; do :; done\nread -r ends makes <holder\n%s\n" % loop)
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "asker.sh")
    with open("holder", encoding="ascii") as file:
        ends, makes = map(int, file.read().split())
    holder = makes if "there" in loop else ends
    for made in "holder", "there", "planted":
        if os.path.exists(made):
            os.unlink(made)
    waits = [wait for wait in (report or {}).get("causality", []) if (wait.get("inferred") or "").endswith(words)]
    tap.ok(len(waits) >= 2 and all(wait["answerer"]["tid"] == holder for wait in waits),
           "a shell that runs %s each time: its sleeps are for who sleeps meanwhile, as inferred" % what, holder, words,
           [(wait.get("inferred"), wait.get("answerer")) for wait in (report or {}).get("causality", [])], done.stderr)


# The file is there each time: who changes what is in it is waited for, however the shell looks.
CONTENT = {
    "its size": ("until [ -s there ]; do sleep 0.1; done", "found nothing new until it called write()"),
    "a line": ("until grep -q READY there; do sleep 0.1; done", "found nothing new until it called write()"),
    "one read": ("while ! read x <there; do sleep 0.1; done", "found nothing new until it called write()"),
    "another file": (">was; while cmp -s there was; do sleep 0.1; done", "found nothing new until it called write()"),
    "os.path.getsize": ("%s size.py" % sys.executable, "found nothing new until it called write()"),
}
SIZE = "import os, time\nwhile os.path.getsize('there') == 0:\n    time.sleep(0.1)\n"


def content(tap, what, loop, words):
    with open("size.py", "w", encoding="ascii") as file:
        file.write(SIZE)
    with open("there.sh", "w", encoding="ascii") as file:
        file.write(">there\nsleep 1.2 & echo $! $$ >holder.new\nmv holder.new holder\nwait\necho READY >>there\n")
    with open("asker.sh", "w", encoding="ascii") as file:
        file.write("bash there.sh &\nuntil [ -e holder ]; do :; done\n%s%s\n" %
                   ("exec " if loop.endswith("size.py") else "", loop))
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "asker.sh")
    with open("holder", encoding="ascii") as file:
        holder = int(file.read().split()[1])
    for made in "holder", "there", "was":
        if os.path.exists(made):
            os.unlink(made)
    waits = [wait for wait in (report or {}).get("causality", []) if (wait.get("inferred") or "").endswith(words)]
    tap.ok(len(waits) >= 2 and all(wait["answerer"]["tid"] == holder for wait in waits),
           "a loop looks at %s of a file: its sleeps are for who writes to it, as inferred" % what, holder,
           [(wait.get("inferred"), wait.get("answerer")) for wait in (report or {}).get("causality", [])], done.stderr)


# Loops that are for nobody: they go on behind the end of a child, or give up and end it themselves.
FOR_NOBODY = {
    "gives up to find a program": "sleep 0.4 & for i in 1 2 3 4 5 6; do pgrep -x nobody-has-it; sleep 0.1; done",
    "sleeps beside a child that ends": "sleep 0.4 & for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done",
    "a program each time": "sleep 0.4 & for i in 1 2 3 4 5 6 7 8; do date >>log; sleep 0.1; done",
    "looks at a file that nobody writes": ">quiet; for i in 1 2 3 4 5 6; do sleep 0.1; [ -s quiet ] && break; done",
    "gives up": "sleep 30 & p=$!; for i in 1 2 3 4 5; do kill -0 $p || break; sleep 0.1; done; kill $p",
}


def nobody(tap, what, script):
    with open("asker.sh", "w", encoding="ascii") as file:
        file.write(script + "\n")
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "asker.sh")
    told = [row["inferred"] for row in (report or {}).get("verdict", []) if row.get("inferred")]
    tap.ok(report and not told, "a shell that waits for nobody, %s: nothing is inferred" % what, told, done.stderr)


def ask(tap, what, asker):
    path = os.path.abspath("lock")
    with open("holder.sh", "w", encoding="ascii") as file:
        file.write(HOLDER % path)
    with open("asker.sh", "w", encoding="ascii") as file:
        file.write("bash holder.sh &\nuntil [ -s holder ]; do :; done\n%s\nwait\n" % (asker % path))
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "asker.sh")
    with open("holder", encoding="ascii") as file:
        shell, sleeper = map(int, file.read().split())
    os.unlink("holder")
    first = report["verdict"][0] if report else None
    tap.ok(first and first["who"] and first["who"]["tid"] == sleeper and first["ns"] > 0.6 * kernel.S,
           "%s: the first is what the holder runs" % what, first or done.stderr)
    had = [wait["asked"] for wait in report["causality"] if wait.get("asked", "").startswith("flock()")]
    tap.ok(len(had) >= 5 and all(words.endswith(" failed with EAGAIN: bash[%d] had the lock" % shell) for words in had),
           "%s: and each of its sleeps says who had the lock" % what, shell, had)


def main():
    kernel.need()
    tap = kernel.Tap()
    for what, asker in ASKERS.items():
        ask(tap, what, asker)
    for what, (makes, loop, words) in OWN.items():
        own(tap, what, makes, loop, words)
    for what, script in READS.items():
        reads(tap, what, script)
    for what, (runs, loop, words) in PROGRAMS.items():
        programs(tap, what, runs, loop, words)
    for what, (loop, words) in CONTENT.items():
        content(tap, what, loop, words)
    for what, script in FOR_NOBODY.items():
        nobody(tap, what, script)
    for program, command in CONNECTORS.items():
        connect(tap, program, command)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
