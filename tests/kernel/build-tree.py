#!/usr/bin/env python3
"""A parallel build under holdup delays listen: the parts are the lives of its threads.

The lives are those that the events of a recording of it all tell: from fork to exit, of each thread of the tree.
"""
import json
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"),
                os.path.dirname(os.path.realpath(__file__))]
import delays  # noqa: E402
import kernel  # noqa: E402

FILES = 24
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int part_%(n)d(int value) { return value * %(n)d + 1; }
int file_%(n)d(int value) { char text[64]; snprintf(text, sizeof(text), "%%d", part_%(n)d(value)); return (int)strlen(text); }
"""


def make_project():
    names = ["file%d" % number for number in range(FILES)]
    for number, name in enumerate(names):
        with open(name + ".c", "w") as file:
            file.write(SOURCE % {"n": number})
    with open("main.c", "w") as file:
        file.write("int main(void) { return 0; }\n")
    with open("Makefile", "w") as file:
        file.write("all: %s main.o\n\tcc -o all $^\n" % " ".join(name + ".o" for name in names))
        file.write("%.o: %.c\n\tcc -O2 -c -o $@ $<\n")


def listed(event):
    done = kernel.holdup("list", "--json", "run.holdup", "--filter", event)
    return [json.loads(line) for line in done.stdout.splitlines()]


def lives(root):
    """How long each thread of the tree of 'root' lived, and whether its exit was recorded, by tid."""
    born, died = {}, {}
    for row in listed("sched_process_fork"):
        born.setdefault(row["fields"]["child_pid"], []).append((row["time_ns"], row["tid"]))
    for row in listed("sched_process_exit"):
        died.setdefault(row["tid"], []).append(row["time_ns"])
    if any(len(times) > 1 for times in born.values()):
        raise RuntimeError("a number was taken twice: run it again")
    tree = {root}
    for tid in sorted(born, key=lambda tid: born[tid][0][0]):
        if born[tid][0][1] in tree:
            tree.add(tid)
    return {tid: died[tid][0] - born[tid][0][0] for tid in tree if tid in born and tid in died}


def main():
    kernel.need("make", "cc")
    if not os.path.exists(delays.SWITCH):
        kernel.skip("this kernel has no " + delays.SWITCH)
    tap = kernel.Tap()
    make_project()
    with delays.accounting():
        done = kernel.holdup("record", "-o", "run.holdup", "--", kernel.HOLDUP, "delays", "listen",
                             "--json", "--save", "report", "--", "make", "-j4")
    if not tap.ok(done.returncode == 0 and os.path.exists("report"), "a build is recorded", done.stderr):
        tap.end()
    with open("report") as file:
        report = json.load(file)
    make = [row for row in listed("sched_process_exec") if row["comm"] == "make" and
            row["fields"]["filename"].endswith("/make")]
    tree = lives(make[0]["tid"])
    whole, total = sum(tree.values()), report["sum"]
    tap.ok(report["certain"] and total["threads"] == len(tree),
           "all %d threads that exited were heard" % len(tree), total["threads"])
    tap.near(total["base_ns"], whole, "their lives are those that the events tell", floor=0)
    parts = total["run_ns"] + total["rest_ns"]
    parts += sum(total["delays"][name]["total_ns"] for name in ("cpu", "disk"))
    tap.near(parts, whole, "run, waited for a CPU, for disk and the rest add up to them", floor=0)
    names = {group["name"] for group in report["names"]}
    tap.ok({"make", "cc1", "as"} <= names or "cc" in names or "clang" in names,
           "the compiler is in the sum: %s" % sorted(names))
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
