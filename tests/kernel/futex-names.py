#!/usr/bin/env python3
"""futex-names.py - planted locks have the names of their variables, and of others no wrong one."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

LIBRARY = r"""
#include <pthread.h>
pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hidden_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t *in_library(int hidden) { return hidden ? &hidden_lock : &open_lock; }
"""
# A thread is called as its program and what it waits for; the lock is let go when it has slept for 4 ms.
PLANTED = r"""
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
struct bank { char pad[40]; pthread_mutex_t lock; };
pthread_mutex_t LEDGER = PTHREAD_MUTEX_INITIALIZER;
struct bank bank;
static struct { long sum; pthread_mutex_t lock; } accounts[5];
static pthread_mutex_t data_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t of_class __asm__("_ZN6orders4Book6sharedE");
static __thread pthread_mutex_t own_lock;
pthread_mutex_t *in_library(int hidden);
static pthread_mutex_t *in_function(void) { static pthread_mutex_t local_lock; return &local_lock; }
struct wanted { const char *name; pthread_mutex_t *lock; volatile int tid; };
static void *wants(void *context)
{
	struct wanted *wanted = context;
	char name[32];
	snprintf(name, sizeof(name), "%s:%s", program_invocation_short_name, wanted->name);
	prctl(PR_SET_NAME, name);
	wanted->tid = gettid();
	pthread_mutex_lock(wanted->lock);
	pthread_mutex_unlock(wanted->lock);
	return NULL;
}
static int sleeps(int tid)
{
	char path[64], state = 0;
	FILE *file;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	fscanf(file, "%*d %*s %c", &state);
	fclose(file);
	return state == 'S';
}
static void contend(const char *name, pthread_mutex_t *lock)
{
	struct wanted wanted = { name, lock };
	pthread_t thread;
	pthread_mutex_lock(lock);
	pthread_create(&thread, NULL, wants, &wanted);
	while (!wanted.tid || !sleeps(wanted.tid)) usleep(500);
	usleep(4000);
	pthread_mutex_unlock(lock);
	pthread_join(thread, NULL);
}
int main(int argc, char **argv)
{
	pthread_mutex_t on_stack = PTHREAD_MUTEX_INITIALIZER, *on_heap = calloc(1, 4096);
	contend("ledger", &LEDGER);
	contend("member", &bank.lock);
	contend("array", &accounts[3].lock);
	contend("data", &data_lock);
	contend("class", &of_class);
	contend("local", in_function());
	contend("open", in_library(0));
	contend("hidden", in_library(1));
	contend("stack", &on_stack);
	contend("heap", on_heap);
	contend("own", &own_lock);
	if (!fork()) {
		contend("forked", &LEDGER);
		_exit(0);
	}
	wait(NULL);
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 0;
}
"""
# Two processes, one of which sleeps for a lock in memory that they share.
SHARED = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static int sleeps(int pid)
{
	char path[64], state = 0;
	FILE *file;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	fscanf(file, "%*d %*s %c", &state);
	fclose(file);
	return state == 'S';
}
static void contend(const char *name, int fd, int offset)
{
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, offset);
	pthread_mutex_t *lock = (void *)(memory + 4096 + 0x40);
	volatile int *begins = (void *)memory;
	pthread_mutexattr_t shared;
	int pid;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &shared);
	pthread_mutex_lock(lock);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, name);
		*begins = 1;
		pthread_mutex_lock(lock);
		_exit(0);
	}
	while (!*begins || !sleeps(pid)) usleep(500);
	usleep(4000);
	pthread_mutex_unlock(lock);
	waitpid(pid, NULL, 0);
}
int main(int argc, char **argv)
{
	int fd = shm_open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600), removed = memfd_create("removed", 0);
	(void)argc;
	ftruncate(fd, 16384);
	ftruncate(removed, 16384);
	contend("shm", fd, 0);
	contend("further", fd, 4096);
	shm_unlink(argv[1]);
	contend("unlinked", fd, 0);
	contend("memory", removed, 0);
	contend("nothing", -1, 0);
	return 0;
}
"""
# 32-bit, without any library: it waits for nobody.
BITS32 = r"""
static int ledger_word;
static struct { int pad[10], word; } banks[3] = { { { 1 } } };
static int call(int nr, int a, int b, int c, int d)
{
	int rc;
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return rc;
}
void _start(void)
{
	int time[2] = { 0, 4000000 };
	call(172, 15, (int)"bits32", 0, 0); /* prctl(PR_SET_NAME) */
	for (int i = 0; i < 3; i++) {
		call(240, (int)&ledger_word, 128, 0, (int)time);
		call(240, (int)&banks[2].word, 128, 0, (int)time);
	}
	call(1, 0, 0, 0, 0);
}
"""
# Of a class; main has the lock until the other thread has slept for it.
CLASS = r"""
#include <mutex>
#include <stdio.h>
#include <thread>
#include <unistd.h>
#include <sys/prctl.h>
namespace orders {
struct Base { long id; std::mutex base_lock; };
class Book : public Base { public: int depth; std::recursive_mutex lock; static std::mutex shared; };
std::mutex Book::shared;
Book books[2];
}
static volatile int tid;
static bool sleeps()
{
	char path[64], state = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	FILE *file = fopen(path, "r");
	bool told = fscanf(file, "%*d %*s %c", &state) == 1;
	fclose(file);
	return told && state == 'S';
}
template <class Lock> static void contend(const char *name, Lock &lock)
{
	tid = 0;
	lock.lock();
	std::thread thread([&] { prctl(PR_SET_NAME, name); tid = gettid(); lock.lock(); lock.unlock(); });
	while (!tid || !sleeps()) usleep(500);
	usleep(4000);
	lock.unlock();
	thread.join();
}
int main()
{
	contend("member", orders::books[1].lock);
	contend("base", orders::books[1].base_lock);
	contend("shared", orders::Book::shared);
}
"""
# One thread has the lock of an arena for long, as it walks through all that is free; another one wants memory.
ARENA = r"""
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
enum { BLOCKS = 200000 };
static volatile int ends, begins;
static void *blocks[BLOCKS];
static void *wants(void *name)
{
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(160 + i % 30 * 16);
	for (int i = 0; i < BLOCKS; i += 2) free(blocks[i]);
	begins = 1;
	while (!ends) free(malloc(3000));
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	(void)argv;
	mallopt(M_ARENA_MAX, argc > 1 ? 2 : 1);
	pthread_create(&thread, NULL, wants, argc > 1 ? "heap" : "main");
	while (!begins) usleep(1000);
	for (int i = 0; i < 5; i++) { mallinfo2(); usleep(1000); }
	ends = 1;
	pthread_join(thread, NULL);
	return 0;
}
"""
DEADLOCK = r"""
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static void *takes(void *forward)
{
	pthread_mutex_lock(forward ? &first_lock : &second_lock);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(forward ? &second_lock : &first_lock);
	return NULL;
}
int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, takes, &thread);
	pthread_create(&thread, NULL, takes, NULL);
	pthread_join(thread, NULL);
	return 0;
}
"""


