#!/usr/bin/env python3
"""Read every CTF trace of a folder of real and of deliberately odd traces, and hold what
holdup list says of it against what was expected.

$HOLDUP_CTF_TRACES, or ../shared/traces beside the project, has 01-ctf-real and 02-ctf-conformance, each with archives (*.tar.zst) and
a CSV of expected answers: verdict, number of events, events discarded, and a checksum of
"SECONDS.NANOSECONDS NAME" of all events, sorted. None of them was computed by holdup. Where
babeltrace2 is installed, the fields of the real traces are compared with its text.
Neither root nor a kernel is needed. Skipped when the folder is not there.
"""
import calendar
import collections
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402

ENV = dict(os.environ, TZ="UTC")
TRACES = os.environ.get("HOLDUP_CTF_TRACES") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "../../../shared/traces")
BABELTRACE_S = 10  # it may take: no event of its text is one of ours then
LOST = "holdup:lost_events"

Listed = collections.namedtuple("Listed", "status message events lost holes packets")
Event = collections.namedtuple("Event", "ns name fields")


def run(*args):
    done = subprocess.run([kernel.HOLDUP, *args], capture_output=True, env=ENV, check=False,
                          timeout=300)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def wall_ns(wall):
    """'2014-10-07T08:22:41.211260539' as ns since 1970."""
    date, fraction = wall.split(".")
    numbers = [int(part) for part in re.split("[-T:]", date)]
    return calendar.timegm((*numbers, 0, 0, 0)) * 10**9 + int(fraction)


def offset_of(trace):
    """What has to be added to times of the trace to get ns since 1970."""
    _, out, _ = run("list", "--json", "--fields", "time,wall", "-n", "1", trace)
    if not out:
        return 0
    first = json.loads(out)
    return wall_ns(first["wall"]) - first["time_ns"]


def name_of(title):
    """The name as the tracer wrote it: ours has its own name before those without a colon."""
    system, name = title.split(":", 1)
    return name if system in ("kernel", "ctf") else title


def listed(trace):
    status, out, message = run("list", "--json", trace)
    offset, events, lost, holes, packets = offset_of(trace), [], 0, 0, 0
    for line in out.decode(errors="replace").splitlines():
        event = json.loads(line)
        if event["event"] == LOST:
            lost += event["fields"]["lost"] or 0
            holes += 1
            packets += event["fields"].get("packets", 0)
        else:
            events.append(Event(event["time_ns"] + offset, name_of(event["event"]),
                                event["fields"]))
    return Listed(status, message, events, lost, holes, packets)


def digest(events):
    lines = sorted(b"%d.%09d %s\n" % (event.ns // 10**9, event.ns % 10**9, event.name.encode())
                   for event in events)
    return hashlib.sha256(b"".join(lines)).hexdigest()


# ------------------------------------------------------------------ babeltrace2's text

TOKEN = re.compile(r'"((?:\\.|[^"\\])*)"|([{}\[\](),:=])|([^\s{}\[\](),:="]+)')
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r", "a": "\a", "e": "\x1b",
           "f": "\f", "v": "\v", "b": "\b"}


def leaves(text):
    """The values in "{ a = 1, b = [ [0] = "x" ], c = ( "L" : container = 3 ) }", in order."""
    tokens = [("text", re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), m[1]))
              if m[1] is not None else ("mark", m[2]) if m[2] else ("word", m[3])
              for m in TOKEN.finditer(text)]
    found, i = [], 0
    while i < len(tokens):
        if tokens[i] == ("mark", "=") and tokens[i + 1][0] != "mark":
            found.append(tokens[i + 1][1])
            i += 1
        i += 1
    return [plain(value) for value in found]


def plain(value):
    """A number as such, whatever its base; a float cut to what both print."""
    if re.match(r"0[0-7]+$", value):
        return str(int(value, 8))
    try:
        return str(int(value, 0))
    except ValueError:
        pass
    try:
        return "%g" % float(value)
    except ValueError:
        return value


def our_leaves(fields):
    found = []
    for value in fields.values():
        if isinstance(value, list):
            found += [str(one) for one in value]
        elif isinstance(value, str) and re.match(r"[{\[] .* [}\]]$", value):
            found += leaves(value)
        else:
            found.append(plain(str(value)))
    return found


