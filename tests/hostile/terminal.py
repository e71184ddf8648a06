#!/usr/bin/env python3
"""terminal.py - no text from outside reaches a terminal raw, in any command, also in errors.

Traces of every format whose names, messages, hosts, paths are made of what a terminal obeys: escape
sequences, C1 controls, line ends, characters that reorder or hide text, bytes that are no UTF-8. Every
command runs over them; what it prints, and writes where text is written, must be text. JSON, XML and
CSV must be what their parsers take. Prints TAP; another HOLDUP_SEED draws other names.
"""
import csv
import ctypes
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import commands  # noqa: E402

SEED = int(os.environ.get("HOLDUP_SEED", "1"))
FORGED = b"FORGED"  # no line may begin with it

HOSTILE = [b"\x1b[2J", b"\x1b]0;x\x07", b"\x9b31m", b"\xc2\x9b31m", b"\xff\xfe", b"\xe2\x80\xae", b"\xe2\x81\xa6",
           b"\xe2\x80\x8b", b"\x08\x08", b"\x7f", b"\r", b"\n" + FORGED, b"\xed\xa0\x80", b"\xef\xbb\xbf",
           b"\xf3\xa0\x81\x81", b"\xc3", b"\x1b", b"\"<&'>,\\", b"\xf0\x9f\x98", b"\xef\xbf\xbf", b"\xc2\xad"]


def hostile(rng, most=0, lines=True):
    """Bytes for a name; at most so many of them, without line ends if so wanted."""
    choice = [part for part in HOSTILE if (not most or len(part) <= most) and
              (lines or not (b"\n" in part or b"\r" in part))]
    return b"a" * (not most) + b"".join(rng.sample(choice, 3 if not most else 1))


# ---------------------------------------------------------------------- what is text

# Characters that may not be printed, beside the controls: category Cf, and what is not seen.
HIDDEN = {0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2028, 0x2029, 0x3164, 0xffa0, 0xfffe, 0xffff}


