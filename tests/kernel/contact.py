#!/usr/bin/env python3
"""The first minutes with the program: what is typed by guess does what was meant, or says what to do.

Wrong arguments of every command, what cannot be read, a process that runs, a program that
logs its own events, help on a narrow terminal.
"""
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
import terminal  # noqa: E402,F401

USAGE, COULD_NOT = 2, 3
NOBODY = 65534


def commands():
    done = kernel.holdup("--help")
    names = re.findall(r"^  ([a-z][a-z-]*) +\S", done.stdout, re.M)
    return [name for name in names if name != "help"]


def said(done):
    return done.stderr.strip()


def clear(tap, name, done, status, *words):
    """One line that names the thing; two with the usage."""
    lines = said(done).splitlines()
    good = done.returncode == status and 1 <= len(lines) <= 2 and lines[0].startswith("holdup")
    good = good and (len(lines) == 1 or lines[1].startswith("usage: "))
    tap.ok(good and all(word in said(done) for word in words), name,
           "exit %d, expected %d" % (done.returncode, status), done.stderr, "words: %s" % (words,))


def check_help(tap):
    """No line is cut, none is wider than 80 columns, and every word of a choice is there."""
    names = commands()
    tap.ok(len(names) >= 20, "the help lists the commands", names)
    for name in names:
        done = kernel.holdup("help", name)
        wide = [line for line in done.stdout.splitlines() if len(line) > 80]
        tap.ok(done.returncode == 0 and not wide, "help %s fits 80 columns" % name, *wide)
    stats = "".join(kernel.holdup("help", "stats").stdout.split())
    tap.ok("uncertain|switches|faults|name" in stats, "no choice is cut", stats)


def check_arguments(tap):
    for name in commands():
        clear(tap, name + ": an unknown option", kernel.holdup(name, "--no-such-option"), USAGE,
              "--no-such-option", "holdup help " + name)
    near = kernel.holdup("sats")
    clear(tap, "an unknown command: what was meant", near, USAGE, '"sats"', "mean stats?")
    for args, words in ((["stats", "--sort", "CPU"], ("--sort", '"CPU"', "waiting|blocked", "mean cpu?")),
                        (["export", "--format", "perfeto"], ("--format", '"perfeto"', "folded", "mean perfetto?")),
                        (["user", "lst"], ("list|on|off", '"lst"', "mean list?")),
                        (["model", "drw", "m"], ("draw|check", '"drw"', "mean draw?")),
                        (["why", "--output"], ("--output", "FILE")),
                        (["why", "--depth", "99999999999"], ("--depth", "99999999999", "4294967295")),
                        (["list", "--follow", "x"], ("--follow", '"x"', "thread")),
                        (["stats", "--help=x"], ("--help", '"x"')),
                        (["delays", "serve", "x"], ('"x"', "9123"))):
        clear(tap, "what is wrong, and what may be: " + " ".join(args), kernel.holdup(*args), USAGE, *words)
    for word, meant in (("version", "--version"), ("WHY", "why"), ("--verison", "--version")):
        done = kernel.holdup(word)
        tap.ok(done.returncode == USAGE and "did you mean %s?" % meant in done.stderr,
               "%s: %s is meant" % (word, meant), done.stderr)
    done = kernel.holdup("delays", "99999999")
    clear(tap, "a process that is not there is named", done, COULD_NOT, "99999999")
    for args in (["stats", "--top"], ["stats", "--top", "x"], ["why", "--depth", "1x"],
                 ["record", "--buffer", "-1"], ["list", "--lines", "99999999999999999999"],
                 ["record", "-d", "0"], ["top", "--interval", "soon"]):
        clear(tap, "a bad number: " + " ".join(args), kernel.holdup(*args), USAGE)


READERS = ("why", "stats", "list", "info", "check-trace", "locks", "index")


def check_places(tap):
    """What is no trace is told by what it is."""
    open("empty", "w").close()
    os.mkdir("empty-folder")
    os.mkfifo("pipe")
    with open("text", "w") as file:
        file.write("nothing of a trace\n" * 9)
    for name in READERS:
        clear(tap, name + ": no such file", kernel.holdup(name, "no-such"), COULD_NOT, "no-such")
        clear(tap, name + ": no trace is named, and none is here", kernel.holdup(name), COULD_NOT,
              "run.holdup", "holdup")
        for path, word in (("empty", "empty"), ("empty-folder", "empty folder"),
                           ("pipe", "a pipe"), ("/dev/null", "device"),
                           ("text", "known format")):
            clear(tap, "%s: %s" % (name, path), kernel.holdup(name, path), COULD_NOT, path, word)


def check_rights(tap):
    """Of what others keep to themselves, the reason is told, and whom to ask."""
    os.mkdir("theirs", 0o700)
    with open("theirs/trace.json", "w") as file:
        file.write("{}")
    with open("secret", "w") as file:
        file.write("text")
    os.chmod("secret", 0o600)
    os.mkdir("inside", 0o755)
    with open("inside/trace.json", "w") as file:
        file.write("{}")
    os.chmod("inside/trace.json", 0o600)
    os.chmod(".", 0o755)
    for path in ("theirs", "secret", "inside"):
        done = subprocess.run([kernel.HOLDUP, "info", path], user=NOBODY, group=NOBODY,
                              capture_output=True, text=True, check=False)
        clear(tap, "not ours to read: " + path, done, COULD_NOT, path, "Permission denied", "sudo")


def is_on(sysctl):
    try:
        with open("/proc/sys/" + sysctl) as file:
            return file.read().strip() == "1"
    except OSError:
        return False