def of_babeltrace(trace, names):
    """Its events: time, name, values. Contexts of packets are no fields of ours."""
    try:
        out = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", trace],
                             capture_output=True, check=False, timeout=BABELTRACE_S).stdout
    except subprocess.TimeoutExpired:
        return []
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    line = re.compile(r"\[(\d+)\.(\d{9})\] (?:.*? )??(" + known + r"): (.*)$")
    events = []
    for match in map(line.match, out.decode(errors="replace").split("\n")):
        if match:
            values = re.sub(r"^\{ cpu_id = \d+ \}(, )?", "", match[4])
            events.append((int(match[1]) * 10**9 + int(match[2]), match[3], leaves(values)))
    return events


def is_twos(ours, its):
    """A negative number, of which babeltrace2 prints the bits of all digits in bases 16 and 8."""
    if not re.match(r"-\d+$", ours) or not its.isdigit():
        return False
    return any(int(ours) & (1 << bits) - 1 == int(its) for bits in (*range(4, 65, 4), *range(3, 67, 3)))


def compare_fields(trace, events):
    """How many events have other values; the first of them as a text."""
    theirs = of_babeltrace(trace, {event.name for event in events})
    if len(theirs) != len(events):
        return len(events), "babeltrace2 read %d events" % len(theirs)
    wrong, first = 0, ""
    theirs.sort(key=lambda event: (event[0], event[1]))
    for group in grouped(sorted(events, key=lambda event: (event.ns, event.name)), theirs):
        ours = sorted((event.ns, event.name, our_leaves(event.fields)) for event in group[0])
        for mine, its in zip(ours, sorted(group[1])):
            # Version 2.0.4 prints an empty text as the one before it.
            same = mine[:2] == its[:2] and len(mine[2]) == len(its[2]) and all(
                a in ("", b) or is_twos(a, b) for a, b in zip(mine[2], its[2]))
            if not same:
                wrong += 1
                first = first or "%s, not %s" % (mine, its)
    return wrong, first


def grouped(ours, theirs):
    """Events of the same time and name, of both."""
    start = 0
    for i in range(1, len(ours) + 1):
        if i == len(ours) or ours[i][:2] != ours[start][:2]:
            yield ours[start:i], theirs[start:i]
            start = i


# ------------------------------------------------------------------ the folders

def unpack(folder, into):
    for archive in glob.glob(os.path.join(TRACES, folder, "*.tar.zst")):
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", into], check=True)


def unpack_one(archive, trace):
    """Here, as 'trace'. False: it is not there."""
    path = os.path.join(TRACES, archive)
    if not os.path.exists(path):
        return False
    unpacks = ["tar", "-xf", path] if archive.endswith(".tar.zst") else ["zstd", "-qdfo", trace, path]
    subprocess.run(unpacks, check=True)
    return True


def rows(folder, name):
    return kernel.csv_rows(TRACES, folder, name)


def check_real(test, into):
    for row in rows("01-ctf-real", "expected-summary.csv"):
        trace = os.path.join(into, row["trace"])
        got = listed(trace)
        test.check(row["trace"] + ": events and events lost",
                   (got.status, len(got.events), got.lost) ==
                   (0, int(row["events"]), int(row["discarded_events"])),
                   "%s %s" % (got[:2], (len(got.events), got.lost)))
        test.check(row["trace"] + ": times and names",
                   digest(got.events) == row["sha256_ts_name"], "another checksum")
        if shutil.which("babeltrace2") and row["reader"] == "babeltrace2":
            wrong, first = compare_fields(trace, got.events)
            test.check(row["trace"] + ": values of fields", wrong == 0,
                       "%d events differ: %s" % (wrong, first))


def case_folder(into, case, work):
    """The trace of a case: some have only metadata, within a text with the expected error."""
    path = os.path.join(into, case)
    if os.path.isdir(path):
        inner = os.path.join(path, "trace")
        return inner if os.path.isdir(inner) else path
    folder = os.path.join(work, case.replace("/", "_"))
    os.mkdir(folder)
    with open(path, "rb") as file:
        data = file.read()
    if "yactfr-metadata/" in case:
        parts = data.split(b"\n---\n")
        data = parts[1] if len(parts) > 1 else data
        if "/ctf-2" in case:  # behind types that are for TSDL only
            data = data[max(data.rfind(b"{", 0, data.find(b'"preamble"')), 0):]
    with open(os.path.join(folder, "metadata"), "wb") as file:
        file.write(data)
    return folder


