#!/usr/bin/env python3
"""The folder that perf record --threads writes: all of its files are read, and what is missing is told.

Recorded live, one file for each CPU: perf script must print as many events of each name, at the same
times, of the same threads and CPUs, with the same text. Then files of the folder are taken away,
cut and replaced: what is left must be read, and the damage named with its file and place.
Call chains of a usual file are code with names, and copies of stacks are unwound, as long as the program is
the one that was recorded.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
sys.path.insert(0, os.path.join(HERE, "../traces"))
import kernel  # noqa: E402
import perf_data  # noqa: E402

EVENTS = "sched:sched_switch,sched:sched_waking,sched:sched_process_exit"
TRIES = 3
MAGIC = b"PERFILE2"


def record():
    """Returns why it cannot be recorded; "" = it was."""
    done = subprocess.run(["perf", "record", "-q", "--threads=cpu", "-k", "CLOCK_MONOTONIC", "-a",
                           "-m", "8M", "-o", "folder", "-e", EVENTS, "--",
                           os.path.join(kernel.EXAMPLES, "futex-convoy")],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0 or not os.path.isdir("folder"):
        return done.stderr or "no folder"
    lost = told("folder")[1]["lost_events"]
    return "%d events were lost" % lost if lost else ""


def record_whole():
    for _ in range(TRIES):
        reason = record()
        if not reason:
            break
        kernel.note(reason)
        shutil.rmtree("folder", ignore_errors=True)
    return reason


def files(folder):
    return sorted(name for name in os.listdir(folder) if re.match(r"data\.\d+$", name))


def check_whole(tap):
    status, events, message = perf_data.listed("folder")
    names = files("folder")
    tap.ok(status == 0 and not message, "a folder with %d files is whole" % len(names), message)
    samples = [event for event in events if perf_data.is_sample(event)]
    theirs = perf_data.script("folder", "comm,tid,cpu,time,event,trace")
    ours = perf_data.names_of(samples)
    tap.ok(ours == perf_data.names_of(theirs) and len(ours) > 1 and len(names) > 1,
           "perf script has as many of each name", ours, perf_data.names_of(theirs))
    perf_data.check_script(tap, "the folder", "folder", events)
    perf_data.check_text(tap, "the folder", "folder", events)
    cpus = {event.cpu for event in samples}
    tap.ok(len(cpus) == len(names), "each CPU has a file: %d" % len(names), cpus)
    return samples


def told(folder):
    done = kernel.holdup("info", "--json", folder)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def check_damaged(tap, what, change, kept, words):
    """'kept': samples by CPU that must still be read; 'words': what the damage must say."""
    shutil.copytree("folder", "bad")
    change()
    status, info, message = told("bad")
    damage = " | ".join(info.get("damage", []))
    tap.ok(status == 1 and re.search(words, damage), "%s: told, with file and place" % what,
           status, damage, message)
    _, events, _ = perf_data.listed("bad")
    ours = collections.Counter(event.cpu for event in events if perf_data.is_sample(event))
    tap.ok(all(ours[cpu] == count for cpu, count in kept.items()),
           "%s: the other CPUs' events are read" % what, ours, kept)
    shutil.rmtree("bad")


def check_refused(tap, what, change, words):
    shutil.copytree("folder", "bad")
    change()
    done = kernel.holdup("list", "bad")
    tap.ok(done.returncode == 3 and re.search(words, done.stderr) and
           kernel.clear_error(done), "%s: refused, with the reason" % what, done.returncode,
           done.stderr)
    shutil.rmtree("bad")


def overwrite(name, data):
    with open("bad/" + name, "wb") as file:
        file.write(data)


def check_bad(tap, samples):
    names = files("folder")
    # Which CPU's events are in data.0: those that are gone without it.
    shutil.copytree("folder", "bad")
    os.unlink("bad/data.0")
    _, events, _ = perf_data.listed("bad")
    shutil.rmtree("bad")
    kept = collections.Counter(event.cpu for event in events if perf_data.is_sample(event))
    all_ = collections.Counter(event.cpu for event in samples)
    tap.ok(len(all_) - len(kept) == 1 and all(all_[cpu] == kept[cpu] for cpu in kept),
           "without data.0 one CPU's events are gone", all_, kept)
    half = os.path.getsize("folder/data.0") // 2 | 3  # records are multiples of 8 bytes
    check_damaged(tap, "data.0 is missing", lambda: os.unlink("bad/data.0"), kept,
                  r"data\.0.*No such file")
    check_damaged(tap, "data.0 is cut", lambda: os.truncate("bad/data.0", half), kept,
                  r"data\.0: it ends at byte %d" % half)
    check_damaged(tap, "data.0 has another file's header", lambda: overwrite(
        "data.0", MAGIC + bytes(96)), kept, r"data\.0: ")
    check_damaged(tap, "all are missing", lambda: [os.unlink("bad/" + name) for name in names], {},
                  r"no file data\.0")
    check_damaged(tap, "data.0 is a pipe", lambda: (os.unlink("bad/data.0"),
                                                    os.mkfifo("bad/data.0")), kept,
                  r"data\.0.*not a regular file")
    check_refused(tap, "data ends in its header", lambda: os.truncate("bad/data", 80), "header")
    check_refused(tap, "data is of version 1", lambda: overwrite("data", b"PERFFILE" + bytes(96)),
                  "version 1")
    check_refused(tap, "data is something else", lambda: overwrite("data", b"#!/bin/sh\n"),
                  "not a trace of a known format")
    check_refused(tap, "data is missing", lambda: os.unlink("bad/data"),
                  "not a trace of a known format")


# Three functions by frame pointers: one waits, one works.
CODE = r"""
#include <poll.h>
static volatile long sink;
__attribute__((noinline)) void wait_here(void) { poll(0, 0, 60); sink++; }
__attribute__((noinline)) void work_here(long n) { for (long i = 0; i < n; i++) sink += i; }
int main(void) { for (int i = 0; i < 4; i++) { wait_here(); work_here(20000000); } return 0; }
"""


def build(path, code, frames="-fno-omit-frame-pointer"):
    subprocess.run(["gcc", "-O1", frames, "-o", path, "-x", "c", "-"], input=code, text=True, check=True)


def functions(*options):
    done = kernel.holdup("hot", "--json", *options, "--comm", "perf-code", "code.data")
    return [row["function"] for row in json.loads(done.stdout)["functions"]] if done.stdout else done.stderr


def check_code(tap):
    """Call chains have names as long as the program is the build that was recorded."""
    program = os.path.join(os.getcwd(), "perf-code")
    build(program, CODE)
    with kernel.spinners():
        subprocess.run(["perf", "record", "-q", "-g", "-a", "-k", "CLOCK_MONOTONIC", "-m", "8M", "-o", "code.data", "-e", EVENTS,
                        "-e", "cpu-clock/freq=999/", "--", program], capture_output=True, timeout=60, check=True)
    work, waits = functions(), functions("--waits")
    tap.ok("work_here" in work and "wait_here" not in work[:1], "samples of a perf.data name the code that works", work)
    tap.ok("main" in waits and "work_here" not in waits, "its switches name the code that waits", waits)
    build(program, "int main(void) { return 0; }")
    work = functions()
    tap.ok(work and "work_here" not in work and "main" not in work, "another build names nothing", work)


# No frame pointers: only the tables tell who called.
COPIED = r"""
#include <poll.h>
#include <string.h>
static volatile long sink;
__attribute__((noinline)) long wait_here(long n) { char room[200]; memset(room, (int)n, sizeof(room)); poll(0, 0, 60);
	return sink += room[n & 63]; }
