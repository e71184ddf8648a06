#!/usr/bin/env python3
"""Points in programs: what --probe and --usdt record is what the program says it did.

examples/probe-points prints each call with its arguments. Small programs built here are
placed otherwise: not relocatable, stripped, with debug symbols elsewhere, with a function
of one name in two files, under a path with blanks.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

LIST = kernel.TRACEFS + "/uprobe_events"
POINTS = os.path.join(kernel.EXAMPLES, "probe-points")
WORK = ("number:u64, offset:s32, name:string, small:u8, half:s16, word:u32, seventh:s64, "
        "eighth:u32")
COUNT = 12

TWINS = {
    "a.c": """#include <stdio.h>
static __attribute__((noinline)) int twin(int n) { __asm__ volatile(""); return n + 1; }
extern int other(int n);
__attribute__((noinline)) int tower(int n) { __asm__ volatile(""); return n * 3; }
__attribute__((noinline)) int toward(int n) { __asm__ volatile(""); return n * 5; }
static int chosen_a(int n) { return n + 10; }
static int (*pick(void))(int) { return chosen_a; }
int chosen(int n) __attribute__((ifunc("pick")));
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 5; i++)
		sum += twin(i) + other(i) + tower(i) + toward(i) + chosen(i);
	return sum == 0;
}
""",
    "b.c": """static __attribute__((noinline)) int twin(int n) { __asm__ volatile("nop"); return n + 2; }
int other(int n) { return twin(n + 100); }
""",
}


def listed():
    """Our lines of the kernel's list."""
    with open(LIST) as file:
        return [line for line in file if re.match(r"[pr]\d*:holdup_\d", line)]


