/*
 * between.c - one thread is stopped before each instruction of the library that it comes to, and
 * another one logs meanwhile, on the same CPU.
 *
 * usage: probe-between [-k] CASE PLACES [NUMBER...]
 *	-k	the process is killed there, at once
 *	PLACES	a file of lines "MODULE OFFSET": instructions, from the beginning of the module's mapping
 *	NUMBER	of the place to stop at; place + PLACES * other place: thread 1 is stopped as well, at
 *		the other place - 1, and goes on when thread 0 has done its part. One process for each,
 *		with its traces in the folder "NUMBER", and "counters.NUMBER"; without any: one process,
 *		that tells all places that it comes to
 *	BETWEEN_CPU	in the environment: the threads' CPU
 *
 * Thread 0 fills packets until the case's next event is one of interest, and is stopped in that
 * one. Prints a line "NUMBER WHAT" for each: "met" (thread 1 logged all it had to, or came to its
 * place, while thread 0 was stopped), "waited" (it did not, and may wait there), "missed" (thread 0
 * never came there), "hung", "died"; "killed".
 */
#include <holdup/trace.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sum.h"
#include "wire/user.h"

HOLDUP_EVENT(load, plain, (u32, thread), (u64, seq), (u32, sum))

#define EVENT_BYTES (USER_EVENT_HEAD + 16)
#define PER_PACKET  ((HOLDUP_LIMIT_ / 8 - USER_HEAD) / EVENT_BYTES)
#define MEANWHILE   (PER_PACKET + PER_PACKET / 2) /* so many: another packet begins */
#define AFTERWARDS  100
#define PLACES_MOST 65536
#define WAIT_US	    20000000
#define LOCKED_US   3000 /* who does nothing for so long waits for a lock */
#define STEP_US	    50
#define BREAKPOINT  0xcc /* int3 */

/* The begin of this is what probe-check reads. */
struct shared {
	struct counters counters;
	uint32_t go, done; /* atomic; rounds that thread 1 may log, and has logged */
};

struct scene {
	const char *name;
	uint64_t before;	 /* events of thread 0 */
	void (*begin)(void);	 /* what thread 0 does as well */
	void (*meanwhile)(void); /* what thread 1 does before it logs */
	bool ends;		 /* thread 1 calls exit() then */
	bool locks; /* thread 1 may have to wait: a trace begins or ends, or rules change */
};

struct place {
	char module[32];
	unsigned long offset;
	uint8_t was;
};

static const struct scene *scene;
static struct shared *shared;
static struct place places[PLACES_MOST];
static size_t place_count;
static bool kills;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void nap(void)
{
	const struct timespec step = { .tv_nsec = STEP_US * 1000 };

	(void)nanosleep(&step, NULL);
}

static void map_shared(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)) < 0)
		die(path);
	if (shared)
		(void)munmap(shared, sizeof(*shared));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		die(path);
	(void)close(fd);
}

/* ---------------------------------------------------------- the process that logs */

/* Its instructions, which have the sequence in them, are stopped at, too. */
__attribute__((noinline)) void log_one(unsigned thread);
__attribute__((noinline)) void log_one(unsigned thread)
{
	uint64_t seq = shared->counters.logged[thread];

	holdup_load_plain(thread, seq, sum_of(thread, seq));
	/* release: whoever sees the number may ask for the event */
	__atomic_store_n(&shared->counters.logged[thread], seq + 1, __ATOMIC_RELEASE);
}

static void log_many(unsigned thread, uint64_t count)
{
	while (count--)
		log_one(thread);
}

static void start_anew(void)
{
	const struct holdup_options options = { .struct_size = sizeof(options),
						.dir = getenv("BETWEEN_DIR"),
						.mode = HOLDUP_STREAM };

	if (holdup_start(&options) < 0)
		exit(2);
}

static void change_rules(void)
{
	static const char *const rules[] = { "-other", "other:this", "-other:t*" };
	static unsigned at;

	if (holdup_enable(rules[__atomic_fetch_add(&at, 1, __ATOMIC_RELAXED) % 3]) < 0)
		exit(2);
}