__attribute__((noinline)) long middle(long n) { volatile char room[64 + n]; room[n] = 1; return wait_here(n) + room[n]; }
__attribute__((noinline)) long work_here(long n) { for (long i = 0; i < n; i++) sink += i; return sink + 1; }
__attribute__((noinline)) long outer(long n) { return middle(n) + work_here(20000000) + 1; }
int main(void) { long sum = 0; for (int i = 0; i < 4; i++) sum += outer(i); return sum == 3; }
"""
CALLS = ["wait_here", "middle", "outer", "main", "_start"]


def stacks_of(comm):
    """Of its switches: functions that are no library's, innermost first, and why the stack ends there ("" = it is whole)."""
    done = kernel.holdup("list", "--stack", "--filter", "sched_switch and prev_comm == %s" % comm, "copied.data")
    stacks = []
    for line in done.stdout.splitlines():
        frame = re.match(r" {30,}(?:> )?(\S.*)$", line)
        if not frame:
            stacks.append(([], [""]))
        elif frame.group(1).startswith("... ("):
            stacks[-1][1][0] = frame.group(1)
        else:
            stacks[-1][0].append(frame.group(1))
    return stacks


def waits_in(stacks, text):
    return [(frames, why[0]) for frames, why in stacks if any(text in frame for frame in frames)]


def check_copies(tap):
    """Copies of stacks (--call-graph dwarf), packed or not."""
    program = os.path.join(os.getcwd(), "perf-copied")
    build(program, COPIED, "-fomit-frame-pointer")
    for packed in [], ["-z"]:
        what = "copies of stacks" + (", packed" if packed else "")
        with kernel.spinners():
            subprocess.run(["perf", "record", "-q", *packed, "--buildid-mmap", "--call-graph", "dwarf,4096", "-a", "-k", "CLOCK_MONOTONIC",
                            "-m", "16M", "-o", "copied.data", "-e", "sched:sched_switch", "-e", "cpu-clock/freq=199/", "--", program],
                           capture_output=True, timeout=60, check=True)
        waits = waits_in(stacks_of("perf-copied"), "wait_here")
        calls = [[frame.split()[0] for frame in frames if "perf-copied)" in frame] for frames, _ in waits]
        tap.ok(len(waits) >= 3 and all(call == CALLS for call in calls) and not any(why for _, why in waits),
               what + " tell all calls, from the wait to the beginning", waits)
    done = kernel.holdup("hot", "--json", "--comm", "perf-copied", "copied.data")
    rows = {row["function"]: row for row in json.loads(done.stdout)["functions"]} if done.stdout else {}
    tap.ok("work_here" in rows and rows["outer"]["total_ns"] >= rows["work_here"]["total_ns"] >= 0.8 * rows["main"]["total_ns"],
           "work in them counts for who called", rows, done.stderr)
    build(program, "int main(void) { return 0; }")
    stacks = stacks_of("perf-copied")
    waits = waits_in(stacks, "perf-copied+0x")
    tap.ok(waits and all("another build" in why and "perf-copied+0x" in frames[-1] for frames, why in waits) and
           not waits_in(stacks, "perf-copied)"), "into another build they end, and say why", waits)


class Tap(kernel.Tap):
    def check(self, name, good, *details):  # as perf_data calls it
        return self.ok(good, name, *details)


def main():
    kernel.need("perf", "gcc")
    if os.cpu_count() < 2:
        kernel.skip("it needs two CPUs")
    tap = Tap()
    with kernel.workdir("/var/tmp"):
        perf_data.ENV["XDG_CACHE_HOME"] = os.getcwd()
        reason = record_whole()
        if reason:
            tap.skipped("perf record --threads", reason)
        else:
            check_bad(tap, check_whole(tap))
        check_code(tap)
        check_copies(tap)
    tap.end()


main()
