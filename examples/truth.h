/*
 * truth.h - what the examples share: clocks, options, and the line of ground truth.
 *
 * An example does one thing whose cause is known, measures it while it happens
 * and prints what it measured as one line of JSON. Nothing here knows holdup.
 *
 *	static const struct example example = {
 *		.name = "wait-child", .shows = "...",
 *	};
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct run run = run_begin(&example, argc, argv);
 *		...
 *		return run_end(&run, &truth);
 *	}
 *
 * All times are ns. Instants are CLOCK_MONOTONIC.
 */
#ifndef EXAMPLES_TRUTH_H
#define EXAMPLES_TRUTH_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

#define EXIT_USAGE 2
#define EXIT_SKIP  77 /* this machine or user cannot run the example */

/* A switch of one example: what the user types and what it changes. */
struct variant {
	const char *flag;
	const char *help;
};

struct example {
	const char *name;
	const char *shows;		/* for --help; whole lines */
	const struct variant *variants; /* ends with a NULL flag; NULL = none */
	bool wants_dir;			/* takes --dir and --prepare */
};

struct run {
	const struct example *example;
	double scale;
	const char *truth_path; /* NULL = stdout */
	const char *dir;	/* NULL = look for one */
	bool prepare;
	uint64_t start_steal_ns;
	uint32_t variants; /* bit i: variants[i] was given */
};

/* Who held the target up. Filled by the culprit itself, often in shared memory. */
struct root {
	pid_t tid; /* 0 = nobody: hardware */
	char comm[16];
	uint64_t ns;
};

struct truth {
	pid_t tid; /* the target; 0 = the main thread */
	uint64_t start_ns;
	uint64_t end_ns;
	const char *kind; /* a word of the verdict: "timer", "disk", "lock" ... */
	const char *also; /* another word that is as good; NULL = none */
	struct root root;
	uint64_t error_ns; /* how far off root.ns may be, where the kernel tells no better */
	const char *what;
	const char *note; /* NULL = none */
};

/* Where a span of a thread's time went, by the kernel's own accounting. */
struct spent {
	uint64_t wall_ns;
	uint64_t cpu_ns;    /* on a CPU */
	uint64_t queued_ns; /* runnable, but not on a CPU; 0 where the kernel does not tell */
	uint64_t waits;	    /* how often it was blocked */
};

static inline _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static inline _Noreturn void skip(const char *why)
{
	fprintf(stderr, "skipped: %s\n", why);
	exit(EXIT_SKIP);
}

/* Time */

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) < 0)
		fail("clock_gettime");
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Time of another process on a CPU, ever; less than tracing sees by what was stolen. */
static inline uint64_t process_cpu_ns(pid_t pid)
{
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0)
		fail("clock_getcpuclockid");
	return clock_ns(clock);
}

/* The same of another thread of this process. */
static inline uint64_t thread_cpu_ns(pthread_t thread)
{
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) != 0)
		fail("pthread_getcpuclockid");
	return clock_ns(clock);
}

/* Time a thread was runnable without a CPU, ever; 0 where the kernel does not tell. */
static inline uint64_t queued_ns(pid_t tid)
{
	char text[96];
	unsigned long long queued = 0;
	ssize_t length;
	int fd;

	snprintf(text, sizeof(text), "/proc/%d/schedstat", tid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	if (sscanf(text, "%*u %llu", &queued) != 1)
		return 0;
	return queued;
}

/*
 * Time that the hypervisor took from all CPUs, ever, in steps of a clock tick. It
 * is in no thread's CPU time, though the thread was on a CPU, as tracing sees it.
 */
static inline uint64_t steal_ns(void)
{
	FILE *file = fopen("/proc/stat", "re");
	unsigned long long ticks = 0;

	if (!file)
		return 0;
	if (fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
		ticks = 0;
	fclose(file);
	return ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

static inline uint64_t waits_count(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) < 0)
		fail("getrusage");
	return (uint64_t)usage.ru_nvcsw;
}

/* All of it at one moment: whoever is preempted while reading reads again. */
static inline struct spent spent_mark(void)
{
	pid_t tid = gettid();
	struct spent mark;

	do {
		mark.queued_ns = queued_ns(tid);
		mark.waits = waits_count();
		mark.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		mark.wall_ns = now_ns();
	} while (queued_ns(tid) != mark.queued_ns);
	return mark;
}

static inline struct spent spent_since(struct spent mark)
{
	struct spent now = spent_mark();

	return (struct spent){
		.wall_ns = now.wall_ns - mark.wall_ns,
		.cpu_ns = now.cpu_ns - mark.cpu_ns,
		.queued_ns = now.queued_ns - mark.queued_ns,
		.waits = now.waits - mark.waits,
	};
}

/* What is left when time on a CPU and in its queue is taken away; too long by stolen time. */
static inline uint64_t spent_blocked_ns(struct spent spent)
{
	uint64_t ran = spent.cpu_ns + spent.queued_ns;

	return spent.wall_ns > ran ? spent.wall_ns - ran : 0;
}

/*
 * The kernel counts time in the queue from the moment a thread is in it: a few us
 * after it was woken, more when another CPU woke it.
 */
static inline uint64_t spent_error_ns(struct spent spent)
{
	return spent.waits * 8000;
}

/* Sleep; returns how long this thread was truly asleep. */
static inline uint64_t nap(uint64_t ns)
{
	struct spent mark = spent_mark();
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
	mark = spent_since(mark);
	return mark.wall_ns - mark.queued_ns;
}

/* About 50 us of arithmetic; the compiler must not see through it. */
static inline void burn_some(void)
{
	for (uint32_t i = 0; i < 50000; i++)
		__asm__ volatile("" : : "r"(i) : "memory");
}

/* Compute until an instant, without a system call. */
static inline void burn_until(uint64_t end_ns)
{
	while (now_ns() < end_ns)
		burn_some();
}

/* Compute for 'ns' on a CPU; returns how long this thread was on one. */
static inline uint64_t burn(uint64_t ns)
{
	struct spent mark = spent_mark(), spent;
	uint64_t ran = 0;

	while (ran < ns) {
		burn_until(now_ns() + ns - ran);
		spent = spent_since(mark);
		ran = spent.wall_ns - spent.queued_ns;
	}
	return ran;
}

/* Threads and processes */

static inline void set_name(const char *comm)
{
	if (prctl(PR_SET_NAME, comm) < 0)
		fail("prctl");
}

/* The caller is the root: take its identity. */
static inline void root_set(struct root *root, uint64_t ns)
{
	root->tid = gettid();
	if (prctl(PR_GET_NAME, root->comm) < 0)
		fail("prctl");
	root->ns = ns;
}

static inline pid_t fork_named(const char *comm)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		set_name(comm);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	return pid;
}

