/*
 * test_recorded.c - real recordings against the kernel's own text of the same events.
 *
 * See tests/data/read/README. Lines look like
 *
 *	      sh-14220   [001] d..2.  5715.137: sched_waking: comm=sh pid=1 prio=120 target_cpu=000
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/read.h"

#define CPUS 2

struct line {
	int tid;
	unsigned int cpu;
	char flags[8];
	char time[32];
	char name[32];
	char args[256];
};

/* Two clock points, for traces whose text has raw time stamps. */
struct points {
	uint64_t raw[2];
	uint64_t ns[2];
	bool used;
};

/* The next line of that CPU. */
static bool next_line(FILE *file, unsigned int cpu, struct line *out_line)
{
	char text[512];

	while (fgets(text, sizeof(text), file)) {
		char *bracket = strstr(text, " [00"), *at = bracket;

		if (text[0] == '#' || !bracket)
			continue;
		while (at > text && *at != '-')
			at--;
		out_line->tid = atoi(at + 1);
		assert_int_equal(sscanf(bracket, " [%u] %7s %31[0-9.]: %31[^:]: %255[^\n]",
					&out_line->cpu, out_line->flags, out_line->time,
					out_line->name, out_line->args),
				 5);
		if (out_line->cpu == cpu)
			return true;
	}
	return false;
}

static void check_time(const struct line *line, const struct points *points, uint64_t ns)
{
	uint64_t raw = strtoull(line->time, NULL, 10), micros;

	if (points->used) {
		__int128 units = (__int128)raw - (__int128)points->raw[0];

		units *= points->ns[1] - points->ns[0];
		units /= points->raw[1] - points->raw[0];
		assert_int_equal(ns, points->ns[0] + (uint64_t)units);
		return;
	}
	micros = raw * 1000000 + strtoull(strchr(line->time, '.') + 1, NULL, 10);
	assert_int_equal((ns + 500) / 1000, micros);
}

static enum task_state state_named(char letter)
{
	static const struct {
		char letter;
		enum task_state state;
	} letters[] = {
		{ 'R', TASK_STATE_RUNNABLE }, { 'S', TASK_STATE_SLEEPING },
		{ 'D', TASK_STATE_DISK },     { 'I', TASK_STATE_IDLE },
		{ 'T', TASK_STATE_STOPPED },  { 't', TASK_STATE_STOPPED },
		{ 'X', TASK_STATE_DEAD },     { 'Z', TASK_STATE_DEAD },
		{ 'P', TASK_STATE_PARKED },
	};

	for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
		if (letters[i].letter == letter)
			return letters[i].state;
	}
	fail_msg("no state %c", letter);
	return TASK_STATE_UNKNOWN;
}

static void check_comm(const char *comm, const char *expected)
{
	char text[17] = "";

	memcpy(text, comm, strnlen(comm, 16));
	assert_string_equal(text, expected);
}

static void check_switch(const struct event *event, const char *args)
{
	char prev[17], next[17], state[8];
	int prev_tid, prev_prio, next_tid, next_prio;

	assert_int_equal(sscanf(args,
				"prev_comm=%16s prev_pid=%d prev_prio=%d prev_state=%7s ==> "
				"next_comm=%16s next_pid=%d next_prio=%d",
				prev, &prev_tid, &prev_prio, state, next, &next_tid, &next_prio),
			 7);
	check_comm(event->sched_switch.prev_comm, prev);
	check_comm(event->sched_switch.next_comm, next);
	assert_int_equal(event->sched_switch.prev_tid, prev_tid);
	assert_int_equal(event->sched_switch.prev_prio, prev_prio);
	assert_int_equal(event->sched_switch.prev_state, state_named(state[0]));
	assert_int_equal(event->sched_switch.next_tid, next_tid);
	assert_int_equal(event->sched_switch.next_prio, next_prio);
}

