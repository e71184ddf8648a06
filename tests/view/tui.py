#!/usr/bin/env python3
"""The viewer in a pseudo terminal: its causes are those of why, each cell is the state that states gives most of its time,
keys, sizes, and names that mean no good. Prints TAP."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import others  # noqa: E402
import viewer  # noqa: E402
import terminal  # noqa: E402  of tests/kernel/lib

GUTTERS = {80: 20, 140: 26, 200: 34}  # of tui/viewer_draw.c
WORK, KERNEL, IRQ, QUEUE = "█", "▓", "i", "▒"
ASCII = str.maketrans({"█": "#", "▓": "%", "▒": "=", "░": "?", "·": ".", "│": "|", "▾": "-", "▸": "+"})
BLOCKED = {"futex": "LTO", "clock_nanosleep": "z"}  # in other calls: by what they were about
EVIL = [b"\x1b]0;x\x07", b"\x1b[2J", b"\xc2\x9b31m", b"\xe2\x80\xae", b"\x07"]


def show(*words, rows=24, columns=80, env=None):
    return terminal.Terminal([viewer.HOLDUP, "view", "--tui", *words], rows=rows, columns=columns, env=dict(viewer.ENV, **(env or {})))


def end(tap, run, name):
    run.send("q")
    tap.ok(run.wait() == 0 and run.is_restored() and not run.screen.unknown, "%s: q ends it, and the terminal is as before" % name,
           run.status, run.screen.unknown, *run.screen.text())
    run.close()


def line_with(run, text):
    return next((line for line in run.screen.text() if text in line), "")


def spans_of(path, tid):
    lines = viewer.run("states", "--json", str(tid), path).stdout.splitlines()
    return [span for span in map(json.loads, lines) if "wib" in span]


def kind_of(span):
    """What a span is told apart by, and the characters that may stand for it."""
    wib, state = span["wib"], span["state"]
    if wib == "working":
        return (WORK if state in ("own code", "running") else KERNEL, None)
    if wib == "interrupted":
        return (QUEUE if "CPU" in state or "preempted" in state else IRQ, None)
    return (BLOCKED.get(state, "LDNTOz·Su"), state) if wib == "blocked" else ("░", None)


def wrong_cells(spans, cells, start, end):
    """Columns whose character is not that of the kind with most of the time that the thread lived; in a tie any of these."""
    wrong, width = [], len(cells)
    for column, cell in enumerate(cells):
        begin, stop = start + (end - start) * column // width, start + (end - start) * (column + 1) // width
        sums = {}
        for span in spans:
            ns = min(stop, span["end_ns"]) - max(begin, span["start_ns"])
            if ns > 0:
                sums[kind_of(span)] = sums.get(kind_of(span), 0) + ns
        if not (any(cell in kind[0] for kind, ns in sums.items() if ns == max(sums.values())) if sums else cell == " "):
            wrong.append((column, cell, sums))
    return wrong


def answered(run):
    """The first answer is there, whoever was shown before."""
    return run.until(lambda lines: any(re.search(r"CAUSE, [1-9]\d* of \d+$", line) for line in lines), viewer.PATIENCE)


def cells_are_states(tap, path, answer):
    """Over the whole of the command, and over a part of it, where single waits are seen."""
    start, end_ns = answer["window"]["start_ns"], answer["window"]["end_ns"]
    middle = (start + end_ns) // 2
    seen = 0
    for first, last, columns in ((start, end_ns, 80), (start, end_ns, 200), (middle, middle + 7_654_321, 140)):
        when = ["--from", "%d.%09d" % divmod(first, 10**9), "--to", "%d.%09d" % divmod(last, 10**9)]
        run = show(*when, path, rows=40, columns=columns)
        answered(run)
        run.settle()
        for line in run.screen.text():
            lane = re.match(r"[> ][* ] *[^ ]+\[(\d+)\] ", line[:GUTTERS[columns]])
            if not lane or line[GUTTERS[columns] - 1] != " ":
                continue
            cells = line[GUTTERS[columns]:].ljust(columns - GUTTERS[columns])
            wrong = wrong_cells(spans_of(path, lane.group(1)), cells, first, last)
            seen += 1
            tap.ok(not wrong, "%d columns of thread %s, %d ns each, are what took most of them" %
                   (len(cells), lane.group(1), (last - first) // len(cells)), *wrong[:5], line)
        end(tap, run, "%d columns" % columns)
    tap.ok(seen >= 6, "%d lanes were compared" % seen)


def causes_are_those_of_why(tap, run, answer):
    lines = [line for line in run.screen.text()[3:] if re.match(r"[> ] *[<0-9.]+ % ", line)]
    wrong = [(line, cause) for line, cause in zip(lines, answer["verdict"])
             if (cause["who"] and cause["who"]["comm"] not in line and "itself" not in line) or
             not re.match(r"[> ] *%s" % re.escape("%.1f" % (cause["share"] * 100)).replace(r"\.0", r"(\.0)?"), line)]
    tap.ok(len(lines) >= 4 and not wrong, "the first %d causes are those of why" % len(lines), *wrong)
    tap.ok(lines and lines[0][0] == ">" and "^" not in line_with(run, "the cause"), "the largest is selected, and the cursor is where it was")
    tap.ok(answer["target"]["comm"] in run.screen.text()[0], "the sentence is on top")


def keys(tap, path, answer):
    run = show(path)
    answered(run)
    run.settle()
    causes_are_those_of_why(tap, run, answer)
    tap.ok(run.shows("charged to: "), "a wait on which the cursor rests says what it was charged to", *run.screen.text())
    with open(os.path.join(viewer.ROOT, "docs/view.md"), encoding="utf-8") as text:
        tap.ok("```\n%s\n```\n" % "\n".join(run.screen.text()) in text.read(), "the screen is that of docs/view.md", *run.screen.text())
    whole = line_with(run, "LANES")
    run.send("w")
    tap.ok(run.until(lambda lines: line_with(run, "LANES") not in ("", whole), viewer.PATIENCE), "w zooms")
    run.send("f")
    run.settle()
    before = line_with(run, "LANES")
    run.send("\x1bOB" * 2)
    tap.ok(run.shows("CAUSE, 3 of"), "the cursor keys select a cause")
    run.send("0\t/holder\r")
    tap.ok(run.shows("1 of 1 found") and line_with(run, "convoy-hold[").startswith(">"), "a search selects its lane", before, *run.screen.text())
    run.send("\t\x1bOHc")
    tap.ok(run.shows("hop 1 of") and "waited in futex" in "".join(run.screen.text()), "the chain is a list of hops", *run.screen.text())
    run.send("]")
    tap.ok(run.shows("hop 2 of"), "] steps along it")
    run.send("?")
    tap.ok(run.shows("any key: back"), "? shows the keys")
    run.send(" ")
    run.shows("LANES")
    sizes(tap, run)
    end(tap, run, "the keys")


def other_lanes(tap):
    """The planted requests, packets and the lock of view/others.py as rows: each cell at its place."""
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        path = os.path.join(folder, "planted.txt")
        with open(path, "w", encoding="utf-8") as out:
            out.write(others.PLANTED)
        run = show(path, columns=100)
        run.shows("LANES", viewer.PATIENCE)
        run.send("?")
        tap.ok(run.shows("locks, disks, network, programs, pressure as rows"), "? says how other lanes are shown", *run.screen.text())
        run.send(" 0o")
        tap.ok(run.shows("Locks: 1", viewer.PATIENCE) and run.shows("w waited for; no holder is known", viewer.PATIENCE), "o shows them", *run.screen.text())
        cells = {name: line_with(run, name)[26:].ljust(74) for name in ("disk 8:0", "<img> sent", "kernel rw lock")}
        drawn = {name: {column for column, cell in enumerate(text) if cell != " "} for name, text in cells.items()}
        place = lambda first, last: set(range(round(first * 74), round(last * 74)))  # noqa: E731
        near = lambda one, two: len(one ^ two) <= 2  # noqa: E731  a column of each end is shared
        tap.ok(near(drawn["disk 8:0"], place(.1, .7)) and near({i for i, cell in enumerate(cells["disk 8:0"]) if cell == "█"}, place(.2, .4)),
               "requests in flight are drawn by their number, at their places", *cells.values())
        tap.ok(near(drawn["kernel rw lock"], place(.8, .9)) and set(cells["kernel rw lock"]) == {" ", "w"} and len(drawn["<img> sent"]) == 2,
               "so are the wait for a lock and the packets", *cells.values())
        run.send("\x1bOB")
        tap.ok(run.shows("in this window: waited for; no holder is known 100 ms"), "the row that is selected says its sums", *run.screen.text())
        run.send("o")
        tap.ok(run.until(lambda lines: not any("disk 8:0" in line for line in lines)), "o again: they are gone", *run.screen.text())
        end(tap, run, "other lanes")


def sizes(tap, run):
    run.resize(20, 60)
    tap.ok(run.shows("At least 80 x 24"), "a screen that is too small is refused in words", *run.screen.text())
    run.resize(50, 200)
    tap.ok(run.shows("LANES") and run.shows("hop 2 of"), "a larger one shows all again", *run.screen.text())


def signals(tap, path):
    for number in (signal.SIGINT, signal.SIGTERM):
        run = show(path)
        run.shows("LANES")
        run.kill(number)
        tap.ok(run.wait() == 0 and run.is_restored(), "%s ends it, and the terminal is as before" % number.name, run.status)
        run.close()


def ascii_alone(tap, path):
    texts = []
    for locale in ("C.UTF-8", "C"):
        run = show(path, env={"LC_ALL": locale})
        answered(run)
        run.shows("charged to: ", viewer.PATIENCE)
        texts.append([line[:20 if line.startswith(("> ", ">*", "  ", " *", "* ")) else 0] + line[20:] for line in run.screen.text()])
        raw = run.raw
        end(tap, run, locale)
    lane = [line.translate(ASCII) for line in texts[0] if "convoy-hold[" in line]
    tap.ok(lane and lane == [line for line in texts[1] if "convoy-hold[" in line] and max(raw) < 0x80, "without UTF-8 it is the same in ASCII", lane, *texts[1])


def hostile(tap):
    line = b"%16s-%-5d [000] d..2. %12.6f: sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=%s next_pid=%d next_prio=120\n"
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        path = os.path.join(folder, "trace.txt")
        with open(path, "wb") as out:
            out.write(b"# tracer: nop\n#\n")
            for i in range(40):
                here, there = EVIL[i % 5], EVIL[(i + 1) % 5]
                out.write(line % (here, 100 + i % 5, 10 + i / 100, here, 100 + i % 5, there, 100 + (i + 1) % 5))
        run = show(path)
        run.shows("LANES")
        run.send("u\t\x1bOB\x1bOBce/x\r?x")
        run.settle(0.4)
        found = [evil for evil in EVIL if evil in run.raw.replace(b"\x1b[H\x1b[2J", b"")]
        tap.ok(run.shows("\\x1b") and not found, "names of a hostile trace are text", found, *run.screen.text())
        end(tap, run, "the hostile trace")


def in_words(tap, path):
    done = subprocess.run([viewer.HOLDUP, "view", "--tui", path], env=viewer.ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(done.returncode == 3 and "not a terminal" in done.stderr and not done.stdout, "what is no terminal is refused", done)
    run = show(path, env={"TERM": "dumb"})
    tap.ok(run.wait() == 3 and "TERM=dumb" in "".join(run.screen.text()), "so is one that cannot move its cursor", *run.screen.text())
    run.close()
    for words in (["--save", "x.html"], ["--svg", "x.svg"], ["--listen"], ["--live"], ["--keep"]):
        done = viewer.run("view", "--tui", *words, path)
        tap.ok(done.returncode == 2 and done.stderr, "--tui excludes %s" % words[0], done)


def main():
    tap = viewer.Tap()
    with viewer.trace("futex-convoy") as path:
        answer = json.loads(viewer.run("why", "--json", path).stdout)
        cells_are_states(tap, path, answer)
        keys(tap, path, answer)
        signals(tap, path)
        ascii_alone(tap, path)
        in_words(tap, path)
    other_lanes(tap)
    hostile(tap)
    tap.end()


if __name__ == "__main__":
    main()
