#!/usr/bin/env python3
"""disk.py - who cannot write says so: on a full device, a closed output, a write, sync or rename that fails.

Every command that prints, with stdout on /dev/full and closed; then every command that makes files, with each
of its first calls of write(), fsync() and rename() made to fail, one a run (by strace; skipped without it). Exit
status 3 and the reason, or, where the file is a cache, the answer all the same. What is left opens or is
refused, and nothing that was there before is damaged. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import commands  # noqa: E402
from commands import HOLDUP  # noqa: E402

WRITERS = ["cut --dir OUT TRACE", "export --format perfetto -o OUT TRACE", "export --format chrome -o OUT TRACE",
           "export --format folded -o OUT TRACE", "export --format csv -o OUT TRACE", "export --format ctf -o OUT TRACE",
           "export --format jsonl --what waits -o OUT TRACE", "export --format jsonl --what events -o OUT TRACE",
           "learn --from-events sched_waking -o OUT TRACE", "model draw -o OUT MODEL", "why --tid TID --output OUT TRACE",
           "check --junit OUT MODEL TRACE", "delays --save OUT TRACE", "index --force TRACE"]
# Those without anything to print: the trace has neither accounts nor stacks.
SILENT = ("delays reconcile", "hot ")
PRINTERS = [row[0] for row in commands.COMMANDS if "OUT" not in row[0] and not row[0].startswith(SILENT)] + [
    "help", "help why", "--version", "doctor --json", "user list", "model check MODEL", "top --batch -n 1 -i 0.1"]
FAILURES = [("write,pwrite64,writev", "ENOSPC"), ("write,pwrite64,writev", "EIO"), ("fsync,fdatasync", "EIO"),
            ("rename,renameat,renameat2", "ENOSPC"), ("ftruncate,fallocate", "EIO")]


# What stands where a file is written to, before. Folders are made new.
BEFORE = b"written before\n"


def is_file(command):
    return "OUT" in command and not any(word in command for word in ("cut ", "csv", "ctf"))


def is_before(path):
    with open(path, "rb") as file:
        return file.read() == BEFORE


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def test_stdout(tap, trace, model):
    for name, opened in (("a full device", "/dev/full"), ("a closed output", None)):
        found = []
        for command in PRINTERS:
            words = [HOLDUP, *commands.words_of(command, trace, model, 143, "-")]
            if opened:
                with open(opened, "wb") as full:
                    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False)
            else:
                done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, check=False)
            if done.returncode != 3 or not re.search(b"No space left|Bad file descriptor|closed|cannot open", done.stderr):
                found.append("%s: status %d: %r" % (command, done.returncode, done.stderr[-120:]))
        tap.check("who prints to %s says so" % name, found)


def failing(words, calls, error, which):
    """Run with the n-th of these calls failing. Returns the run and whether there was one."""
    log = tempfile.NamedTemporaryFile()
    # LeakSanitizer cannot look at a process that strace follows, and would fail for it.
    no_leaks = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    done = subprocess.run(["strace", "-f", "-qq", "-o", log.name, "-e", "trace=" + calls, "-e",
                           "inject=%s:error=%s:when=%d" % (calls, error, which), HOLDUP, *words],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60,
                          env={**os.environ, "ASAN_OPTIONS": no_leaks})
    text = log.read().decode(errors="replace")
    return done, [line for line in text.splitlines() if "(INJECTED)" in line]


def problem_of(command, done, hits, out, trace, model):
    """Status 3 and a reason, or all is well in spite of it."""
    hit = hits[0]
    to_terminal = re.search(r"write\((1|2),", hit)
    if done.returncode < 0 or done.returncode > 4:
        return "status %d" % done.returncode
    if done.returncode in (2, 3):
        if not done.stderr and not any("write(2," in line for line in hits):
            return "no reason"
        return None
    if to_terminal and "write(1," in hit:
        return "status %d though stdout failed" % done.returncode
    if to_terminal:
        return None
    if "fsync" in hit or "fdatasync" in hit or "ftruncate" in hit or "fallocate" in hit:
        return None
    if command.startswith("cut") and os.path.exists(out):
        check = commands.run(["check-trace", out])
        return None if check.status == 0 else "status 0, but the cut is not whole"
    if "OUT" in command and not re.search(r"timeline|index|/store|holdup-", hit):
        again = out + ".again"
        remove(again)
        clean = commands.run(commands.words_of(command, trace, model, 143, again))
        if clean.status in (0, 1) and os.path.isfile(out) and open(out, "rb").read() != open(again, "rb").read():
            return "status %d, but the file is not whole" % done.returncode
    return None


def test_writers(tap, trace, model, scratch):
    if not shutil.which("strace"):
        print("# strace is not installed: calls that fail are not tried")
        return
    out = os.path.join(scratch, "out")
    for command in WRITERS:
        found, hits = [], 0
        for calls, error in FAILURES:
            for which in (1, 2, 3, 5, 9):
                remove(out)
                if is_file(command):
                    with open(out, "wb") as file:
                        file.write(BEFORE)
                done, lines = failing(commands.words_of(command, trace, model, 143, out), calls, error, which)
                if not lines:
                    break
                hits += 1
                problem = problem_of(command, done, lines, out, trace, model)
                if not problem and done.returncode == 3 and is_file(command) and "write(1," not in lines[0] and \
                        not is_before(out):
                    problem = "what was there before is lost"
                if problem:
                    found.append("%s %s %d: %s: %.90s: %r" % (calls, error, which, problem, lines[0], done.stderr[-160:]))
        if not hits and not command.startswith("index"):
            found.append("nothing of it failed")
        if commands.run(["why", "--tid", "143", trace]).status != 0:
            found.append("the trace is not read any more")
        tap.check("holdup %s: a write that fails is told" % command, found)


def test_places(tap, trace, model):
    """Readers write where they were told to, also outside of folders for temporary files."""
    found = []
    with tempfile.TemporaryDirectory(prefix="holdup-disk-", dir=os.path.dirname(HOLDUP)) as folder:
        out = os.path.join(folder, "out")
        for command in WRITERS:
            remove(out)
            done = commands.run(commands.words_of(command, trace, model, 143, out))
            if done.status not in (0, 1) or ("OUT" in command and not os.path.exists(out)):
                found.append("%s: status %d: %r" % (command, done.status, done.err[-160:]))
            if [name for name in os.listdir(folder) if name != "out"]:
                found.append("%s: it leaves %s" % (command, os.listdir(folder)))
    tap.check("files are written outside of temporary folders, too", found)


def main():
    tap = commands.Tap()
    with tempfile.TemporaryDirectory(prefix="holdup-disk-") as scratch:
        os.chdir(scratch)  # what a hostile word makes lies there
        with tarfile.open(os.path.join(commands.ROOT, "tests/data/word-count.tar.gz")) as archive:
            archive.extractall(scratch)
        trace, model = os.path.join(scratch, "word-count.holdup"), os.path.join(scratch, "model.yaml")
        with open(model, "w", encoding="utf-8") as file:
            file.write(commands.MODEL)
        test_stdout(tap, trace, model)
        test_places(tap, trace, model)
        test_writers(tap, trace, model, scratch)
    tap.end()


if __name__ == "__main__":
    main()
