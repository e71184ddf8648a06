/*
 * probe.c - what this kernel leaves out of a trace.
 *
 * A thread that sleeps on an idle CPU gives way to the idle task, and comes back
 * out of it. Each sleep must show both switches; a kernel that skips the second
 * shows the thread leaving a CPU that it never came back to.
 */
#include "record/probe.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/ftrace.h"

#define PROBE_CPUS     8
#define PROBE_SLEEPS   4
#define PROBE_SLEEP_NS 500000

#define SWITCH_DIR "events/sched/sched_switch/"

static bool has_number(const char *line, const char *end, const char *key, int number)
{
	char text[64];
	const char *at;

	snprintf(text, sizeof(text), " %s=%d ", key, number);
	at = memmem(line, (size_t)(end - line), text, strlen(text));
	return at != NULL;
}

void probe_count(const char *trace, int tid, unsigned int *out_to_idle, unsigned int *out_omitted)
{
	bool away = false;

	*out_to_idle = *out_omitted = 0;
	while (*trace) {
		const char *end = strchrnul(trace, '\n');

		if (*trace != '#' && has_number(trace, end, "prev_pid", tid)) {
			*out_omitted += away;
			*out_to_idle += has_number(trace, end, "next_pid", 0);
			away = true;
		} else if (*trace != '#' && has_number(trace, end, "next_pid", tid)) {
			away = false;
		}
		trace = *end ? end + 1 : end;
	}
}

static void sleep_on_cpus(void)
{
	struct timespec pause = { .tv_nsec = PROBE_SLEEP_NS };
	cpu_set_t before, one;
	int probed = 0;

	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && probed < PROBE_CPUS; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!CPU_ISSET(cpu, &before) || sched_setaffinity(0, sizeof(one), &one) < 0)
			continue;
		for (int i = 0; i < PROBE_SLEEPS; i++)
			nanosleep(&pause, NULL);
		probed++;
	}
	(void)sched_setaffinity(0, sizeof(before), &before); /* it was allowed before */
}

bool probe_omits_idle_switches(int instance_fd)
{
	unsigned int to_idle = 0, omitted = 0;
	AUTO_FREE char *trace = NULL;
	char filter[96];

	snprintf(filter, sizeof(filter), "prev_pid == %d || next_pid == %d", gettid(), gettid());
	if (ftrace_write(instance_fd, SWITCH_DIR "filter", filter, NULL) < 0 ||
	    ftrace_write(instance_fd, SWITCH_DIR "enable", "1", NULL) < 0)
		return true;
	if (ftrace_write(instance_fd, "tracing_on", "1", NULL) == 0)
		sleep_on_cpus();
	(void)ftrace_write(instance_fd, "tracing_on", "0", NULL); /* it just took a 1 */
	trace = ftrace_read(instance_fd, "trace", NULL);
	if (trace)
		probe_count(trace, gettid(), &to_idle, &omitted);
	(void)ftrace_write(instance_fd, SWITCH_DIR "enable", "0", NULL);
	(void)ftrace_write(instance_fd, SWITCH_DIR "filter", "0", NULL);
	(void)ftrace_write(instance_fd, "trace", "", NULL); /* opening it empties the buffers */
	return !to_idle || omitted;
}