def check_lacking(tap):
    """Who has no rights is told what to do."""
    for args, words in ((["record", "-d", "1"], ("root", "sudo")),
                        (["delays", "listen"], ("CAP_NET_ADMIN", "sudo")),
                        (["delays", "--enable"], ("task_delayacct", "sudo")),
                        (["recover", os.path.realpath("theirs")], ("theirs", "Permission denied"))):
        if "--enable" in args and is_on("kernel/task_delayacct"):
            continue
        done = subprocess.run([kernel.HOLDUP, *args], user=NOBODY, group=NOBODY, capture_output=True, text=True,
                              check=False, cwd="/")
        clear(tap, "without rights: " + " ".join(args), done, COULD_NOT, *words)
    done = subprocess.run([kernel.HOLDUP, "why", "--", "sleep", "0.3"], user=NOBODY, group=NOBODY, capture_output=True, text=True,
                          check=False, cwd="/")
    tap.ok(done.returncode == 0 and "Sampled, not traced" in done.stdout and "sudo holdup why -- COMMAND" in done.stdout,
           "without rights: why of a command is sampled, and says what root would add", done.returncode, done.stdout, done.stderr)


def check_meant(tap):
    clear(tap, "why alone says what to name", kernel.holdup("why"), COULD_NOT, "run.holdup",
          "--pid", "-- make")
    clear(tap, "why of a process that is gone", kernel.holdup("why", "--pid", "4194300"),
          COULD_NOT, "4194300")
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    clear(tap, "why of a zombie", kernel.holdup("why", "--pid", str(zombie.pid)), COULD_NOT, str(zombie.pid))
    zombie.wait()
    thread = threading.Thread(target=time.sleep, args=(3,))
    thread.start()
    for args in (["why", "--pid"], ["record", "-o", "none", "-p"]):
        clear(tap, " ".join(args) + " of a thread", kernel.holdup(*args, str(thread.native_id)), COULD_NOT,
              "%d is a thread" % thread.native_id)
    thread.join()
    with kernel.running("sleep", "30") as sleeper:
        done = kernel.holdup("why", "--pid", str(sleeper.pid))
        tap.ok(done.returncode == 0 and "sleep[%d]" % sleeper.pid in done.stdout
               and "Ctrl-C" in done.stderr, "why of a process that runs records it", done.stdout,
               done.stderr)
        kernel.holdup("record", "--", "true")
        done = kernel.holdup("why", "--pid", str(sleeper.pid))
        tap.ok("sleep[%d]" % sleeper.pid in done.stdout and "recording process" not in done.stderr,
               "a process that run.holdup knows is explained from it", done.stderr)
    with kernel.running("sleep", "30") as sleeper:
        done = kernel.holdup("why", "--pid", str(sleeper.pid))
        tap.ok(done.returncode == 0 and "sleep[%d]" % sleeper.pid in done.stdout
               and "recording process" in done.stderr, "one that it does not know is recorded",
               done.stdout, done.stderr)
        done = kernel.holdup("record", "-p", str(sleeper.pid), "-d", "0.2", "-o", "p")
        tap.ok("holdup why --pid %d p" % sleeper.pid in done.stderr, "record -p names the process",
               done.stderr)
        done = kernel.holdup("why", "--pid", str(sleeper.pid), "p")
        tap.ok(done.returncode == 0, "and what it says works", done.stderr)
    for script, status in (("exit 7", 7), ("kill -TERM $$", 143), ("true", 0)):
        for more in ([], ["--json"], ["--output", "report"]):
            done = kernel.holdup("why", *more, "--", "sh", "-c", script)
            tap.ok(done.returncode == status, "why %s -- sh -c '%s' ends as it does"
                   % (" ".join(more), script), done.returncode, done.stderr)
    for form in (["why"], ["record", "-o", "none"], ["run", "-o", "none"], ["delays", "listen"]):
        for command, status in (("/no/such/program", 127), ("no-such-program", 127), ("/etc/passwd", 126)):
            clear(tap, "%s -- %s is %d" % (" ".join(form), command, status),
                  kernel.holdup(*form, "--", command), status, command)


def check_own_events(tap):
    """run --locks, then why; and the models of spans that the docs speak of."""
    kernel.holdup("run", "--locks", "-o", "l", "--", os.path.join(kernel.EXAMPLES, "futex-convoy"))
    done = kernel.holdup("why", "l")
    words = " ".join(done.stdout.split())
    tap.ok(done.returncode == 0 and "mutex" in words and "holdup locks" in words,
           "why of run --locks says what the locks tell", done.stdout[:400], done.stderr)
    env = dict(os.environ, HOLDUP="stream:" + os.path.realpath("shop"))
    subprocess.run([os.path.join(kernel.EXAMPLES, "shop")], env=env, check=True)
    shipped = os.path.join(kernel.ROOT, "examples", "models", "shop.yaml")
    done = kernel.holdup("check", shipped, "shop")
    tap.ok(done.returncode == 1 and "1 invalid, 0 uncertain, 2 valid of 3" in done.stdout,
           "the model of the shop finds the slow order", done.stdout, done.stderr)
    with open(shipped) as file, open("keyed.yaml", "w") as other:
        other.write(file.read().replace("key: thread", "key: order"))
    done = kernel.holdup("check", "keyed.yaml", "shop")
    clear(tap, "a key that the end of a span has not is a mistake", done, USAGE, "order_end",
          '"order"', "key: thread")
    done = kernel.holdup("list", "-n", "1", "--fields", "thread,lat,delta", "shop")
    tap.ok(done.returncode == 0 and "shop" in done.stdout or "[" in done.stdout,
           "columns are called as they are titled", done.stdout, done.stderr)


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir():
        check_help(tap)
        check_arguments(tap)
        check_places(tap)
        check_rights(tap)
        check_lacking(tap)
        check_meant(tap)
        check_own_events(tap)
    tap.end()


if __name__ == "__main__":
    main()