def build(source, name, *options, language="c"):
    subprocess.run(["gcc", "-O2", "-w", "-D_GNU_SOURCE", "-pthread", "-x", language, "-", "-x", "none", "-o", name, *options], input=source,
                   text=True, check=True)


def build_all():
    build(LIBRARY, "libopen.so", "-shared", "-fPIC")
    build(LIBRARY, "libbare.so", "-shared", "-fPIC", "-s")
    build(PLANTED, "pie", "-DLEDGER=ledger_lock", "-fpie", "-pie", "./libopen.so")
    build(PLANTED, "fixed", "-DLEDGER=ledger_lock", "-fno-pie", "-no-pie", "./libopen.so")
    build(PLANTED, "other", "-DLEDGER=another_lock", "-fno-pie", "-no-pie", "./libopen.so")
    build(PLANTED, "bare", "-DLEDGER=ledger_lock", "-s", "./libbare.so")
    build(ARENA, "arena")
    build(DEADLOCK, "deadlock")


def address_of(variable, program):
    told = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return next(line.split()[0] for line in told.splitlines() if line.split()[-1] == variable)


def record(trace, *command):
    subprocess.run([kernel.HOLDUP, "record", "--stack-min", "1ms", "-o", trace, "--", *command], capture_output=True,
                   timeout=120, check=True)


