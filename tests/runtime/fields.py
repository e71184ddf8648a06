#!/usr/bin/env python3
"""Every type of field: what the program says it logged is what babeltrace2 and holdup show.

Built here, as a stranger would: C11 and C++11, every warning an error, GCC and Clang.
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import probe  # noqa: E402
from probe import kernel  # noqa: E402

SOURCE = os.path.join(probe.ROOT, "tests/runtime/fields.c")
FLAGS = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-I" + probe.ROOT + "/include"]
LINK = ["-L" + probe.LIBRARY, "-lholdup", "-Wl,-rpath," + probe.LIBRARY]
COMPILERS = [["gcc", "-std=c11", "-xc"], ["g++", "-std=c++11", "-xc++"],
             ["clang", "-std=c11", "-xc"], ["clang++", "-std=c++11", "-xc++"]]
INLINE = """#include <holdup/trace.h>
HOLDUP_EVENT(one, more, (u32, n))
__attribute__((noinline)) inline void both(unsigned n) { holdup_one_more(n); }
void other();
#ifdef FIRST
int main() { both(1); other(); return holdup_lost_count() != 0; }
#else
void other() { both(2); }
#endif
"""


def plain(value):
    """A value as the program prints it. Enums are ("label" : container = 5) or 5."""
    if isinstance(value, list):
        return "[ " + "".join(plain(one) + " " for one in value) + "]"
    if isinstance(value, str):
        return '"%s"' % value
    return "%g" % value if isinstance(value, float) else str(value)


def by_holdup(trace):
    for line in kernel.holdup("list", "--json", trace).stdout.splitlines():
        event = json.loads(line)
        if not event["event"].startswith("field:"):
            continue
        # A float is a string there, made of the number.
        fields = [name + "=" + LABELS.get(value, value if "t_f" in event["event"] else plain(value))
                  if isinstance(value, str) else name + "=" + plain(value) for name, value in event["fields"].items()
                  if name != "vtid" and not name.endswith("_length")]
        yield " ".join([event["event"][6:]] + fields)


SHOWN = 1000
LABELS = {"true": "1", "green": "5", "blue": "-3"}


def by_babeltrace(trace):
    done = subprocess.run(["babeltrace2", "--no-delta", trace], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=False)
    for line in done.stdout.splitlines():
        name, fields = re.search(r"field:(\w+): \{ .*? \}, \{ .*? \}, \{ ?(.*) ?\}$", line).groups()
        fields = re.sub(r'\( "\w*" : container = (-?\d+) \)', r"\1", fields)
        fields = re.sub(r"\[\d+\] = ", "", fields)
        fields = re.sub(r"0x([0-9A-F]+)", lambda hex: str(int(hex[1], 16)), fields)
        fields = re.sub(r"_\w+_length = \d+, ", "", fields)
        fields = re.sub(r"\[[^]]*\]", lambda list: list[0].replace(",", ""), fields)
        fields = re.sub(r"(\w+) = ", r"\1=", fields).replace(", ", " ").strip()
        yield (name + " " + fields).strip()


def same(tap, name, ours, truth):
    ours = list(ours)
    different = ["%s\n%s" % (a[:150], b[:150]) for a, b in zip(ours, truth) if a != b]
    tap.ok(ours == truth and len(truth) > 100, name, "%d of %d" % (len(ours), len(truth)),
           *different[:5])


def one(tap, method, program, name):
    shutil.rmtree("traces", ignore_errors=True)
    env = probe.environment(method, "stream", os.path.abspath("traces"))
    done = subprocess.run([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    truth, trace = done.stdout.splitlines(), probe.trace_in("traces")
    tap.ok(done.returncode == 0 and done.stderr == "lost 2\n", name + " logs", done.stderr)
    # It does not show all of a long sequence.
    same(tap, name + ": holdup shows what was logged", [line[:SHOWN] for line in by_holdup(trace)],
         [line[:SHOWN] for line in truth])
    if shutil.which("babeltrace2"):
        same(tap, name + ": babeltrace2 shows it, too", by_babeltrace(trace), truth)


def inline_functions(tap, compiler):
    """A function in two files of C++ is one in the program: so are its sequences."""
    with open("inline.cpp", "w") as file:
        file.write(INLINE)
    said = ""
    for flags in [["-DFIRST", "-c", "-o", "1.o"], ["-c", "-o", "2.o"]]:
        said += probe.run(compiler[:2] + FLAGS + ["inline.cpp"] + flags, os.environ).stdout
    said += probe.run(compiler[:1] + ["1.o", "2.o", "-o", "inline"] + LINK, os.environ).stdout
    tap.ok(not said and probe.run(["./inline"], probe.environment(
        "rseq", "stream", os.path.abspath("inline-trace"))).returncode == 0,
        compiler[0] + ": an inline function in two files", said)


def main():
    if os.environ.get("HOLDUP_SANITIZED"):
        print("1..0 # SKIP strangers' programs cannot link a sanitized library")
        return
    tap = kernel.Tap()
    with kernel.workdir():
        for compiler in COMPILERS:
            if not shutil.which(compiler[0]):
                tap.skipped(compiler[0], "not installed")
                continue
            done = probe.run(compiler + FLAGS + [SOURCE, "-o", "fields"] + LINK, os.environ)
            if not tap.ok(done.returncode == 0 and not done.stdout, " ".join(compiler[:2]),
                          done.stdout):
                continue
            for method in probe.METHODS:
                one(tap, method, "./fields", compiler[0] + ", " + method)
            if "++" in compiler[0]:
                inline_functions(tap, compiler)
    tap.end()


main()
