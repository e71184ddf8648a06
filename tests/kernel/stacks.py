#!/usr/bin/env python3
"""stacks.py - in which code programs waited: planted functions, stripped ones, hung ones, ended ones."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

HOLDUP = kernel.HOLDUP

THREE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define WAITS __attribute__((noinline)) void
WAITS wait_first(int fd) { char c; if (read(fd, &c, 1) != 1) exit(1); __asm__ volatile(""); }
WAITS wait_second(int fd) { char c; if (read(fd, &c, 1) != 1) exit(1); __asm__ volatile(""); }
WAITS wait_third(int fd) { char c; if (read(fd, &c, 1) != 1) exit(1); __asm__ volatile(""); }
static void (*const waits[])(int) = { wait_first, wait_second, wait_third };
int main(int argc, char **argv)
{
	static const int us[] = { 60000, 30000, 10000 };
	double took[3] = { 0 };
	int pipes[2];
	(void)argv;
	if (pipe(pipes)) return 1;
	if (!fork()) {
		for (int i = 0; i < 24; i++) { usleep(us[i % 3]); if (write(pipes[1], "x", 1) != 1) return 1; }
		_exit(0);
	}
	for (int i = 0; i < 24; i++) {
		struct timespec from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		waits[i % 3](pipes[0]);
		clock_gettime(CLOCK_MONOTONIC, &to);
		took[i % 3] += to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
	}
	fprintf(stderr, "%f %f %f\n", took[0], took[1], took[2]);
	if (argc > 1) wait_third(pipes[0]); /* nobody writes, and nobody closes */
	return 0;
}
"""

# Its frame has room for what select() of Python has; a signal interrupts it; its code is there twice, as V8's is.
DEEP = r"""
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
extern char __executable_start[], etext[];
__attribute__((noinline)) void wait_deep(void)
{
	char room[50000];
	memset(room, 1, sizeof(room));
	usleep(20000);
	__asm__ volatile("" : : "r"(room) : "memory");
}
__attribute__((noinline)) int wait_vfork(void)
{
	int pid = vfork();
	if (!pid) { usleep(20000); _exit(0); }
	return pid;
}
__attribute__((noinline)) int wait_spawn(void)
{
	char *argv[] = { "sh", "-c", "true", NULL };
	pid_t pid;
	posix_spawn_file_actions_t slow; /* a fifo opens when somebody writes: the parent waits for the child's exec */
	if (mkfifo("deep.fifo", 0600)) return -1;
	posix_spawn_file_actions_init(&slow);
	posix_spawn_file_actions_addopen(&slow, 5, "deep.fifo", O_RDONLY, 0);
	if (!fork()) { usleep(20000); _exit(open("deep.fifo", O_WRONLY) < 0); }
	posix_spawn(&pid, "/bin/sh", &slow, NULL, argv, argv + 3);
	unlink("deep.fifo");
	return pid;
}
static void on_alarm(int number) { (void)number; for (int i = 0; i < 10; i++) wait_deep(); }
int main(void)
{
	int own = open("/proc/self/exe", O_RDONLY);
	unsigned long from = ((unsigned long)main & ~4095ul) - (unsigned long)__executable_start;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, own, (long)from) == MAP_FAILED) return 1;
	if (wait_vfork() < 0 || wait_spawn() < 0) return 1;
	signal(SIGALRM, on_alarm);
	raise(SIGALRM);
	return 0;
}
"""
NAMES = ("wait_first", "wait_second", "wait_third")


def build(folder, name, *options):
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", *options, "-o", path, "-x", "c", "-"], input=THREE,
                   text=True, check=True)
    return path


def shares_of(errors):
    """What the program measured itself, as shares: the machine may be busy."""
    times = next([float(word) for word in line.split()] for line in errors.splitlines()
                 if len(line.split()) == 3 and line[0].isdigit())
    return {name: took / sum(times) for name, took in zip(NAMES, times)}


def why(*argv):
    """The report, and what the command measured."""
    done = subprocess.run([HOLDUP, "why", "--json", *argv], capture_output=True, text=True, timeout=120,
                          check=False)
    report = json.loads(done.stdout)
    return report[0] if isinstance(report, list) else report, done.stderr


