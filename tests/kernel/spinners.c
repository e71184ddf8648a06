/*
 * spinners.c - keep every CPU busy with the lowest priority there is.
 *
 * Some kernels do not record the switch out of the idle task. A SCHED_IDLE thread
 * on each CPU makes idle rare, so that a test can ask for exact numbers; any
 * other thread takes the CPU from it at once.
 *
 * Prints "ready", then spins until its parent is gone.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Noreturn void fail(const char *what, int error)
{
	fprintf(stderr, "spinners: %s: %s\n", what, strerror(error));
	exit(EXIT_FAILURE);
}

static void *spin(void *context)
{
	(void)context;
	for (;;)
		__asm__ volatile("" ::: "memory");
	return NULL;
}

/* Start a spinner on one CPU; it is of SCHED_IDLE when this returns. */
static void start_spinner(int cpu)
{
	struct sched_param param = { .sched_priority = 0 };
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t set;
	int rc;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	rc = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (rc != 0)
		fail("affinity", rc);
	rc = pthread_create(&thread, &attr, spin, NULL);
	if (rc != 0)
		fail("thread", rc);
	rc = pthread_setschedparam(thread, SCHED_IDLE, &param);
	if (rc != 0)
		fail("SCHED_IDLE", rc);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	cpu_set_t set;
	int left;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		fail("sched_getaffinity", errno);
	left = CPU_COUNT(&set);
	for (int cpu = 0; left > 0; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		start_spinner(cpu);
		left--;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