def problem_of(data, what):
    """Why this may not go to a terminal; None when it may."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return "%s: no UTF-8: %s" % (what, data[max(0, error.start - 40):error.end + 10])
    for at, char in enumerate(text):
        if char in "\n\t" or " " <= char <= "~":
            continue
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or ord(char) in HIDDEN:
            return "%s: U+%04x in %r" % (what, ord(char), text[max(0, at - 60):at + 10])
    for line in text.splitlines():
        if line.lstrip(" \t").startswith(FORGED.decode()):
            return "%s: a name forges a line" % what
    return None


def json_problem(data):
    for line in data.decode().split("\n"):
        try:
            if line:
                json.loads(line)
        except ValueError as error:
            try:  # one value over many lines?
                json.loads(data)
                return None
            except ValueError:
                return "no JSON: %s: %.100s" % (error, line)
    return None


def xml_problem(data):
    try:
        xml.etree.ElementTree.fromstring(data)
    except xml.etree.ElementTree.ParseError as error:
        return "no XML: %s" % error
    return None


def csv_problem(data):
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    if len({len(row) for row in rows}) != 1:
        return "rows of different lengths"
    return None


KINDS = {"json": json_problem, "svg": xml_problem, "xml": xml_problem, "csv": csv_problem}


def problems_of(done, kind, out):
    """All that is wrong with a run: of what it printed, and of the text files that it wrote."""
    files = [("stdout", done.out, kind)]
    if kind == "xml" and os.path.exists(out):
        with open(out, "rb") as file:
            files = [("stdout", done.out, "json"), ("junit", file.read(), "xml")]
    if kind == "csv" and os.path.isdir(out):
        files = [("stdout", done.out, "text")]
        for name in os.listdir(out):
            with open(os.path.join(out, name), "rb") as file:
                data = file.read()
                files.append((name, data.replace(b"\r\n", b"\n"), "csv"))
    found = [problem_of(done.err, "stderr")]
    if done.status not in (0, 1, 2, 3, 4, 126, 127):
        found.append("status %d" % done.status)
    for name, data, what in files:
        if what == "binary":
            continue
        problem = problem_of(data, name)
        if not problem and data and what in KINDS:
            problem = KINDS[what](data)
        found.append(problem)
    return ["holdup %s: %s" % (" ".join(map(repr, done.words)), problem)
            for problem in found if problem]


def check_trace(trace, tid, model, scratch, chosen=None):
    found, good = [], 0
    for command, kind in chosen or commands.COMMANDS:
        out = os.path.join(scratch, "out")
        shutil.rmtree(out, ignore_errors=True)
        if os.path.exists(out):
            os.unlink(out)
        done = commands.run(commands.words_of(command, trace, model, tid, out))
        found += problems_of(done, kind, out)
        good += done.status == 0
    return found, good


# ------------------------------------------------------------------------ the traces

def text_trace(rng):
    """The kernel's text. A line end within a name would be a line's end: it is left out."""
    name = lambda: hostile(rng, lines=False).replace(b":", b"")
    comms = {7: name(), 8: name(), 9: name()}
    lines = [b"# tracer: nop\n"]
    time_us = 10000000
    for i in range(60):
        tid = rng.choice(list(comms))
        other = rng.choice(list(comms))
        event, text = rng.choice([
            (b"sched_waking", b"comm=%s pid=%d prio=120 target_cpu=000" % (comms[other], other)),
            (b"sched_switch", b"prev_comm=%s prev_pid=%d prev_prio=120 prev_state=S ==> "
                              b"next_comm=%s next_pid=%d next_prio=120" %
             (comms[tid], tid, comms[other], other)),
            (b"sys_enter", b"NR 0 (3, 7ffe, 10, 0, 0, 0)"), (b"sys_exit", b"NR 0 = -4"),
            (name(), name()), (b"irq_handler_entry", b"irq=24 name=%s" % name()),
            (b"softirq_entry", b"vec=%d [action=%s]" % (i % 10, name())),
            (b"block_rq_issue", b"254,0 R 4096 () 0 + 8 [%s]" % comms[tid]),
            (b"sched_process_exec", b"filename=%s pid=%d old_pid=%d" % (name(), tid, tid)),
            (b"workqueue_queue_work", b"work struct=1 function=%s workqueue=%s" % (name(), name())),
            (b"tracing_mark_write", b"B|%d|%s" % (tid, name()))])
        lines.append(commands.text_line(comms[tid], tid, i % 2, time_us, event, text))
        time_us += rng.randrange(1, 2000)
    lines.insert(20, name() + b"\n")
    lines.insert(30, b"CPU:1 [LOST 12 EVENTS]\n")
    return b"".join(lines)


WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9/.-]{3,40}")
KEPT = re.compile(rb"field|offset|size|signed|format|print|name|unsigned|char|common|short|long|TRACE|trace|PERF")


def with_names(data, rng, share):
    """The same bytes with some of their words made hostile, each everywhere, none longer."""
    words = sorted(set(WORD.findall(data)))
    for word in words:
        if rng.random() < share and not KEPT.search(word):
            piece = hostile(rng, most=len(word))
            data = data.replace(word, piece + b"x" * (len(word) - len(piece)))
    return data


def copied(source, into, rng, share):
    """A file, or a folder with all files, with hostile words in it."""
    if os.path.isdir(source):
        for folder, _, files in os.walk(source):
            at = os.path.join(into, os.path.relpath(folder, source))
            os.makedirs(at, exist_ok=True)
            for name in files:
                copied(os.path.join(folder, name), os.path.join(at, name), rng, share)
        return
    with open(source, "rb") as file:
        data = file.read()
    with open(into, "wb") as file:
        file.write(with_names(data, rng, share))


def recorded(folder, rng):
    """A recording of ours whose every name is hostile: host, commands, files, threads, devices."""
    def spoil(value):
        if isinstance(value, dict):
            return {key: spoil(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [spoil(inner) for inner in value]
        if isinstance(value, str):
            return value + hostile(rng).decode(errors="replace") + "\\xff\\x9b\x1b[31m\n" + FORGED.decode()
        return value

    kept = ("clock", "arch", "boot_id", "events", "role", "state", "what")
    path = os.path.join(folder, "trace.json")
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    manifest = {key: value if key in kept else spoil(value) for key, value in manifest.items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    path = os.path.join(folder, "kernel/dump.jsonl")
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            inner = next(iter(line.values()))
            inner.update((key, spoil(value)) for key, value in inner.items() if key not in kept)
            file.write(json.dumps(line) + "\n")
    formats = os.path.join(folder, "kernel/formats")
    with open(formats, "rb") as file:
        data = file.read()
    with open(formats, "wb") as file:
        file.write(with_names(data, rng, 0.05))


def some_tid(trace):
    """A thread of the trace that has a row."""
    done = commands.run(["stats", "--by", "thread", "--json", trace])
    try:
        rows = json.loads(done.out)["rows"]
        return next(row["tid"] for row in rows if row.get("tid", 0) > 0)
    except (ValueError, KeyError, StopIteration):
        return 7


# ------------------------------------------------------------------------- the tests

def test_text(tap, scratch, model, rng):
    found = []
    for i in range(3):
        trace = os.path.join(scratch, "text%d" % i)
        with open(trace, "wb") as file:
            file.write(text_trace(rng))
        problems, good = check_trace(trace, 7, model, scratch)
        found += problems
        if good < 30:
            found.append("only %d commands read the text" % good)
    tap.check("the kernel's text with hostile names is told as text", found)


def test_ctf(tap, scratch, model):
    trace, folder = os.path.join(scratch, "text0"), os.path.join(scratch, "ctf")
    done = commands.run(["export", "--format", "ctf", "-o", folder, trace])
    found = [] if done.status == 0 else ["export: %r" % done.err]
    problems, good = check_trace(folder, 7, model, scratch)
    if good < 20:
        problems.append("only %d commands read the CTF" % good)
    tap.check("CTF with hostile names is told as text", found + problems)


def test_recorded(tap, scratch, model, rng):
    folder = os.path.join(scratch, "recorded")
    with tarfile.open(os.path.join(commands.ROOT, "tests/data/word-count.tar.gz")) as archive:
        archive.extractall(folder)
    folder = os.path.join(folder, os.listdir(folder)[0])
    recorded(folder, rng)
    tid = some_tid(folder)
    problems, good = check_trace(folder, tid, model, scratch)
    if good < 30:
        problems.append("only %d commands read the recording" % good)
    tap.check("a recording with hostile names is told as text", problems)


QUICK = [row for row in commands.COMMANDS if row[0].split()[0] in ("info", "list", "check-trace", "stats", "why")
         and "--place" not in row[0]]
COPIES = [("tests/fuzz/seeds/trace_dat/v6", 6), ("tests/fuzz/seeds/trace_dat/zstd", 2),
          ("tests/fuzz/seeds/perf_data/file", 6), ("tests/fuzz/seeds/perf_data/pipe", 4),
          ("tests/fuzz/seeds/perf_data/file-chain", 2), ("tests/data/read/mono-4k", 4)]


def test_copies(tap, scratch, model, rng):
    found = []
    for source, count in COPIES:
        for i in range(count):
            trace = os.path.join(scratch, "copy")
            shutil.rmtree(trace, ignore_errors=True)
            if os.path.exists(trace):
                os.unlink(trace)
            copied(os.path.join(commands.ROOT, source), trace, rng, 0.02 + 0.1 * (i / count))
            problems, _ = check_trace(trace, some_tid(trace), model, scratch, QUICK)
            found += ["%s: %s" % (source, problem) for problem in problems]
    tap.check("trace.dat, perf.data and pages with hostile words are told as text", found)


def test_models(tap, scratch, rng):
    """Names in a model that YAML allows, and models that are wrong."""
    names = [json.dumps((b"n" + hostile(rng)).decode(errors="replace")) for _ in range(4)]
    text = commands.MODEL.replace("any", names[0], 1).replace("initial: out", "initial: " + names[1])
    text = text.replace("  out:", "  %s:" % names[1]).replace("to: out", "to: " + names[1])
    text = text.replace("  in:", "  %s:" % names[2]).replace("to: in", "to: " + names[2])
    found, good = [], 0
    models = [text.encode()] + [hostile(rng) + text.encode(), text.replace("sched_waking", names[3]).encode(),
                                text.replace("deadline", names[3]).encode(), text.replace("1ns", names[3]).encode(),
                                text.encode().replace(b"key: thread", b"key: " + names[3].encode())]
    for data in models:
        path = os.path.join(scratch, "hostile.yaml")
        with open(path, "wb") as file:
            file.write(data)
        chosen = [row for row in commands.COMMANDS if "MODEL" in row[0]]
        chosen.append(("model check MODEL", "text"))
        problems, fine = check_trace(os.path.join(scratch, "text0"), 7, path, scratch, chosen)
        found += problems
        good += fine
    if not good:
        found.append("no model was read")
    tap.check("models with hostile names, right and wrong, are told as text", found)


def test_words(tap, scratch, rng):
    """What the user gives may come from others: the names of files under a glob."""
    found = []
    trace = os.path.join(scratch, "text0")
    folder = os.path.join(scratch.encode(), hostile(rng).replace(b"/", b""))
    os.mkdir(folder)
    named = os.path.join(folder, hostile(rng).replace(b"/", b""))
    shutil.copy(trace, named)
    spoiled = hostile(rng)
    for command, kind in commands.COMMANDS:
        words = commands.words_of(command, named, os.path.join(scratch, "no\x1b[2J"), 7, folder + b"/o" + spoiled)
        done = commands.run(words)
        found += problems_of(done, "binary" if kind in ("xml", "csv") else kind, "")
        for i, word in enumerate(words):
            if i == 0 or word == named:
                continue
            spoil = words[:i] + [spoiled] + words[i + 1:]
            found += problems_of(commands.run(spoil), "text", "")
            if str(word).startswith("--"):
                spoil = words[:i] + [word.encode() + b"=" + spoiled] + words[i + 1:]
                found += problems_of(commands.run(spoil), "text", "")
    for words in ([spoiled], ["help", spoiled], [b"--" + spoiled], ["list", "--filter", b"comm == \"" + spoiled, trace],
                  ["list", "--filter", b"text =~ \"(" + spoiled + b"\"", trace], ["why", "--from", spoiled, trace],
                  ["run", "-o", folder + b"/r", "--", spoiled], ["list", "--fields", spoiled, trace],
                  ["record", "--probe", spoiled, "--", "true"], ["user", "list", spoiled], ["recover", spoiled],
                  ["delays", "compare", named, named], ["delays", "--cgroup", spoiled], ["delays", "--comm", spoiled]):
        found += problems_of(commands.run(words), "text", "")
    tap.check("hostile words of a command line are told as text", found)


def test_processes(tap, rng):
    """Programs that run: the live commands."""
    name = hostile(rng, lines=True)[:15]
    code = "import ctypes,sys;ctypes.CDLL(None).prctl(15,bytes.fromhex('%s'),0,0,0);print(1,flush=True);sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code % name.hex(), b"arg" + hostile(rng)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        pid = str(process.pid)
        found = []
        for words in (["top", "--batch", "-n", "1", "-i", "0.1", "-p", pid], ["delays", pid], ["delays", "--json", pid],
                      ["delays", "--threads", pid], ["delays", "advise", pid], ["user", "list"], ["doctor"],
                      ["user", "--json", "list"], ["top", "--batch", "-n", "1", "-i", "0.1", "-f", hostile(rng)],
                      ["why", "--pid", pid]):
            kind = "json" if "--json" in words else "text"
            found += problems_of(commands.run(words), kind, "")
        process.stdin.close()
    tap.check("programs with hostile names are told as text", found)


def main():
    rng = random.Random(SEED)
    tap = commands.Tap()
    with tempfile.TemporaryDirectory(prefix="holdup-terminal-") as scratch:
        os.chdir(scratch)  # what a hostile word makes lies there
        model = os.path.join(scratch, "model.yaml")
        with open(model, "w", encoding="utf-8") as file:
            file.write(commands.MODEL)
        test_text(tap, scratch, model, rng)
        test_ctf(tap, scratch, model)
        test_recorded(tap, scratch, model, rng)
        test_copies(tap, scratch, model, rng)
        test_models(tap, scratch, rng)
        test_words(tap, scratch, rng)
        test_processes(tap, rng)
    tap.end()


if __name__ == "__main__":
    main()
