/*
 * probe.c - what this kernel leaves out of a trace.
 *
 * A thread that sleeps on an idle CPU gives way to the idle task, and comes back
 * out of it. Each sleep must show both switches; a kernel that skips the second
 * shows the thread leaving a CPU that it never came back to.
 */
#include "record/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/ftrace.h"

#define PROBE_SLEEPS   3
#define PROBE_SLEEP_NS 100000

#define SWITCH_DIR "events/sched/sched_switch/"

static bool has_number(const char *line, const char *end, const char *key, int number)
{
	char text[64];
	const char *at;

	snprintf(text, sizeof(text), " %s=%d ", key, number);
	at = memmem(line, (size_t)(end - line), text, strlen(text));
	return at != NULL;
}

/* "comm-123  [004] d..2. ...": 4; -1 = not such a line. */
static int line_cpu(const char *line, const char *end)
{
	const char *at = memmem(line, (size_t)(end - line), " [", 2);

	return at ? atoi(at + 2) : -1;
}

void probe_count(const char *trace, int tid, struct probe_counts *out_counts)
{
	int last_cpu = -1;
	bool away = false;

	*out_counts = (struct probe_counts){ 0 };
	while (*trace) {
		const char *end = strchrnul(trace, '\n');

		if (*trace != '#' && has_number(trace, end, "prev_pid", tid)) {
			int cpu = line_cpu(trace, end);

			out_counts->omitted += away;
			away = true;
			if (cpu != last_cpu && has_number(trace, end, "next_pid", 0)) {
				out_counts->idle_cpus++;
				last_cpu = cpu;
			}
		} else if (*trace != '#' && has_number(trace, end, "next_pid", tid)) {
			away = false;
		}
		trace = *end ? end + 1 : end;
	}
}

/* Sleep on each CPU. Returns how many there are. */
static unsigned int sleep_on_cpus(void)
{
	struct timespec pause = { .tv_nsec = PROBE_SLEEP_NS };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t before, one;
	unsigned int tried = 0;

	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return UINT_MAX;
	for (int cpu = 0; cpu < CPU_SETSIZE && tried < cpus; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) < 0)
			continue;
		for (int i = 0; i < PROBE_SLEEPS; i++)
			nanosleep(&pause, NULL);
		tried++;
	}
	(void)sched_setaffinity(0, sizeof(before), &before); /* it was allowed before */
	return (unsigned int)cpus;
}

enum idle_switches probe_idle_switches(int instance_fd)
{
	struct probe_counts counts = { 0 };
	unsigned int cpus = UINT_MAX;
	AUTO_FREE char *trace = NULL;
	char filter[96];

	snprintf(filter, sizeof(filter), "prev_pid == %d || next_pid == %d", gettid(), gettid());
	if (ftrace_write(instance_fd, SWITCH_DIR "filter", filter, NULL) < 0 ||
	    ftrace_write(instance_fd, SWITCH_DIR "enable", "1", NULL) < 0)
		return IDLE_SWITCHES_UNSEEN;
	if (ftrace_write(instance_fd, "tracing_on", "1", NULL) == 0)
		cpus = sleep_on_cpus();
	(void)ftrace_write(instance_fd, "tracing_on", "0", NULL); /* it just took a 1 */
	trace = ftrace_read(instance_fd, "trace", NULL);
	if (trace)
		probe_count(trace, gettid(), &counts);
	(void)ftrace_write(instance_fd, SWITCH_DIR "enable", "0", NULL);
	(void)ftrace_write(instance_fd, SWITCH_DIR "filter", "0", NULL);
	(void)ftrace_write(instance_fd, "trace", "", NULL); /* opening it empties the buffers */
	if (counts.omitted)
		return IDLE_SWITCHES_OMITTED;
	return counts.idle_cpus < cpus ? IDLE_SWITCHES_UNSEEN : IDLE_SWITCHES_ALL;
}