static void check_waking(const struct event *event, const char *args)
{
	char comm[17];
	int tid, prio, cpu;

	assert_int_equal(
		sscanf(args, "comm=%16s pid=%d prio=%d target_cpu=%d", comm, &tid, &prio, &cpu), 4);
	check_comm(event->wake.comm, comm);
	assert_int_equal(event->wake.tid, tid);
	assert_int_equal(event->wake.prio, prio);
	assert_int_equal(event->wake.target_cpu, cpu);
}

static void check_enter(const struct event *event, const char *args)
{
	uint64_t arg[6];
	int64_t nr;

	assert_int_equal(sscanf(args,
				"NR %" SCNd64 " (%" SCNx64 ", %" SCNx64 ", %" SCNx64 ", %" SCNx64
				", %" SCNx64 ", %" SCNx64 ")",
				&nr, &arg[0], &arg[1], &arg[2], &arg[3], &arg[4], &arg[5]),
			 7);
	assert_int_equal(event->syscall.nr, nr);
	assert_memory_equal(event->syscall.args, arg, sizeof(arg));
}

static void check_exit(const struct event *event, const char *args)
{
	int64_t nr, ret;

	assert_int_equal(sscanf(args, "NR %" SCNd64 " = %" SCNd64, &nr, &ret), 2);
	assert_int_equal(event->syscall.nr, nr);
	assert_int_equal(event->syscall.ret, ret);
}

static void check_fork(const struct event *event, const char *args)
{
	char comm[17];
	int parent, child;

	assert_int_equal(sscanf(args, "comm=%*s pid=%d child_comm=%16s child_pid=%d", &parent, comm,
				&child),
			 3);
	check_comm(event->task.comm, comm);
	assert_int_equal(event->task.parent_tid, parent);
	assert_int_equal(event->task.tid, child);
}

static void check_exec(const struct event *event, const char *args)
{
	char path[128];
	int tid, old;

	assert_int_equal(sscanf(args, "filename=%127s pid=%d old_pid=%d", path, &tid, &old), 3);
	assert_string_equal(event->task.filename, path);
	assert_int_equal(event->task.tid, tid);
	assert_int_equal(event->task.parent_tid, old);
}

static void check_process_exit(const struct event *event, const char *args)
{
	char comm[17], dead[8];
	int tid, prio;

	assert_int_equal(sscanf(args, "comm=%16s pid=%d prio=%d group_dead=%7s", comm, &tid, &prio,
				dead),
			 4);
	check_comm(event->task.comm, comm);
	assert_int_equal(event->task.tid, tid);
	assert_int_equal(event->task.prio, prio);
	assert_true(event->task.group_dead_known);
	assert_int_equal(event->task.group_dead, strcmp(dead, "true") == 0);
}

static void check_softirq(const struct event *event, const char *args)
{
	assert_int_equal(event->irq.nr, atoi(args + strlen("vec=")));
}

static void check_irq_entry(const struct event *event, const char *args)
{
	char name[64];
	int nr;

	assert_int_equal(sscanf(args, "irq=%d name=%63s", &nr, name), 2);
	assert_int_equal(event->irq.nr, nr);
	assert_string_equal(event->irq.name, name);
}

static void check_irq_exit(const struct event *event, const char *args)
{
	char ret[32];
	int nr;

	assert_int_equal(sscanf(args, "irq=%d ret=%31s", &nr, ret), 2);
	assert_int_equal(event->irq.nr, nr);
	assert_int_equal(event->irq.ret, strcmp(ret, "handled") == 0);
}

static void check_timer(const struct event *event, const char *args)
{
	(void)args; /* the hardware's number */
	assert_int_equal(event->irq.nr, VECTOR_LOCAL_TIMER);
}

static void check_reschedule(const struct event *event, const char *args)
{
	(void)args;
	assert_int_equal(event->irq.nr, VECTOR_RESCHEDULE);
}

