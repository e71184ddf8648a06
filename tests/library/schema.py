#!/usr/bin/python3
"""Every JSON report is what docs/schema says: no key more, none less, one vocabulary.

usage: schema.py        prints TAP; the program is $HOLDUP

Debian's python3, whose jsonschema is there, whichever python3 comes first in PATH.
"""
import csv
import glob
import json
import os
import subprocess
import sys
import tarfile
import tempfile

import jsonschema

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
HOLDUP = os.path.realpath(os.environ.get("HOLDUP") or os.path.join(ROOT, "build/holdup"))
MODEL = os.path.join(ROOT, "tests", "golden", "check-a-deadline", "slow-calls.yaml")
NOBODY = 65534
TRACES = ("futex-convoy", "word-count", "idle-server", "wait-child", "fork-chain", "two-hogs", "tick-dodger")

# Schema, command line behind it; TRACE is each of the traces, TID the command's thread.
COMMANDS = (
    ("why", "why --json TRACE"), ("why", "why --json --pid TID TRACE"), ("why", "why --json --comm sh TRACE"),
    ("why", "why --json --threads --pid TID TRACE"), ("why", "why --json --class cpu TRACE"),
    ("stats", "stats --json TRACE"), ("stats", "stats --json --by thread --ps --events TRACE"), ("stats", "stats --json --by comm TRACE"),
    ("stats-functions", "stats --json --by function TRACE"), ("stats-functions", "stats --json --by function --sort name --tid TID TRACE"),
    ("breakdown", "breakdown --json TID TRACE"), ("states", "states --json TID TRACE"),
    ("list", "list --json --lines 200 --state --place TRACE"), ("list", "list --json --count-by comm,event TRACE"),
    ("hot", "hot --json --by function TRACE"), ("hot", "hot --json --by line TRACE"), ("hot", "hot --json --by process --of-verdict TRACE"),
    ("hot", "hot --json --waits TRACE"), ("locks", "locks --json TRACE"), ("info", "info --json TRACE"), ("check-trace", "check-trace --json TRACE"),
    ("index", "index --json TRACE"), ("names", "names --json TRACE"), ("cut", "cut --json --from +1ms -o CUT TRACE"),
    ("export-jsonl", "export --format jsonl --what intervals TRACE"), ("export-jsonl", "export --format jsonl --what waits TRACE"),
    ("export-jsonl", "export --format jsonl --what edges TRACE"), ("delays", "delays --json --all TRACE"), ("delays", "delays --json TID TRACE"),
)
ONCE = (("doctor", "doctor --json"), ("stuck", "stuck --json --all"), ("stuck-watch", "stuck --json --all --watch 100ms --on chain>1ms --count 1"), ("flight-list", "flight list --json --dir FLIGHT"), ("user", "user list --json"), ("delays", "delays --json --all"), ("delays", "delays advise --json --all"),
        ("check", "check --json MODEL TRACE"), ("check", "check --json MODEL CONVOY"))


def schemas():
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "schema", "*.schema.json"))):
        with open(path) as file:
            found[os.path.basename(path)] = json.load(file)
    return found


class Tap:
    def __init__(self):
        self.count, self.failed = 0, 0

    def ok(self, is_ok, name, *why):
        self.count += 1
        self.failed += not is_ok
        print("%s %d - %s" % ("ok" if is_ok else "not ok", self.count, name))
        for text in () if is_ok else why:
            print("# " + str(text)[:1500].replace("\n", "\n# "))