/* A child logs to a trace of its own. */
static void fork_child(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		log_many(2, AFTERWARDS);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(2);
}

static const struct scene scenes[] = {
	{ .name = "first", .locks = true },
	{ .name = "packet", .before = PER_PACKET },
	{ .name = "file", .before = 2 * PER_PACKET },
	{ .name = "large", .before = 6 * PER_PACKET },	/* the file ahead is of large pages */
	{ .name = "round", .before = 12 * PER_PACKET }, /* a flight recorder's is used again */
	{ .name = "late-first", .meanwhile = start_anew, .locks = true },
	{ .name = "late", .before = 2 * PER_PACKET, .meanwhile = start_anew, .locks = true },
	{ .name = "fork", .before = 2 * PER_PACKET, .meanwhile = fork_child, .locks = true },
	{ .name = "exit", .before = 2 * PER_PACKET, .ends = true, .locks = true },
	{ .name = "anew", .before = PER_PACKET, .begin = start_anew, .locks = true },
	{ .name = "rules",
	  .before = PER_PACKET,
	  .begin = change_rules,
	  .meanwhile = change_rules,
	  .locks = true },
};

static void *log_meanwhile(void *unused)
{
	for (uint32_t round = 1; round <= 2; round++) {
		while (__atomic_load_n(&shared->go, __ATOMIC_ACQUIRE) < round)
			nap();
		if (round == 1 && scene->meanwhile)
			scene->meanwhile();
		log_many(1, round == 1 ? MEANWHILE : AFTERWARDS);
		__atomic_store_n(&shared->done, round, __ATOMIC_RELEASE);
		if (scene->ends)
			exit(0);
	}
	return unused;
}

static int log_all(void)
{
	pthread_t thread;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(atoi(getenv("BETWEEN_CPU")), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return 2;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		return 77;
	(void)raise(SIGSTOP);
	if (pthread_create(&thread, NULL, log_meanwhile, NULL))
		return 2;
	log_many(0, scene->before);
	(void)raise(SIGSTOP);
	if (scene->begin)
		scene->begin();
	log_one(0);
	(void)raise(SIGSTOP);
	__atomic_store_n(&shared->go, 1, __ATOMIC_RELEASE);
	log_many(0, AFTERWARDS);
	while (__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE) < 1)
		nap();
	log_many(0, AFTERWARDS);
	__atomic_store_n(&shared->go, 2, __ATOMIC_RELEASE);
	(void)pthread_join(thread, NULL);
	__atomic_store_n(&shared->counters.lost, holdup_lost_count(), __ATOMIC_RELAXED);
	return 0;
}

/* ------------------------------------------------------------------ its tracer */

/* Where the first mapping of a file of such a name begins in the process; 0: none. */
static unsigned long find_module(pid_t pid, const char *module)
{
	char path[64], line[4352];
	unsigned long start = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "r");
	while (file && !start && fgets(line, sizeof(line), file)) {
		const char *slash = strrchr(line, '/');

		if (slash && strncmp(slash + 1, module, strlen(module)) == 0)
			start = strtoul(line, NULL, 16);
	}
	if (file)
		(void)fclose(file);
	return start;
}

static unsigned long address_of(pid_t pid, const struct place *place)
{
	static pid_t known;
	static char module[sizeof(place->module)];
	static unsigned long base;

	if (known != pid || strcmp(module, place->module) != 0) {
		known = pid;
		memcpy(module, place->module, sizeof(module));
		base = find_module(pid, module);
		if (!base)
			die(module);
	}
	return base + place->offset;
}

/* Change one byte of the process. Returns what was there. */
static uint8_t poke(pid_t pid, unsigned long address, uint8_t byte)
{
	unsigned long at = address & ~7ul, shift = (address & 7) * 8;
	long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
	unsigned long now = ((unsigned long)word & ~(0xfful << shift)) | (unsigned long)byte
										 << shift;

	if (ptrace(PTRACE_POKETEXT, pid, (void *)at, (void *)now) < 0)
		die("poke");
	return (uint8_t)((unsigned long)word >> shift);
}

static void plant(pid_t pid, struct place *place)
{
	place->was = poke(pid, address_of(pid, place), BREAKPOINT);
}

