#!/usr/bin/env python3
"""Calls of 32-bit programs have their own names, in every command.

The numbers of a 32-bit program mean other calls to a 64-bit one, and the kernel's events do not
say which they are. So: a program that is executed in the recording, and one that was there before.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "vm", "compat32.c")
FLAGS = ["-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector", "-O1"]
OURS = {"nanosleep", "open", "read", "close"}


def built(name, *flags):
    done = subprocess.run(["gcc", *FLAGS, *flags, "-o", name, SOURCE], stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        kernel.absent("gcc makes no 32-bit program: " + done.stderr[-200:])
    return os.path.realpath(name)


def listed(trace, tid, *options):
    """Calls by name, as list and its filter tell them."""
    done = kernel.holdup("list", "--filter", "sys_enter and tid == %d" % tid, "--json", *options,
                         "--count-by", "syscall", trace)
    counts = json.loads(done.stdout)["counts"] if done.returncode == 0 else []
    return {row["syscall"] for row in counts}, done


def check(tap, name, trace, tid, *from_where):
    """Every command that names calls."""
    done = kernel.holdup("breakdown", "--json", tid, trace)
    names = [name for name in OURS if '"' + name + " (32-bit)" in done.stdout
             or '"' + name + '"' in done.stdout]
    tap.ok(len(names) == len(OURS) and '"sync' not in done.stdout, name + ": breakdown", done.stdout,
           done.stderr)
    found, done = listed(trace, tid, *from_where)
    tap.ok(OURS <= found and not found & {"sync", "lstat", "fstat"}, name + ": list", found,
           done.stdout, done.stderr)
    done = kernel.holdup("export", "--format", "chrome", "-o", "out.json", trace)
    with open("out.json") as file:
        events = json.load(file)
    events = events["traceEvents"] if isinstance(events, dict) else events
    found = {event.get("name", "").split(":")[0] for event in events if event.get("tid") == tid}
    tap.ok(OURS <= found and not found & {"sync", "lstat", "fstat"}, name + ": export", found)


def main():
    kernel.need("gcc")
    tap = kernel.Tap()
    short, long = built("short32"), built("long32", "-DPAUSES=100")
    try:
        subprocess.run([short], check=True)
    except OSError as error:
        kernel.absent("this kernel runs no 32-bit program: %s" % error)
    done = kernel.holdup("record", "-o", "run.holdup", "--", short)
    tap.ok(done.returncode == 0, "a 32-bit program is recorded", done.stderr)
    with open("run.holdup/trace.json") as file:
        tid = json.load(file)["target_tid"]
    check(tap, "executed in the recording", "run.holdup", tid)
    with subprocess.Popen([long]) as process:
        done = kernel.holdup("record", "-d", "0.8", "-o", "live.holdup")
        tap.ok(process.poll() is None, "it lived all the time", process.returncode)
        process.kill()
    check(tap, "there before", "live.holdup", process.pid, "--from", "+0.2s")
    tap.end()


if __name__ == "__main__":
    with kernel.workdir("/var/tmp"):
        main()
