#!/usr/bin/env python3
"""From the end of a busy command of 10 s to its verdict; writes bench/RESULTS.md.

usage: verdict_time.py [--seconds N] [--print]
"""
import argparse
import glob
import os
import resource
import shutil
import subprocess
import tempfile
import time

import record_cost as cost

LOADS = {
    "tbench": "timeout {s} tbench -t {s} 2 127.0.0.1",
    "pipe": "timeout {s} perf bench sched pipe -l 100000000",
    "compile": "end=$(($(date +%s) + {s})); while [ $(date +%s) -lt $end ]; do "
               "gcc -O2 -D_GNU_SOURCE -c -o out.o " + cost.HERE + "/../examples/slow-writer.c; done",
}


def measure(script):
    """Seconds from the command's end to the end of holdup, MiB recorded, MiB of memory."""
    shutil.rmtree("trace", ignore_errors=True)
    done = subprocess.run([cost.HOLDUP, "why", "-o", "trace", "--output", "report", "--", "sh", "-c",
                           script + "; : >ended; exit 0"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    late = time.time() - os.stat("ended").st_mtime
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    os.unlink("ended")
    recorded = sum(os.path.getsize(path) for path in glob.glob("trace/kernel/*.ring"))
    return late, recorded / 2**20, peak, done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    lines = ["| load | recorded | from its end to the verdict | peak memory so far |", "|---|---|---|---|"]
    server = subprocess.Popen(["tbench_srv"], **cost.QUIET)
    try:
        for name, script in LOADS.items():
            late, recorded, peak, done = measure(script.replace("{s}", str(args.seconds)))
            if done.returncode != 0:
                print(done.stderr)
            lines.append("| %s | %.0f MiB | %.2f s | %.0f MiB |" % (name, recorded, late, peak))
    finally:
        server.kill()
    text = "%s. A command of %d s.\n\n%s" % (cost.machine(), args.seconds, "\n".join(lines))
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Time to the verdict", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdup-bench-", dir="/var/tmp") as folder:
        os.chdir(folder)
        main()
