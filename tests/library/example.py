#!/usr/bin/env python3
"""example.py - the example of the reading library says what "holdup states" says.

usage: example.py PROGRAM        prints TAP; holdup is $HOLDUP, the traces are in $HOLDUP_TESTS/data

PROGRAM is examples/read-api/longest-waits. All it prints of a thread is worked out here once
more, by hand, from the intervals that "holdup states --json" prints.
"""
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

COLUMNS = 60
LETTERS = {"working": "#", "interrupted": "i", "blocked": ".", "uncertain": "?"}


def output_of(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def expected_waits(spans):
    """The ten longest waits that somebody ended, the earlier one of two first."""
    waits = [span for span in spans
             if span["wib"] == "blocked" and span["woken_by"]["kind"] not in ("none", "unknown")]
    waits.sort(key=lambda span: -span["ns"])
    lines = []
    for span in waits[:10]:
        by = span["woken_by"]
        obj = re.sub(r"^fd \d+( = )?", "", span["object"])
        line = f"{span['ns'] / 1e6:11.3f} ms  {span['state']}" + (f" ({obj})" if obj else "")
        who = f" {by['comm']}[{by['tid']}] in" if by["kind"] == "thread" else ""
        lines.append(f"{line}, ended by{who} {by['name']}")
    return lines


def is_row(row, spans):
    """Whether each column shows a state that the thread was in longest there."""
    match = re.fullmatch(r"\|(.{60})\| ([0-9.]+) ms", row)
    start, end = spans[0]["start_ns"], spans[-1]["end_ns"]
    if not match or match.group(2) != f"{(end - start) / 1e6:.3f}":
        return False
    for i, letter in enumerate(match.group(1)):
        from_ns = start + (end - start) * i // COLUMNS
        to_ns = start + (end - start) * (i + 1) // COLUMNS
        sums = {}
        for span in spans:
            ns = min(to_ns, span["end_ns"]) - max(from_ns, span["start_ns"])
            # All waits are one state.
            state = "" if span["wib"] == "blocked" else span["state"]
            if ns > 0:
                sums[span["wib"], state] = sums.get((span["wib"], state), 0) + ns
        longest = max(sums.values())
        if letter not in {LETTERS[key[0]] for key, ns in sums.items() if ns == longest}:
            return False
    return True


def check(program, trace, tid, words):
    """Returns what is wrong, or an empty text."""
    status, shown, err = output_of(program, trace, *words)
    listing = output_of(os.environ["HOLDUP"], "states", "--json", tid, trace)[1].splitlines()
    spans = [span for span in map(json.loads, listing) if "wib" in span]  # not what is around them
    lines = shown.splitlines()
    if status != 0 or err or len(lines) < 2:
        return f"exit {status}: {err}"
    if not lines[0].endswith(f"[{tid}]"):
        return f"the wrong thread: {lines[0]}"
    want = expected_waits(spans)
    if lines[1:-1] != want:
        return "\n".join(["printed:"] + lines[1:-1] + ["expected:"] + want)
    return "" if is_row(lines[-1], spans) else f"the wrong row: {lines[-1]}"


def mistakes(program, folder, results):
    trace = os.path.join(folder, "two-hogs.holdup")
    for what, words, status, said in [("no trace", [], 2, "usage:"),
                                      ("a missing trace", [trace + "x"], 1, "No such file"),
                                      ("a folder that is no trace", [folder], 1, "longest-waits:"),
                                      ("a missing thread", [trace, "99999"], 1, "no such thread")]:
        got, out, err = output_of(program, *words)
        good = got == status and not out and said in err
        results.append((good, f"{what} is refused in words", f"exit {got}: {err}"))


def main():
    program, results = sys.argv[1], []
    data = os.path.join(os.environ["HOLDUP_TESTS"], "data")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for name in sorted(os.listdir(data)):
            if name.endswith(".tar.gz"):
                with tarfile.open(os.path.join(data, name)) as archive:
                    archive.extractall(folder)
        for trace in sorted(os.listdir(folder)):
            path = os.path.join(folder, trace)
            with open(os.path.join(path, "trace.json"), encoding="utf-8") as file:
                target = str(json.load(file)["target_tid"])
            wrong = check(program, path, target, [])
            results.append((not wrong, f"{trace}: the command is told rightly", wrong))
            wrong = check(program, path, "1", ["1"])
            results.append((not wrong, f"{trace}: thread 1 is told rightly", wrong))
        # Known from examples/futex-convoy.c: it queues for a mutex; whoever is before it hands over.
        shown = output_of(program, os.path.join(folder, "futex-convoy.holdup"))[1].splitlines()
        good = len(shown) > 1 and re.search(r"futex \(futex 0x[0-9a-f]+\), ended by "
                                            r"convoy-waiter\[\d+\] in futex$", shown[1])
        results.append((good, "the longest wait of futex-convoy is for its mutex", str(shown)))
        mistakes(program, folder, results)

    print(f"1..{len(results)}")
    for number, (good, what, detail) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
        if not good:
            for line in detail.splitlines():
                print(f"# {line}")
    return 0 if all(good for good, _, _ in results) else 1


sys.exit(main())