def waited(report):
    """Share of each place in all that the target waited in."""
    sums = {}
    for row in report["verdict"]:
        for place in row["waited_in"]:
            name = place["function"] or "%s+0x%x" % (place["module"], place["offset"] or 0)
            sums[name] = sums.get(name, 0) + place["ns"]
    total = sum(sums.values()) or 1
    return {name: ns / total for name, ns in sums.items()}


def slack(report):
    """The program measured until it ran again: on a busy machine it waits for a CPU as well."""
    window = report["window"]
    return 0.03 + report["wib"]["interrupted_ns"] / (window["end_ns"] - window["start_ns"])


def near(report, shares, wanted):
    return all(abs(shares.get(name, 0) - share) < slack(report) for name, share in wanted.items())


def planted(tap, folder):
    for name, options in (("plain", []), ("static", ["-static"])):
        report, errors = why("--", build(folder, name, *options))
        shares, wanted = waited(report), shares_of(errors)
        tap.ok(near(report, shares, wanted), "the functions of a %s program have their shares" % name, shares, wanted)
        stacks = [[frame["function"] for frame in stack] for stack in report["stacks"].values()
                  if any(frame["function"] in NAMES for frame in stack)]
        tap.ok(stacks and all(stack[-1] == "_start" and "main" in stack for stack in stacks),
               "and their stacks end in _start", stacks)
    report, errors = why("--", build(folder, "bare", "-s"))
    shares, wanted = waited(report), shares_of(errors)
    first = sorted(shares, key=shares.get)[-3:]
    tap.ok(all(abs(shares[name] - share) < slack(report) for name, share in zip(first, sorted(wanted.values()))) and
           all("bare+0x" in name for name in first),
           "a stripped one has addresses instead of names, and no name of another function", shares, wanted)


def inlined(tap, folder):
    """wait_first becomes a part of main, and stands in the stack as before."""
    program = os.path.join(folder, "inlined")
    source = THREE.replace("__attribute__((noinline)) void", "__attribute__((always_inline)) static inline void").replace(
        "waits[i % 3](pipes[0]);", "if (i % 3 == 0) wait_first(pipes[0]); else if (i % 3 == 1) wait_second(pipes[0]); else wait_third(pipes[0]);")
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-o", program, "-x", "c", "-"], input=source, text=True, check=True)
    report, errors = why("--", program)
    shares, wanted = waited(report), shares_of(errors)
    tap.ok(near(report, shares, wanted), "functions that were inlined have their shares", shares, wanted)
    stacks = [stack for stack in report["stacks"].values() if any(frame["function"] in NAMES for frame in stack)]
    tap.ok(stacks and all([(frame["inlined"], frame["function"]) for frame in stack if frame["function"] in NAMES + ("main",)][-2:] in
                          [[(True, name), (False, "main")] for name in NAMES] for stack in stacks),
           "they are marked, and what they are in follows", stacks[:1])


def small_debug(tap, folder):
    """A stripped program whose symbols are in .gnu_debugdata, as distributions make it."""
    program, symbols = build(folder, "small"), os.path.join(folder, "symbols")
    for command in (["objcopy", "-S", "--keep-symbol=wait_first", "--keep-symbol=wait_second", "--keep-symbol=wait_third", program, symbols],
                    ["strip", "-s", program], ["xz", "-f", symbols],
                    ["objcopy", "--add-section", ".gnu_debugdata=%s.xz" % symbols, program]):
        subprocess.run(command, check=True)
    report, errors = why("--", program)
    shares, wanted = waited(report), shares_of(errors)
    tap.ok(near(report, shares, wanted), "names of .gnu_debugdata are found", shares, wanted)


def linked_debug(tap, folder):
    """A stripped program that names its debug file (.gnu_debuglink), and a file of that name that is another one."""
    program = build(folder, "linked", "-g")
    for command in (["objcopy", "--only-keep-debug", program, program + ".debug"], ["strip", "-s", program],
                    ["objcopy", "--add-gnu-debuglink=" + program + ".debug", program]):
        subprocess.run(command, check=True)
    report, errors = why("--", program)
    shares, wanted = waited(report), shares_of(errors)
    tap.ok(near(report, shares, wanted), "names of a linked debug file are found", shares, wanted)
    with open(program + ".debug", "ab") as file:
        file.write(b"x")
    report, _ = why("--", program)
    tap.ok(not set(NAMES) & set(waited(report)), "and not in a file of another checksum", waited(report))