static inline void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
}

/* Zeroed memory that children share. */
static inline void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory;
}

/* The last CPU this process may use; the first ones serve more interrupts. */
static inline int last_cpu(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		fail("sched_getaffinity");
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return 0;
}

/* Keep the calling thread on one CPU. */
static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fail("sched_setaffinity");
}

/* Make the calling thread real time; skips the example without the right to. */
static inline void go_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		skip("no right to use SCHED_FIFO");
}

/* Options */

static inline void print_help(const struct example *example)
{
	const struct variant *variant;

	printf("usage: %s [--scale X] [--truth FILE]", example->name);
	for (variant = example->variants; variant && variant->flag; variant++)
		printf(" [%s]", variant->flag);
	printf("%s\n\n%s\n", example->wants_dir ? " [--dir DIR] [--prepare]" : "", example->shows);
	for (variant = example->variants; variant && variant->flag; variant++)
		printf("  %-14s %s\n", variant->flag, variant->help);
	if (example->wants_dir)
		printf("  --dir DIR      a folder on a block device\n"
		       "  --prepare      only make the data file that is kept there\n");
	printf("  --scale X      make everything X times as long\n"
	       "  --truth FILE   write the ground truth there, not to stdout\n");
}

static inline bool take_variant(struct run *run, const char *arg)
{
	const struct variant *variants = run->example->variants;

	for (uint32_t i = 0; variants && variants[i].flag; i++) {
		if (strcmp(variants[i].flag, arg) == 0) {
			run->variants |= 1u << i;
			return true;
		}
	}
	return false;
}

/* Take the option at argv[i]. Returns how many words it used; 0 = not known. */
static inline int take_option(struct run *run, char **argv, int i)
{
	bool dir = run->example->wants_dir;

	if (take_variant(run, argv[i]))
		return 1;
	if (dir && strcmp(argv[i], "--prepare") == 0) {
		run->prepare = true;
		return 1;
	}
	if (!argv[i + 1])
		return 0;
	if (strcmp(argv[i], "--truth") == 0) {
		run->truth_path = argv[i + 1];
		return 2;
	}
	if (dir && strcmp(argv[i], "--dir") == 0) {
		run->dir = argv[i + 1];
		return 2;
	}
	if (strcmp(argv[i], "--scale") == 0) {
		run->scale = atof(argv[i + 1]);
		return run->scale > 0 && run->scale <= 100 ? 2 : 0;
	}
	return 0;
}

static inline struct run run_begin(const struct example *example, int argc, char **argv)
{
	struct run run = { .example = example, .scale = 1, .start_steal_ns = steal_ns() };
	int used;

	for (int i = 1; i < argc; i += used) {
		if (strcmp(argv[i], "--help") == 0) {
			print_help(example);
			exit(EXIT_SUCCESS);
		}
		used = take_option(&run, argv, i);
		if (!used) {
			fprintf(stderr, "%s: what is '%s'? try --help\n", example->name, argv[i]);
			exit(EXIT_USAGE);
		}
	}
	return run;
}

/* A number of milliseconds, scaled. */
static inline uint64_t run_ms(const struct run *run, double ms)
{
	return (uint64_t)(ms * run->scale * (double)NS_PER_MS);
}

static inline bool run_has(const struct run *run, uint32_t variant)
{
	return run->variants >> variant & 1;
}

/* Print the ground truth. Returns the exit status of the example. */
static inline int run_end(const struct run *run, const struct truth *truth)
{
	FILE *out = run->truth_path ? fopen(run->truth_path, "we") : stdout;

	if (!out)
		fail(run->truth_path);
	fprintf(out, "{\"example\":\"%s\",\"pid\":%d,\"tid\":%d,\"start_ns\":%llu,\"end_ns\":%llu,",
		run->example->name, getpid(), truth->tid ? truth->tid : getpid(),
		(unsigned long long)truth->start_ns, (unsigned long long)truth->end_ns);
	fprintf(out, "\"root\":{\"kind\":\"%s\",", truth->kind);
	if (truth->also)
		fprintf(out, "\"also\":\"%s\",", truth->also);
	fprintf(out, "\"tid\":%d,\"comm\":\"%s\",\"ns\":%llu,\"what\":\"%s\"},", truth->root.tid,
		truth->root.comm, (unsigned long long)truth->root.ns, truth->what);
	fprintf(out, "\"error_ns\":%llu,\"steal_ns\":%llu,\"note\":\"%s\"}\n",
		(unsigned long long)truth->error_ns,
		(unsigned long long)(steal_ns() - run->start_steal_ns),
		truth->note ? truth->note : "");
	if (fflush(out) != 0)
		fail("writing the truth");
	return EXIT_SUCCESS;
}

#endif
