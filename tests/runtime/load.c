/*
 * load.c - threads that log numbered events, and know what they logged.
 *
 * usage: probe-load [-t THREADS] [-n EVENTS] [-s] [-m | -p] [-f FILE] [-c]
 *	-s	a timer's signals log, too	-m	threads move among CPUs
 *	-p	thread T stays on CPU T, counted modulo
 *	-f	counters go to this file, which outlives the process
 *	-c	events carry 0 to 200 bytes more
 *	-x HOW	end while others log: "exit", "_exit", "abort", "crash"
 *	-k N	SIGKILL when thread 0 has logged N events, by a thread that does nothing but wait for it
 *	-a	... by a signal's handler of a thread that logs, whatever it is just doing (with -s)
 *	-F	children of fork(), some at a time, log as well; their counters go to FILE.PID; -k kills
 *		all of the process group
 *
 * Prints "thread T logged N" for each, "lost N", "dir PATH"; tests/runtime/check.c reads the trace.
 */
#include <holdup/trace.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sum.h"

#ifndef sigev_notify_thread_id /* glibc before 2.38 has no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

HOLDUP_EVENT(load, plain, (u32, thread), (u64, seq), (u32, sum))
HOLDUP_EVENT(load, bulk, (u32, thread), (u64, seq), (u32, sum), (bytes, more))

#ifdef __SANITIZE_THREAD__
/*
 * The helper has a table of descriptors of its own, which the sanitizer does not know: it takes
 * two files of the same number for one.
 */
const char *__tsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__tsan_default_suppressions(void)
{
	return "race:segment_new\nrace:write_copy\nrace:pool_give\nrace:own_files\n";
}
#endif

static struct counters mine, *counters = &mine;
static uint64_t wanted = 100000;
static unsigned thread_count = 8;
static bool moves, pinned, alarms, with_bulk, forks, by_handler;
static uint64_t kill_at = UINT64_MAX;
static const char *ending = "", *path;
static __thread unsigned own_thread = NONE;

static void log_one(unsigned thread)
{
	static const uint8_t more[256] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint64_t seq = counters->logged[thread];

	if (with_bulk && seq % 3 == 0)
		holdup_load_bulk(thread, seq, sum_of(thread, seq), more,
				 seq % 200 * (seq % 97 == 0 ? 1 : 0) + seq % 7);
	else
		holdup_load_plain(thread, seq, sum_of(thread, seq));
	/* release: whoever sees the number may ask for the event */
	__atomic_store_n(&counters->logged[thread], seq + 1, __ATOMIC_RELEASE);
}

static bool is_over(void)
{
	return __atomic_load_n(&counters->logged[0], __ATOMIC_ACQUIRE) >= kill_at;
}

static void end_all(void)
{
	(void)kill(forks ? 0 : getpid(), SIGKILL);
}

/* Each thread's handlers are one more "thread": they do not nest. */
static void on_alarm(int number)
{
	(void)number;
	if (own_thread == NONE)
		return;
	if (by_handler && is_over())
		end_all();
	log_one(own_thread + MOST / 2);
}

static void move(uint64_t seq)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(seq % (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* A timer of the thread's own. */
static void begin_alarms(timer_t *out_timer)
{
	const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	const struct itimerspec often = { { 0, 100000 }, { 0, 100000 } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };

	event.sigev_notify_thread_id = gettid();
	(void)sigaction(SIGALRM, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, out_timer) < 0)
		exit(2);
	(void)timer_settime(*out_timer, 0, &often, NULL);
}

static void *run(void *thread)
{
	timer_t timer;

	own_thread = (unsigned)(uintptr_t)thread;
	if (pinned)
		move(own_thread);
	if (alarms)
		begin_alarms(&timer);
	for (uint64_t i = 0; i < wanted; i++) {
		log_one(own_thread);
		if (moves && i % 701 == 0)
			move(i / 701 + own_thread);
	}
	if (alarms)
		(void)timer_delete(timer);
	own_thread = NONE;
	return NULL;
}

static void map_counters(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*counters)) < 0)
		exit(2);
	counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		exit(2);
	(void)close(fd);
}

static void say(void)
{
	char dir[2048] = "";
	uint64_t lost = holdup_lost_count();

	(void)holdup_trace_dir(dir, sizeof(dir));
	__atomic_store_n(&counters->lost, lost, __ATOMIC_RELAXED);
	printf("method %s\nlost %llu\ndir %s\n", holdup_method(), (unsigned long long)lost, dir);
	(void)fflush(stdout);
}

/* In a trace and with counters of its own. */
static void child(unsigned number)
{
	char name[4096];

	(void)snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());
	map_counters(name);
	if (pinned)
		move(number);
	/* Some end by themselves. */
	for (uint64_t i = 0; i < 3000 * (uint64_t)(number % 8 + 1); i++)
		log_one(number % 8);
	_exit(0);
}

/* For ever: up to three at a time. */
static void *fork_children(void *unused)
{
	unsigned running = 0;

	for (unsigned number = 0;; number++) {
		pid_t pid = fork();

		if (pid == 0)
			child(number);
		if (pid > 0 && ++running >= 3 && wait(NULL) > 0)
			running--;
	}
	return unused;
}

static void *kill_then(void *unused)
{
	while (!is_over())
		(void)sched_yield();
	end_all();
	return unused;
}

static void begin_others(void)
{
	pthread_t thread;

	if (forks && pthread_create(&thread, NULL, fork_children, NULL))
		exit(2);
	if (kill_at != UINT64_MAX && !by_handler && pthread_create(&thread, NULL, kill_then, NULL))
		exit(2);
}

static void options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "t:n:smpf:cx:k:aF")) >= 0) {
		switch (option) {
		case 't':
			thread_count = (unsigned)atoi(optarg);
			break;
		case 'n':
			wanted = strtoull(optarg, NULL, 10);
			break;
		case 's':
			alarms = true;
			break;
		case 'm':
			moves = true;
			break;
		case 'p':
			pinned = true;
			break;
		case 'f':
			path = optarg;
			map_counters(optarg);
			break;
		case 'c':
			with_bulk = true;
			break;
		case 'x':
			ending = optarg;
			break;
		case 'k':
			kill_at = strtoull(optarg, NULL, 10);
			break;
		case 'a':
			by_handler = true;
			break;
		case 'F':
			forks = true;
			break;
		default:
			exit(2);
		}
	}
	if (thread_count > MOST / 2 || (forks && !path))
		exit(2);
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];

	options(argc, argv);
	for (unsigned i = 0; i < thread_count; i++) {
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i))
			return 2;
	}
	begin_others();
	if (*ending) {
		/* However busy the machine is. */
		while (__atomic_load_n(&counters->logged[0], __ATOMIC_ACQUIRE) < 1000)
			(void)usleep(1000);
		(void)usleep(20000);
		if (strcmp(ending, "_exit") == 0)
			_exit(0);
		if (strcmp(ending, "abort") == 0)
			abort();
		if (strcmp(ending, "crash") == 0) {
			/* A sanitizer would end it in its own way. */
			(void)signal(SIGSEGV, SIG_DFL);
			(void)raise(SIGSEGV);
		}
		return 0;
	}
	for (unsigned i = 0; i < thread_count; i++)
		(void)pthread_join(threads[i], NULL);
	say();
	return 0;
}