static void unplant(pid_t pid, const struct place *place)
{
	(void)poke(pid, address_of(pid, place), place->was);
}

/* Wait for a thread's next stop, for so many us. Its signal; 0: it has ended; -1: neither. */
static int await_stop(pid_t thread, long us, int *out_status)
{
	for (;; us -= STEP_US) {
		pid_t found = waitpid(thread, out_status, __WALL | WNOHANG);

		if (found == thread)
			return WIFSTOPPED(*out_status) ? WSTOPSIG(*out_status) : 0;
		if (found < 0)
			die("wait");
		if (us <= 0)
			return -1;
		nap();
	}
}

static void let_go(pid_t thread, int signal)
{
	if (ptrace(PTRACE_CONT, thread, NULL, (void *)(long)signal) < 0 && errno != ESRCH)
		die("continue");
}

static int go_on(pid_t thread, long us)
{
	int status;

	let_go(thread, 0);
	return await_stop(thread, us, &status);
}

/* A process whose thread 0 is just before the event of interest, while thread 1 waits. */
static pid_t begin(pid_t *out_other)
{
	const long options = PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	unsigned long other = 0;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)execl("/proc/self/exe", "probe-between", scene->name, (char *)NULL);
		_exit(2);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("fork");
	if (!WIFSTOPPED(status))
		exit(WEXITSTATUS(status) == 77 ? 77 : 2);
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) < 0 ||
	    go_on(pid, WAIT_US) != SIGTRAP || ptrace(PTRACE_GETEVENTMSG, pid, NULL, &other) < 0 ||
	    await_stop((pid_t)other, WAIT_US, &status) != SIGSTOP)
		die("no thread 1");
	*out_other = (pid_t)other;
	let_go((pid_t)other, 0);
	if (go_on(pid, WAIT_US) != SIGSTOP)
		die("no event of interest");
	return pid;
}

/* Stopped behind a breakpoint: which one? The thread is set back before it. NULL: none of ours. */
static struct place *step_back(pid_t thread, size_t first, size_t last)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, thread, NULL, &regs) < 0)
		die("registers");
	for (size_t i = first; i <= last; i++) {
		if (address_of(thread, &places[i]) != regs.rip - 1)
			continue;
		regs.rip--;
		if (ptrace(PTRACE_SETREGS, thread, NULL, &regs) < 0)
			die("registers");
		return &places[i];
	}
	return NULL;
}

static void list_met(void)
{
	pid_t other, pid = begin(&other);

	for (size_t i = 0; i < place_count; i++)
		plant(pid, &places[i]);
	while (go_on(pid, WAIT_US) == SIGTRAP) {
		struct place *place = step_back(pid, 0, place_count - 1);

		if (!place)
			die("a trap of its own");
		unplant(pid, place);
		printf("%zu met\n", (size_t)(place - places));
	}
	(void)kill(pid, SIGKILL);
}

static long patience(void)
{
	return scene->locks ? LOCKED_US : WAIT_US;
}

static const char *when_not_met(void)
{
	return scene->locks ? "waited" : "hung";
}

/* Until thread 1 has logged all it had to. 0: it has; else its signal; -1: it waits for thread 0. */
static int let_other_log(pid_t other)
{
	uint64_t last = 0;
	long idle = 0;

	__atomic_store_n(&shared->go, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE)) {
		uint64_t now = __atomic_load_n(&shared->counters.logged[1], __ATOMIC_RELAXED);
		int status, signal = await_stop(other, 0, &status);

		if (signal == SIGTRAP || signal == 0)
			return signal ? signal : SIGKILL;
		if (signal > 0)
			let_go(other, signal); /* SIGCHLD */
		idle = now == last ? idle + STEP_US : 0;
		last = now;
		if (idle > patience())
			return -1;
		nap();
	}
	return 0;
}

/*
 * Thread 0 is stopped at its place: let thread 1 come to its own, thread 0 do its part, and
 * thread 1 go on. 'out_signal' is thread 0's.
 */
