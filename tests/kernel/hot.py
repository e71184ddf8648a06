#!/usr/bin/env python3
"""hot.py - in which code programs worked: planted functions and times, on and beside the path of the verdict."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

HOLDUP = kernel.HOLDUP

# What each function took it measures itself, by the clock of its thread: the machine may be busy.
WORK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define WORKS __attribute__((noinline)) void
static volatile unsigned long sink;
static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
WORKS work_first(long n) { for (long i = 0; i < n; i++) sink += i; }
WORKS work_second(long n) { for (long i = 0; i < n; i++) sink ^= i; }
WORKS work_third(long n) { for (long i = 0; i < n; i++) sink -= i; }
static void (*const works[])(long) = { work_first, work_second, work_third };
static double work(int which, double seconds)
{
	double from = cpu();
	while (cpu() - from < seconds) works[which](500000);
	return cpu() - from;
}
int main(void)
{
	static const double seconds[] = { 0.06, 0.03, 0.01 };
	double took[3] = { 0 };
	for (int i = 0; i < 21; i++) took[i % 3] += work(i % 3, seconds[i % 3]);
	fprintf(stderr, "%f %f %f\n", took[0], took[1], took[2]);
	return 0;
}
"""
NAMES = ("work_first", "work_second", "work_third")


def build(folder, name, *options):
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", *options, "-o", path, "-x", "c", "-", "-include", "signal.h"], input=WORK,
                   text=True, check=True)
    return path


def record(trace, *command, options=()):
    done = subprocess.run([HOLDUP, "why", "--json", *options, "-o", trace, "--", *command], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout), done.stderr


def hot(trace, *options):
    return json.loads(subprocess.run([HOLDUP, "hot", "--json", *options, trace], capture_output=True, text=True, check=True).stdout)


def json_of(*words):
    return json.loads(subprocess.run([HOLDUP, *words], capture_output=True, text=True, check=True).stdout)


def rows(report):
    """By name; of one name the largest: before it runs the program, its process has the recorder's main(), too."""
    return {row["function"]: row for row in sorted(report["functions"], key=lambda row: row["total_ns"])}


def planted(tap, folder):
    for name, options in (("plain", []), ("static", ["-static"])):
        trace = os.path.join(folder, name + ".holdup")
        # So many that chance is a third of what is allowed, wherever the machine has it wait.
        why, errors = record(trace, build(folder, name, *options), options=("--sample", "4000"))
        took = next([float(word) for word in line.split()] for line in errors.splitlines() if len(line.split()) == 3 and line[0].isdigit())
        report = hot(trace)
        found = rows(report)
        of = sum(found[one]["self_ns"] for one in NAMES if one in found)
        shares = {one: found.get(one, {"self_ns": 0})["self_ns"] / of for one in NAMES}
        wanted = {one: ns / sum(took) for one, ns in zip(NAMES, took)}
        tap.ok(all(abs(shares[one] - wanted[one]) < 0.03 for one in NAMES), name + ": each function has its share", shares, wanted)
        tap.ok([row["function"] for row in report["functions"][:2]] == ["work_first", "work_second"], "the largest is first",
               report["functions"][:3])
        working = why["wib"]["working_ns"]
        total = sum(row["self_ns"] for row in report["functions"])
        tap.ok(abs(total - working) <= working / 100 and total == report["total_ns"], "the rows add up to what it worked", total, working)
        tap.ok(found["main"]["total_ns"] > 0.9 * total and found["_start"]["total_ns"] > 0.9 * total, "stacks lead to _start",
               found.get("main"), found.get("_start"))
        both = json_of("stats", "--json", "--by", "function", trace)
        tap.ok({(row["function"], row["module"], row["start"]): row["working_ns"] for row in both["functions"] if row["working_ns"]}
               == {(row["function"], row["module"], row["start"]): row["self_ns"] for row in report["functions"] if row["self_ns"]},
               "stats --by function has the same", both["functions"][:3], report["functions"][:3])
        lines = json_of("breakdown", "--json", str(why["target"]["tid"]), trace)["lines"]
        own = next(line for line in lines if line["kind"] == "own_code")
        tap.ok(own["code"][0]["function"] == "work_first" and own["code_seen"] > 0.7, "breakdown has it below own code", own)
        row = next(row for row in why["verdict"] if row["kind"] == "working")
        tap.ok(row["code"] and row["code"][0]["function"] == "work_first" and row["code"][0]["caller"] and row["code_seen"] > 0.7,
               "the row of its work says in which code", row)


