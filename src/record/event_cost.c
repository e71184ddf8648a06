/* event_cost.c - see event_cost.h. */
#include "record/event_cost.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/events.h"
#include "record/ftrace.h"

#define ROUNDS	    9
#define AT_ONCE	    3u /* of them */
#define TRIES	    3
#define REPEATS	    250
#define CACHE_BYTES (32u << 10)
#define LINE_BYTES  64u
#define CALL_PARTS  6u /* of so many events one is none of a call, where calls are recorded */

/* Something that has so many of these events each time it is done. */
struct deed {
	void (*once)(void);
	const char *const *events;
	uint32_t event_count;
};

static void rename_self(void)
{
	char name[16];

	(void)prctl(PR_GET_NAME, name);
	(void)prctl(PR_SET_NAME, name);
}

static void call(void)
{
	(void)syscall(SYS_getppid);
}

static void touch(unsigned char *memory)
{
	for (size_t i = 0; i < CACHE_BYTES; i += LINE_BYTES)
		((volatile unsigned char *)memory)[i]++;
}

/* CPU time of REPEATS deeds; others that run meanwhile do not count. */
static uint64_t time_of(const struct deed *deed, unsigned char *memory)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned int i = 0; i < REPEATS; i++) {
		deed->once();
		touch(memory);
	}
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static bool switch_all(int instance_fd, const struct deed *deed, bool on)
{
	struct err err = { 0 };
	bool done = true;

	for (uint32_t i = 0; i < deed->event_count; i++)
		done &= events_switch(instance_fd, deed->events[i], on, &err) == 0;
	return done;
}

static int compare_ns(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/*
 * The median of some rounds, each with and without: what disturbs one does not count. Several have the
 * events on at a time, as switching them takes longer than all the rest. 0 = not known.
 */
static uint64_t measure_once(int instance_fd, const struct deed *deed, unsigned char *memory)
{
	int64_t more_ns[ROUNDS];

	for (unsigned int first = 0; first < ROUNDS; first += AT_ONCE) {
		bool is_on;

		for (unsigned int i = first; i < first + AT_ONCE; i++)
			more_ns[i] = -(int64_t)time_of(deed, memory);
		is_on = switch_all(instance_fd, deed, true);
		for (unsigned int i = first; i < first + AT_ONCE; i++)
			more_ns[i] += (int64_t)time_of(deed, memory);
		(void)switch_all(instance_fd, deed, false);
		if (!is_on)
			return 0;
	}
	qsort(more_ns, ROUNDS, sizeof(more_ns[0]), compare_ns);
	return more_ns[ROUNDS / 2] > 0 ? (uint64_t)more_ns[ROUNDS / 2] / REPEATS / deed->event_count
				       : 0;
}

/* On a machine that is very busy once more. */
static uint64_t measure(int instance_fd, const struct deed *deed, unsigned char *memory)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < TRIES && !ns; i++)
		ns = measure_once(instance_fd, deed, memory);
	return ns;
}

void event_cost_measure(int instance_fd, struct event_cost *out_cost)
{
	static const char *const renames[] = { "task:task_rename" };
	static const char *const calls[] = { "raw_syscalls:sys_enter", "raw_syscalls:sys_exit" };
	const struct deed rename_deed = { rename_self, renames, ARRAY_LEN(renames) };
	const struct deed call_deed = { call, calls, ARRAY_LEN(calls) };
	AUTO_FREE unsigned char *memory = xcalloc(CACHE_BYTES, 1);

	*out_cost = (struct event_cost){ 0 };
	if (ftrace_write(instance_fd, "tracing_on", "1", NULL) < 0)
		return;
	out_cost->event_ns = measure(instance_fd, &rename_deed, memory);
	out_cost->call_ns = measure(instance_fd, &call_deed, memory);
	if (!out_cost->event_ns) /* a kernel without that event */
		out_cost->event_ns = out_cost->call_ns;
	(void)ftrace_write(instance_fd, "tracing_on", "0", NULL);
	(void)ftrace_write(instance_fd, "trace", "", NULL);
}

uint64_t event_cost_of(const struct event_cost *cost, uint64_t count, bool has_calls)
{
	uint64_t others = has_calls ? count / CALL_PARTS : count;

	return others * cost->event_ns + (count - others) * cost->call_ns;
}
