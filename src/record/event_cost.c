/* event_cost.c - see event_cost.h. */
#include "record/event_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/events.h"
#include "record/ftrace.h"

#define TURNS	     2u /* with and without, as switching events takes longer than all the rest */
#define TRIES	     3u
#define SAMPLES_MOST 1024u
#define LINE_BYTES   64u
#define CODE_LINES   "1024" /* of as many bytes */
#define CALL_PARTS   6u	    /* of so many events one is none of a call, where calls are recorded */
#define CLOCK_NS     150u   /* reading it takes longer: that is a system call */

/* What is between two deeds: nothing; as much memory as the nearest cache holds; more than that, and code. */
static const struct distance {
	size_t bytes;
	bool runs_code;
	uint32_t deeds; /* each turn */
} distances[EVENT_COST_POINTS] = { { 0, false, 400 },
				   { 32u << 10, false, 400 },
				   { 256u << 10, true, 150 } };

/* Something that has events of these kinds, so many each time it is done. */
struct deed {
	void (*once)(void);
	const char *const *kinds;
	uint32_t kind_count, event_count;
};

static char own_name[16];

static void rename_self(void)
{
	(void)prctl(PR_SET_NAME, own_name);
}

static void call(void)
{
	(void)syscall(SYS_getppid);
}

static void touch(unsigned char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += LINE_BYTES)
		((volatile unsigned char *)memory)[i]++;
}

/* More code than the nearest cache holds: each line of it is left by a jump. */
static void __attribute__((noinline)) run_code(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile(".rept " CODE_LINES "\n\tjmp 1f\n\t.balign 64\n1:\n\t.endr");
#elif defined(__aarch64__)
	__asm__ volatile(".rept " CODE_LINES "\n\tb 1f\n\t.balign 64\n1:\n\t.endr");
#endif
}

static bool switch_all(int instance_fd, const struct deed *deed, bool on)
{
	struct err err = { 0 };
	bool done = true;

	for (uint32_t i = 0; i < deed->kind_count; i++)
		done &= events_switch(instance_fd, deed->kinds[i], on, &err) == 0;
	return done;
}