def waits(trace):
    """Thread's name -> what it waited for in futex(), in order."""
    told = subprocess.run([kernel.HOLDUP, "export", "--format", "jsonl", "--what", "waits", trace], capture_output=True, text=True,
                          check=True).stdout
    found = {}
    for line in told.splitlines():
        wait = json.loads(line)
        if wait["in"] == "futex":
            found.setdefault(wait["who"]["comm"], []).append(wait["object"])
    return found


def has_names(tap, found, program, library, ledger, words, member="bank+0x28", element="accounts+0x98"):
    own = {"ledger": ledger, "member": member, "array": element, "data": "data_lock", "class": "orders::Book::shared", "local": "local_lock",
           "forked": ledger}
    wanted = {name: "futex of %s (%s)" % (variable, program) for name, variable in own.items()}
    wanted.update({name: "futex of %s_lock (%s)" % (name, library) for name in ("open", "hidden")})
    told = {name: found.get("%s:%s" % (program, name)) for name in wanted}
    tap.ok(all(told[name] and set(told[name]) == {wanted[name]} for name in wanted), words + ": locks have the names of their variables",
           wanted, told)
    tap.ok(has_none(found, program, ("stack", "heap", "own")), words + ": those on the stack, on the heap and of a thread have none",
           found)


def has_none(found, program, names):
    told = [found.get("%s:%s" % (program, name)) for name in names]
    return all(objects and all(text.startswith("futex 0x") for text in objects) for objects in told)


def programs(tap):
    """The second program of a process has its variables where the first one had others."""
    tap.ok(address_of("ledger_lock", "fixed") == address_of("another_lock", "other"), "two programs have two locks at one address")
    record("locks.holdup", "sh", "-c", "./pie; ./fixed ./other; ./bare")
    for name in ("pie", "fixed", "other", "bare", "libopen.so", "libbare.so"):
        os.unlink(name)
    found = waits("locks.holdup")
    has_names(tap, found, "pie", "libopen.so", "ledger_lock", "PIE")
    has_names(tap, found, "fixed", "libopen.so", "ledger_lock", "not PIE")
    has_names(tap, found, "other", "libopen.so", "another_lock", "the next program of the process")
    tap.ok(has_none(found, "bare", ("ledger", "member", "array", "data", "class", "local", "forked", "hidden", "stack", "heap", "own")),
           "stripped: no lock has a name, right or wrong", found)
    tap.ok(set(found.get("bare:open", [])) == {"futex of open_lock (libbare.so)"}, "but for one that a library exports",
           found.get("bare:open"))


def members(tap):
    """Structures, arrays and classes of the debug information, of DWARF 4 and 5, and beside the program."""
    for options in (["-gdwarf-4"], ["-gdwarf-5", "-fdebug-types-section"], ["-g", "-flto"]):
        build(LIBRARY, "libopen.so", "-shared", "-fPIC")
        build(PLANTED, "debug", "-DLEDGER=ledger_lock", "./libopen.so", *options)
        if options[0] == "-gdwarf-4":
            for command in (["objcopy", "--only-keep-debug", "debug", "debug.debug"], ["strip", "-s", "debug"],
                            ["objcopy", "--add-gnu-debuglink=debug.debug", "debug"]):
                subprocess.run(command, check=True)
        shutil.rmtree("members.holdup", ignore_errors=True)
        record("members.holdup", "./debug")
        has_names(tap, waits("members.holdup"), "debug", "libopen.so", "ledger_lock", " ".join(options), "bank.lock", "accounts[3].lock")


