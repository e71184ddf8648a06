"""judge.py - run a command line on a mutant and say what is wrong with how it went, or nothing.

What must hold of every run: it ends by itself, within limits of time and memory, with a documented
exit status; what fails gives its reason; what is printed is text that a terminal can be given; what is
promised to be JSON, XML and so on is that; nothing stays behind in the folder for temporary files.
"""
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import xml.parsers.expat

import proto

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

SANITIZED = bool(os.environ.get("HOLDUP_SANITIZED"))
MEMORY_KIB = 256 << 10
STATUSES = {"check": (0, 1, 2, 3, 4)}
# What no text may have, beside bytes that are not UTF-8: control characters, and those that turn the direction.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
TYPES = proto.Types(open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../src/export/perfetto.proto"),
                         encoding="utf-8").read())


class Run:
    def __init__(self, status, kib, microseconds, out, err):
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.status = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        self.kib, self.seconds, self.out, self.err = kib, microseconds / 1e6, out, err


class Server:
    """A process that runs commands: server.c."""

    def __init__(self, program, folder):
        self.program, self.folder, self.process = program, folder, None
        self.temp = os.path.join(folder, "tmp")
        os.makedirs(self.temp, exist_ok=True)
        self.env = {**os.environ, "TMPDIR": self.temp, "XDG_CACHE_HOME": os.path.join(folder, "cache"), "HOME": folder,
                    "HOLDUP_RUNTIME_DIR": os.path.join(folder, "TRACE"), # where recover looks for dead processes
                    "LD_BIND_NOW": "1", # once, not in each fork
                    "MUTATE_SPACE": "0" if SANITIZED else "1024", "MUTATE_SECONDS": "60" if SANITIZED else "20",
                    "ASAN_OPTIONS": "exitcode=97:detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096",
                    "UBSAN_OPTIONS": "exitcode=97:print_stacktrace=1"}

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env)

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def run(self, folder, words):
        if not self.process:
            self.start()
        out, err = os.path.join(self.folder, "stdout"), os.path.join(self.folder, "stderr")
        texts = b"".join(os.fsencode(text) + b"\0" for text in [folder, out, err, "holdup", *words])
        self.process.stdin.write(b"%d\n%s" % (len(texts), texts))
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 3:
            self.stop()
            raise RuntimeError("the server of runs ended")
        with open(out, "rb") as stdout, open(err, "rb") as stderr:
            return Run(*map(int, answer), stdout.read(), stderr.read())


def wrong_end(run):
    if run.signal in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL):
        return "hang: %.1f s on a CPU, %s" % (run.seconds, signal.Signals(run.signal).name)
    if run.signal == signal.SIGXFSZ:
        return "writes without end"
    if run.signal:
        return "crash: " + signal.Signals(run.signal).name
    if run.status == 97:
        return "sanitizer: " + first_line(run.err, b"ERROR|runtime error")
    if run.kib > MEMORY_KIB and not SANITIZED:
        return "memory: %d MiB" % (run.kib >> 10)
    return ""


def first_line(text, pattern):
    for line in text.splitlines():
        if re.search(pattern, line):
            return line.decode(errors="replace")[:160]
    return ""


def wrong_status(run, command):
    if run.status not in STATUSES.get(command, (0, 1, 2, 3)):
        return "exit status %d" % run.status
    if run.status in (2, 3) and not run.err.startswith(b"holdup"):
        return "exit status %d without a reason" % run.status
    if run.status == 3 and b"out of memory" in run.err:
        return "memory: " + first_line(run.err, b"memory")
    return ""


def wrong_text(name, data):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return "%s is not UTF-8: %s" % (name, error)
    match = RAW.search(text)
    return "%s has a raw %r: %r" % (name, match.group(), text[max(match.start() - 30, 0):match.end() + 30]) if match else ""


def no_number(text):
    raise ValueError("%s is not JSON" % text)


def parsed(data):
    return json.loads(data.decode(), parse_constant=no_number)


def check_lines(data, _):
    for line in data.splitlines():
        parsed(line)


def check_report(data, _):
    report = parsed(data)
    if isinstance(report, dict) and "verdict" in report and "wib" in report:
        bad = kernel.bad_sums(report)
        if bad:
            raise ValueError(bad)


def check_csv(_, path):
    for root, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                text = file.read().decode()
            wrong = RAW.search(text.replace("\r\n", "\n"))
            if wrong:
                raise ValueError("a raw %r in %s" % (wrong.group(), name))
            widths = {len(row) for row in csv.reader(io.StringIO(text, newline=""), strict=True)}
            if len(widths) > 1:
                raise ValueError("rows of %s in %s" % (sorted(widths), name))


def check_xml(data, path):
    if path:
        with open(path, "rb") as file:
            data = file.read()
    xml.parsers.expat.ParserCreate().Parse(data, True)


def check_written(_, path):
    with open(path, "rb") as file:
        wrong = wrong_text("what was written", file.read())
    if wrong:
        raise ValueError(wrong)


def check_svg(data, _):
    check_xml(data, None)


def check_perfetto(_, path):
    with open(path, "rb") as file:
        TYPES.check("Trace", file.read())


CHECKS = {"json": lambda data, _: parsed(data), "lines": check_lines, "report": check_report, "csv": check_csv, "xml": check_xml,
          "svg": check_svg, "written": check_written, "model": check_written, "perfetto": check_perfetto}


def wrong_output(run, kind, path):
    """Of a run that told something, or wrote it to 'path'."""
    for name, data in (("stdout", run.out), ("stderr", run.err)):
        wrong = wrong_text(name, data)
        if wrong:
            return wrong
    if run.status not in (0, 1, 4) or kind not in CHECKS:
        return ""
    try:
        CHECKS[kind](run.out, path)
    except (ValueError, csv.Error, xml.parsers.expat.ExpatError, OSError, KeyError, RecursionError) as error:
        return "output is no %s: %s" % (kind, str(error)[:200])
    return ""


def left_behind(server):
    left = os.listdir(server.temp)
    for name in left:
        path = os.path.join(server.temp, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    return "left in the folder for temporary files: %s" % left if left else ""


def judge(server, folder, words, kind):
    """Returns what is wrong, or "", and the run."""
    out = os.path.join(folder, "OUT")
    shutil.rmtree(out, ignore_errors=True)
    if os.path.exists(out):
        os.unlink(out)
    run = server.run(folder, words)
    wrong = wrong_end(run)
    if not wrong:
        wrong = wrong_status(run, words[0]) or wrong_output(run, kind, out if "OUT" in words else None)
    return wrong or left_behind(server), run