def objects_of(text):
    """One value, or one a line."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def wrongs(validator, text):
    """Where a report is not what its schema says, the deepest mistakes first."""
    for value in objects_of(text):
        for error in validator.iter_errors(value):
            while error.context:
                error = max(error.context, key=lambda one: len(one.absolute_path))
            yield "%s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:300])


def add_stacks(trace, manifest):
    """Samples of the command, and a wait, so that reports have code to tell."""
    lines = ["holdup-stacks 2", "P\t5025125\t0\ttree", "F\t-\t1160\t21\tload\tload(int)\tprog\t/bin/prog\taa\tload.c",
             "F\t-\t2000\t0\t\t\tlibx.so\t/lib/libx.so\t\t", "F\tk\tffffffff81000000\t0\t\t\t[kernel]\t\t\t", "S\t\t0\t1", "S\t\t2\t1"]
    begin, end = manifest["target_start_ns"], manifest["target_end_ns"]
    step = max((end - begin) // 400, 1)
    lines += ["C\t%d\t%d\t%d" % (manifest["target_tid"], at, at // step % 2) for at in range(begin, end, step)]
    lines.append("W\t%d\t%d\t%d\t%d\t-\t0" % (manifest["target_tid"], begin, end, end - begin))
    with open(os.path.join(trace, "kernel", "stacks"), "w") as file:
        file.write("\n".join(lines) + "\n")


def add_flight():
    """The note of a snapshot of the flight recorder, in a folder of its own."""
    os.makedirs("flight", exist_ok=True)
    with open("flight/20261126-210501-123.flight", "w") as file:
        file.write("time 1\nbegin 2\nend 3\ngap 4\nwhy by hand\nverdict none\nwhole 1\n")
    return "flight"


def check_command(tap, validators, name, words, what):
    done = subprocess.run([HOLDUP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1) or not done.stdout:
        tap.ok("--comm" in words and done.returncode == 3 and not done.stdout, what + ": refused, with nothing on stdout", done.returncode, done.stderr)
        return
    found = list(wrongs(validators[name + ".schema.json"], done.stdout))
    tap.ok(not found, "%s: as %s says" % (what, name), *found[:5])


def all_may_reach(path):
    """A home of root's is shut."""
    while path != "/" and os.stat(path).st_mode & 0o001:
        path = os.path.dirname(path)
    return path == "/"


def check_sampled(tap, validators):
    """What one who may not trace is told of a process of his own."""
    if os.geteuid() != 0 or not all_may_reach(HOLDUP):
        return
    rights = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "stdin": subprocess.DEVNULL}
    with subprocess.Popen(["sleep", "30"], **rights) as sleeper:
        words = ["why", "--json", "-d", "0.3", "-p", str(sleeper.pid)]
        done = subprocess.run([HOLDUP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **rights)
        sleeper.kill()
    found = list(wrongs(validators["why-sampled.schema.json"], done.stdout)) if done.stdout else [done.stderr]
    tap.ok(not found, "why of a process of one's own, without rights: as why-sampled says", *found[:5])


def check_refuses(tap, validators, trace):
    """A schema that lets anything pass is none."""
    report = json.loads(subprocess.run([HOLDUP, "why", "--json", trace], stdout=subprocess.PIPE, check=True).stdout)
    validator = validators["why.schema.json"]
    for what, change in (("another key", lambda r: r.update(nonsense=1)), ("no window", lambda r: r.pop("window")),
                         ("a time that is no integer", lambda r: r["window"].update(start_ns=1.5)),
                         ("another version", lambda r: r.update(holdup=1)),
                         ("a kind that there is not", lambda r: r["verdict"][0].update(kind="magic"))):
        broken = json.loads(json.dumps(report))
        change(broken)
        tap.ok(not validator.is_valid(broken), "refused: " + what)


def check_changes(tap, known):
    """docs/json-changes.tsv: what is new is in the schema, and what is gone is not."""
    with open(os.path.join(ROOT, "docs", "json-changes.tsv"), newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        if row["kind"] != "key":
            continue
        properties = json.dumps(known[row["where"] + ".schema.json"]) + json.dumps(known["common.schema.json"])
        last = row["new"].split(".")[-1].rstrip("[]")
        tap.ok(not last or '"%s"' % last in properties, "%s has %s" % (row["where"], row["new"]), row)
    tap.ok(len(rows) > 5, "there is a table of changes")


def main():
    tap, known = Tap(), schemas()
    validators = {}
    for name, schema in known.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        resolver = jsonschema.RefResolver(name, schema, store=known)
        validators[name] = jsonschema.Draft202012Validator(schema, resolver=resolver)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in TRACES:
            with tarfile.open(os.path.join(ROOT, "tests", "data", name + ".tar.gz")) as file:
                file.extractall()
            trace = name + ".holdup"
            with open(os.path.join(trace, "trace.json")) as file:
                manifest = json.load(file)
            tid = str(manifest["target_tid"])
            add_stacks(trace, manifest)
            for schema, line in COMMANDS:
                words = [{"TRACE": trace, "TID": tid, "CUT": name + ".cut"}.get(word, word) for word in line.split()]
                check_command(tap, validators, schema, words, " ".join(words))
        for schema, line in ONCE:
            words = [{"TRACE": "word-count.holdup", "CONVOY": "futex-convoy.holdup", "MODEL": MODEL, "FLIGHT": add_flight()}.get(word, word) for word in line.split()]
            check_command(tap, validators, schema, words, line.replace(ROOT + "/", ""))
        check_sampled(tap, validators)
        check_refuses(tap, validators, "word-count.holdup")
    check_changes(tap, known)
    print("1..%d" % tap.count)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
