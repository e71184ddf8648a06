#!/usr/bin/env python3
"""stacks.py - in which code programs waited: planted functions, stripped ones, hung ones, ended ones."""
import json
import os
import re
import shutil
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

BOOK = r"""
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
struct Book {
	std::mutex lock;
	std::condition_variable opened;
	bool is_open = false, is_held = false;
	__attribute__((noinline)) void add() { std::lock_guard<std::mutex> guard(lock); __asm__ volatile(""); }
	__attribute__((noinline)) void until_open()
	{
		std::unique_lock<std::mutex> guard(lock);
		opened.wait(guard, [this] { return is_open; });
	}
};
int main()
{
	Book book;
	std::thread other([&book] {
		book.lock.lock();
		__atomic_store_n(&book.is_held, true, __ATOMIC_SEQ_CST);
		usleep(300000);
		book.lock.unlock();
		usleep(300000);
		std::lock_guard<std::mutex> guard(book.lock);
		book.is_open = true;
		book.opened.notify_all();
	});
	while (!__atomic_load_n(&book.is_held, __ATOMIC_SEQ_CST)) std::this_thread::yield();
	book.add();
	book.until_open();
	other.join();
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
# 32-bit, without a C library: waits by int $0x80 and in the kernel's own code for these, in a signal handler, in vfork(), below a
# frame that only %esi tells of, and one that lasts; and work.
BITS_32 = r"""
#define WAITS __attribute__((noinline)) void
unsigned int kernel_code;
static volatile int sink;
static long call_int(long nr, long a, long b, long c)
{
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}
static long call_kernel(long nr, long a, long b, long c)
{
	long result;
	__asm__ volatile("call *kernel_code" : "=a"(result) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}
int vfork_32(void);
void by_esi(void);
__asm__(".text\n"
	".globl _start\n.type _start,@function\n_start:\n.cfi_startproc\n.cfi_undefined eip\nmov %esp, %eax\nand $-16, %esp\n"
	"sub $12, %esp\npush %eax\ncall run_32\nhlt\n.cfi_endproc\n.size _start,.-_start\n"
	".globl vfork_32\n.type vfork_32,@function\nvfork_32:\n.cfi_startproc\npop %ecx\n.cfi_adjust_cfa_offset -4\n"
	".cfi_register eip, ecx\nmov $190, %eax\nint $0x80\npush %ecx\n.cfi_adjust_cfa_offset 4\n.cfi_offset eip, -4\nret\n"
	".cfi_endproc\n.size vfork_32,.-vfork_32\n"
	".globl by_esi\n.type by_esi,@function\nby_esi:\n.cfi_startproc\npush %esi\n.cfi_adjust_cfa_offset 4\n.cfi_offset esi, -8\n"
	"mov %esp, %esi\n.cfi_def_cfa_register esi\nand $-256, %esp\ncall nap_esi\nmov %esi, %esp\n.cfi_def_cfa_register esp\n"
	"pop %esi\n.cfi_adjust_cfa_offset -4\nret\n.cfi_endproc\n.size by_esi,.-by_esi\n");
#define NAP(name, call) WAITS name(void) { long ts[] = { 0, 20000000 }; call(162, (long)ts, 0, 0); sink++; }
NAP(nap_int, call_int) NAP(nap_kernel, call_kernel) NAP(nap_signal, call_kernel) NAP(nap_esi, call_int)
WAITS wait_vfork(void) { if (!vfork_32()) { nap_int(); call_int(1, 0, 0, 0); } sink++; }
WAITS work_32(void) { for (int i = 0; i < 300000000; i++) __asm__ volatile("" : "+r"(i)); sink++; }
WAITS on_alarm(int number) { char room[number * 100]; __asm__ volatile("" : : "r"(room) : "memory"); nap_signal(); sink++; }
WAITS outer(int size) { char room[size]; room[0] = 1; __asm__ volatile("" : : "r"(room) : "memory"); nap_int(); nap_kernel(); sink += room[0]; }
WAITS nap_open(void) { long ts[] = { 4, 0 }; call_kernel(162, (long)ts, 0, 0); sink++; }
void run_32(unsigned int *at)
{
	unsigned int argc = *at;
	at += argc + 2;
	while (*at++) ;
	for (; *at; at += 2) if (*at == 32) kernel_code = at[1]; /* AT_SYSINFO */
	if (argc > 1) nap_open();
	if (!call_int(2, 0, 0, 0)) { for (int i = 0; i < 3; i++) call_int(6, i, 0, 0); nap_open(); call_int(1, 0, 0, 0); }
	for (int i = 0; i < 4; i++) outer(300 + i % 2 * 3000);
	by_esi();
	call_int(48, 14, (long)on_alarm, 0);
	call_int(37, call_int(20, 0, 0, 0), 14, 0);
	wait_vfork();
	work_32();
	call_int(1, 0, 0, 0);
}
"""

# 32-bit code in a program of 64 bits, as Windows programs in Wine have it, which has a file of 32 bits mapped, too.
MIXED = r"""
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
extern const char code[], code_end[];
__asm__(".section .rodata\n.globl code, code_end\ncode:\n.code32\nmov $162, %eax\nxor %ecx, %ecx\nint $0x80\nlret\n.code64\ncode_end:\n.text\n");
int main(int argc, char **argv)
{
	int rights = PROT_READ | PROT_WRITE | PROT_EXEC, kind = MAP_PRIVATE | MAP_32BIT;
	char *low = mmap(NULL, 8192, rights, kind | MAP_ANONYMOUS, -1, 0);
	uint32_t to[2] = { (uint32_t)(uintptr_t)low, 0x23 }, ts[2] = { 0, 20000000 };
	int file = open(argv[argc - 1], O_RDONLY);
	if (low == MAP_FAILED || mmap(NULL, 4096, rights, kind, file, 0) == MAP_FAILED) return 1;
	memcpy(low, code, (size_t)(code_end - code));
	memcpy(low + 4096, ts, sizeof(ts));
	memcpy(low + 4112, to, sizeof(to));
	__asm__ volatile("mov %%rsp, %%r12\nlea 8192(%0), %%rsp\nlcall *4112(%0)\nmov %%r12, %%rsp" : : "r"(low), "b"(low + 4096)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "memory");
	return 0;
}
"""
NAMES = ("wait_first", "wait_second", "wait_third")

# Waits of two kinds, each for long, none of them a sleep of its own: at pages that another thread fills, and in one
# write() whose reader takes a page now and then, so that each sleep in it is short.
PARTS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PAGES 20
#define WAITS __attribute__((noinline)) void
static int faults, pipes[2];
static char room[1 << 17];
static void *fill(void *no)
{
	static char from[4096] __attribute__((aligned(4096)));
	struct uffd_msg told;
	(void)no;
	while (read(faults, &told, sizeof(told)) == sizeof(told)) {
		struct uffdio_copy copy = { .dst = told.arg.pagefault.address & ~4095ul, .src = (unsigned long)from, .len = 4096 };
		usleep(4000);
		ioctl(faults, UFFDIO_COPY, &copy);
	}
	return NULL;
}
static void *take(void *no)
{
	static char to[4096];
	(void)no;
	do
		usleep(300);
	while (read(pipes[0], to, sizeof(to)) > 0);
	return NULL;
}
WAITS touch_page(volatile char *page) { (void)*page; __asm__ volatile(""); }
WAITS touch_pages(char *pages) { for (int i = 0; i < PAGES; i++) touch_page(pages + i * 4096); __asm__ volatile(""); }
WAITS write_parts(void) { if (write(pipes[1], room, sizeof(room)) < 0) perror("write"); __asm__ volatile(""); }
int main(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register over = { .range = { 0, PAGES * 4096 }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	over.range.start = (unsigned long)pages;
	faults = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &over) || pipe(pipes)) return 1;
	pthread_create(&thread, NULL, fill, NULL);
	pthread_create(&thread, NULL, take, NULL);
	touch_pages(pages);
	for (int i = 0; i < 8; i++) write_parts();
	return 0;
}
"""


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


def why(*argv, env=None):
    """The report, and what the command measured."""
    done = subprocess.run([HOLDUP, "why", "--json", *argv], capture_output=True, text=True, timeout=120,
                          check=False, env={**os.environ, **(env or {})})
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


def listed(tap, folder):
    """Each switch that begins a wait has the stack of that one, in text and in JSON."""
    program, trace = build(folder, "listed"), os.path.join(folder, "listed.holdup")
    done = subprocess.run([HOLDUP, "record", "--sample", "off", "-o", trace, "--", program], capture_output=True, text=True, timeout=120, check=True)
    with open(trace + "/trace.json", encoding="utf-8") as file:
        words = ["--filter", "sched_switch and tid == %d" % json.load(file)["target_tid"], trace]
    lines = [json.loads(line) for line in subprocess.run([HOLDUP, "list", "--stack", "--json", *words], capture_output=True, text=True,
                                                         check=True).stdout.splitlines()]
    took = dict.fromkeys(NAMES, 0)
    for line, then in zip(lines, lines[1:]):
        for frame in line["stack"] or []:
            if frame["function"] in took:
                took[frame["function"]] += then["time_ns"] - line["time_ns"]
    wanted = shares_of(done.stderr)
    shares = {name: ns / sum(took.values()) for name, ns in took.items() if ns}
    tap.ok(shares.keys() == wanted.keys() and all(abs(shares[name] - wanted[name]) < 0.1 for name in shares),
           "list --stack: from switch to switch the functions have their shares", shares, wanted, lines[:2])
    text = subprocess.run([HOLDUP, "list", "--stack", *words], capture_output=True, text=True, check=True).stdout
    tap.ok(all("> %s (" % name in text for name in wanted) and text.count("\n") > 5 * len(lines), "and their frames are lines", text[:2000])
    done = subprocess.run([HOLDUP, "list", "--stack", "--count-by", "event", trace], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 2 and "--stack" in done.stderr, "counts have no stacks", done.stderr)


def inlined(tap, folder):
    """wait_first becomes a part of main, and stands in the stack as before."""
    source = THREE.replace("__attribute__((noinline)) void", "__attribute__((always_inline)) static inline void").replace(
        "waits[i % 3](pipes[0]);", "if (i % 3 == 0) wait_first(pipes[0]); else if (i % 3 == 1) wait_second(pipes[0]); else wait_third(pipes[0]);")
    for name, options in (("inlined", []), ("inlined-at-link-time", ["-flto"]), ("inlined-without-a-table", [])):
        program = os.path.join(folder, name)
        subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", *options, "-o", program, "-x", "c", "-"], input=source, text=True, check=True)
        if name == "inlined-without-a-table":  # clang and rustc write none
            subprocess.run(["objcopy", "--remove-section", ".debug_aranges", program], check=True)
        report, errors = why("--", program)
        shares, wanted = waited(report), shares_of(errors)
        tap.ok(near(report, shares, wanted), "functions that were %s have their shares" % name.replace("-", " "), shares, wanted)
        stacks = [stack for stack in report["stacks"].values() if any(frame["function"] in NAMES for frame in stack)]
        tap.ok(stacks and all([(frame["inlined"], frame["function"]) for frame in stack if frame["function"] in NAMES + ("main",)][-2:] in
                              [[(True, name), (False, "main")] for name in NAMES] for stack in stacks),
               "they are marked, and what they are in follows", stacks[:1])


def of_cpp(tap, folder):
    """A guard, inlined from a template of a class of the library, is not the place; who made it is."""
    if not shutil.which("g++"):
        return tap.skipped("places in C++", "there is no g++")
    program = os.path.join(folder, "book")
    subprocess.run(["g++", "-O2", "-g", "-pthread", "-o", program, "-x", "c++", "-"], input=BOOK, text=True, check=True)
    report, _ = why("--", program)
    shares = waited(report)
    tap.ok({"Book::add", "Book::until_open"} == {name for name, share in shares.items() if share > 0.1},
           "the place of a wait is behind the library of C++", shares)
    names = {frame["function"] for stack in report["stacks"].values() for frame in stack if frame["inlined"]}
    tap.ok(any(name.startswith("std::condition_variable::wait<") for name in names),
           "inlined functions have the names of their namespaces and classes", sorted(names))
    places = {place["function"] for wait in report["causality"] for place in wait["code"]}
    tap.ok({"Book::add", "Book::until_open"} <= places and
           all(place["stack"] in report["stacks"] for wait in report["causality"] for place in wait["code"] + wait["waker_code"]),
           "each wait of the causality has its code", places)


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
    done = subprocess.run([HOLDUP, "states", "--json", str(report["target"]["tid"]), trace], capture_output=True, text=True, check=False)
    spans = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    longest = sorted((span for span in spans if span["wib"] == "blocked"), key=lambda span: span["ns"])[-1:]
    tap.ok(longest and longest[0].get("waited_in", {}).get("function") == "wait_third", "states names it, too", longest, done.stderr)


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
    subprocess.run([HOLDUP, "record", "--stack-min", "off", "--sample", "off", "-o", trace, "--", "sleep", "0.1"],
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


def parts(tap, folder):
    """With the kernel's task works, and as before there were any."""
    program = os.path.join(folder, "parts")
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-pthread", "-o", program, "-x", "c", "-"], input=PARTS, text=True, check=True)
    with_works = "at page faults, too" in subprocess.run([HOLDUP, "doctor"], capture_output=True, text=True, check=False).stdout
    for name, env in (("at the end of calls", {"HOLDUP_NO_TASK_WORK": "1"}),) + (
            (("by task works", {}), ("by late task works", {"HOLDUP_NO_TASK_WORK": "late"})) if with_works else ()):
        by_calls = env.get("HOLDUP_NO_TASK_WORK") == "1"
        report, errors = why("--sample", "off", "--", program, env=env)
        seen = {row["object"] or row["kind"]: row["code_seen"] for row in report["verdict"] if row["share"] > 0.1}
        stacks = [[frame["function"] for frame in stack if frame["module"] != "[kernel]"] for stack in report["stacks"].values()]
        shares = waited(report)
        written = [stack for stack in stacks if "write_parts" in stack]
        tap.ok(written and all(stack[-1] == "_start" and stack[stack.index("write_parts") + 1] == "main" for stack in written) and
               shares.get("write_parts", 0) > 0.1,
               "%s: many sleeps in one call are one wait, with its stack" % name, shares, stacks, seen, report["missing"], errors)
        touched = [stack for stack in stacks if "touch_page" in stack]
        tap.ok(touched and shares.get("touch_page", 0) > 0.2 and all(
            stack == ["touch_page"] if by_calls else stack[:3] == ["touch_page", "touch_pages", "main"] and stack[-1] == "_start" for stack in touched),
               "%s: a wait at a page fault has %s" % (name, "its place" if by_calls else "its whole stack"), shares, touched, report["missing"])


def user_stacks(trace, program):
    """Those that have code of the program in them, or all: why each ends, and the functions, without the kernel's."""
    frames, found = [], []
    with open(os.path.join(trace, "kernel", "stacks"), encoding="utf-8") as file:
        for fields in (line.rstrip("\n").split("\t") for line in file):
            if fields[0] == "F":
                frames.append((fields[6], fields[4]))
            elif fields[0] == "S":
                stack = [frames[int(number)] for number in fields[2:]]
                if not program or any(module == program for module, _ in stack):
                    found.append([fields[1]] + [function for module, function in stack if module != "[kernel]"])
    return found


def bits_32(tap, folder):
    """32-bit programs on x86-64: every kind of wait, and work."""
    program, mixed, trace = (os.path.join(folder, name) for name in ("bits32", "mixed", "bits32.holdup"))
    done = subprocess.run(["gcc", "-m32", "-static", "-nostdlib", "-O1", "-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-fno-pie", "-no-pie",
                           "-fno-stack-protector", "-o", program, "-x", "c", "-"], input=BITS_32, text=True, check=False)
    if os.uname().machine != "x86_64" or done.returncode:
        return tap.skipped("stacks of 32-bit programs", "gcc makes no 32-bit program for this machine")
    try:
        subprocess.run([program], check=True)
    except OSError as error:
        return tap.skipped("stacks of 32-bit programs", "this kernel runs none: %s" % error)
    why_not, rest = "it was in 32-bit code, but its files are not known to be a 32-bit program's", ["run_32", "_start"]
    wanted = [["nap_int", "outer"], ["__kernel_vsyscall", "nap_kernel", "outer"], ["nap_esi", "by_esi"], ["nap_int", "wait_vfork"],
              ["__kernel_vsyscall", "nap_signal", "on_alarm", "__kernel_sigreturn"], ["vfork_32", "wait_vfork"],
              ["__kernel_vsyscall", "nap_open"], ["work_32"]]
    for name, env in (("at the end of calls", {"HOLDUP_NO_TASK_WORK": "1"}), ("as the kernel can", {})):
        subprocess.run([HOLDUP, "record", "--stack-min", "1ms", "--sample", "199", "-o", trace, "--", program], capture_output=True, timeout=120,
                       check=True, env={**os.environ, **env})
        found = user_stacks(trace, "bits32")
        tap.ok(all([""] + stack + rest in found for stack in wanted), "32-bit, %s: each wait, and work, has its whole stack" % name,
               [stack for stack in wanted if [""] + stack + rest not in found], found)
        tap.ok(all(stack[0] or stack[-1] == "_start" for stack in found), "and none that claims to be whole ends elsewhere", found)
        shutil.rmtree(trace)
    with subprocess.Popen([program, "waits"]) as process:
        for _ in range(20): # it may not have begun to wait
            report = json.loads(subprocess.run([HOLDUP, "stuck", "--stacks", "--json", str(process.pid)], capture_output=True, text=True,
                                               timeout=60, check=False).stdout)
            found = re.findall(r'"function": ?"([^"]*)"', json.dumps(report))
            if "nap_open" in found or process.poll() is not None:
                break
        process.kill()
    tap.ok(found[-4:] == wanted[6] + rest, "and so it is in holdup stuck", report)
    subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "-o", mixed, "-x", "c", "-"], input=MIXED, text=True, check=True)
    subprocess.run([mixed, program], check=True) # its code has to lie below 4 GiB
    subprocess.run([HOLDUP, "record", "--stack-min", "1ms", "--sample", "off", "-o", trace, "--", mixed, program], capture_output=True, timeout=120,
                   check=True)
    found = user_stacks(trace, None)
    tap.ok([why_not] in found, "32-bit code in a 64-bit program has no names, and says why", found)
    return None


def main():
    kernel.need("gcc")
    tap = kernel.Tap()
    for test in (planted, listed, inlined, of_cpp, small_debug, linked_debug, hung, ended, switched_off, python_ends, deep, bits_32, parts):
        test(tap, os.getcwd())
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
