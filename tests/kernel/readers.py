#!/usr/bin/env python3
"""Every command that reads a trace is nothing but a reader before it reads the first byte of it.

strace tells when a file of the trace is opened to be read, and when the filter of system calls and
the rules for writing came into force. A command that this test does not know is an error of it.
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
import terminal  # noqa: E402
from kernel import HOLDUP  # noqa: E402

DATA = os.path.join(kernel.ROOT, "tests", "data")
TRACE = "word-count.holdup"
MODEL = """model: any
initial: here
states:
  here:
    transitions:
      - event: sched:sched_process_exit
        to: here
"""
# How each of them reads; all but the last word.
READERS = {
    "why": [["--json"], ["--output", "why.txt"]],
    "stats": [[]],
    "breakdown": [["--json", "158"]],
    "states": [["151"]],
    "list": [["-n", "5"], ["--state"]],
    "hot": [[], ["--json", "--of-verdict"]],
    "locks": [[]],
    "info": [[]],
    "index": [["--force"]],
    "check-trace": [[]],
    "cut": [["--from", "+10ms", "--to", "+50ms", "-o", "cut.holdup"]],
    "check": [["--junit", "check.xml", "any.yaml"]],
    "learn": [["-o", "learned.yaml", "--from-events", "sched_process_exit"]],
    "model": [["-o", "model.svg", "draw", "any.yaml"], ["check", "any.yaml"]],
    "export": [["--format", "perfetto", "-o", "out.pftrace"], ["--format", "ctf", "-o", "out.ctf"], ["--format", "jsonl"],
               ["--format", "csv", "-o", "out.csv"], ["--format", "chrome", "-o", "out.json"], ["--format", "folded"]],
    "delays": [[]],
    "view": [["--save", "view.html"], ["--svg", "view.svg"]],
}
# A sample of the command's work.
STACKS = "holdup-stacks 2\nP\t5025125\t0\ttree\nF\t-\t10\t0\tmain\tmain\tsh\t/bin/sh\t\t\nS\t\t0\nC\t151\t34641866844\t0\n"
# These make recordings, or ask the kernel and files of programs; what follows them reads as above.
OTHERS = {"record", "run", "watch", "top", "user", "recover", "doctor", "stuck", "flight", "help", "names"}


def commands():
    text = subprocess.run([HOLDUP, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"^  ([a-z-]+)  +\S", text, re.M))


def traced(*argv, **options):
    """Calls of the program in the order in which they were made, and how it ended."""
    log = "calls"
    done = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e",
                           "trace=open,openat,openat2,seccomp,prctl,landlock_restrict_self", HOLDUP, *argv],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", check=False, **options)
    with open(log, errors="replace") as file:
        return file.read().splitlines(), done


def place_of(lines, pattern):
    return next((i for i, line in enumerate(lines) if re.search(pattern, line)), None)


def is_filtered_first(tap, name, lines, done, trace):
    """Files are looked at before (O_PATH), never read."""
    filtered = place_of(lines, r"seccomp\(SECCOMP_SET_MODE_FILTER, .*\) += 0$")
    limited = place_of(lines, r"landlock_restrict_self\(.*\) += 0$")
    opened = [i for i, line in enumerate(lines)
              if trace + "/" in line and "O_PATH" not in line and "open" in line]
    tap.ok(filtered is not None and limited is not None and opened and limited < filtered < opened[0],
           name + " is a reader before it reads", filtered, limited, opened[:1], done.stderr)
    tap.ok(done.returncode in (0, 1) and "SIGSYS" not in "\n".join(lines), name + " does its work",
           done.returncode, done.stderr)


def after_a_recording(tap):
    """What was recorded is read by a process that is filtered, too."""
    for name, more in (("why", []), ("check", ["any.yaml"])):
        lines, done = traced(name, *more, "--", "true")
        filtered = place_of(lines, r"seccomp\(SECCOMP_SET_MODE_FILTER, .*\) += 0$")
        read = [i for i, line in enumerate(lines)
                if re.search(r"kernel/(dump.jsonl|sync|cpu0)", line) and "O_RDONLY" in line]
        tap.ok(filtered is not None and read and filtered < read[0],
               name + " -- COMMAND is a reader before it reads", filtered, read[:1], done.stderr)


def in_a_terminal(tap):
    """It sets the modes of the terminal behind the filter, which ends with it."""
    run = terminal.Terminal([shutil.which("strace"), "-f", "-qq", "-o", "calls", "-e", "trace=open,openat,openat2,seccomp,prctl,landlock_restrict_self",
                             HOLDUP, "view", "--tui", TRACE])
    shown = run.shows("LANES", 60)
    run.send("q")
    status = run.wait(20)
    restored = run.is_restored()
    run.close()
    with open("calls", errors="replace") as file:
        lines = file.read().splitlines()
    done = subprocess.CompletedProcess([], status, stderr="\n".join(run.screen.text()))
    is_filtered_first(tap, "view --tui", lines, done, TRACE)
    tap.ok(shown and restored, "it shows the trace, and leaves the terminal as it was", done.stderr)


def main():
    kernel.need("strace")
    tap = kernel.Tap()
    tap.ok(commands() == set(READERS) | OTHERS, "the test knows every command",
           commands() ^ (set(READERS) | OTHERS))
    with kernel.workdir():
        with tarfile.open(os.path.join(DATA, "word-count.tar.gz")) as archive:
            archive.extractall(".")
        with open("any.yaml", "w") as file:
            file.write(MODEL)
        with open(TRACE + "/kernel/stacks", "w") as file:
            file.write(STACKS)
        for name, ways in READERS.items():
            for way in ways:
                shutil.rmtree(TRACE + "/timeline", ignore_errors=True)
                lines, done = traced(name, *way, TRACE)
                is_filtered_first(tap, " ".join([name, *way]), lines, done, TRACE)
        shutil.rmtree(TRACE + "/timeline", ignore_errors=True)
        in_a_terminal(tap)
        after_a_recording(tap)
    tap.end()


if __name__ == "__main__":
    main()