# babeltrace2 reads these, and so does holdup: yactfr is stricter than the tracers that write such metadata.
LENIENT = {"yactfr-metadata/ctf-1/fail-" + case for case in (
    "ctf-testsuite-array-size-identifier", "ctf-testsuite-array-size-string",
    "ctf-testsuite-enum-field-value-out-of-range",
    "ctf-testsuite-enum-type-negative-out-of-range", "ctf-testsuite-enum-values-too-small",
    "ctf-testsuite-integer-encoding-as-string", "ctf-testsuite-integer-signed-as-string",
    "ctf-testsuite-variant-string-fields", "env-dup", "env-out-of-range", "env-out-of-range-pos",
    "fl-enum-type-len-too-small-1", "fl-enum-type-val-out-of-range-1",
    "fl-enum-type-val-out-of-range-5", "fl-float-type-unknown-attr", "fl-int-type-unknown-attr",
    "fl-int-type-wrong-signed-attr-1", "fl-int-type-wrong-signed-attr-3",
    "nt-str-type-unknown-attr", "struct-type-min-align-zero", "var-type-empty")}

# And these, which babeltrace2 2.0 does not read: it stops at a clock that is not there, and dies of one
# without a stream. Two are a mistake of syntax to it, but have only one meaning: variant-tag-string has
# the tag in quotes, and what var-type-named-rel-sel-loc does, a named variant with its tag, CTF 1.8
# allows, as yactfr says itself.
ONLY_OURS = {"yactfr-metadata/ctf-1/fail-" + case for case in (
    "clk-type-wrong-absolute-attr-1", "ctf-testsuite-variant-tag-string",
    "fl-int-type-wrong-map-attr-1", "var-type-named-rel-sel-loc")}


def must_refuse(row):
    return row["verdict"] == "fail" and row["case"] not in LENIENT | ONLY_OURS


# These packets hold a text that is no whole metadata: test_ctf_meta.c unpacks them.
PARTS = ("yactfr-metadata-stream/pass-23-pkts", "yactfr-metadata-stream/pass-with-signature")


def check_lenient(test, case, trace):
    """That babeltrace2 reads it is not only said."""
    read = subprocess.run(["babeltrace2", trace], capture_output=True, check=False, timeout=10)
    test.check(case + ": babeltrace2 reads it", read.returncode == 0,
               read.stderr.decode(errors="replace"))


def check_odd(test, into):
    work = os.path.join(into, "work")
    os.mkdir(work)
    for row in rows("02-ctf-conformance", "expected.csv"):
        if row["case"] in PARTS:
            continue
        trace = case_folder(into, row["case"], work)
        got = listed(trace)
        refused = got.status != 0 or "damaged: " in got.message
        test.check(row["case"] + ": verdict", refused == must_refuse(row),
                   "%s, but got %s %s" % (row["verdict"], got.status, got.message))
        if row["case"] in LENIENT and shutil.which("babeltrace2"):
            check_lenient(test, row["case"], trace)
        if row["verdict"] == "pass" and row["events"]:
            test.check(row["case"] + ": events", len(got.events) == int(row["events"]),
                       "%d, not %s" % (len(got.events), row["events"]))
        if row["verdict"] == "pass" and row["discarded_events"]:
            test.check(row["case"] + ": events lost", got.lost == int(row["discarded_events"]),
                       "%d, not %s" % (got.lost, row["discarded_events"]))
        if row["discarded_packets"] not in ("", "0"):
            test.check(row["case"] + ": packets that are missing",
                       got.packets == int(row["discarded_packets"]),
                       "%d, not %s" % (got.packets, row["discarded_packets"]))
        if row["verdict"] == "pass" and row["sha256_ts_name"]:
            test.check(row["case"] + ": times and names",
                       digest(got.events) == row["sha256_ts_name"], "another checksum")


class Test(kernel.Tap):
    def check(self, name, good, *details):
        return self.ok(good, name, *details)


def main():
    if not os.path.isdir(os.path.join(TRACES, "01-ctf-real")):
        kernel.absent("HOLDUP_CTF_TRACES names no folder with 01-ctf-real")
    test = Test()
    with tempfile.TemporaryDirectory() as into:
        unpack("01-ctf-real", into)
        unpack("02-ctf-conformance", into)
        check_real(test, into)
        check_odd(test, into)
    test.end()


if __name__ == "__main__":
    main()