def stripped(tap, folder):
    """Without symbols functions are told apart by where they begin: what nm says of the same program before it was stripped."""
    whole, trace = build(folder, "stripped"), os.path.join(folder, "stripped.holdup")
    symbols = subprocess.run(["nm", whole], capture_output=True, text=True, check=True).stdout
    begins = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3}
    subprocess.run(["strip", whole], check=True)
    _, errors = record(trace, whole, options=("--sample", "4000"))
    took = next([float(word) for word in line.split()] for line in errors.splitlines() if len(line.split()) == 3 and line[0].isdigit())
    found = {row["start"]: row for row in hot(trace)["functions"] if row["module"] == "stripped" and not row["function"]}
    of = sum(found[begins[one]]["self_ns"] for one in NAMES if begins[one] in found)
    shares = {one: found.get(begins[one], {"self_ns": 0})["self_ns"] / of for one in NAMES}
    wanted = {one: ns / sum(took) for one, ns in zip(NAMES, took)}
    tap.ok(all(abs(shares[one] - wanted[one]) < 0.03 for one in NAMES), "stripped: each function has its share", shares, wanted, found)


def of_the_verdict(tap, folder):
    """The busiest function is not on the path."""
    trace = os.path.join(folder, "stages.holdup")
    why, _ = record(trace, os.path.join(kernel.EXAMPLES, "three-stages"), "--truth", os.path.join(folder, "truth.json"))
    everything, path = hot(trace), hot(trace, "--of-verdict")
    tap.ok(rows(everything)["index_all"]["samples"] > 0, "what nobody waits for is sampled", everything["functions"][:2])
    on_path = rows(path)
    parse, index = (on_path.get(name, {"total_ns": 0})["total_ns"] for name in ("parse_chunk", "index_all"))
    tap.ok(parse > 0.8 * path["total_ns"] and index < 0.05 * path["total_ns"], "of the verdict is the one that is waited for", parse, index,
           path["total_ns"], why["verdict"][:2])
    worked = next((row for row in why["verdict"] if row["kind"] == "other_thread" and row["who"]["comm"] == "parser"), None)
    places = [place["function"] for place in worked["code"]]
    tap.ok("parse_chunk" in places and "index_all" not in places, "the verdict says in which function that works", worked)


def while_programs_begin(tap, folder):
    """Within execve() the registers are of one program, and the files of the other."""
    trace = os.path.join(folder, "begins.holdup")
    subprocess.run([HOLDUP, "record", "--sample", "4000", "-o", trace, "--", "sh", "-c", "for i in $(seq 60); do /bin/true; done; :"],
                   capture_output=True, timeout=120, check=True)
    report = hot(trace)
    tap.ok(report["samples"] > 60, "it is sampled while programs begin", report["samples"])
    tap.ok(not any(row["module"] == "[jit]" for row in report["functions"]), "no code was made at run time",
           [row for row in report["functions"] if row["module"] == "[jit]"])


def switched_off(tap, folder):
    trace = os.path.join(folder, "off.holdup")
    subprocess.run([HOLDUP, "record", "--sample", "off", "-o", trace, "--", "true"], capture_output=True, timeout=120, check=True)
    done = subprocess.run([HOLDUP, "hot", trace], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 3 and "--sample" in done.stderr and not done.stdout, "a trace without samples is refused", done.stderr)
    done = subprocess.run([HOLDUP, "record", "--sample", "0", "--", "true"], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 2 and "--sample" in done.stderr, "a wrong rate is refused", done.stderr)
    trace = os.path.join(folder, "rate.holdup")
    subprocess.run([HOLDUP, "record", "--sample", "all:50", "-o", trace, "--", "true"], capture_output=True, timeout=120, check=True)
    report = hot(trace)
    tap.ok(report["period_ns"] == 20000000 and report["scope"] == "all", "rate and scope are as asked", report["period_ns"], report["scope"])


def main():
    kernel.need("gcc")
    tap = kernel.Tap()
    for test in (planted, stripped, of_the_verdict, while_programs_begin, switched_off):
        test(tap, os.getcwd())
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