static const char *stop_both(pid_t pid, pid_t other, size_t second, int *out_signal)
{
	int signal;

	plant(pid, &places[second]);
	signal = let_other_log(other);
	unplant(pid, &places[second]);
	if (signal == SIGTRAP && !step_back(other, second, second))
		return "died";
	*out_signal = go_on(pid, signal == SIGTRAP ? patience() : WAIT_US);
	if (signal == SIGTRAP)
		let_go(other, 0);
	return signal < 0 || *out_signal < 0 ? when_not_met() : "met";
}

static const char *kill_all(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	return "killed";
}

/*
 * Of what a thread has stopped for, what it is to get. It may have come to its place just before
 * that was none any more.
 */
static int to_deliver(pid_t thread, int signal)
{
	if (signal == SIGTRAP && step_back(thread, 0, place_count - 1))
		return 0;
	return signal == SIGSTOP ? 0 : signal;
}

/* Let both threads go on until the process has ended. */
static const char *await_end(pid_t pid, const char *said)
{
	for (long us = 0; us < WAIT_US;) {
		int status;
		pid_t found = waitpid(-1, &status, __WALL | WNOHANG);

		if (found == pid && !WIFSTOPPED(status))
			return status ? "died" : said;
		if (found > 0 && WIFSTOPPED(status))
			let_go(found, to_deliver(found, WSTOPSIG(status)));
		if (found > 0)
			continue;
		nap();
		us += STEP_US;
	}
	(void)kill_all(pid);
	return "hung";
}

static const char *stop_at(size_t number)
{
	struct place *place = &places[number % place_count];
	const char *said = "missed";
	pid_t other, pid = begin(&other);
	int signal;

	plant(pid, place);
	signal = go_on(pid, WAIT_US);
	if (signal == SIGTRAP && step_back(pid, number % place_count, number % place_count)) {
		unplant(pid, place);
		if (kills)
			return kill_all(pid);
		if (number >= place_count) {
			said = stop_both(pid, other, number / place_count - 1, &signal);
		} else {
			said = let_other_log(other) ? when_not_met() : "met";
			if (scene->ends) /* mostly before thread 0 goes on */
				(void)usleep((useconds_t)patience());
			else
				signal = go_on(pid, WAIT_US);
		}
	} else if (signal > 0) {
		/* It took another way: whoever comes there later, or a child, is not to be stopped. */
		unplant(pid, place);
	}
	if (signal >= 0)
		let_go(pid, 0);
	return await_end(pid, said);
}

static void read_places(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		die(path);
	while (place_count < PLACES_MOST && fscanf(file, "%31s %lx", places[place_count].module,
						   &places[place_count].offset) == 2)
		place_count++;
	(void)fclose(file);
	if (!place_count)
		die("no places");
}

/* Names for the process to come. */
static void prepare(size_t number)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%zu", number);
	(void)setenv("BETWEEN_DIR", text, 1);
	(void)snprintf(text, sizeof(text), "%s:%zu",
		       strcmp(scene->name, "round") ? "stream" : "flight", number);
	(void)setenv("HOLDUP", text, 1);
	(void)snprintf(text, sizeof(text), "counters.%zu", number);
	(void)setenv("BETWEEN_COUNTERS", text, 1);
	map_shared(text);
}

static const struct scene *find_scene(const char *name)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (strcmp(name, scenes[i].name) == 0)
			return &scenes[i];
	return NULL;
}

int main(int argc, char **argv)
{
	kills = argc > 1 && strcmp(argv[1], "-k") == 0;
	argc -= kills;
	argv += kills;
	scene = argc > 1 ? find_scene(argv[1]) : NULL;
	if (!scene)
		return 2;
	if (argc == 2) {
		map_shared(getenv("BETWEEN_COUNTERS"));
		return log_all();
	}
	read_places(argv[2]);
	if (argc == 3) {
		prepare(place_count);
		list_met();
		return 0;
	}
	for (int i = 3; i < argc; i++) {
		size_t number = strtoul(argv[i], NULL, 10);

		if (number / place_count > place_count)
			return 2;
		prepare(number);
		printf("%zu %s\n", number, stop_at(number));
		(void)fflush(stdout);
	}
	return 0;
}