def classes(tap):
    if not shutil.which("g++"):
        tap.skipped("members of classes", "g++ is not installed")
        return
    build(CLASS, "class", "-g", "-lstdc++", language="c++")
    record("classes.holdup", "./class")
    found = {name: set(objects) for name, objects in waits("classes.holdup").items()}
    wanted = {"member": "orders::books[1].lock", "base": "orders::books[1].base_lock", "shared": "orders::Book::shared"}
    tap.ok(all(found.get(name) == {"futex of %s (class)" % text} for name, text in wanted.items()),
           "locks of classes have the names of their members", found)


def shared(tap):
    """Of memory that processes share the file is told, also where they end at once: then its last part alone may be."""
    build(SHARED, "shared")
    name = "holdup-test-%d" % os.getpid()
    record("shared.holdup", "./shared", "/" + name)
    found = {name: set(objects) for name, objects in waits("shared.holdup").items()}
    wanted = {"shm": "%s+0x1040" % name, "further": "%s+0x2040" % name, "unlinked": "%s+0x1040" % name, "memory": "memfd:removed+0x1040"}
    tap.ok(all(found.get(who) and found[who] <= {"futex in " + text, "futex in /dev/shm/" + text, "futex in /" + text}
               for who, text in wanted.items()), "words in shared memory have the names of their files", found)
    tap.ok(all(text.startswith("futex 0x") for text in found.get("nothing", ["-"])), "without a file they have none", found.get("nothing"))


def bits32(tap):
    try:
        build(BITS32, "small", "-m32", "-g", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-static")
        subprocess.run("./small", check=True)
    except (subprocess.CalledProcessError, OSError):
        tap.skipped("words of 32-bit programs", "they cannot be built or run here")
        return
    record("small.holdup", "./small")
    found = set(waits("small.holdup").get("bits32", []))
    tap.ok(found == {"futex of ledger_word (small)", "futex of banks[2].word (small)"}, "words of 32-bit programs have names", found)


def arenas(tap):
    """Also where debug files name nothing in the C library."""
    hide = "mount -t tmpfs none /usr/lib/debug 2>/dev/null; exec \"$@\""
    command = [kernel.HOLDUP, "record", "--stack-min", "1ms", "-o", "arenas.holdup", "--", "sh", "-c", "./arena; ./arena two"]
    subprocess.run(["unshare", "--mount", "sh", "-c", hide, "sh", *command], capture_output=True, timeout=120, check=True)
    found = waits("arenas.holdup")
    for name in ("main", "heap"):
        tap.ok("malloc arena" in found.get(name, []), "malloc waits for its arena: " + name, found.get(name))


def stuck(tap):
    objects = []
    with kernel.running("./deadlock") as process:
        for _ in range(50):
            told = json.loads(subprocess.run([kernel.HOLDUP, "stuck", "--json", "--stacks", str(process.pid)], capture_output=True,
                                             check=False, timeout=60).stdout)
            objects = sorted(thread["wait"]["object"] or "" for thread in told["threads"] if thread["wait"] and thread["waits_for"])
            if "mutex of second_lock (deadlock)" in objects:
                break
            time.sleep(0.1)
    tap.ok([text for text in objects if "mutex" in text] == ["mutex of first_lock (deadlock)", "mutex of second_lock (deadlock)"],
           "stuck names the locks of a deadlock", objects)


def main():
    kernel.need("gcc", "unshare")
    tap = kernel.Tap()
    build_all()
    for test in (programs, members, classes, shared, bits32, arenas, stuck):
        test(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