def hung(tap, folder):
    trace = os.path.join(folder, "hung")
    subprocess.run([HOLDUP, "record", "--stack-min", "1ms", "-d", "3", "-o", trace, "--", "timeout", "6", build(folder, "hangs"), "hang"],
                   capture_output=True, timeout=120, check=False)
    report, _ = why("--comm", "hangs", trace)
    rows = [row for row in report["verdict"] if row["kind"] == "stuck"]
    tap.ok(rows and rows[0]["waited_in"] and rows[0]["waited_in"][0]["function"] == "wait_third" and
           rows[0]["code_seen"] > 0.97, "a wait that is open at the end has its stack", rows, report["missing"])


def ended(tap, folder):
    """Its file is gone, and so is the process, long before names are looked for."""
    program = build(folder, "ends")
    trace = os.path.join(folder, "ended")
    done = subprocess.run([HOLDUP, "record", "--stack-min", "1ms", "-o", trace, "--", "sh", "-c", "%s; rm %s; sleep 0.5" % (program, program)],
                          capture_output=True, text=True, timeout=120, check=True)
    report, _ = why("--comm", "ends", trace)
    shares, wanted = waited(report), shares_of(done.stderr)
    tap.ok(near(report, shares, wanted), "a program that ended and was removed is told", shares, wanted)


def switched_off(tap, folder):
    trace = os.path.join(folder, "off")
    subprocess.run([HOLDUP, "record", "--stack-min", "off", "-o", trace, "--", "sleep", "0.1"],
                   capture_output=True, timeout=120, check=True)
    report, _ = why(trace)
    tap.ok(not os.path.exists(trace + "/kernel/stacks") and "stacks" not in report and
           not any("code" in gap["what"] for gap in report["missing"]), "without stacks nothing tells of them",
           report["missing"])


def python_ends(tap, folder):
    """Debian's own, stripped and without frame pointers."""
    trace = os.path.join(folder, "python")
    code = "import time\ndef work():\n    for _ in range(20): time.sleep(0.004)\nwork()"
    subprocess.run([HOLDUP, "record", "--stack-min", "1ms", "-o", trace, "--", "/usr/bin/python3", "-c", code], capture_output=True,
                   timeout=120, check=True)
    report, _ = why(trace)
    stacks = [[frame["function"] for frame in report["stacks"][place["stack"]]]
              for row in report["verdict"] for place in row["waited_in"]]
    stacks = [stack for stack in stacks if "Py_RunMain" in stack]
    tap.ok(stacks and all(stack[-1] == "_start" for stack in stacks), "stacks of python3 end in _start", stacks)


def deep(tap, folder):
    """With 50000 bytes in a frame, below a signal handler, in a program whose code is mapped a second time."""
    for name, options in (("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie", "-fno-pie"])):
        program, trace = os.path.join(folder, "deep-" + name), os.path.join(folder, "deep")
        subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", *options, "-falign-functions=4096", "-o", program, "-x", "c", "-"],
                       input=DEEP, text=True, check=True)
        report, _ = why("--", program)
        every = [[frame["function"] for frame in stack if frame["module"] != "[kernel]"] for stack in report["stacks"].values()]
        stacks = [stack for stack in every if "wait_deep" in stack]
        tap.ok(stacks and all(stack[stack.index("wait_deep"):][:2] == ["wait_deep", "on_alarm"] and
                              stack[-1] == "_start" and stack[stack.index("on_alarm"):].count("main") == 1 for stack in stacks),
               "%s: a deep stack, through a signal, goes up to _start" % name, stacks, report["missing"])
        for function in ("wait_vfork", "wait_spawn"):
            found = [stack for stack in every if function in stack]
            tap.ok(found and all(stack[-1] == "_start" and stack[stack.index(function) + 1] == "main" for stack in found),
                   "%s: so does that of %s()" % (name, function), found, every)


def main():
    kernel.need("gcc")
    tap = kernel.Tap()
    for test in (planted, inlined, small_debug, linked_debug, hung, ended, switched_off, python_ends, deep):
        test(tap, os.getcwd())
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