def append(line):
    """Python's own "a" mode seeks to the end, which this file cannot."""
    fd = os.open(LIST, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def record(folder, options, *command):
    done = kernel.holdup("record", "-o", folder, *options, "--", *command)
    return done


def values(folder, event):
    """The fields of each event of that name, in order, as JSON has them."""
    done = kernel.holdup("list", "--json", "--filter", event, folder)
    return [json.loads(line) for line in done.stdout.splitlines()]


def column(folder, event, *fields):
    """The values of fields, as `holdup list --fields` prints the text of each event."""
    rows = []
    done = kernel.holdup("list", "--filter", event, folder)
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            continue
        text = line.split(event + ":", 1)[1]
        row = []
        for field in fields:
            found = re.search(r'\b%s=("(.*?)"|\S+)' % field, text)
            row.append(found and (found[2] if found[2] is not None else found[1]))
        rows.append(tuple(row))
    return rows


def same(tap, ours, theirs, name):
    tap.ok(ours == theirs and theirs, name, "recorded %s" % ours[:6], "expected %s" % theirs[:6])


def check_functions(tap):
    options = ["--probe", "%s:demo_work(%s)" % (POINTS, WORK),
               "--probe", POINTS + ":demo_work%return(s32)",
               "--probe", POINTS + ":demo_twice(number:int)",
               "--probe", POINTS + ":demo_twice%return",
               "--probe", POINTS + ":demo_name%return(string)"]
    done = record("functions", options, POINTS, COUNT)
    if not tap.ok(done.returncode == 0, "functions are recorded", done.stderr):
        return
    truth = [json.loads(line) for line in done.stdout.splitlines()]
    names = [word.split(":")[0] for word in WORK.split(", ")]
    same(tap, column("functions", "probe:demo_work", *names),
         [tuple(str(row[name]) for name in names) for row in truth],
         "all arguments of a function, in registers and on the stack")
    same(tap, column("functions", "probe:demo_work__return", "ret"),
         [(str(row["ret"]),) for row in truth], "what it returned")
    same(tap, column("functions", "probe:demo_name__return", "ret"),
         [(row["name"],) for row in truth], "a text that was returned")
    same(tap, column("functions", "probe:demo_twice", "number"),
         [(str(row["i"] - 3),) for row in truth], "negative numbers")
    same(tap, column("functions", "probe:demo_twice__return"), [()] * COUNT,
         "a return without a value")
    counted = kernel.holdup("list", "--count-by", "event", "--filter", "system == probe",
                            "functions").stdout
    tap.ok(len(re.findall(r"\b%d  probe:" % COUNT, counted)) == 5, "--count-by knows the events",
           counted)
    filtered = column("functions", "probe:demo_work", "name")
    chosen = kernel.holdup("list", "--filter", 'probe:demo_work: name == "two" and offset < -2',
                           "functions").stdout
    tap.ok(len(filtered) == COUNT and len(chosen.splitlines()) - 1 ==
           sum(row["name"] == "two" and row["offset"] < -2 for row in truth),
           "--filter knows their fields", chosen)
    report, done = kernel.why("--from", "probe:demo_work", "--to", "probe:demo_work__return",
                              "functions")
    tap.ok(report and not kernel.bad_sums(report), "--from and --to take them", done.stderr)
    checked = kernel.holdup("check-trace", "functions")
    tap.ok(checked.returncode == 0, "the trace is whole", checked.stdout)


def check_points(tap):
    done = record("points", ["--usdt", "holdup_demo:*", "--usdt", "sched:sched_switch"], POINTS,
                  COUNT)
    if "no USDT points" in done.stderr:
        tap.skipped("USDT points", "built without sys/sdt.h")
        return
    if not tap.ok(done.returncode == 0, "USDT points are recorded", done.stderr):
        return
    truth = [json.loads(line) for line in done.stdout.splitlines()]
    numbers = [row["i"] for row in truth]
    wide = 0x1122334455667700
    same(tap, column("points", "holdup_demo:all", "arg1", "arg2", "arg3", "arg4"),
         [(str(wide + i), str(3 * i - 4), "5", "-6") for i in numbers],
         "a register, memory and constants")
    same(tap, column("points", "holdup_demo:narrow", "arg1", "arg2", "arg3"),
         [(str(-i), str(60000 + i), str(250 + i % 5)) for i in numbers], "narrow numbers")
    same(tap, column("points", "holdup_demo:memory", "arg1", "arg2"),
         [(str(row["level"]), "300") for row in truth], "variables of the program")
    same(tap, column("points", "holdup_demo:sites", "arg1"),
         [(str(i if i & 1 else 10 * i),) for i in numbers], "a point in two places is one event")
    same(tap, column("points", "holdup_demo:guarded", "arg1"),
         [(str(i + 1000),) for i in numbers], "a point behind a semaphore")
    same(tap, column("points", "holdup_demo:empty"), [()] * COUNT, "a point without arguments")
    same(tap, column("points", "usdt_sched:sched_switch", "arg1"), [(str(i),) for i in numbers],
         "a point with the name of the kernel's event does not pass for it")
    done = record("named", ["--usdt", POINTS + ":holdup_demo:all(id,_,five:u8,_,name:string)"],
                  POINTS, COUNT)
    same(tap, column("named", "holdup_demo:all", "id", "five", "name", "arg2"),
         [(str(wide + row["i"]), "5", row["name"], None) for row in truth],
         "arguments with names, texts, and some left out")


def build(name, *flags):
    for path, text in TWINS.items():
        with open(path, "w") as file:
            file.write(text)
    subprocess.run(["gcc", "-O1", "-o", name, "a.c", "b.c", *flags], check=True)


def check_programs(tap):
    """Programs that are built, placed and named in other ways."""
    expected = sorted([(str(i),) for i in range(5)] + [(str(i + 100),) for i in range(5)])
    for name, flags in (("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie"]), ("static", ["-static"])):
        build(name, *flags)
        done = record("t-" + name, ["--probe", "./%s:twin(n:s32)" % name], "./" + name)
        same(tap, sorted(column("t-" + name, "probe:twin", "n")), expected,
             "%s: a name in two places is one event, of both" % name)
    done = record("pattern", ["--probe", "./pie:tow*(n:s32)"], "./pie")
    numbers = [(str(i),) for i in range(5)]
    same(tap, [column("pattern", "probe:tower", "n"), column("pattern", "probe:toward", "n")],
         [numbers, numbers], "a pattern makes an event of each function")
    symbols = subprocess.run(["readelf", "-sW", "pie"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    address = int(re.search(r"([0-9a-f]{16}).* tower\n", symbols)[1], 16)
    record("address", ["--probe", "./pie:0x%x(n=%%di:s32)" % address], "./pie")
    same(tap, column("address", "probe:at_0x%x" % address, "n"), numbers, "an address")

    os.mkdir("a folder #1")
    shutil.copy("pie", "a folder #1/pie")
    record("blank", ["--probe", "./a folder #1/pie:tower(n:s32)"], "./a folder #1/pie")
    same(tap, column("blank", "probe:tower", "n"), numbers, "a path with blanks and '#'")

    shutil.copy("pie", "stripped")
    subprocess.run(["strip", "stripped"], check=True)
    done = record("none", ["--probe", "./stripped:tower"], "./stripped")
    tap.ok(done.returncode == 3 and "stripped" in done.stderr and not os.path.exists("none"),
           "a stripped program is named so", done.stderr)
    done = record("none", ["--probe", "./pie:chosen"], "./pie")
    tap.ok(done.returncode == 3 and "IFUNC" in done.stderr, "an indirect function is refused",
           done.stderr)
    done = record("none", ["--probe", "./pie:towre"], "./pie")
    tap.ok(done.returncode == 3 and "tower" in done.stderr, "names close to a wrong one are told",
           done.stderr)
    done = record("none", ["--probe", "./pie:tower", "--usdt", "a:b"], "touch", "it-ran")
    tap.ok(done.returncode == 3 and not os.path.exists("it-ran"),
           "an error comes before the command", done.stderr)
    done = record("none", ["--probe", "./pie:tower(n=%nosuch)"], "touch", "it-ran")
    tap.ok(done.returncode == 3 and not os.path.exists("it-ran") and "register" in done.stderr
           and not listed(), "what the kernel refuses is told, and nothing is left", done.stderr,
           listed())


def check_debug(tap):
    """Symbols from the debug file of a stripped program, found by its build id."""
    subprocess.run(["gcc", "-O1", "-Wl,--build-id", "-o", "whole", "a.c", "b.c"], check=True)
    notes = subprocess.run(["readelf", "-n", "whole"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    folder = "/usr/lib/debug/.build-id/" + build_id[:2]
    path = "%s/%s.debug" % (folder, build_id[2:])
    existed = os.path.isdir(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["objcopy", "--only-keep-debug", "whole", path], check=True)
        subprocess.run(["strip", "whole"], check=True)
        record("debug", ["--probe", "./whole:tower(n:s32)"], "./whole")
        same(tap, column("debug", "probe:tower", "n"), [(str(i),) for i in range(5)],
             "symbols of a separate debug file")
    finally:
        if os.path.exists(path):
            os.unlink(path)
        if not existed and os.path.isdir(folder):
            os.rmdir(folder)


def check_library(tap):
    """A function of a library, in whatever process."""
    done = record("library", ["--probe", "libc:getppid", "--probe", "libc.so.6:getenv(name:string)"],
                  sys.executable, "-c", "import os\nfor i in range(7): os.getppid()")
    rows = column("library", "probe:getppid")
    tap.ok(done.returncode == 0 and len(rows) >= 7, "a function of the C library", done.stderr,
           len(rows))
    names = column("library", "probe:getenv", "name")
    tap.ok(("PYTHONPATH",) in names or ("PYTHONHOME",) in names, "texts that it is given", names)


SLOW = """#include <unistd.h>
#include <sys/sdt.h>
int main(void)
{
	for (int i = 0; i < 2000; i++) {
		DTRACE_PROBE1(slow_demo, tick, i);
		usleep(2000);
	}
	return 0;
}
"""


def check_pid(tap):
    """A program that runs already: its points are found in what it has mapped."""
    with open("slow.c", "w") as file:
        file.write(SLOW)
    if subprocess.run(["gcc", "-O1", "-o", "slow", "slow.c"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        tap.skipped("points of a process", "no sys/sdt.h here")
        return
    with kernel.running("./slow") as process:
        done = kernel.holdup("record", "-o", "pid", "-d", "0.5", "-p", process.pid, "--usdt",
                             "slow_demo:tick")
        wrong = kernel.holdup("record", "-o", "none", "-d", "0.5", "-p", process.pid, "--usdt",
                              "slow_demo:tock")
    ticks = [int(row[0]) for row in column("pid", "slow_demo:tick", "arg1")]
    tap.ok(len(ticks) > 20 and ticks == list(range(ticks[0], ticks[0] + len(ticks))),
           "points of a process: %d, none is missing" % len(ticks), done.stderr, ticks[:5])
    tap.ok(wrong.returncode == 3 and "slow_demo:tick" in wrong.stderr, "those it has are told",
           wrong.stderr)


def check_two(tap):
    """Two recorders at the same time, of the same point with a semaphore."""
    first = subprocess.Popen([kernel.HOLDUP, "record", "-o", "two-a", "-d", "3", "--usdt",
                              POINTS + ":holdup_demo:guarded"], stderr=subprocess.DEVNULL,
                             stdin=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not os.path.exists("two-a/kernel/kallsyms") and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    done = record("two-b", ["--usdt", POINTS + ":holdup_demo:guarded", "--probe",
                            POINTS + ":demo_twice(1)"], POINTS, COUNT)
    still = listed()
    first.wait()
    expected = [(str(i + 1000),) for i in range(COUNT)]
    same(tap, column("two-a", "holdup_demo:guarded", "arg1"), expected, "the first of two recorders")
    same(tap, column("two-b", "holdup_demo:guarded", "arg1"), expected, "the second one")
    tap.ok(len(still) == 1, "the one that ended left the other's point alone", still, done.stderr)
    tap.ok(not listed(), "at the end no point is left", listed())
    after = subprocess.run([POINTS, "1"], stdout=subprocess.PIPE, check=False)
    tap.ok(after.returncode == 0, "the program runs as before")


def check_killed(tap):
    """A killed recorder's points are removed: by its watchdog, or at the next start."""
    for name, watchdog_too in (("a killed recorder", False), ("its watchdog killed, too", True)):
        shutil.rmtree("killed", ignore_errors=True)
        process = subprocess.Popen([kernel.HOLDUP, "record", "-o", "killed", "-d", "30", "--probe",
                                    POINTS + ":demo_twice"], stderr=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not os.path.exists("killed/kernel/kallsyms") and time.monotonic() < end:
            time.sleep(0.05)
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
            children = [int(word) for word in file.read().split()]
        made = listed()
        if watchdog_too:
            for child in children:
                os.kill(child, signal.SIGKILL)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if watchdog_too:
            time.sleep(0.3)
            tap.ok(len(made) == 1 and listed() == made, name + ": its point is left", made, listed())
            kernel.holdup("record", "-o", "next", "-d", "0.1")
        end = time.monotonic() + 5
        while listed() and time.monotonic() < end:
            time.sleep(0.05)
        tap.ok(len(made) == 1 and not listed(), name + ": no point stays", made, listed())


def main():
    kernel.need()
    if not os.path.exists(LIST):
        kernel.skip("this kernel has no uprobes")
    tap = kernel.Tap()
    others = "p:holdup_test_other/e %s:0x1000" % os.path.realpath(POINTS)
    append(others)
    try:
        run(tap)
        with open(LIST) as file:
            tap.ok("holdup_test_other/e" in file.read(), "somebody else's point is still there")
    finally:
        append("-:holdup_test_other/e")
    tap.end()


def run(tap):
    check_functions(tap)
    check_points(tap)
    check_library(tap)
    if all(map(shutil.which, ("gcc", "strip", "objcopy", "readelf"))):
        check_programs(tap)
        check_debug(tap)
        check_pid(tap)
    else:
        tap.skipped("programs built otherwise", "gcc and binutils are not installed")
    check_two(tap)
    check_killed(tap)


if __name__ == "__main__":
    with kernel.workdir():
        main()
