#!/usr/bin/env python3
"""export_ctf.py - a recording as CTF says what the recording says: to holdup, and to babeltrace2.

usage: export_ctf.py PROGRAM        prints TAP; holdup is $HOLDUP, the traces are in $HOLDUP_TESTS/data

PROGRAM is built from export_ctf.c. Each recording of tests/data is exported. What holdup then says
must be the same, byte for byte, but for the places in the files. babeltrace2, where it is
installed, must read the same events: times, CPUs, threads, names, and the values of all fields.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

SAME = [["list"], ["list", "--fields", "time,wall,cpu,tid,comm,event"], ["why", "--json"],
        ["stats", "--json", "--events"], ["stats", "--json", "--by", "thread"], ["locks"]]
FIELD_OF_FORMAT = re.compile(r"(pad_\d+|.*_loc)$")  # places of texts, and bytes between fields


def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=120, env=dict(os.environ, TZ="UTC"))
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode()


def holdup(*words):
    return run(kernel.HOLDUP, *words)


def listed(trace, *options):
    """The events; without their places in the files."""
    events = [json.loads(line) for line in
              holdup("list", "--json", *options, trace)[1].splitlines()]
    for event in events:
        del event["place"]
    return events


def first_difference(ours, theirs):
    if len(ours) != len(theirs):
        return "%d, not %d" % (len(theirs), len(ours))
    return next(("%s, not %s" % (b, a) for a, b in zip(ours, theirs) if a != b), "")


# ------------------------------------------------------------------ babeltrace2's text

TOKEN = re.compile(r'"((?:\\.|[^"\\])*)"|([{}\[\](),:=])|([^\s{}\[\](),:="]+)')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "f": "\f", "v": "\v", "b": "\b",
           "e": "\x1b"}
LINE = re.compile(r"\[(\d+)\.(\d{9})\] (?:\S+ )?(\S+): (\{.*)$")


class Text:
    """{ a = 1, b = [ [0] = "x" ] }, { c = 2 } as dicts and lists."""

    def __init__(self, text):
        self.tokens = [(re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), m[1]), True)
                       if m[1] is not None else (m[2] or m[3], False)
                       for m in TOKEN.finditer(text)]
        self.at = 0

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1][0]

    def is_mark(self, mark):
        return self.at < len(self.tokens) and self.tokens[self.at] == (mark, False)

    def value(self):
        text, is_text = self.tokens[self.at]
        self.at += 1
        if is_text:
            return text
        if text == "{":
            return self.items("}", lambda: (self.take(), self.take()), dict)
        if text == "[":
            found = self.items("]", lambda: [self.take() for _ in range(4)], list)
            return [value for _, value in found]
        return int(text, 0)

    def items(self, end, head, kind):
        found = []
        while not self.is_mark(end):
            name = head()[0]
            found.append((name, self.value()))
            if self.is_mark(","):
                self.take()
        self.take()
        return kind(found)

    def whole(self):
        found = [self.value()]
        while self.is_mark(","):
            self.take()
            found.append(self.value())
        return found


def of_babeltrace(trace):
    """(ns since 1970, name, CPU, thread, fields) of each event; the state dump is left out."""
    done = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", trace],
                          capture_output=True, check=False, timeout=120)
    events = []
    for line in done.stdout.decode(errors="replace").split("\n"):
        match = LINE.match(line)
        if line and not match:
            raise SystemExit("babeltrace2 printed: " + line)
        if not match or match[3].startswith("holdup_") and match[3] != "holdup_fd_name":
            continue
        packet, context, fields = Text(match[4]).whole()
        fields = {name: value for name, value in fields.items()
                  if not FIELD_OF_FORMAT.match(name)}
        events.append((int(match[1]) * 10**9 + int(match[2]), match[3], packet["cpu_id"],
                       context["common_pid"],
                       of_name(fields) if match[3] == "holdup_fd_name" else fields))
    return done.stderr.decode(), events


def of_name(fields):
    """What a descriptor names, as holdup list tells it."""
    return {"pid" if name == "tgid" else name: value for name, value in fields.items()
            if name != "role"}


def ours_of(trace):
    offset = json.loads(holdup("info", "--json", trace)[1])["realtime_offset_ns"]
    for event in listed(trace):
        name = event["event"].split(":", 1)[1]
        is_name = event["event"] == "holdup:fd_name"
        yield (event["time_ns"] + offset, "holdup_fd_name" if is_name else name,
               0 if is_name else event["cpu"], 0 if is_name else event["tid"],
               event["fields"])


def in_order(events):
    return sorted(events, key=lambda event: (event[:4], json.dumps(event[4], sort_keys=True)))


# ------------------------------------------------------------------ the tests

def unpack(into):
    data = os.path.join(os.environ.get("HOLDUP_TESTS", "tests"), "data")
    for name in sorted(os.listdir(data)):
        if name.endswith(".tar.gz"):
            with tarfile.open(os.path.join(data, name)) as archive:
                archive.extractall(into)
    return sorted(os.listdir(into))


def check_trace(test, program, trace, exported):
    name = os.path.basename(trace)
    os.mkdir(exported)
    status, count, message = run(program, trace, exported)
    if not test.ok(status == 0, name + ": is exported", message):
        return
    events = json.loads(holdup("info", "--json", trace)[1])["events"]
    test.ok(int(count) == events, name + ": all events are", "%s, not %d" % (count, events))
    for words in SAME:
        ours, theirs = holdup(*words, trace), holdup(*words, exported)
        test.ok(ours == theirs and ours[0] == 0 and (ours[1] or words == ["locks"]),
                "%s: %s is the same" % (name, " ".join(words)),
                first_difference(ours[1].split("\n"), theirs[1].split("\n")), theirs[2])
    wrong = first_difference(listed(trace), listed(exported))
    test.ok(not wrong, name + ": list --json is the same", wrong)
    status, out, _ = holdup("check-trace", exported)
    test.ok(status == 0, name + ": all that must hold holds", out)
    if not shutil.which("babeltrace2"):
        return
    message, theirs = of_babeltrace(exported)
    test.ok(not message, name + ": babeltrace2 has nothing to say", message)
    wrong = first_difference(in_order(ours_of(trace)), in_order(theirs))
    test.ok(theirs and not wrong, name + ": babeltrace2 reads the same events", wrong)


def damage_of(trace):
    return json.loads(holdup("info", "--json", trace)[1])["damage"]


def check_beside(test, trace, exported):
    """What lies in user/ of a recording, where programs write, cannot pass for the kernel's."""
    shutil.copytree(os.path.join(exported, "kernel"), os.path.join(trace, "user", "program"))
    before = {" ".join(words): holdup(*words, trace) for words in SAME}
    damage = damage_of(trace)
    test.ok(any("would pass for the kernel's" in text for text in damage),
            "events of a kernel beside a recording are refused", damage)
    metadata = os.path.join(trace, "user", "program", "metadata")
    with open(metadata, encoding="utf-8") as file:
        text = file.read()
    # They say that they are a program's: they are read as that, and nobody's state rests on them.
    for kind in ("kernel", "name", "state"):
        text = text.replace("record=%s&" % kind, "record=user&")
    os.remove(metadata)
    with open(metadata, "w", encoding="utf-8") as file:
        file.write(text.replace("holdup_export = 1", "holdup_export = 0"))
    for words in (["why", "--json"], ["stats", "--json", "--by", "thread"]):
        # Both name the damage of the trace.
        ours, theirs = (json.loads(out[1]) for out in (before[" ".join(words)],
                                                       holdup(*words, trace)))
        for report in (ours, theirs):
            report.pop("damage", None)
        test.ok(ours == theirs, "%s does not rest on them" % " ".join(words),
                [key for key in ours if ours[key] != theirs.get(key)])
    info = json.loads(holdup("info", "--json", trace)[1])
    kernels = sum(one["events"] for one in info["streams"] if one["kind"] == "kernel")
    alone = json.loads(holdup("info", "--json", exported)[1])["events"]
    test.ok(kernels == alone, "and they are no kernel's in the list of streams",
            "%d, not %d" % (kernels, alone))
    told = sum(one["events"] for one in info["streams"] if one["kind"] == "user")
    test.ok(told == info["events"] - kernels > 0, "but those of a program",
            info["streams"], info["damage"])


def main():
    test = kernel.Tap()
    with tempfile.TemporaryDirectory() as into:
        os.environ["XDG_CACHE_HOME"] = os.path.join(into, "cache")
        traces = os.path.join(into, "traces")
        os.mkdir(traces)
        for name in unpack(traces):
            check_trace(test, sys.argv[1], os.path.join(traces, name), os.path.join(into, name))
        check_beside(test, os.path.join(traces, name), os.path.join(into, name))
    test.end()


if __name__ == "__main__":
    main()
