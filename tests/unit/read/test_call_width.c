/* test_call_width.c - calls of 32-bit programs are marked, also after a seek. */
#include "read/call_width.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"

#define EXECVE	  59
#define EXECVE_32 11

/* A source over an array: each is handed out as a copy, since it is changed. */
struct array {
	struct source source;
	const struct event *events;
	size_t count, at;
	struct event copy;
};

static int array_next(struct source *source, const struct event **out_event, struct err *err)
{
	struct array *array = (struct array *)source;

	(void)err;
	if (array->at == array->count)
		return 0;
	array->copy = array->events[array->at++];
	*out_event = &array->copy;
	return 1;
}

static int array_seek(struct source *source, uint64_t time_ns, struct err *err)
{
	struct array *array = (struct array *)source;

	(void)err;
	for (array->at = 0; array->at < array->count; array->at++) {
		if (array->events[array->at].time_ns >= time_ns)
			break;
	}
	return 0;
}

static const struct source_ops array_ops = { .next = array_next, .seek = array_seek };

static struct event call(uint64_t time_ns, enum event_type type, int32_t tid, int64_t nr)
{
	struct event event = { .time_ns = time_ns, .type = type, .tid = tid };

	event.syscall.nr = nr;
	return event;
}

static struct event task(uint64_t time_ns, enum event_type type, int32_t tid, int32_t about)
{
	struct event event = { .time_ns = time_ns, .type = type, .tid = tid };

	event.task.tid = about;
	return event;
}

/* For each call from 'from_ns' on: "tid:nr", with "c" behind it when it is marked. */
static const char *marked(struct source *source, uint64_t from_ns)
{
	static char text[512];
	const struct event *event;
	size_t used = 0;

	text[0] = '\0';
	assert_int_equal(source_seek(source, from_ns, NULL), 0);
	while (source_next(source, &event, NULL) > 0) {
		if (event->type == EV_SYS_ENTER)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%d:%d%s ",
						 event->tid, (int)event->syscall.nr,
						 event->syscall.compat ? "c" : "");
	}
	return text;
}

/* 7 was there and has 32 bits; 8 executes such a program at 20, its child 9 a usual one at 40. */
static const struct event *story(size_t *out_count)
{
	static struct event events[16];
	const struct event made[] = {
		call(10, EV_SYS_ENTER, 7, 3),  call(11, EV_SYS_ENTER, 8, EXECVE),
		task(20, EV_SCHED_EXEC, 8, 8), call(21, EV_SYS_EXIT, 8, EXECVE_32),
		call(22, EV_SYS_ENTER, 8, 45), task(25, EV_SCHED_FORK, 8, 9),
		call(30, EV_SYS_ENTER, 9, 3),  call(35, EV_SYS_ENTER, 9, EXECVE_32),
		task(40, EV_SCHED_EXEC, 9, 9), call(41, EV_SYS_EXIT, 9, EXECVE),
		call(42, EV_SYS_ENTER, 9, 3),  task(50, EV_SCHED_EXIT, 8, 8),
		task(60, EV_SCHED_FORK, 1, 8), call(61, EV_SYS_ENTER, 8, 3),
	};

	memcpy(events, made, sizeof(made));
	*out_count = ARRAY_LEN(made);
	return events;
}

static void calls_of_32_bit_programs_are_marked_wherever_reading_begins(void **unused)
{
	struct fact_thread known[] = { { .tid = 7, .compat = true }, { .tid = 1 } };
	struct facts facts = { .arch = "x86_64", .threads = known, .thread_count = 2 };
	struct array array = { .source = { &array_ops } };
	struct source *source;

	array.events = story(&array.count);
	source = call_width_new(&array.source, &facts);
	assert_string_equal(marked(source, 0), "7:3c 8:59 8:45c 9:3c 9:11c 9:3 8:3 ");
	assert_string_equal(marked(source, 30), "9:3c 9:11c 9:3 8:3 ");
	assert_string_equal(marked(source, 10), "7:3c 8:59 8:45c 9:3c 9:11c 9:3 8:3 ");
	assert_string_equal(marked(source, 42), "9:3 8:3 ");
	source_close(source);
}

static void another_source_learns_what_one_knows(void **unused)
{
	struct facts facts = { .arch = "x86_64" };
	struct array array = { .source = { &array_ops } };
	struct source *first, *second;

	array.events = story(&array.count);
	first = call_width_new(&array.source, &facts);
	second = call_width_new(&array.source, &facts);
	(void)marked(first, 0);
	assert_string_equal(marked(second, 30), "9:3 9:11 9:3 8:3 ");
	call_width_learn(second, first);
	assert_string_equal(marked(second, 30), "9:3c 9:11c 9:3 8:3 ");
	source_close(first);
	source_close(second);
}

/* Its execve() was lost: it begins with brk(0), by its 32-bit number. */
static void where_the_end_of_the_execve_was_lost_the_first_call_tells(void **unused)
{
	const struct event events[] = {
		task(20, EV_SCHED_EXEC, 8, 8), call(22, EV_SYS_ENTER, 8, 45),
		call(23, EV_SYS_ENTER, 8, 3),  task(24, EV_SCHED_EXEC, 9, 9),
		call(25, EV_SYS_ENTER, 9, 12), call(26, EV_SYS_ENTER, 9, 45),
	};
	struct facts facts = { .arch = "x86_64" };
	struct array array = { { &array_ops }, events, ARRAY_LEN(events), 0, { 0 } };
	struct source *source = call_width_new(&array.source, &facts);

	assert_string_equal(marked(source, 0), "8:45c 8:3c 9:12 9:45 ");
	source_close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_32_bit_programs_are_marked_wherever_reading_begins),
		cmocka_unit_test(another_source_learns_what_one_knows),
		cmocka_unit_test(where_the_end_of_the_execve_was_lost_the_first_call_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