static int compare_ns(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* How long each deed took, and from one to the next. */
struct samples {
	uint64_t deed_ns[SAMPLES_MOST], apart_ns[SAMPLES_MOST];
	uint32_t count;
};

/* At each distance, without the events and with them. */
struct measured {
	struct samples of[EVENT_COST_POINTS][2];
};

static void do_some(const struct deed *deed, const struct distance *distance, unsigned char *memory,
		    struct samples *samples)
{
	uint64_t before_ns = clock_now_ns();

	for (uint32_t i = 0; i < distance->deeds && samples->count < SAMPLES_MOST; i++) {
		uint64_t begin_ns, end_ns;

		touch(memory, distance->bytes);
		if (distance->runs_code)
			run_code();
		begin_ns = clock_now_ns();
		deed->once();
		end_ns = clock_now_ns();
		samples->deed_ns[samples->count] = end_ns - begin_ns;
		samples->apart_ns[samples->count++] = end_ns - before_ns;
		before_ns = end_ns;
	}
}

static bool take_turn(int instance_fd, const struct deed *deed, unsigned char *memory, bool is_on,
		      struct measured *measured)
{
	bool is_done = !is_on || switch_all(instance_fd, deed, true);

	for (unsigned int i = 0; i < EVENT_COST_POINTS && is_done; i++)
		do_some(deed, &distances[i], memory, &measured->of[i][is_on]);
	return (!is_on || switch_all(instance_fd, deed, false)) && is_done;
}

static uint64_t quartile(const struct samples *samples, uint32_t quarter)
{
	return samples->deed_ns[(uint64_t)samples->count * quarter / 4];
}

/*
 * Medians: what disturbs some deeds, like others that run meanwhile, does not count. In each quarter, those with
 * the events are to be the longer ones: else the machine was too busy to tell.
 */
static void add_point(struct samples *without, struct samples *with, uint32_t event_count,
		      struct event_cost_curve *curve)
{
	bool is_known = true;

	qsort(without->deed_ns, without->count, sizeof(uint64_t), compare_ns);
	qsort(with->deed_ns, with->count, sizeof(uint64_t), compare_ns);
	qsort(with->apart_ns, with->count, sizeof(uint64_t), compare_ns);
	for (uint32_t quarter = 1; quarter <= 3; quarter++)
		is_known &= quartile(with, quarter) > quartile(without, quarter);
	if (is_known)
		event_cost_add(curve, with->apart_ns[with->count / 2] / event_count,
			       (quartile(with, 2) - quartile(without, 2)) / event_count);
}

static void measure(int instance_fd, const struct deed *deed, unsigned char *memory,
		    struct event_cost_curve *out_curve)
{
	AUTO_FREE struct measured *measured = xcalloc(1, sizeof(*measured));

	for (unsigned int i = 0; i < TRIES && !out_curve->count; i++) {
		memset(measured, 0, sizeof(*measured));
		for (unsigned int turn = 0; turn < 2 * TURNS; turn++) {
			if (!take_turn(instance_fd, deed, memory, turn % 2, measured))
				return;
		}
		for (unsigned int d = 0; d < EVENT_COST_POINTS; d++)
			add_point(&measured->of[d][0], &measured->of[d][1], deed->event_count,
				  out_curve);
	}
}

/* Then a deed of calls has two more events: the end of the first reading, and the begin of the second one. */
static bool clock_is_call(void)
{
	uint64_t least_ns = UINT64_MAX;

	for (unsigned int i = 0; i < 64; i++) {
		uint64_t begin_ns = clock_now_ns(), ns = clock_now_ns() - begin_ns;

		least_ns = ns < least_ns ? ns : least_ns;
	}
	return least_ns > CLOCK_NS;
}

void event_cost_measure(int instance_fd, struct event_cost *out_cost)
{
	static const char *const renames[] = { "task:task_rename" };
	static const char *const calls[] = { "raw_syscalls:sys_enter", "raw_syscalls:sys_exit" };
	const struct deed rename_deed = { rename_self, renames, 1, 1 };
	const struct deed call_deed = { call, calls, 2, clock_is_call() ? 4 : 2 };
	AUTO_FREE unsigned char *memory = xcalloc(distances[EVENT_COST_POINTS - 1].bytes, 1);

	*out_cost = (struct event_cost){ 0 };
	if (ftrace_write(instance_fd, "tracing_on", "1", NULL) < 0)
		return;
	(void)prctl(PR_GET_NAME, own_name);
	measure(instance_fd, &rename_deed, memory, &out_cost->others);
	measure(instance_fd, &call_deed, memory, &out_cost->calls);
	if (!out_cost->others.count) /* a kernel without that event */
		out_cost->others = out_cost->calls;
	(void)ftrace_write(instance_fd, "tracing_on", "0", NULL);
	(void)ftrace_write(instance_fd, "trace", "", NULL);
}

void event_cost_add(struct event_cost_curve *curve, uint64_t apart_ns, uint64_t ns)
{
	struct event_cost_point *points = curve->points;
	size_t first = curve->count;
	uint64_t least_ns = first ? points[first - 1].apart_ns + 1 : 1, sum_ns = ns;

	if (curve->count == EVENT_COST_POINTS)
		return;
	points[curve->count++] =
		(struct event_cost_point){ apart_ns > least_ns ? apart_ns : least_ns, ns };
	while (first && points[first - 1].ns * (curve->count - first) > sum_ns)
		sum_ns += points[--first].ns;
	for (size_t i = first; i < curve->count; i++)
		points[i].ns = sum_ns / (curve->count - first);
}

/* Each doubling of the distance adds as much. */
static uint64_t between(const struct event_cost_point *near, const struct event_cost_point *far,
			uint64_t apart_ns)
{
	double part = log2((double)apart_ns / (double)near->apart_ns) /
		      log2((double)far->apart_ns / (double)near->apart_ns);

	return near->ns + (uint64_t)((double)(far->ns - near->ns) * part);
}

uint64_t event_cost_at(const struct event_cost_curve *curve, uint64_t apart_ns)
{
	size_t i = 0;

	while (i < curve->count && curve->points[i].apart_ns < apart_ns)
		i++;
	if (i == 0)
		return curve->count ? curve->points[0].ns : 0;
	if (i == curve->count)
		return curve->points[i - 1].ns;
	return between(&curve->points[i - 1], &curve->points[i], apart_ns);
}

void event_cost_count(const struct event_cost *cost, uint64_t count, uint64_t span_ns,
		      bool has_calls, struct event_cost_sum *sum)
{
	uint64_t others = has_calls ? count / CALL_PARTS : count;
	uint64_t apart_ns = count ? span_ns / count : 0;

	sum->others += others;
	sum->others_ns += others * event_cost_at(&cost->others, apart_ns);
	sum->calls += count - others;
	sum->calls_ns += (count - others) * event_cost_at(&cost->calls, apart_ns);
}