static const struct {
	const char *name;
	enum event_type type;
	void (*check)(const struct event *event, const char *args);
} kinds[] = {
	{ "sched_switch", EV_SCHED_SWITCH, check_switch },
	{ "sched_waking", EV_SCHED_WAKING, check_waking },
	{ "sched_process_fork", EV_SCHED_FORK, check_fork },
	{ "sched_process_exec", EV_SCHED_EXEC, check_exec },
	{ "sched_process_exit", EV_SCHED_EXIT, check_process_exit },
	{ "sys_enter", EV_SYS_ENTER, check_enter },
	{ "sys_exit", EV_SYS_EXIT, check_exit },
	{ "softirq_entry", EV_SOFTIRQ_ENTRY, check_softirq },
	{ "softirq_exit", EV_SOFTIRQ_EXIT, check_softirq },
	{ "irq_handler_entry", EV_IRQ_ENTRY, check_irq_entry },
	{ "irq_handler_exit", EV_IRQ_EXIT, check_irq_exit },
	{ "local_timer_entry", EV_VECTOR_ENTRY, check_timer },
	{ "local_timer_exit", EV_VECTOR_EXIT, check_timer },
	{ "reschedule_entry", EV_VECTOR_ENTRY, check_reschedule },
	{ "reschedule_exit", EV_VECTOR_EXIT, check_reschedule },
};

static void check_event(const struct event *event, const struct line *line,
			const struct points *points)
{
	/* "d.h2." tells hardirq h, softirq s, both H */
	uint8_t context = EV_CTX_KNOWN;
	size_t i = 0;

	context |= strchr("hHzZ", line->flags[2]) ? EV_CTX_HARDIRQ : 0;
	context |= strchr("sH", line->flags[2]) ? EV_CTX_SOFTIRQ : 0;
	assert_int_equal(event->tid, line->tid);
	assert_int_equal(event->context, context);
	check_time(line, points, event->time_ns);
	while (i < ARRAY_LEN(kinds) && strcmp(kinds[i].name, line->name) != 0)
		i++;
	assert_true(i < ARRAY_LEN(kinds));
	assert_int_equal(event->type, kinds[i].type);
	kinds[i].check(event, line->args);
}

/* Read the trace; returns the number of events, all of which were compared. */
static size_t check_recording(const char *name, const struct points *points)
{
	AUTO_FREE char *dir = xasprintf("%s/data/read/%s", getenv("HOLDUP_TESTS"), name);
	AUTO_FREE char *text = xasprintf("%s/kernel.txt", dir);
	const struct event *event;
	struct trace *trace;
	struct err err = { 0 };
	FILE *files[CPUS];
	struct line line;
	size_t count = 0;

	for (int cpu = 0; cpu < CPUS; cpu++)
		assert_non_null(files[cpu] = fopen(text, "r"));
	if (read_open(dir, &trace, &err) < 0)
		fail_msg("%s", err.text);
	while (source_next(trace_source(trace), &event, &err) > 0) {
		assert_true(next_line(files[event->cpu], event->cpu, &line));
		check_event(event, &line, points);
		count++;
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		assert_false(next_line(files[cpu], cpu, &line));
		fclose(files[cpu]);
	}
	assert_int_equal(trace_facts(trace)->damage_count, 0);
	trace_close(trace);
	return count;
}

static void the_mono_clock_and_small_pages_match_the_kernels_text(void **unused)
{
	static const struct points none = { .used = false };

	assert_int_equal(check_recording("mono-4k", &none), 1170);
}

static void the_tsc_clock_and_large_pages_match_the_kernels_text(void **unused)
{
	AUTO_FREE char *path =
		xasprintf("%s/data/read/tsc-64k/kernel/sync", getenv("HOLDUP_TESTS"));
	AUTO_FILE FILE *sync = fopen(path, "r");
	struct points points = { .used = true };

	assert_non_null(sync);
	for (int i = 0; i < 2; i++) /* all events are between these two */
		assert_int_equal(fscanf(sync, "%" SCNu64 " %" SCNu64 " %*u", &points.raw[i],
					&points.ns[i]),
				 2);
	assert_int_equal(check_recording("tsc-64k", &points), 1158);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mono_clock_and_small_pages_match_the_kernels_text),
		cmocka_unit_test(the_tsc_clock_and_large_pages_match_the_kernels_text),
	};

	return getenv("HOLDUP_TESTS") ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
