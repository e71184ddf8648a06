#!/usr/bin/env python3
"""jit.py - code that a runtime makes while it runs has the names that the runtime wrote: node, where it is installed."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SCRIPT = """\
function crunch(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
function blocks(ms) { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms); }
const end = process.cpuUsage().user + 300000;
let x = 0;
while (process.cpuUsage().user < end) { for (let i = 0; i < 4; i++) x ^= crunch(1e6); blocks(8); }
console.error(process.pid);
"""


def hot(trace, *options):
    report = json.loads(subprocess.run([kernel.HOLDUP, "hot", "--json", *options, trace], capture_output=True, check=True).stdout)
    return {row["function"]: row for row in report["functions"] if row["module"] == "app.js"}


def node(tap):
    with open("app.js", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    command = ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", os.path.abspath("app.js")]
    done = subprocess.run([kernel.HOLDUP, "record", "--sample", "999", "--stack-min", "1ms", "-o", "node.holdup", "--", *command],
                          capture_output=True, text=True, timeout=120, check=True)
    pid = next(line for line in done.stderr.splitlines() if line.isdigit())
    os.unlink("/tmp/perf-%s.map" % pid)
    work, waits = hot(trace="node.holdup"), hot("node.holdup", "--waits")
    tap.ok(max(work, key=lambda name: work[name]["self_ns"], default="") == "crunch", "the function that computes is first", work)
    tap.ok(max(waits, key=lambda name: waits[name]["self_ns"], default="") == "blocks", "the function that blocks is first", waits)
    lines = json.loads(subprocess.run([kernel.HOLDUP, "hot", "--json", "--by", "line", "node.holdup"], capture_output=True, check=True).stdout)
    row = next((row for row in lines["lines"] if row["function"] == "crunch"), None)
    tap.ok(row and row["file"] == os.path.abspath("app.js") and row["line"] == 1, "with its file and line", row)
    native = hot("node.holdup", "--native")
    own, all_ = (sum(row["self_ns"] for row in rows.values()) for rows in (native, work))
    tap.ok(0 < own < all_, "--native counts what the script called as the program's", own, all_)


def main():
    kernel.need()
    if not shutil.which("node"):
        kernel.absent("no node")
    tap = kernel.Tap()
    node(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
