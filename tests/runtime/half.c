/*
 * half.c - a thread is stopped in the middle of an event, while another one goes on on its CPU.
 *
 * usage: probe-half stopped|alone|resumed
 *	stopped	the process is killed while the thread is there
 *	alone	the thread ends there, alone; the process goes on, and ends by itself
 *	resumed	the thread goes on; then the process is killed
 *
 * The event's bytes lie on a page that cannot be read: the thread stops in its own handler. Prints
 * the trace's folder before it ends.
 */
#include <holdup/trace.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sum.h"

HOLDUP_EVENT(before, step, (u64, n))
HOLDUP_EVENT(behind, step, (u64, n))
HOLDUP_EVENT(fill, step, (u64, n))
HOLDUP_EVENT(later, step, (u64, n))
HOLDUP_EVENT(load, bulk, (u32, thread), (u64, seq), (u32, sum), (bytes, more))

#define BYTES 600 /* more than what is put together before it is written */

static uint8_t *pages; /* the second one cannot be read, at first */
static sem_t is_inside, goes_on;
static const char *what;

static void await(sem_t *sem)
{
	while (sem_wait(sem) < 0 && errno == EINTR)
		;
}

static void on_fault(int number)
{
	(void)number;
	(void)sem_post(&is_inside);
	if (strcmp(what, "alone") == 0)
		(void)syscall(SYS_exit, 0);
	await(&goes_on);
	(void)mprotect(pages, 8192, PROT_READ);
}

static void stay_on_first_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		exit(77);
}

static void *log_half(void *unused)
{
	holdup_load_bulk(1, 7, sum_of(1, 7), pages + 4096 - BYTES / 2, BYTES);
	return unused;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_fault };
	char dir[2048] = "";
	pthread_t thread;

	what = argc > 1 ? argv[1] : "";
	stay_on_first_cpu();
	pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE) < 0)
		return 2;
	(void)sem_init(&is_inside, 0, 0);
	(void)sem_init(&goes_on, 0, 0);
	(void)sigaction(SIGSEGV, &action, NULL);
	for (uint64_t i = 0; i < 100; i++)
		holdup_before_step(i);
	if (pthread_create(&thread, NULL, log_half, NULL))
		return 2;
	await(&is_inside);
	for (uint64_t i = 0; i < 1000; i++)
		holdup_behind_step(i); /* all in the packet of the half-written one */
	for (uint64_t i = 0; i < 20000; i++)
		holdup_fill_step(i); /* some there, the rest in the next ones */
	for (uint64_t i = 0; i < 500; i++)
		holdup_later_step(i);
	if (strcmp(what, "resumed") == 0)
		(void)sem_post(&goes_on);
	if (strcmp(what, "stopped") != 0)
		(void)pthread_join(thread, NULL);
	(void)holdup_trace_dir(dir, sizeof(dir));
	printf("%s lost %llu\n", dir, (unsigned long long)holdup_lost_count());
	(void)fflush(stdout);
	if (strcmp(what, "alone") != 0)
		(void)kill(getpid(), SIGKILL);
	return 0;
}
